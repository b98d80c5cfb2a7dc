"""The cells of a maze experiment: one method, group size, gamma and seed each.

Light on purpose: planning, resuming and reporting need the grid but no torch.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from fgrpo_bench.config.load import differences, digest, load_preset, preset_names
from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.errors import UserError
from fgrpo_bench.methods.advantages import Settings
from fgrpo_bench.methods.registry import Method, get_method

SCHEMA = 1
_LARGEST_GROUP = 2**20


@dataclass(frozen=True)
class Cell:
    """One training run of the grid.

    Attributes:
        preset: the preset's name.
        config: the resolved configuration.
        method: name of the method.
        group_size: rollouts per prompt N.
        gamma: focal exponent; 0 for methods without focal weight.
        seed: prompt order, rollouts and the method's draws.
        overrides: what the configuration sets otherwise than the preset.
    """

    preset: str
    config: MazeConfig
    method: str
    group_size: int
    gamma: float
    seed: int
    overrides: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of the run directory: a hash at its end stands for the overrides."""
        suffix = f"-{digest(self.overrides)[:8]}" if self.overrides else ""
        return f"{self.method}-n{self.group_size}-g{_number(self.gamma)}-s{self.seed}{suffix}"

    @property
    def settings(self) -> Settings:
        """Conventions of the method with this cell's gamma."""
        # the window belongs to the trainer, which keeps the history
        section = self.config.method.model_dump(exclude={"gamma", "window"})
        return Settings(gamma=self.gamma, **section)

    @property
    def command(self) -> str:
        """The command line that makes this run again."""
        preset = self.preset if self.preset in preset_names() else f"{self.preset}.toml"
        words = ["fgrpo-bench", "run", "--preset", preset, "--method", self.method]
        words += ["--n", str(self.group_size)]
        if get_method(self.method).focal is not None:
            words += ["--gamma", _number(self.gamma)]
        words += ["--seed", str(self.seed)]
        for key, value in self.overrides.items():
            text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            words += ["--set", f"{key}={text}"]
        return shlex.join(words)

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``config.json``."""
        return {
            "schema": SCHEMA,
            "experiment": "maze",
            "preset": self.preset,
            "method": self.method,
            "group_size": self.group_size,
            "gamma": self.gamma,
            "seed": self.seed,
            "overrides": self.overrides,
            "config": self.config.model_dump(mode="json"),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Cell":
        """Return the cell that ``to_json`` described."""
        keys = ("preset", "method", "group_size", "gamma", "seed", "overrides")
        config = MazeConfig.model_validate(value["config"])
        return cls(config=config, **{key: value[key] for key in keys})


def completed(value: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a ``config.json`` with the defaults of keys younger than it.

    Content that is no cell of this version is returned as it is.
    """
    try:
        return Cell.from_json(value).to_json()
    except (KeyError, TypeError, ValidationError):
        return value


def _number(value: float) -> str:
    """Write a number in full, but a whole one without its fraction."""
    return f"{value:.0f}" if value == int(value) else repr(value)


def cells(
    preset: str,
    methods: Sequence[str],
    group_sizes: Sequence[int],
    gammas: Sequence[float] = (),
    seeds: Sequence[int] = (0,),
    overrides: Sequence[str] = (),
) -> list[Cell]:
    """Return the grid, seeds outermost; a method without focal weight once, whatever the gammas.

    Args:
        preset: name or path of a preset.
        methods: names of methods.
        group_sizes: group sizes N, at least 2 each.
        gammas: focal exponents; none takes the preset's.
        seeds: seeds of runs.
        overrides: ``section.key=value`` texts.

    Raises:
        UserError: anything unknown or out of range, in one line.
    """
    name, config = load_preset(preset, overrides)
    _check(methods, group_sizes, gammas, seeds)
    default = load_preset(preset)[1]
    gammas = gammas or (config.method.gamma,)
    # The cell carries gamma itself: GRPO must not differ by a gamma that it does not have.
    section = config.method.model_copy(update={"gamma": default.method.gamma})
    config = config.model_copy(update={"method": section})
    changed = differences(config, default)
    grid = {
        cell.name: cell
        for seed in seeds
        for method in map(_method, methods)
        for size in group_sizes
        for gamma in (gammas if method.focal else (0.0,))
        for cell in [Cell(name, config, method.name, size, float(gamma), seed, changed)]
    }
    for cell in grid.values():
        try:
            get_method(cell.method).check(cell.group_size, cell.settings)
        except ValueError as error:
            raise UserError(f"{error}: change --n or --set method.k=K") from None
    return list(grid.values())


def _check(
    methods: Sequence[str],
    group_sizes: Sequence[int],
    gammas: Sequence[float],
    seeds: Sequence[int],
) -> None:
    for option, values in (("--method", methods), ("--n", group_sizes), ("--seed", seeds)):
        if not values:
            raise UserError(f"{option} has no value: write at least one behind it")
    for size in group_sizes:
        if size < 2:
            raise UserError(
                f"--n {size}: a group needs at least 2 rollouts, since advantages compare them"
            )
        if size > _LARGEST_GROUP:
            raise UserError(f"--n {size}: a group has at most {_LARGEST_GROUP} rollouts")
    for gamma in gammas:
        if not 0 <= gamma < float("inf"):
            raise UserError(f"--gamma {gamma:g}: gamma must be 0 or more (0 is the base method)")
    for seed in seeds:
        if seed < 0:
            raise UserError(f"--seed {seed}: a seed must be 0 or more")


def _method(name: str) -> Method:
    try:
        return get_method(name)
    except KeyError as error:
        raise UserError(str(error.args[0])) from None
