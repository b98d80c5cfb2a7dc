"""What decides a base model, and where a base of that recipe lies. Light: no torch.

A base is decided by its mazes, model and supervised training, and every configuration with that
recipe may use it. The packaged bases were written by ``fgrpo-bench base``.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from fgrpo_bench.config.load import digest
from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.errors import UserError
from fgrpo_bench.maze.tokens import prompt_length
from fgrpo_bench.rundir.directory import inspect

SHIPPED = files("fgrpo_bench") / "maze" / "bases"


def positions(config: MazeConfig) -> int:
    """Return the positions of a model that holds every prompt and answer, in tokens."""
    return prompt_length(config.maze.size) + config.maze.max_answer_tokens


def recipe(config: MazeConfig) -> dict[str, Any]:
    """Return what decides the base: the mazes, the model and the supervised training."""
    return {
        "maze": config.maze.model_dump(mode="json", exclude={"reward", "max_answer_tokens"}),
        "model": config.model.model_dump(mode="json"),
        "positions": positions(config),
        "base": config.base.model_dump(mode="json", exclude={"train", "gate"}),
    }


def trained_directory(root: Path, config: MazeConfig) -> Path:
    """Return where ``base.train=true`` keeps this recipe's base, beside the runs that use it."""
    return root / f"base-{digest(recipe(config))}"


def base_is_trained(root: Path, config: MazeConfig) -> bool:
    """Return whether that base is there already.

    Raises:
        UserError: the place holds something else.
    """
    inspect(trained_directory(root, config), recipe(config))
    return (trained_directory(root, config) / "base.json").exists()


def require_base(config: MazeConfig) -> None:
    """Raise ``UserError`` unless the base can be trained or a shipped one fits."""
    if not config.base.train:
        shipped_base(config)


def shipped_base(config: MazeConfig) -> str:
    """Return the name of the shipped base of a configuration's recipe.

    Raises:
        UserError: there is none; the message names the first difference from the nearest one.
    """
    wanted, unlike = recipe(config), list[list[str]]()
    for item in sorted(SHIPPED.iterdir(), key=lambda item: item.name):
        if not item.name.endswith(".json"):
            continue
        manifest = json.loads(item.read_text("utf-8"))
        if manifest["recipe_hash"] == digest(wanted):
            return item.name.removesuffix(".json")
        unlike.append(_differences(manifest["recipe"], wanted))
    raise UserError(
        f"no shipped base fits this configuration ({min(unlike, key=len)[0]}): "
        "add --set base.train=true to train one first"
    )


def _differences(shipped: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    out = [
        f"{section}.{key} is {value}, shipped {shipped[section].get(key)}"
        for section in ("maze", "model", "base")
        for key, value in wanted[section].items()
        if shipped[section].get(key) != value
    ]
    if shipped["positions"] != wanted["positions"]:
        out.append("it has another number of positions")
    return out
