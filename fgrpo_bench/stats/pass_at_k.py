"""pass@k: from known success probabilities, and unbiased from samples."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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


def unbiased_pass_at_k(correct: NDArray[np.int64], n: int, ks: Sequence[int]) -> Floats:
    """Return the mean over problems of ``unbiased_success_at_k``, [K]."""
    return unbiased_success_at_k(correct, n, ks).mean(axis=0)


def unbiased_success_at_k(correct: NDArray[np.int64], n: int, ks: Sequence[int]) -> Floats:
    """Return the unbiased estimate 1 - C(n-c, k) / C(n, k), [P, K] (arXiv 2107.03374, eq. 1).

    Args:
        correct: [P] correct samples c.
        n: samples per problem.
        ks: K sample counts; NaN where k > n, since n samples say nothing about it.
    """
    counts = np.asarray(correct)
    if ((counts < 0) | (counts > n)).any():
        raise ValueError(f"correct counts must be in [0, {n}]")
    # log C(n-c, k) / C(n, k) = sum over i in (n-c, n] of log(1 - k/i), as a table over c.
    out = np.full((len(counts), len(ks)), np.nan)
    largest_first = np.arange(n, 0, -1)
    for column, k in enumerate(ks):
        if k <= n:
            with np.errstate(divide="ignore"):
                log_ratio = np.log1p(-np.minimum(k / largest_first, 1.0))
            table = np.concatenate(([0.0], np.cumsum(log_ratio)))
            out[:, column] = -np.expm1(table[counts])
    return out
