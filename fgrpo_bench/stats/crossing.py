"""At which k one method overtakes the other, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fgrpo_bench.stats.intervals import bootstrap_means

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Crossing:
    """Where the difference first changes its sign.

    Attributes:
        k: sample count, between two measured ones; NaN if there is no change.
        low: lower end of the interval over problems; NaN if no resample changes the sign, and
            with one problem.
        high: upper end; infinite if too many resamples do not change the sign at all.
        share: share of resamples in which the sign changes.
    """

    k: float
    low: float
    high: float
    share: float


def crossing(
    differences: Floats,
    ks: Sequence[int],
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = 10_000,
) -> Crossing:
    """Return the k at which the mean difference crosses zero, with a bootstrap interval.

    Problems are resampled (Efron 1979); a resample that never crosses counts as crossing beyond
    the largest k. Between two measured k the difference is taken as straight in log k.

    Args:
        differences: [P, K] first minus second, per problem; no NaN.
        ks: K increasing sample counts.
        rng: source of the resamples.
        level: coverage, in (0, 1).
        draws: resamples.

    Raises:
        ValueError: NaN, or ks that do not increase.
    """
    data = np.asarray(differences, dtype=np.float64)
    if np.isnan(data).any() or (np.diff(ks) <= 0).any() or len(ks) != data.shape[1]:
        raise ValueError("differences must be [P, K] without NaN, ks must increase")
    point = float(first_crossing(data.mean(axis=0)[None], ks)[0])
    found = first_crossing(bootstrap_means(data, rng, draws), ks)
    share = float(np.isfinite(found).mean())
    # inverted_cdf: an interpolation between a number and infinity would be infinite or NaN
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(found, ends, method="inverted_cdf").tolist()
    if share == 0 or len(data) == 1:  # one problem resampled is itself again
        low = high = np.nan
    return Crossing(point if np.isfinite(point) else np.nan, low, high, share)


def first_crossing(curves: Floats, ks: Sequence[int]) -> Floats:
    """Return the first k at which each of B curves [B, K] changes sign, infinite if none does.

    Zeros at the beginning have no sign yet; a zero later on is where the sign changes, if it does.
    """
    signs = np.sign(curves)
    opening = signs[np.arange(len(signs)), (signs != 0).argmax(axis=1)]
    opposite = signs == -opening[:, None]
    after = opposite.argmax(axis=1)
    crosses = opposite.any(axis=1) & (opening != 0)
    rows, after = np.flatnonzero(crosses), after[crosses]
    out = np.full(len(curves), np.inf)
    logs = np.log(np.asarray(ks, dtype=np.float64))
    before = curves[rows, after - 1]
    weight = before / (before - curves[rows, after])
    out[rows] = np.exp(logs[after - 1] + weight * (logs[after] - logs[after - 1]))
    return out
