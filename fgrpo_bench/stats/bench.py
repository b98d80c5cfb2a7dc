"""How fast the statistics are, beside the loops that they replace, and how exact.

Everything is on one thread and in seconds of its processor time; the two sides are timed in turns.
"""

from collections.abc import Callable
from fractions import Fraction
from math import comb
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgrpo_bench.rng import stream
from fgrpo_bench.stats.intervals import bootstrap_interval
from fgrpo_bench.stats.pass_at_k import pass_at_k
from fgrpo_bench.stats.subsampling import DRAWS, Subsampled, subsampling_draws, subsampling_test

Floats = NDArray[np.float64]
Tell = Callable[[str], None]
PROBLEMS, SAMPLES, LARGEST = 1400, 1024, 256
TESTED, RESAMPLES, FEW = 675, 10_000, 200
_PAIRS = 3
_CHECKED = (1, 2, 255, 256)


def measure_pass_at_k(tell: Tell) -> dict[str, Any]:
    """Time all k of all problems beside the loop over them, and compare with exact fractions."""
    c = _counts(PROBLEMS)
    ks = np.arange(1, LARGEST + 1)
    fast, slow = _in_turns(
        lambda: pass_at_k(SAMPLES, c[:, None], ks), lambda: _loop(c, ks), tell, "pass@k"
    )
    return {
        "problems": PROBLEMS,
        "n": SAMPLES,
        "largest_k": LARGEST,
        **_sides(fast, slow),
        "library_functions_seconds": _least_work(c),
        "relative_error": relative_error(c),
    }


def relative_error(c: NDArray[np.int64]) -> float:
    """Return the largest relative error against exact fractions at k = 1, 2, 255 and 256."""
    distinct = np.unique(c)
    ours, worst = pass_at_k(SAMPLES, distinct[:, None], _CHECKED), Fraction(0)
    for row, count in zip(ours.tolist(), distinct.tolist(), strict=True):
        for value, k in zip(row, _CHECKED, strict=True):
            exact = 1 - Fraction(comb(SAMPLES - count, k), comb(SAMPLES, k))
            error = abs(Fraction(value) - exact)
            worst = max(worst, error / exact if exact else error)
    return float(worst)


def measure_subsampling(k: int, tell: Tell) -> dict[str, Any]:
    """Time the exact m-out-of-n test beside hypergeometric draws, and compare their answers."""
    n, m = (SAMPLES, SAMPLES), LARGEST
    p = stream(0, "bench-stats", 1).beta(0.3, 0.6, TESTED)
    rng = stream(0, "bench-stats", 2)
    c = rng.binomial(SAMPLES, p), rng.binomial(SAMPLES, 0.98 * p)
    answers: list[Subsampled] = []
    fast, slow = _in_turns(
        lambda: subsampling_test(n, c, k, m),
        lambda: answers.append(subsampling_draws(n, c, k, rng, m)),
        tell,
        f"m-out-of-n test at k = {k}",
    )
    exact = subsampling_test(n, c, k, m)
    drawn = answers[-1].above
    error = np.sqrt(exact.above * (1 - exact.above) / DRAWS)
    return {
        "problems": TESTED,
        "k": k,
        "draws": DRAWS,
        **_sides(fast, slow),
        "exact": exact.above,
        "drawn": drawn,
        "standard_errors_apart": float(abs(drawn - exact.above) / error) if error else 0.0,
    }


def measure_bootstrap(tell: Tell) -> dict[str, Any]:
    """Time the bootstrap of a whole curve beside a loop over resamples, a few and scaled up."""
    values = pass_at_k(SAMPLES, _counts(PROBLEMS)[:, None], np.arange(1, LARGEST + 1))
    rng = stream(0, "bench-stats", 3)
    fast, slow = _in_turns(
        lambda: bootstrap_interval(values, rng, draws=RESAMPLES),
        lambda: [values[rng.integers(PROBLEMS, size=PROBLEMS)].mean(axis=0) for _ in range(FEW)],
        tell,
        f"bootstrap (the loop {FEW} of {RESAMPLES:,} resamples)",
    )
    scaled = [seconds * RESAMPLES / FEW for seconds in slow]
    product = 2 * RESAMPLES * PROBLEMS * LARGEST / median(fast)
    return {
        "problems": PROBLEMS,
        "resamples": RESAMPLES,
        "largest_k": LARGEST,
        **_sides(fast, scaled),
        "share_of_peak": product / _peak(),
    }


def _counts(problems: int) -> NDArray[np.int64]:
    counts = stream(0, "bench-stats").integers(0, SAMPLES + 1, problems)
    counts[:5] = 0, 1, 2, SAMPLES - 1, SAMPLES
    return counts


def _loop(c: NDArray[np.int64], ks: NDArray[np.int64]) -> Floats:
    """One problem and one k at a time, with the product form that most harnesses carry."""
    out = np.ones((len(c), len(ks)))
    for row, count in enumerate(c.tolist()):
        for column, k in enumerate(ks.tolist()):
            if SAMPLES - count >= k:
                terms = 1.0 - k / np.arange(SAMPLES - count + 1, SAMPLES + 1)
                out[row, column] = 1.0 - np.prod(terms)
    return out


def _least_work(c: NDArray[np.int64]) -> float:
    """Return the seconds that the logarithms and exponentials alone take, written in one sweep."""
    table = np.linspace(0.1, 0.9, len(np.unique(c)) * LARGEST)
    grid = -np.linspace(0.1, 9.0, len(c) * LARGEST)
    return min(_seconds(lambda: (np.log1p(-table), np.expm1(grid))) for _ in range(7))


def _peak() -> float:
    """Return the best rate of a square float64 matrix product in this process, FLOP/s."""
    a = stream(0, "bench-stats", 4).standard_normal((1024, 1024))
    return 2 * 1024**3 / min(_seconds(lambda: a @ a) for _ in range(7))


def _in_turns(
    fast: Callable[[], object], slow: Callable[[], object], tell: Tell, title: str
) -> tuple[list[float], list[float]]:
    """Time both sides in turns, after one of the fast side to warm up."""
    fast()
    pairs = []
    for index in range(_PAIRS):
        pairs.append((_seconds(fast), _seconds(slow)))
        one, two = pairs[-1]
        tell(f"{title}, pair {index + 1} of {_PAIRS}: {1000 * one:.1f} ms and {two:.2f} s")
    return [one for one, _ in pairs], [two for _, two in pairs]


def _seconds(run: Callable[[], object]) -> float:
    begun = process_time()
    run()
    return process_time() - begun


def _sides(fast: list[float], slow: list[float]) -> dict[str, Any]:
    ratios = [two / one for one, two in zip(fast, slow, strict=True)]
    return {
        "seconds": median(fast),
        "beside_seconds": median(slow),
        "speedup": {"median": median(ratios), "min": min(ratios), "max": max(ratios)},
    }
