"""Do the paper's tables agree with each other, and can its curves be what they say they are?"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fgrpo_bench.report.paper.published import (
    AVERAGES,
    CURVES,
    GROUP_SIZE,
    KS,
    MODELS,
    PAIRS,
    SWEEP,
    Cell,
    Numbers,
    Published,
    chosen_gamma,
)
from fgrpo_bench.report.paper.retest import Bounds

_EQUAL = 1e-9
_MEAN_OFF = 0.1  # half a unit of the last digit for the mean of rounded values, and for itself


@dataclass(frozen=True)
class Disagreement:
    """A place where two numbers do not fit; ``off`` is by how much, in points (or gamma)."""

    where: str
    text: str
    off: float


@dataclass(frozen=True)
class Check:
    """One comparison of tables.

    Attributes:
        name: what is compared.
        compared: how many numbers, or curves.
        disagreements: where it fails, the largest first.
    """

    name: str
    compared: int
    disagreements: tuple[Disagreement, ...]

    @property
    def largest(self) -> float:
        """The largest disagreement, 0 without one."""
        return max((item.off for item in self.disagreements), default=0.0)


def checks(published: Published, known: Bounds) -> list[Check]:
    """Return all checks.

    Args:
        published: all tables.
        known: what ``retest.bounds`` returned.
    """
    first, ten, six = (published[f"table{number}"] for number in (1, 10, 6))
    curves = {k: v for table in CURVES.values() for k, v in published[table].items()}
    return [
        _same("table 1 against tables 12-14 at k = 1 and 256", first, curves),
        _same("table 1 against table 6 at the chosen gamma", first, six),
        _same("table 1 (GRPO) against table 10 at N = 8", first, ten),
        *(_means(f"averages of table {n} are the means of its columns", published[f"table{n}"])
          for n in (1, 10, 11)),
        _rising(curves),
        _possible(known),
        _best_gamma(published),
    ]  # fmt: skip


def _check(name: str, found: Iterable[Disagreement | None]) -> Check:
    everything = list(found)
    wrong = [item for item in everything if item is not None]
    return Check(name, len(everything), tuple(sorted(wrong, key=lambda item: -item.off)))


def _same(name: str, left: Numbers, right: Numbers) -> Check:
    def one(cell: Cell) -> Disagreement | None:
        off = abs(left[cell] - right[cell])
        text = f"{left[cell]:.1f} against {right[cell]:.1f}"
        return Disagreement(place(cell), text, off) if off > _EQUAL else None

    return _check(name, [one(cell) for cell in left if cell in right])


def _means(name: str, table: Numbers) -> Check:
    def one(cell: Cell) -> Disagreement | None:
        parts = [table[cell._replace(benchmark=part)] for part in AVERAGES[cell.benchmark]]
        mean = float(np.mean(parts))
        off = abs(mean - table[cell])
        text = f"printed {table[cell]:.1f}, mean of the columns {mean:.2f}"
        return Disagreement(place(cell), text, off) if off > _MEAN_OFF + _EQUAL else None

    return _check(name, [one(cell) for cell in table if cell.benchmark in AVERAGES])


def _rising(curves: Numbers) -> Check:
    def one(first: Cell) -> Disagreement | None:
        values = [curves[first._replace(k=k)] for k in KS]
        fall = max(a - b for a, b in zip(values, values[1:], strict=False))
        return Disagreement(place(first), f"falls by {fall:.1f}", fall) if fall > _EQUAL else None

    return _check("curves rise with k", [one(cell) for cell in curves if cell.k == KS[0]])


def _possible(known: Bounds) -> Check:
    def one(key: tuple[str, str, str]) -> Disagreement | None:
        off = 100 * known[key].beyond
        text = f"needs {off:.3f} points more than rounding"
        return Disagreement(", ".join(key), text, off) if off > 0 else None

    return _check(
        "curves are possible for 1,024 samples a problem, within rounding", map(one, known)
    )


def _best_gamma(published: Published) -> Check:
    def one(model: str, method: str) -> Disagreement | None:
        scores = {
            gamma: published["table6"][Cell(model, method, gamma, GROUP_SIZE, "avg_math", 1)]
            for gamma in SWEEP
        }
        chosen, best = chosen_gamma(published, model, method), max(scores.values())
        off = best - scores[chosen]
        winners = " or ".join(f"{gamma:g}" for gamma in SWEEP if scores[gamma] == best)
        text = f"chosen {chosen:g} has {scores[chosen]:.1f}, gamma {winners} has {best:.1f}"
        return Disagreement(f"{model}, {method}", text, off) if off > _EQUAL else None

    pairs = [(model, focal) for model in MODELS for _, focal in PAIRS]
    return _check(
        "the chosen gamma has table 6's best average mathematics pass@1",
        [one(*pair) for pair in pairs],
    )


def place(cell: Cell) -> str:
    """Name a cell in words."""
    gamma = f" gamma {cell.gamma:g}" if cell.gamma else ""
    return f"{cell.model}, {cell.method}{gamma} N={cell.group_size}, {cell.benchmark} @{cell.k}"
