"""Several tests at once: how many would have looked significant by chance."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def holm(p_values: ArrayLike) -> Floats:
    """Return p-values adjusted within one family by Holm's step-down rule (Holm 1979).

    Args:
        p_values: the family, any shape; NaN (a test that could not be made) stays and counts not.

    Raises:
        ValueError: outside [0, 1].

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    if ((raw < 0) | (raw > 1)).any():
        raise ValueError("p-values must be in [0, 1]")
    flat = raw.ravel()
    order = np.argsort(flat)  # NaN last
    made = int(np.isfinite(flat).sum())
    steps = flat[order[:made]] * np.arange(made, 0, -1)
    adjusted = np.full(flat.shape, np.nan)
    adjusted[order[:made]] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.reshape(raw.shape)


def expected_false_positives(tests: int, level: float = 0.05) -> float:
    """Return how many of so many tests come out below ``level`` if nothing differs anywhere.

    >>> expected_false_positives(162)
    8.1
    """
    return tests * level
