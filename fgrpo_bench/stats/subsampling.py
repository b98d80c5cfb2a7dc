"""The F-GRPO paper's own test (arXiv 2602.06717, appendix Q): m-out-of-n subsampling.

Each draw takes m of every problem's n samples without replacement for both models, computes pass@k
from them and the difference of the means over problems; two-sided p = 2 min(P(d <= 0), P(d >= 0)).
The spread of d is that of m samples and not of n, so at k = m it is some three times too wide for
the noise of samples, and neither problems nor training runs are varied: it answers none of the
three questions of ``significance`` and stands beside them under its own name.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from fgrpo_bench.stats.pass_at_k import pass_at_k

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
DRAWS = 50_000
_NEGLIGIBLE = 40.0  # e^-40 is below the rounding of sums of probabilities


@dataclass(frozen=True)
class Subsampled:
    """What subsampling says of a difference.

    Attributes:
        p: two-sided p-value, at most 1.
        below: P(d <= 0).
        above: P(d >= 0).
    """

    p: float
    below: float
    above: float


def subsampling_test(
    n: tuple[int, int], c: tuple[Counts, Counts], k: int, m: int = 256
) -> Subsampled:
    """Return the paper's test exactly, for k = 1 and k = m, by a Fourier transform.

    There the sum over problems lives on a lattice: it counts right samples at k = 1, and problems
    solved at k = m. Its law is the inverse transform of the product of the problems'
    characteristic functions. A hypergeometric count is a sum of independent coins (Vatutin and
    Mikhailov 1982), so at frequency w that product is at most exp(-2 var sin^2(w/2)), and
    frequencies where this is below e^-40 are left out.

    Args:
        n: samples of each problem, of the first and the second model.
        c: [P] correct ones.
        k: 1 or m.
        m: size of the subsample.

    Raises:
        ValueError: another k, m > n, or impossible counts.
    """
    if k not in (1, m):
        raise ValueError("exact for k = 1 and k = m alone: take subsampling_draws")
    _check(n, c, m)
    first, second = (_per_problem(*side, k, m) for side in zip(n, c, strict=True))
    law, zero = _lattice_law(first, second)
    return _both_ways(float(law[: zero + 1].sum()), float(law[zero:].sum()))


def subsampling_draws(
    n: tuple[int, int],
    c: tuple[Counts, Counts],
    k: int,
    rng: np.random.Generator,
    m: int = 256,
    draws: int = DRAWS,
) -> Subsampled:
    """Return the paper's test for any k <= m by drawing how many right samples are taken.

    The count among m of n samples is hypergeometric, so no sample need be touched. Arguments and
    errors are those of ``subsampling_test``; ``draws`` is 50,000 in the paper.
    """
    _check(n, c, m)
    if not 1 <= k <= m:
        raise ValueError("k must be in [1, m]")
    estimate = pass_at_k(m, np.arange(m + 1), k)
    difference = np.zeros(draws)
    for samples, correct, sign in ((n[0], c[0], 1), (n[1], c[1], -1)):
        for count in correct.tolist():
            taken = rng.hypergeometric(count, samples - count, m, size=draws)
            difference += sign * estimate[taken]
    tie = 1e-9  # of sums of P values; distinct differences are far larger at k = 1 and k = m
    return _both_ways(float((difference <= tie).mean()), float((difference >= -tie).mean()))


def _per_problem(n: int, c: Counts, k: int, m: int) -> tuple[Floats, Counts]:
    """Return the laws of each distinct problem's part, [D, L], and how many problems have it."""
    distinct, counts = np.unique(c, return_counts=True)
    if k == 1:
        laws = _hypergeometric(n, distinct, m)
    else:
        solved = pass_at_k(n, distinct, m)
        laws = np.stack([1 - solved, solved], axis=1)
    return laws, counts


def _hypergeometric(n: int, c: Counts, m: int) -> Floats:
    """Return C(c, x) C(n-c, m-x) / C(n, m) for x = 0..m, [D, m+1].

    By a table of log-factorials: to 1e-12, in a tenth of the time of the library's pmf.
    """
    factorial = gammaln(np.arange(n + 1) + 1.0)

    def log_choose(a: Counts, b: Counts) -> Floats:
        possible = (b >= 0) & (b <= a)
        b = np.where(possible, b, 0)
        return np.where(possible, factorial[a] - factorial[b] - factorial[a - b], -np.inf)

    taken, right = np.arange(m + 1), c[:, None]
    whole = factorial[n] - factorial[m] - factorial[n - m]
    return np.exp(log_choose(right, taken) + log_choose(n - right, m - taken) - whole)


def _lattice_law(first: tuple[Floats, Counts], second: tuple[Floats, Counts]) -> tuple[Floats, int]:
    """Return the probabilities of first minus second, and where in them 0 lies."""
    steps = np.arange(first[0].shape[1])
    variance = 0.0
    for laws, counts in (first, second):
        mean = laws @ steps
        variance += float(counts @ (laws @ steps**2 - mean**2))
    reach = len(steps) - 1
    down, up = reach * int(second[1].sum()), reach * int(first[1].sum())
    size = down + up + 1
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size
    angles = angles[2 * variance * np.sin(angles / 2) ** 2 <= _NEGLIGIBLE]
    transform = np.ones(len(angles), dtype=np.complex128)
    for (laws, counts), sign in ((first, -1), (second, 1)):
        waves = np.exp(1j * sign * angles[:, None] * steps)
        transform *= np.prod((waves @ laws.T) ** counts, axis=1)
    transform *= np.exp(-1j * angles * down)  # so that the lowest value, -down, is at place 0
    return np.fft.irfft(transform, size), down


def _both_ways(below: float, above: float) -> Subsampled:
    below, above = (min(max(value, 0.0), 1.0) for value in (below, above))
    return Subsampled(min(2 * min(below, above), 1.0), below, above)


def _check(n: tuple[int, int], c: tuple[Counts, Counts], m: int) -> None:
    if len(c[0]) != len(c[1]) or not len(c[0]):
        raise ValueError("both models need the same problems, at least one")
    for samples, correct in zip(n, c, strict=True):
        if not 1 <= m <= samples:
            raise ValueError(f"m must be in [1, n], and {m} of {samples} cannot be drawn")
        if (correct < 0).any() or (correct > samples).any():
            raise ValueError("counts must be 0 <= c <= n")
