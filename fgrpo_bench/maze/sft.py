"""The base model: supervised training on the answers of training mazes, and loading one."""

import hashlib
import json
import math
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fgrpo_bench.config.load import digest
from fgrpo_bench.config.schema import BaseSection, MazeConfig
from fgrpo_bench.errors import UserError
from fgrpo_bench.maze.checkpoint import (
    Training,
    check_finite,
    load_weights,
    new_training,
    read_tensors,
    restore_training,
    save_training,
    save_weights,
)
from fgrpo_bench.maze.data import MazeData, Progress, load_mazes, model_shape
from fgrpo_bench.maze.device import device
from fgrpo_bench.maze.evaluate import Floats, answer_log_probs, exact_success
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.recipe import SHIPPED, recipe, shipped_base, trained_directory
from fgrpo_bench.maze.tokens import encode_answers
from fgrpo_bench.rng import stream
from fgrpo_bench.rundir.atomic import write_json
from fgrpo_bench.rundir.directory import begin, inspect, locked
from fgrpo_bench.rundir.manifest import environment, now
from fgrpo_bench.stats.pass_at_k import exact_pass_at_k

_CHECK_EVERY = 25
_TELL_EVERY = 100


def fresh_model(config: MazeConfig) -> Transformer:
    """Return a model with new weights drawn from the base's seed."""
    model = Transformer(model_shape(config))
    seed = int(stream(config.base.seed, "maze-weights").integers(2**63))
    model.initialise(torch.Generator().manual_seed(seed))
    return model


def epoch_index(size: int, seed: int, purpose: str, step: int, batch: int) -> NDArray[np.int64]:
    """Return which of ``size`` mazes a step visits: epochs, each in its own shuffled order."""
    positions = np.arange(step * batch, (step + 1) * batch)
    epochs = positions // size
    index = np.empty(batch, dtype=np.int64)
    for epoch in np.unique(epochs):
        order = _order(size, seed, purpose, int(epoch))
        index[epochs == epoch] = order[positions[epochs == epoch] % size]
    return index


@lru_cache(maxsize=2)
def _order(size: int, seed: int, purpose: str, epoch: int) -> NDArray[np.int64]:
    return stream(seed, purpose, epoch).permutation(size)


def train_base(config: MazeConfig, directory: Path, progress: Progress) -> None:
    """Train the base into ``directory`` (``base.safetensors``, ``base.json``), resumable.

    AdamW with weight decay .01, cross-entropy on answer tokens (arXiv 2602.02710, maze set-up).
    """
    with locked(directory):
        inspect(directory, recipe(config))
        if (directory / "base.json").exists():  # by another command, in the meantime
            return
        begin(directory, recipe(config))
        data = load_mazes(config, progress)
        section = config.base
        model = fresh_model(config).to(device(config))
        training = new_training(model, section.learning_rate, 0.01)
        restore_training(directory / "checkpoints", training)
        ended = False
        while not ended:
            if training.step % _CHECK_EVERY == 0 or training.step == section.steps:
                save_training(directory / "checkpoints", training)
                success = exact_success(training.model, data.tuning)
                ability = float(success.mean())
                ended = training.step == section.steps or ability >= section.target
                if ended or training.step % _TELL_EVERY == 0:
                    progress({"step": training.step, "pass_at_k": {"1": ability}})
            if not ended:
                _sft_step(config, data, training)
        _finish_base(config, directory, training, success)
        for checkpoint in (directory / "checkpoints").iterdir():
            checkpoint.unlink()


def _sft_step(config: MazeConfig, data: MazeData, training: Training) -> None:
    section = config.base
    size = len(data.training)
    index = epoch_index(size, section.seed, "maze-sft", training.step, section.batch)
    batch = data.training.take(index)
    for group in training.optimizer.param_groups:
        group["lr"] = section.learning_rate * _schedule(section, training.step)
    tokens = int(encode_answers(batch)[1].sum())
    loss = -answer_log_probs(training.model, batch).sum() / tokens
    training.optimizer.zero_grad(set_to_none=False)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(training.model.parameters(), 1.0)
    training.optimizer.step()
    training.step += 1
    check_finite(training)


def _schedule(section: BaseSection, step: int) -> float:
    """Return the share of the learning rate at a step: linear warm-up, then as configured."""
    if step < section.warmup:
        return (step + 1) / section.warmup
    if section.schedule == "constant":
        return 1.0
    done = (step - section.warmup) / (section.steps - section.warmup)
    return (1 + math.cos(math.pi * done)) / 2


def _finish_base(config: MazeConfig, directory: Path, training: Training, success: Floats) -> None:
    model = training.model
    ks = config.evaluation.k
    curve = dict(zip(map(str, ks), exact_pass_at_k(success, ks).tolist(), strict=True))
    save_weights(directory / "base.safetensors", model)
    weights = (directory / "base.safetensors").read_bytes()
    write_json(
        directory / "base.json",
        {
            "schema": 1,
            "recipe": recipe(config),
            "recipe_hash": digest(recipe(config)),
            "weights_sha256": hashlib.sha256(weights).hexdigest(),
            "parameters": sum(p.numel() for p in model.parameters()),
            "steps": training.step,
            "tuning_pass_at_1": float(success.mean()),
            "tuning_pass_at_k": curve,
            "finished": now(),
            **environment(),
        },
    )


@dataclass(frozen=True)
class Base:
    """A base model ready to use, with its manifest."""

    model: Transformer
    manifest: dict[str, Any]

    def complaint(self, gate: tuple[float, float]) -> str | None:
        """Say so when pass@1 on the tuning mazes misses the gate."""
        value = self.manifest["tuning_pass_at_1"]
        if gate[0] <= value <= gate[1]:
            return None
        return (
            f"the base's pass@1 on the tuning mazes is {value:.3f}, outside "
            f"[{gate[0]}, {gate[1]}]: too weak a base collapses under any method and too "
            "strong a one leaves nothing to learn; change base.target"
        )


def load_base(config: MazeConfig, root: Path) -> Base:
    """Return the base of a configuration: shipped, or with ``base.train`` the one under ``root``.

    Raises:
        UserError: no shipped base has this recipe.
    """
    if config.base.train:
        return _read_base(trained_directory(root, config) / "base.json", config)
    shipped = shipped_base(config)
    with (
        as_file(SHIPPED / f"{shipped}.json") as manifest,
        as_file(SHIPPED / f"{shipped}.safetensors"),
    ):
        return _read_base(manifest, config)


def _read_base(path: Path, config: MazeConfig) -> Base:
    weights = path.with_suffix(".safetensors")
    try:
        manifest = json.loads(path.read_text("utf-8"))
        intact = hashlib.sha256(weights.read_bytes()).hexdigest() == manifest["weights_sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        raise UserError(f"{weights} is not what {path.name} describes: delete {path.parent}")
    model = Transformer(model_shape(config))
    load_weights(model, read_tensors(weights)[0], weights)
    return Base(model, manifest)
