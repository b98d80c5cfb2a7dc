"""pass@k and its neighbours: from known success probabilities, and unbiased from samples.

Everything is per problem; a benchmark's number is the mean over its problems.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Floats:
    """Return the unbiased estimate 1 - C(n-c, k) / C(n, k) of pass@k (arXiv 2107.03374, eq. 1).

    Args:
        n: samples of a problem.
        c: correct ones among them.
        k: how many of them are looked at. The three broadcast: c[:, None] and ks give [P, K].

    Returns:
        Estimates in the shape of the three together; NaN, and a warning, where k > n, since n
        samples say nothing about it.

    Raises:
        ValueError: no whole numbers, c outside [0, n], k below 1.

    >>> pass_at_k(4, 1, [1, 2, 4]).round(12).tolist()
    [0.25, 0.5, 1.0]
    """
    samples, correct, ks = _checked(n, c, k)
    return _defined(-np.expm1(log_failure(samples, correct, ks)), ks <= samples, "k > n")


def pass_hat_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Floats:
    """Return the unbiased estimate C(c, k) / C(n, k) of pass^k: all k are correct (2406.12045).

    Arguments, shapes and errors are those of ``pass_at_k``.

    >>> pass_hat_k(4, 2, [1, 2, 3]).round(3).tolist()
    [0.5, 0.167, 0.0]
    """
    samples, correct, ks = _checked(n, c, k)
    values = np.exp(log_failure(samples, samples - correct, ks))
    return _defined(values, ks <= samples, "k > n")


def avg_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Floats:
    """Return avg@k, the mean correctness of k samples: c / n whatever the k, NaN where k > n.

    Arguments, shapes and errors are those of ``pass_at_k``.
    """
    samples, correct, ks = _checked(n, c, k)
    return _defined(correct / samples + np.zeros(ks.shape), ks <= samples, "k > n")


def success_variance(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> Floats:
    """Return the unbiased estimate F_k^2 - F_2k of the variance of ``pass_at_k``.

    F_k = C(n-c, k) / C(n, k). Over the n samples E[F_k] = (1-p)^k and E[F_2k] = (1-p)^2k, so the
    difference of their means is Var[F_k]; C(n-c, 2k) needs n >= 2k. Arguments, shapes and errors
    are those of ``pass_at_k``.

    Returns:
        Variances; NaN, and a warning, where n < 2k.

    >>> success_variance(2, 1, 1).tolist()  # F_1 = 1/2, F_2 = 0
    0.25
    """
    samples, correct, ks = _checked(n, c, k)
    once, twice = log_failure(samples, correct, ks), log_failure(samples, correct, 2 * ks)
    with np.errstate(invalid="ignore"):  # -inf minus -inf, where F_k is 0
        values = np.exp(2 * once) * -np.expm1(twice - 2 * once)
    values = np.where(np.isneginf(once), 0.0, values)
    return _defined(values, 2 * ks <= samples, "n < 2k for the variance")


def exact_success_at_k(success: Floats, ks: Sequence[int]) -> Floats:
    """Return 1 - (1 - p)^k for every problem and k, [P, K].

    Args:
        success: [P] probability that one sample is correct.
        ks: K sample counts.

    >>> exact_success_at_k(np.array([0.5, 0.0]), [1, 3]).tolist()
    [[0.5, 0.875], [0.0, 0.0]]
    """
    with np.errstate(divide="ignore"):
        log_failure = np.log1p(-np.asarray(success, dtype=np.float64))
    return -np.expm1(np.asarray(ks) * log_failure[:, None])


def exact_pass_at_k(success: Floats, ks: Sequence[int]) -> Floats:
    """Return pass@k = mean over problems of 1 - (1 - p)^k, [K], for success rates [P]."""
    return exact_success_at_k(success, ks).mean(axis=0)


def ratio_to_first(curve: ArrayLike) -> Floats:
    """Return pass@k / pass@1 of a curve [K] whose first k is 1: how much more samples find.

    NaN where pass@1 is 0.

    >>> ratio_to_first([0.25, 0.5]).tolist()
    [1.0, 2.0]
    """
    values = np.asarray(curve, dtype=np.float64)
    return values / (values[0] if values[0] > 0 else np.nan)


def log_failure(n: Integers, c: Integers, k: Integers) -> Floats:
    """Return log C(n-c, k) / C(n, k), -inf where k > n - c; the three broadcast.

    It is the sum over j < k of log(1 - c / (n-j)): cumulative sums over the distinct pairs (n, c)
    give all k at once, to 1e-15 where differences of log-gamma lose ten digits. The ratio is
    symmetric in c and k, so the sum runs over whichever makes the smaller table.
    """
    by_c, by_k = _distinct(n, c), _distinct(n, k)
    rows, summed = (by_c, k) if len(by_c[0]) * k.max() <= len(by_k[0]) * c.max() else (by_k, c)
    samples, other, row = rows
    columns, column = np.unique(summed, return_inverse=True)
    left = np.maximum(samples[:, None] - np.arange(columns[-1]), 1)
    with np.errstate(divide="ignore"):
        terms = np.log1p(-np.minimum(other[:, None] / left, 1.0))
    table = np.zeros((len(samples), columns[-1] + 1))
    np.cumsum(terms, axis=1, out=table[:, 1:])
    return table[:, columns][row, column.reshape(summed.shape)]


def _distinct(n: Integers, other: Integers) -> tuple[Integers, Integers, NDArray[np.intp]]:
    """Return the distinct pairs, and which of them stands where."""
    base = int(max(n.max(), other.max())) + 1
    codes = n * base + other
    pairs, place = np.unique(codes, return_inverse=True)
    return pairs // base, pairs % base, place.reshape(codes.shape)


def _checked(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> tuple[Integers, Integers, Integers]:
    samples, correct, ks = (_whole(value, name) for value, name in ((n, "n"), (c, "c"), (k, "k")))
    if ((correct < 0) | (correct > samples)).any() or (samples < 1).any():
        raise ValueError("counts must be 0 <= c <= n with n >= 1")
    if (ks < 1).any():
        raise ValueError("k must be at least 1")
    return samples, correct, ks


def _whole(value: ArrayLike, name: str) -> Integers:
    numbers = np.asarray(value)
    if numbers.size == 0:
        raise ValueError(f"{name} is empty")
    with np.errstate(invalid="ignore"):
        whole = numbers.dtype.kind in "iub" or (np.mod(numbers, 1) == 0).all()
    if not whole:  # NaN and infinity are none either
        raise ValueError(f"{name} must be whole numbers")
    return numbers.astype(np.int64)


def _defined(values: Floats, defined: NDArray[np.bool_], reason: str) -> Floats:
    if not defined.all():
        warnings.warn(f"NaN where {reason}: the samples do not tell", stacklevel=3)
    return np.where(defined, values, np.nan)
