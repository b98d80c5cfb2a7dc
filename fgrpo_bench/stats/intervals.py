"""Intervals for a mean over problems: would another set of problems of this kind say the same?

All of them take values per problem [P, K], exact or estimated, so that their spread already holds
the sampling noise of estimates.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

Floats = NDArray[np.float64]
_CHUNK = 1 << 22  # resampled problems held at a time: 32 MB
_ROUNDING = 1e-12  # a spread below it is that of equal values whose mean was rounded


@dataclass(frozen=True)
class Interval:
    """A mean over problems and its bounds, each [K]; NaN where undefined."""

    mean: Floats
    low: Floats
    high: Floats


def mean_interval(values: Floats, level: float = 0.95) -> Interval:
    """Return the mean over problems with Student's interval (central limit theorem over problems).

    Where all values are 0, or all are 1, the spread is 0 and says nothing: there the interval is
    Wilson's. One problem gives no interval (NaN), except there. Bounds are cut to [0, 1].

    Args:
        values: [P, K] in [0, 1]; NaN spreads to its k alone.
        level: coverage, in (0, 1).

    >>> interval = mean_interval(np.array([[0.4], [0.5], [0.6]]))
    >>> [round(float(x[0]), 3) for x in (interval.low, interval.high)]
    [0.252, 0.748]
    """
    data = _per_problem(values)
    degrees = max(len(data) - 1, 1)
    return _with_width(data, float(t.ppf((1 + level) / 2, degrees)), level)


def bootstrap_interval(
    values: Floats, rng: np.random.Generator, level: float = 0.95, draws: int = 10_000
) -> Interval:
    """Return the mean over problems with the percentile interval of a bootstrap over problems.

    Resampling problems is enough (Efron 1979): resampling samples within them too changes nothing,
    since the values' spread over problems holds that noise already. Wilson's interval where all
    values are 0 or all are 1, as in ``mean_interval``.

    Args:
        values: [P, K] in [0, 1].
        rng: source of the resamples.
        level: coverage, in (0, 1).
        draws: resamples B.
    """
    data = _per_problem(values)
    means = bootstrap_means(data, rng, draws)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    mean = data.mean(axis=0)
    if len(data) == 1:
        low = high = np.full_like(mean, np.nan)
    return _at_the_boundary(data, Interval(mean, low, high), float(norm.ppf((1 + level) / 2)))


def bootstrap_means(values: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Return the mean over problems of each resample, [B, K], for values [P, K].

    How often a resample holds each problem is counted first: then all means are one product of
    matrices, B x P by P x K, instead of B gathers of P x K values.
    """
    data = np.asarray(values, dtype=np.float64)
    problems = len(data)
    out = np.empty((draws, data.shape[1]))
    rows = max(1, _CHUNK // problems)
    for start in range(0, draws, rows):
        stop = min(start + rows, draws)
        chosen = rng.integers(problems, size=(stop - start, problems), dtype=np.int32)
        chosen += (np.arange(stop - start, dtype=np.int32) * problems)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=chosen.size).reshape(chosen.shape)
        np.matmul(counts.astype(np.float64), data, out=out[start:stop])
    return out / problems


def simultaneous_band(
    values: Floats, rng: np.random.Generator, level: float = 0.95, draws: int = 10_000
) -> Interval:
    """Return the mean over problems with a sup-t band that holds for all k at once.

    mean +- q se, with q the ``level`` quantile of the largest |t| over k under the curves' own
    correlation (Montiel Olea and Plagborg-Moller 2019, the plug-in sup-t band), by Gaussian
    multipliers over problems with Student's tails for P - 1 degrees. With K = 1 it is
    ``mean_interval``. Columns with NaN have no band and do not widen the others.

    Args:
        values: [P, K] in [0, 1].
        rng: source of the multipliers.
        level: coverage of the whole curve, in (0, 1).
        draws: multiplier draws B.
    """
    data = _per_problem(values)
    problems = len(data)
    centred = data - data.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    moving = scale > _ROUNDING * np.sqrt(problems)  # False for NaN as well
    if problems == 1 or not moving.any():
        return mean_interval(data, level)
    standard = centred[:, moving] / scale[moving]
    largest = np.empty(draws)
    rows = max(1, _CHUNK // problems)
    for start in range(0, draws, rows):
        part = largest[start : start + rows]
        np.abs(rng.standard_normal((len(part), problems)) @ standard).max(axis=1, out=part)
    tails = np.sqrt(rng.chisquare(problems - 1, draws) / (problems - 1))
    return _with_width(data, float(np.quantile(largest / tails, level)), level)


def wilson(successes: Floats, trials: int, critical: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval of a proportion (Wilson 1927), which has width at 0 and 1 too.

    Args:
        successes: [K] counts in [0, trials].
        trials: number of trials.
        critical: normal quantile, 1.96 for 95%.

    >>> [round(float(x), 3) for x in wilson(np.array(0.0), 30, 1.96)]
    [0.0, 0.114]
    """
    share, weight = successes / trials, critical**2 / trials
    centre = (share + weight / 2) / (1 + weight)
    half = critical / (1 + weight) * np.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def difference_interval(differences: Floats, level: float = 0.95) -> Interval:
    """Return ``mean_interval`` for differences [P, K] in [-1, 1].

    Through (d + 1) / 2, so that Wilson's interval serves where all are -1 or all are 1; of
    identical runs, whose differences are all 0, the interval has width 0.
    """
    return _doubled(mean_interval(_halved(differences), level))


def difference_band(
    differences: Floats, rng: np.random.Generator, level: float = 0.95, draws: int = 10_000
) -> Interval:
    """Return ``simultaneous_band`` for differences [P, K], as in ``difference_interval``."""
    return _doubled(simultaneous_band(_halved(differences), rng, level, draws))


def _halved(differences: Floats) -> Floats:
    return (np.asarray(differences, dtype=np.float64) + 1) / 2


def _doubled(interval: Interval) -> Interval:
    return Interval(*(2 * part - 1 for part in (interval.mean, interval.low, interval.high)))


def _with_width(data: Floats, critical: float, level: float) -> Interval:
    """Return mean +- critical x standard error, and Wilson's interval at the boundary."""
    mean = data.mean(axis=0)
    if len(data) == 1:
        interval = Interval(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan))
        return _at_the_boundary(data, interval, float(norm.ppf((1 + level) / 2)))
    half = critical * data.std(axis=0, ddof=1) / np.sqrt(len(data))
    return _at_the_boundary(data, Interval(mean, mean - half, mean + half), critical)


def _at_the_boundary(data: Floats, interval: Interval, critical: float) -> Interval:
    constant = (data == 0).all(axis=0) | (data == 1).all(axis=0)
    low, high = wilson(data.sum(axis=0), len(data), critical)
    return Interval(
        interval.mean,
        np.where(constant, low, np.maximum(interval.low, 0.0)),
        np.where(constant, high, np.minimum(interval.high, 1.0)),
    )


def _per_problem(values: Floats) -> Floats:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 2 or not len(data):
        raise ValueError("values must be [P, K] with at least one problem")
    return data
