"""Our values for the paper's cells, from finished runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fgrpo_bench.errors import UserError
from fgrpo_bench.report.collect import Run
from fgrpo_bench.report.paper.published import AVERAGES, GROUP_SIZE, MATH, OOD, PAIRS, SWEEP, Cell

# Preset to the paper's model and, in our words to the paper's, its benchmarks.
_LLM = {name: name for name in (*MATH, *OOD)}
_PRESETS = {
    "maze-paper": ("maze-transformer-3m", {"maze-17x17": "maze17"}),
    "qwen2.5-7b": ("Qwen2.5-7B", _LLM),
    "qwen3-4b-base": ("Qwen3-4B-Base", _LLM),
    "llama-3.2-3b-instruct": ("Llama-3.2-3B-Instruct", _LLM),
}


@dataclass(frozen=True)
class Ours:
    """A value of ours in the paper's unit, the mean over training runs that differ in the seed."""

    value: float
    seeds: int


def fits(run: Run) -> bool:
    """Whether a run is one of the paper's: a preset made after it, and nothing set otherwise."""
    return run.results.preset in _PRESETS and not run.results.overrides


def ours(runs: Sequence[Run]) -> dict[Cell, Ours]:
    """Return what finished runs say about the paper's cells.

    A run fills a cell if model, method, gamma, group size, benchmark and k are the cell's and it
    overrides no setting of its preset. An average needs all its benchmarks in the same run.

    Args:
        runs: finished runs, of any experiment.

    Returns:
        pass@k in percent, means over seeds. Under ``gamma``, the one of the sweep with the best
        average mathematics pass@1, where all three were run.

    Raises:
        UserError: two runs of the same cell and seed that differ otherwise.
    """
    found: dict[Cell, dict[int, float]] = {}
    for run in filter(fits, runs):
        for cell, value in _values(run).items():
            seeds = found.setdefault(cell, {})
            if seeds.setdefault(run.results.seed, value) != value:
                raise UserError(
                    f"{run.directory}: another run has the same preset, method, N, gamma and seed "
                    "and other values; name only one of them"
                )
    means = {
        cell: Ours(float(np.mean(list(seeds.values()))), len(seeds))
        for cell, seeds in found.items()
    }
    return means | _best_gammas(means)


def _values(run: Run) -> dict[Cell, float]:
    results = run.results
    model, benchmarks = _PRESETS[results.preset]
    exact: dict[tuple[str, int], bool] = {}
    values: dict[tuple[str, int], float] = {}
    for result in results.benchmarks:
        if result.stage != "final" or result.stratum is not None or result.name not in benchmarks:
            continue
        for k, value in result.pass_at_k.items():
            key = benchmarks[result.name], int(k)
            if not exact.get(key, False):  # an exact value stands before an estimate
                values[key], exact[key] = 100 * value, result.exact
    for name, parts in AVERAGES.items():
        for k in {k for _, k in values}:
            if all((part, k) in values for part in parts):
                values[name, k] = float(np.mean([values[part, k] for part in parts]))
    return {
        Cell(model, results.method, results.gamma, results.group_size, name, k): value
        for (name, k), value in values.items()
    }


def _best_gammas(means: Mapping[Cell, Ours]) -> dict[Cell, Ours]:
    out = {}
    for model in {cell.model for cell in means}:
        for _, method in PAIRS:
            sweep = [Cell(model, method, gamma, GROUP_SIZE, "avg_math", 1) for gamma in SWEEP]
            if all(cell in means for cell in sweep):
                best = max(sweep, key=lambda cell: means[cell].value)
                seeds = min(means[cell].seeds for cell in sweep)
                cell = Cell(model, method, None, GROUP_SIZE, "gamma", None)
                out[cell] = Ours(float(best.gamma or 0.0), seeds)
    return out
