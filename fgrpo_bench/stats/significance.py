"""Is a difference of pass@k real? Three questions with three tests, kept apart.

Q1 ``same_problems``: do these two checkpoints differ on these problems (noise of samples alone)?
Q2 ``new_problems``: would it hold on other problems of this kind?
Q3 ``new_runs``: would it hold for another training run?
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, ttest_ind

from fgrpo_bench.stats.pass_at_k import pass_at_k, success_variance
from fgrpo_bench.stats.strata import stratum_weights

Floats = NDArray[np.float64]
FEWEST_RUNS = 3
_ENUMERATED = 13  # problems up to which all sign patterns are visited
_TIE = 1e-12  # relative: sums in another order are equal up to rounding
_CHUNK = 1 << 22


def same_problems(
    n: tuple[ArrayLike, ArrayLike],
    c: tuple[ArrayLike, ArrayLike],
    ks: Sequence[int],
    strata: Sequence[object] | None = None,
) -> Floats:
    """Return Q1's two-sided p-values [K]: a z test with the closed-form variances of samples.

    z = mean difference over problems / its standard error, from the ``success_variance`` of both:
    given the problems, the samples of the two runs are independent.

    Args:
        n: samples of each of P problems, of the first and of the second run, scalars or [P].
        c: correct ones, [P] each.
        ks: K sample counts.
        strata: [P] label of each problem's stratum, as in ``new_problems``.

    Returns:
        p-values; NaN where some n < 2k, or where no problem shows any noise in either run and yet
        they differ. 1 where they do not differ.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NaN is the answer
        parts = [
            (
                pass_at_k(_column(n_), _column(c_), ks),
                success_variance(_column(n_), _column(c_), ks),
            )
            for n_, c_ in zip(n, c, strict=True)
        ]
    (first, noise), (second, other_noise) = parts
    weights = stratum_weights(len(first), strata)[:, None]
    difference = (weights * (first - second)).sum(axis=0)
    return _normal_p(difference, (weights**2 * (noise + other_noise)).sum(axis=0))


def new_problems(
    differences: Floats,
    rng: np.random.Generator,
    strata: Sequence[object] | None = None,
    draws: int = 10_000,
) -> Floats:
    """Return Q2's two-sided p-values [K]: a sign-flip permutation test over problems.

    If a problem of this kind is as likely to favour one run as the other, by as much, the sign of
    its difference is a fair coin (Fisher 1935, section 21). The statistic is the mean over strata
    of their means, so that a large benchmark does not drown a small one. Up to 13 problems all
    sign patterns are visited; beyond that p = (1 + as extreme draws) / (1 + draws), which never
    is 0 (Phipson and Smyth 2010).

    Args:
        differences: [P, K] first minus second, per problem, exact or estimated.
        rng: source of the signs.
        strata: [P] label of each problem's stratum, such as its benchmark; None for one.
        draws: sign patterns drawn.

    Returns:
        p-values; 1 where all differences are 0, NaN where some are NaN.
    """
    data = np.asarray(differences, dtype=np.float64)
    if data.ndim != 2 or not len(data):
        raise ValueError("differences must be [P, K] with at least one problem")
    weighted = data * stratum_weights(len(data), strata)[:, None]
    observed = np.abs(weighted.sum(axis=0))
    bound = observed * (1 - _TIE)
    problems = len(data)
    if problems <= _ENUMERATED:
        signs = 1.0 - 2.0 * (np.arange(2**problems)[:, None] >> np.arange(problems) & 1)
        return _kept_nan((np.abs(signs @ weighted) >= bound).mean(axis=0), observed)
    extreme = np.zeros(data.shape[1])
    rows = max(1, _CHUNK // problems)
    for start in range(0, draws, rows):
        size = (min(rows, draws - start), problems)
        signs = rng.integers(2, size=size, dtype=np.int8) * 2.0 - 1.0
        extreme += (np.abs(signs @ weighted) >= bound).sum(axis=0)
    return _kept_nan((1 + extreme) / (1 + draws), observed)


def new_runs(first: Floats, second: Floats) -> Floats:
    """Return Q3's two-sided p-values [K]: Welch's t test between training runs.

    The runs are the unit, each with one value per k, its mean over problems; seeds of the two
    methods are not paired, since equal seeds do not make equal runs.

    Args:
        first: [R, K] pass@k of the first method's runs.
        second: [S, K] of the second's.

    Returns:
        p-values; NaN with fewer than 3 runs on either side, since two say almost nothing about
        their spread; 1 where all runs are equal, NaN where only the methods differ.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError("runs must be [R, K] and [S, K]")
    if min(len(a), len(b)) < FEWEST_RUNS:
        return np.full(a.shape[1], np.nan)
    constant = (a == a[0]).all(axis=0) & (b == b[0]).all(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without spread, answered below
        p = np.asarray(ttest_ind(a, b, axis=0, equal_var=False).pvalue, dtype=np.float64)
    return np.where(constant, np.where(a[0] == b[0], 1.0, np.nan), p)


def _normal_p(difference: Floats, variance: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * norm.sf(np.abs(difference) / np.sqrt(variance))
    noiseless = np.where(difference == 0, 1.0, np.nan)
    return np.where(variance > 0, p, np.where(np.isnan(variance), np.nan, noiseless))


def _kept_nan(p: Floats, observed: Floats) -> Floats:
    return np.where(np.isnan(observed), np.nan, np.where(observed == 0, 1.0, p))


def _column(counts: ArrayLike) -> NDArray[np.int64]:
    return np.asarray(counts)[..., None]
