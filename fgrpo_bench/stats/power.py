"""The smallest difference that a comparison could have found, and the words it deserves."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

Floats = NDArray[np.float64]
HIGHER, LOWER, UNCLEAR = "higher", "lower", "not enough evidence"


def detectable_effect(error: ArrayLike, level: float = 0.05, power: float = 0.8) -> Floats:
    """Return the true mean difference that a two-sided test finds with that power.

    (z_{1 - level/2} + z_power) times the standard error (Bloom 1995), under a normal mean.

    Args:
        error: standard error of the mean difference, any shape: ``standard_error`` of paired
            differences for new problems.
        level: significance level of the test.
        power: chance of a significant result.

    >>> round(float(detectable_effect(0.05)), 3)
    0.14
    """
    factor = norm.ppf(1 - level / 2) + norm.ppf(power)
    return factor * np.asarray(error, dtype=np.float64)


def paired_spread(first: ArrayLike, second: ArrayLike, correlation: ArrayLike) -> Floats:
    """Return the standard deviation of differences from that of the two sides.

    sqrt(a^2 + b^2 - 2 r a b), for when values per problem are not at hand.

    Args:
        first: standard deviation over problems of the first side, any shape.
        second: of the second; broadcasts.
        correlation: r between the two over problems, in [-1, 1].

    >>> float(paired_spread(3.0, 4.0, 0.0))
    5.0
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return np.sqrt(np.maximum(a**2 + b**2 - 2 * np.asarray(correlation) * a * b, 0.0))


def wording(difference: float, p: float, detectable: float, level: float = 0.05) -> str:
    """Say what a comparison shows: ``higher``, ``lower`` or ``not enough evidence``.

    A difference below the detectable effect is "not enough evidence" even where p is small: the
    comparison was too weak to find such an effect reliably, and what it finds by luck is
    exaggerated (Gelman and Carlin 2014). It is never "no difference".

    Args:
        difference: first minus second.
        p: p-value of the test, adjusted if it is one of a family; NaN if it could not be made.
        detectable: ``detectable_effect`` of the same test; NaN if it is not known.

    >>> wording(0.10, 0.01, 0.05), wording(0.04, 0.01, 0.05)
    ('higher', 'not enough evidence')
    """
    if p < level and abs(difference) >= detectable:
        return HIGHER if difference > 0 else LOWER
    return UNCLEAR
