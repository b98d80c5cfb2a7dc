"""Means over strata, such as benchmarks, in which a large stratum does not drown a small one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def stratum_weights(problems: int, strata: Sequence[object] | None = None) -> Floats:
    """Return each problem's weight [P] in the mean over strata of their means; they sum to 1.

    Args:
        problems: number of problems P.
        strata: [P] label of each problem's stratum; None for one.

    >>> stratum_weights(3, ["a", "a", "b"]).tolist()
    [0.25, 0.25, 0.5]
    """
    if strata is None:
        return np.full(problems, 1 / problems)
    _, place, counts = np.unique(np.asarray(strata), return_inverse=True, return_counts=True)
    if len(place) != problems:
        raise ValueError("strata must name one stratum a problem")
    return 1 / (len(counts) * counts[place])


def standard_error(values: Floats, strata: Sequence[object] | None = None) -> Floats:
    """Return the standard error over problems of the mean over strata, [K] (Cochran 1977, ch. 5).

    Args:
        values: [P, K] per problem.
        strata: [P] as in ``stratum_weights``.

    Returns:
        Standard errors; NaN where a stratum has one problem alone.
    """
    data = np.asarray(values, dtype=np.float64)
    labels = np.zeros(len(data)) if strata is None else np.asarray(strata)
    parts = [data[labels == label] for label in np.unique(labels)]
    if min(map(len, parts)) < 2:
        return np.full(data.shape[1], np.nan)
    total = sum(part.var(axis=0, ddof=1) / len(part) for part in parts)
    return np.sqrt(total) / len(parts)
