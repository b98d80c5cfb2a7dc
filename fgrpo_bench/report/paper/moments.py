"""What a published pass@k curve says about the problems behind it.

With n = 1024 samples a problem, a benchmark's curve is the mean of v_k(c) = 1 - C(n-c, k)/C(n, k)
over some distribution of the correct count c in 0..n. Linear programming over all distributions
whose curve rounds to the published one gives the smallest and the largest value that any other mean
over problems can have: of squares, hence of the spread, and of the variance that sampling gives.

Weights may be any fractions, where P problems have multiples of 1/P: the true value always lies
within the bounds, and tighter ones may exist.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from fgrpo_bench.report.paper.published import ENDS, KS, ROUNDING
from fgrpo_bench.stats.pass_at_k import pass_at_k, success_variance

Floats = NDArray[np.float64]
SAMPLES = 1024
_TOLERANCE = 1e-7  # the solver's own
_ENTERING = 32


@dataclass(frozen=True)
class Range:
    """The smallest and the largest value that a quantity can have."""

    low: float
    high: float

    def scaled(self, factor: float) -> "Range":
        """Return both ends times a positive factor."""
        return Range(self.low * factor, self.high * factor)

    def root(self) -> "Range":
        """Return the square roots of both ends."""
        return Range(float(np.sqrt(self.low)), float(np.sqrt(self.high)))


@dataclass(frozen=True)
class Moments:
    """Bounds of what a curve leaves open, at k = 1 and 256.

    Attributes:
        beyond: how much more than rounding the curve would have to be off by to be possible at
            all, a fraction; 0 for a possible curve.
        variance: of pass@k over problems (population, divided by P).
        noise: mean over problems of the variance that sampling gives a problem's pass@k.
    """

    beyond: float
    variance: dict[int, Range]
    noise: dict[int, Range]


@cache
def _values() -> Floats:
    """Return v_k(c), [1025, K]."""
    return np.asarray(pass_at_k(SAMPLES, np.arange(SAMPLES + 1)[:, None], KS))


@cache
def _noises() -> Floats:
    """Return the variance of v_k at each count for k = 1 and 256, [1025, 2]."""
    return np.asarray(success_variance(SAMPLES, np.arange(SAMPLES + 1)[:, None], ENDS))


def moments(curve: Floats) -> Moments:
    """Bound spread and noise behind a curve that was rounded to 0.1 points.

    A curve that no distribution gives is taken to be off by what it needs and rounding once more.

    Args:
        curve: [K] published pass@k at the paper's nine k, fractions.

    Raises:
        ValueError: another shape.
    """
    data = np.asarray(curve, dtype=np.float64)
    if data.shape != (len(KS),):
        raise ValueError(f"a curve has {len(KS)} values")
    possible = _minimum(np.zeros(SAMPLES + 1), data, ROUNDING) is not None
    needed = 0.0 if possible else _needed(data)
    tolerance = ROUNDING if possible else needed + ROUNDING
    variance, noise = {}, {}
    for place, k in enumerate(ENDS):
        at = KS.index(k)
        # Var = E[(v - m)^2] - (E v - m)^2, and E v is within the tolerance of the published m.
        square = _bounds((_values()[:, at] - data[at]) ** 2, data, tolerance)
        variance[k] = Range(max(square.low - tolerance**2, 0.0), square.high)
        noise[k] = _bounds(_noises()[:, place], data, tolerance)
    return Moments(max(needed - ROUNDING, 0.0), variance, noise)


def _bounds(objective: Floats, curve: Floats, tolerance: float) -> Range:
    low, high = (_minimum(sign * objective, curve, tolerance) for sign in (1.0, -1.0))
    assert low is not None and high is not None  # noqa: PT018  the tolerance makes it possible
    return Range(max(low, 0.0), max(-high, 0.0))


def _minimum(objective: Floats, curve: Floats, tolerance: float) -> float | None:
    """Return a lower bound of the mean of an objective [1025], sharp to 1e-7 of its scale.

    Columns are generated: solve over a few counts, add those of negative reduced cost. The mean of
    anything is its value under the dual plus the mean of reduced costs, so adding their minimum
    makes the bound hold for all 1025 counts, whatever the solver's tolerance. None if no
    distribution fits.
    """
    scale = float(np.abs(objective).max()) or 1.0
    cost, columns = objective / scale, _start()
    rows = np.vstack([_values().T, -_values().T])
    limits = np.concatenate([curve + tolerance, tolerance - curve])
    while True:
        weight = np.ones((1, len(columns)))
        solved = linprog(cost[columns], rows[:, columns], limits, weight, [1.0], method="highs")
        if solved.status == 2 and len(columns) < len(cost):
            columns = np.arange(len(cost))
            continue
        if solved.status == 2:
            return None
        if solved.status != 0:
            raise RuntimeError(f"the linear program was not solved: {solved.message}")
        reduced = cost - rows.T @ solved.ineqlin.marginals - solved.eqlin.marginals[0]
        worst = np.argsort(reduced)[:_ENTERING]
        fresh = np.setdiff1d(worst[reduced[worst] < -_TOLERANCE], columns)
        if not fresh.size:
            return float(solved.fun + min(reduced.min(), 0.0)) * scale
        columns = np.union1d(columns, fresh)


def _start() -> NDArray[np.int64]:
    """Return counts that are dense where v_k bends most, near 0."""
    thin = np.geomspace(40, SAMPLES, 60).round().astype(np.int64)
    return np.unique(np.concatenate([np.arange(40), thin]))


def _needed(curve: Floats) -> float:
    """Return the smallest tolerance, for all k alike, within which the curve is possible."""
    values = _values()
    off = np.full((2 * len(KS), 1), -1.0)
    rows = np.hstack([np.vstack([values.T, -values.T]), off])
    cost = np.append(np.zeros(len(values)), 1.0)
    weight = np.append(np.ones(len(values)), 0.0)[None]
    solved = linprog(cost, rows, np.concatenate([curve, -curve]), weight, [1.0], method="highs")
    if solved.status != 0:
        raise RuntimeError(f"the linear program was not solved: {solved.message}")
    return float(solved.fun)
