"""The RL loop: roll out a batch of prompts, weight its groups, update over mini-batches."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.maze.checkpoint import Training, check_finite, save_training
from fgrpo_bench.maze.data import Progress
from fgrpo_bench.maze.evaluate import measure
from fgrpo_bench.maze.generate import Mazes
from fgrpo_bench.maze.grid import Cell
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.rollout import Rollouts, sample
from fgrpo_bench.maze.sft import epoch_index
from fgrpo_bench.maze.tokens import encode_prompts
from fgrpo_bench.maze.update import Regulariser, backward, drift, node_weights
from fgrpo_bench.maze.verdict import correct as verdicts
from fgrpo_bench.methods.advantages import Bools, active_groups
from fgrpo_bench.methods.registry import Method, Weighted, get_method
from fgrpo_bench.rng import stream
from fgrpo_bench.rundir.directory import Metrics

TOTALS = ("rollouts", "tokens", "clipped", "correct", "wrong", "truncated")


def train(
    cell: Cell,
    training: Training,
    reference: Transformer,
    mazes: tuple[Mazes, Mazes],
    directory: Path,
    progress: Progress,
) -> None:
    """Train from ``training.step`` to the end; every evaluation is also a checkpoint.

    Args:
        cell: configuration, method, group size and seed.
        training: model and optimiser, fresh or restored.
        reference: the base model, which drift and the KL penalty are measured from.
        mazes: training and evaluation mazes.
        directory: the run's directory.
        progress: receives each evaluation's metrics.
    """
    config = cell.config
    every, steps = config.evaluation.every, config.train.steps
    regulariser = Regulariser(config.train.entropy, config.train.kl, reference)
    metrics = Metrics(directory, training.step if training.totals else -1)
    try:
        if not training.totals:
            training.totals = dict.fromkeys(TOTALS, 0)
            line: dict[str, Any] = {"step": 0} | _evaluation(cell, training, mazes[1])
            metrics.append(line)
            progress(line)
        recent: list[dict[str, Any]] = []
        while training.step < steps:
            line, rollouts = training_step(cell, training, mazes[0], regulariser)
            recent.append(line)
            due = training.step % every == 0 or training.step == steps
            if due:
                line |= _evaluation(cell, training, mazes[1])
                line |= drift(training.model, reference, rollouts)
            metrics.append(line)
            if due:
                metrics.sync()
                save_training(directory / "checkpoints", training)
                progress(line | _means(recent))
                recent.clear()
    finally:
        metrics.close()


def _means(lines: list[dict[str, Any]]) -> dict[str, float]:
    """What a person reads of the steps since the last evaluation: a single step is too noisy."""
    out = {}
    for key in ("reward", "active", "focal", "clip_fraction"):
        values = [line[key] for line in lines if line[key] is not None]
        if values:
            out[key] = sum(values) / len(values)
    return out


def _evaluation(cell: Cell, training: Training, mazes: Mazes) -> dict[str, Any]:
    ks = cell.config.evaluation.k
    curve = measure(training.model, mazes, cell.config, cell.seed, extra=False).pass_at_k(ks)
    return {"pass_at_k": dict(zip(map(str, ks), curve.tolist(), strict=True))}


def visited(cell: Cell, mazes: Mazes, step: int) -> NDArray[np.int64]:
    """Return which training mazes a run's step visits, [G]."""
    section = cell.config.train
    pool = section.pool or len(mazes)
    return epoch_index(pool, cell.seed, "maze-order", step, section.prompts)


def training_step(
    cell: Cell, training: Training, mazes: Mazes, regulariser: Regulariser
) -> tuple[dict[str, Any], Rollouts]:
    """One rollout and its updates; returns the step's line of metrics and its samples."""
    config, settings, seed = cell.config, cell.settings, cell.seed
    method, step = get_method(cell.method), training.step
    index = visited(cell, mazes, step)
    batch = mazes.take(index)
    rollouts = sample(
        training.model,
        encode_prompts(batch),
        cell.group_size,
        config.maze.max_answer_tokens,
        stream(seed, "maze-rollout", step),
    )
    correct = verdicts(rollouts, batch, config.maze.reward)
    rewards = np.where(correct, settings.reward_correct, settings.reward_wrong)
    history = training.history
    weighted = method.advantage(
        rewards,
        correct,
        settings,
        mean_logp=rollouts.mean_logp if method.needs_logp else None,
        state=None if history is None else history[index].numpy(),
        rng=stream(seed, "maze-method", step),
    )
    if history is not None and weighted.state is not None:
        history[index] = torch.from_numpy(weighted.state)
    losses, clipped = _update(config, method, training, rollouts, weighted, regulariser)
    training.step += 1
    check_finite(training)
    _count(training, rollouts, correct, clipped)
    active = active_groups(correct)
    line = {
        "step": training.step,
        "reward": float(rewards.mean()),
        "active": float(active.mean()),
        "focal": float(weighted.weights[active].mean()) if active.any() else None,
        "clip_fraction": clipped / rollouts.tokens,
        "loss": losses,
        "tokens": rollouts.tokens,
    }
    return line, rollouts


def _update(
    config: MazeConfig,
    method: Method,
    training: Training,
    rollouts: Rollouts,
    weighted: Weighted,
    regulariser: Regulariser,
) -> tuple[float, float]:
    """Take one optimiser step per mini-batch; return the mean loss and the clipped tokens.

    A mini-batch without signal still takes its step (momentum and weight decay act), as it would
    in a trainer that does not look inside the groups.
    """
    section = config.train
    weights = node_weights(rollouts, weighted.advantages)
    divisor = rollouts.tokens / section.minibatches
    loss = clipped = 0.0
    for groups in np.split(np.arange(section.prompts), section.minibatches):
        training.optimizer.zero_grad(set_to_none=False)
        stats = backward(
            training.model, rollouts, weights, groups, method.surrogate, divisor, regulariser
        )
        torch.nn.utils.clip_grad_norm_(training.model.parameters(), section.max_grad_norm)
        training.optimizer.step()
        loss += stats.loss / section.minibatches
        clipped += stats.clipped
    return loss, clipped


def _count(training: Training, rollouts: Rollouts, correct: Bools, clipped: float) -> None:
    cut = rollouts.truncated & ~correct  # a walk may reach the goal and go on to the limit
    totals = training.totals
    totals["rollouts"] += correct.size
    totals["tokens"] += rollouts.tokens
    totals["clipped"] += clipped
    totals["correct"] += int(correct.sum())
    totals["truncated"] += int(cut.sum())
    totals["wrong"] += int((~correct & ~cut).sum())
