"""Model and optimiser state as safetensors files with JSON metadata, written atomically."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from fgrpo_bench.errors import UserError
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.rundir.atomic import write_bytes


@dataclass
class Training:
    """A model under training: weights, AdamW state, how far it got, and the method's memory.

    ``history`` [P, W] has the last success rates of each prompt, for methods that remember them.
    """

    model: Transformer
    optimizer: torch.optim.AdamW
    step: int
    totals: dict[str, float]
    history: Tensor | None = None


def new_training(model: Transformer, learning_rate: float, weight_decay: float) -> Training:
    """Start training a model with AdamW (.9, .999)."""
    return Training(model, adamw(model, learning_rate, weight_decay), 0, {})


def adamw(model: nn.Module, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """Return a fresh AdamW (.9, .999) of a model's weights.

    Gradients start as zeros, never as None: AdamW passes over None, so a resumed run whose first
    mini-batch has no signal would otherwise skip the step that the uninterrupted run takes.
    """
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    return torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=weight_decay, fused=True
    )


def save_training(directory: Path, training: Training) -> None:
    """Write ``step-N.safetensors`` and then remove older ones."""
    tensors = {f"model.{k}": v for k, v in training.model.state_dict().items()}
    for index, (_, state) in enumerate(_states(training)):
        tensors |= {f"optimizer.{index}.{k}": v for k, v in state.items()}
    if training.history is not None:
        tensors["history"] = training.history
    metadata = {"training": json.dumps({"step": training.step, "totals": training.totals})}
    path = directory / f"step-{training.step:06d}.safetensors"
    write_bytes(path, save(tensors, metadata))
    for old in directory.glob("step-*.safetensors"):
        if old != path:
            old.unlink()


def restore_training(directory: Path, training: Training) -> None:
    """Load the newest checkpoint of ``directory`` into ``training``; without one, do nothing."""
    paths = sorted(directory.glob("step-*.safetensors"))
    if not paths:
        return
    tensors, metadata = read_tensors(paths[-1])
    progress = json.loads(metadata["training"])
    training.step, training.totals = progress["step"], progress["totals"]
    load_weights(training.model, tensors, paths[-1], "model.")
    training.history = tensors.get("history", training.history)
    for index, (weight, _) in enumerate(_states(training)):
        prefix = f"optimizer.{index}."
        training.optimizer.state[weight] = {
            k.removeprefix(prefix): v.to(weight.device)
            for k, v in tensors.items()
            if k.startswith(prefix)
        }


def check_finite(training: Training) -> None:
    """Raise ``UserError`` if training diverged, before such weights reach a checkpoint.

    Huge weights can be finite and give no finite output: the probabilities are asked too.
    """
    finite = bool(parameters_to_vector(training.model.parameters()).isfinite().all())
    if finite:
        with torch.inference_mode():
            probe = training.model(torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1).long())
            finite = bool(training.model.log_probs(probe).isfinite().all())
    if not finite:
        rate = training.optimizer.param_groups[0]["lr"]
        raise UserError(
            f"training diverged at step {training.step}: the policy is no longer finite; "
            f"lower the learning rate ({rate:g})"
        )


def _states(training: Training) -> Iterator[tuple[Tensor, dict[str, Any]]]:
    for weight in training.model.parameters():
        yield weight, training.optimizer.state.get(weight, {})


def save_weights(path: Path, model: Transformer) -> None:
    """Write a model's weights alone."""
    write_bytes(path, save(dict(model.state_dict())))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and metadata of a safetensors file.

    Raises:
        UserError: a damaged or missing file, named.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{path} cannot be read ({str(error).splitlines()[0]}): delete it to start over"
        ) from None


def load_weights(
    model: Transformer, tensors: dict[str, Tensor], path: Path, prefix: str = ""
) -> None:
    """Load the tensors under ``prefix`` into a model.

    Raises:
        UserError: they do not fit the model.
    """
    own = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    try:
        model.load_state_dict(own)
    except RuntimeError:
        raise UserError(f"{path} holds another model: delete it to start over") from None
