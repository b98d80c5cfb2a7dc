"""Bounds from a curve: true values lie within, other solvers agree, impossible curves are named."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fgrpo_bench.report.paper.moments import SAMPLES, moments
from fgrpo_bench.report.paper.published import KS, ROUNDING
from fgrpo_bench.report.paper.retest import curve
from fgrpo_bench.rng import stream

# Written anew from factorials' definition, so that a wrong k or n in the module shows.
COUNTS = np.arange(1025)
FAILURES = np.ones((1025, 513))
for j in range(512):
    FAILURES[:, j + 1] = FAILURES[:, j] * np.maximum(1024 - COUNTS - j, 0) / (1024 - j)
VALUES = 1 - FAILURES[:, list(KS)]
NOISES = {k: FAILURES[:, k] ** 2 - FAILURES[:, 2 * k] for k in (1, 256)}
PLACE = {1: 0, 256: 8}


def rounded(counts: np.ndarray) -> np.ndarray:
    return VALUES[counts].mean(axis=0).round(3)


def draws() -> list[np.ndarray]:
    """Correct counts of problems of several kinds: easy, hard, mixed, with unsolvable ones."""
    shapes = [(30, 0.2, 1.5, 0.3), (40, 0.5, 0.5, 0.0), (500, 2.0, 0.6, 0.05), (198, 0.3, 2.0, 0.1)]
    out = []
    for problems, a, b, dead in shapes:
        for repeat in range(3):
            rng = stream(repeat, "moments", problems)
            p = rng.beta(a, b, problems) * (rng.random(problems) >= dead)
            out.append(rng.binomial(1024, p))
    return out


@pytest.mark.parametrize("counts", draws(), ids=lambda counts: str(len(counts)))
def test_the_truth_lies_within_the_bounds(counts):
    found = moments(rounded(counts))
    assert found.beyond == 0
    for k, place in PLACE.items():
        variance, noise = VALUES[counts, place].var(), NOISES[k][counts].mean()
        assert found.variance[k].low - 1e-9 <= variance <= found.variance[k].high + 1e-9
        assert found.noise[k].low - 1e-9 <= noise <= found.noise[k].high + 1e-9
    assert found.variance[1].high < 1.2 * found.variance[1].low, "pass@1 is nearly known"


@pytest.mark.parametrize("index", [1, 4, 8])
def test_a_plain_program_over_all_counts_finds_the_same_bounds(index):
    values = rounded(draws()[index])
    found = moments(values)
    rows, limits = np.vstack([VALUES.T, -VALUES.T]), np.r_[values + 5e-4, 5e-4 - values]
    for k, place in PLACE.items():
        square = (VALUES[:, place] - values[place]) ** 2
        for cost, ends in ((square, found.variance[k]), (NOISES[k], found.noise[k])):
            for sign, end in ((1, ends.low), (-1, ends.high)):
                scaled = cost / cost.max()
                solved = linprog(
                    sign * scaled, rows, limits, np.ones((1, 1025)), [1], method="highs-ipm"
                )
                assert end == pytest.approx(sign * solved.fun * cost.max(), abs=2e-6)


def test_all_or_nothing_is_known_exactly():
    """A flat curve: every problem is solved always or never."""
    found = moments(np.full(9, 0.4))
    for k in PLACE:
        assert found.variance[k].low == pytest.approx(0.24, abs=2e-3)
        assert found.variance[k].high == pytest.approx(0.24, abs=2e-3)
    # rounding lets the curve rise by 0.1 points: a hundredth of the problems can be that noisy
    assert found.noise[256].high < 1e-3
    assert found.noise[1].high < 1e-6
    assert found.noise[1].low == pytest.approx(0, abs=1e-9)


def test_bounds_are_as_wide_as_the_data_leave_them():
    """The curve of one difficulty can be that of many: both ends are reached by some problems."""
    counts = np.full(100, 4)
    found = moments(rounded(counts))
    assert found.variance[1].low == pytest.approx(0, abs=1e-5)
    assert found.noise[1].high >= NOISES[1][4]
    assert found.variance[256].low < 1e-4
    assert found.variance[256].high > 1e-3


def test_an_impossible_curve_says_by_how_much():
    good = rounded(draws()[4])
    bad = good.copy()
    bad[3] += 0.01
    found = moments(bad)
    assert found.beyond == pytest.approx(_needed(VALUES, bad) - ROUNDING, abs=1e-7)
    assert 0.0005 < found.beyond < 0.0045, "one point, of which rounding and other values take some"
    assert found.variance[1].low <= VALUES[draws()[4], 0].var() <= found.variance[1].high
    assert moments(good).beyond == 0
    falling = np.array([0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.8, 0.9])
    assert moments(falling).beyond == pytest.approx(0.05 - ROUNDING, abs=1e-3)


def test_published_curves_that_no_samples_can_give(published, known):
    impossible = {key for key, found in known.items() if found.beyond > 0}
    assert len(known) == 162
    assert len(impossible) == 9
    key = ("Llama-3.2-3B-Instruct", "grpo", "gpqa_diamond")
    assert known[key].beyond == pytest.approx(0.00179, abs=2e-5)
    values = curve(published, *key)
    continuous = np.r_[0, np.geomspace(1e-6, 1, 3000)]
    rows = 1 - (1 - continuous[:, None]) ** np.array(KS)
    worst = _needed(rows, values)
    assert worst >= known[key].beyond + ROUNDING, "nor can success rates as such"


def _needed(rows: np.ndarray, values: np.ndarray) -> float:
    matrix = np.hstack([np.vstack([rows.T, -rows.T]), -np.ones((18, 1))])
    weights = np.append(np.ones(len(rows)), 0)[None]
    cost = np.append(np.zeros(len(rows)), 1)
    return float(linprog(cost, matrix, np.r_[values, -values], weights, [1]).fun)


def test_another_number_of_k_is_refused():
    with pytest.raises(ValueError, match="a curve has 9 values"):
        moments(np.full(8, 0.5))
    assert SAMPLES == 1024
