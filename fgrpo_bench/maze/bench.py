"""How fast a training step is: beside the Hugging Face loop, against the machine, and in N.

What is timed is ``training_step`` itself, from the preset's base with a fresh optimiser, on the
prompts that a run visits. Everything is on one thread and in seconds of its processor time, which
are those of the clock unless the machine is busy; pairs are interleaved, so that a change of the
machine's load meets both sides.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from fgrpo_bench.maze import reference, train
from fgrpo_bench.maze.checkpoint import Training, adamw, new_training
from fgrpo_bench.maze.generate import Mazes
from fgrpo_bench.maze.grid import Cell
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.tokens import encode_answers, encode_prompts
from fgrpo_bench.maze.update import Regulariser
from fgrpo_bench.methods.registry import get_method
from fgrpo_bench.rng import stream

PAIRS = 5
SMALL, LARGE = 8, 512
_SIDE = 1024

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Timing:
    """One training step.

    Attributes:
        seconds: processor time.
        clock: seconds by the clock.
        tokens: answer tokens of all samples.
        parts: processor time by part.
    """

    seconds: float
    clock: float
    tokens: int
    parts: dict[str, float]


Step = Callable[[int], Timing]


def compare(cell: Cell, base: Transformer, mazes: Mazes, tell: Tell) -> dict[str, Any]:
    """Time our step beside the reference's and count its floating-point operations.

    Args:
        cell: what to run; its method needs no state.
        base: the policy that every step starts from.
        mazes: training mazes.
        tell: receives a line per pair.
    """
    run = partial(time_step, cell, base, mazes)
    ours, theirs = interleave(run, partial(time_reference, cell, base, mazes), tell)
    tell("counting floating-point operations")
    flops = [count_flops(partial(run, index)) for index in range(PAIRS)]
    achieved = median(n / timing.seconds for n, timing in zip(flops, ours, strict=True))
    peak = peak_matmul()
    return {
        "ours": _summary(ours),
        "reference": _summary(theirs),
        "speedup": _ratios(theirs, ours),
        "gflop_per_step": median(flops) / 1e9,
        "gflops_per_s": achieved / 1e9,
        "peak_matmul_gflops_per_s": peak / 1e9,
        "share_of_peak": achieved / peak,
    }


def scale(small: Cell, large: Cell, base: Transformer, mazes: Mazes, tell: Tell) -> dict[str, Any]:
    """Time our step at a large group size beside a small one; arguments as in ``compare``."""
    runs = [partial(time_step, cell, base, mazes) for cell in (small, large)]
    few, many = interleave(runs[0], runs[1], tell)
    return {
        "small": {"group_size": small.group_size, **_summary(few)},
        "large": {"group_size": large.group_size, **_summary(many)},
        "cost": _ratios(many, few),
    }


def interleave(first: Step, second: Step, tell: Tell) -> tuple[list[Timing], list[Timing]]:
    """Time two kinds of step in turns, after one of each to warm up."""
    first(0), second(0)
    pairs = []
    for index in range(PAIRS):
        one, two = pair = first(index), second(index)
        pairs.append(pair)
        tell(f"pair {index + 1} of {PAIRS}: {one.seconds:.2f} s and {two.seconds:.2f} s")
    return [one for one, _ in pairs], [two for _, two in pairs]


def time_step(cell: Cell, base: Transformer, mazes: Mazes, index: int) -> Timing:
    """Time the step that a run takes at ``index``, but from the base."""
    section = cell.config.train
    training = new_training(copy.deepcopy(base), section.learning_rate, section.weight_decay)
    training.step, training.totals = index, dict.fromkeys(train.TOTALS, 0)
    plain = Regulariser(0.0, 0.0, base)
    with _watched(training) as parts:
        begun, clock = process_time(), perf_counter()
        line, _ = train.training_step(cell, training, mazes, plain)
        seconds, clock = process_time() - begun, perf_counter() - clock
    rest = seconds - sum(parts.values())
    return Timing(seconds, clock, line["tokens"], {**parts, "the rest": rest})


@contextmanager
def _watched(training: Training) -> Iterator[dict[str, float]]:
    """Time the parts of ``training_step`` where it calls them: no second copy of it can differ."""
    parts = dict.fromkeys(("rollout", "forward and backward", "optimiser"), 0.0)

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            begun = process_time()
            try:
                return function(*args, **kwargs)
            finally:
                parts[part] += process_time() - begun

        return call

    watched = (
        (train, "sample", "rollout"),
        (train, "backward", "forward and backward"),
        (training.optimizer, "step", "optimiser"),
    )
    originals = [getattr(owner, name) for owner, name, _ in watched]
    for (owner, name, part), original in zip(watched, originals, strict=True):
        setattr(owner, name, timed(part, original))
    try:
        yield parts
    finally:
        for (owner, name, _), original in zip(watched, originals, strict=True):
            setattr(owner, name, original)


def time_reference(cell: Cell, base: Transformer, mazes: Mazes, index: int) -> Timing:
    """Time the reference's step on the prompts of the step at ``index``, from the base."""
    config, settings, method = cell.config, cell.settings, get_method(cell.method)
    section = config.train
    model = reference.hugging_face(base)
    optimizer = adamw(model, section.learning_rate, section.weight_decay)
    seed = int(stream(cell.seed, "maze-bench", index).integers(2**63))
    begun, clock = process_time(), perf_counter()
    batch = mazes.take(train.visited(cell, mazes, index))
    samples = reference.generate(
        model, encode_prompts(batch), cell.group_size, config.maze.max_answer_tokens, seed
    )
    generated = process_time()
    correct = samples.matches(encode_answers(batch)[0])
    rewards = np.where(correct, settings.reward_correct, settings.reward_wrong)
    advantages = method.advantage(rewards, correct, settings).advantages
    reference.update(model, optimizer, samples, advantages, method.surrogate, section)
    ended, clock = process_time(), perf_counter() - clock
    parts = {"generate": generated - begun, "verdicts and update": ended - generated}
    return Timing(ended - begun, clock, int(samples.inside.sum()), parts)


def peak_matmul() -> float:
    """Return the best rate of a square float32 matrix product in this process, FLOP/s."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(_SIDE, _SIDE, generator=generator) for _ in range(2))
    out, best = torch.empty(_SIDE, _SIDE), 0.0
    for _ in range(20):
        begun = process_time()
        torch.mm(a, b, out=out)
        best = max(best, 2 * _SIDE**3 / (process_time() - begun))
    return best


def count_flops(run: Callable[[], object]) -> int:
    """Count the operations of matrix products and attention, masked places included."""
    aten = torch.ops.aten
    cpu_attention = {  # torch knows the formulas of its GPU kernels alone
        aten._scaled_dot_product_flash_attention_for_cpu: _attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    }
    with FlopCounterMode(display=False, custom_mapping=cpu_attention) as counter:
        run()
    return counter.get_total_flops()


def _attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]


def _attention_backward(out: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_backward_flop_count(out, query, key, value))  # type: ignore[no-untyped-call]


def _summary(timings: list[Timing]) -> dict[str, Any]:
    """Medians over the steps; the parts are shares of the whole time."""
    whole = fmean(timing.seconds for timing in timings)
    return {
        "seconds": median(timing.seconds for timing in timings),
        "steps_per_s": median(1 / timing.seconds for timing in timings),
        "tokens_per_s": median(timing.tokens / timing.seconds for timing in timings),
        "processor_share": whole / fmean(timing.clock for timing in timings),
        "split": {
            part: fmean(timing.parts[part] for timing in timings) / whole
            for part in timings[0].parts
        },
    }


def _ratios(slow: list[Timing], fast: list[Timing]) -> dict[str, float]:
    """Return median, least and greatest of the ratios within the pairs."""
    ratios = [a.seconds / b.seconds for a, b in zip(slow, fast, strict=True)]
    return {"median": median(ratios), "min": min(ratios), "max": max(ratios)}
