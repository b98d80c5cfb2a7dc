"""The paper's test against all subsets, exact fractions, scipy's laws and its own draws."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy import stats

from fgrpo_bench.stats.pass_at_k import pass_at_k
from fgrpo_bench.stats.subsampling import subsampling_draws, subsampling_test


def by_all_subsets(n, c, k, m):
    """P(d <= 0) and P(d >= 0) by visiting every subsample of every problem of both models."""
    laws = []
    for size, counts in zip(n, c, strict=True):
        for count in counts:
            taken = [sum(i < count for i in s) for s in combinations(range(size), m)]
            laws.append([1 - Fraction(comb(m - x, k), comb(m, k)) for x in taken])
    problems = len(c[0])
    below = above = total = 0
    for values in product(*laws):
        d = sum(values[:problems]) - sum(values[problems:])
        below, above, total = below + (d <= 0), above + (d >= 0), total + 1
    return below / total, above / total


@pytest.mark.parametrize("k", [1, 3])
def test_exact_equals_all_subsets(k):
    n, m = (5, 4), 3
    for c in (([1, 4], [2, 3]), ([0, 5], [4, 0]), ([2, 2], [0, 1])):
        c = tuple(np.array(side) for side in c)
        below, above = by_all_subsets(n, [side.tolist() for side in c], k, m)
        ours = subsampling_test(n, c, k, m)
        assert ours.below == pytest.approx(below, abs=1e-12)
        assert ours.above == pytest.approx(above, abs=1e-12)
        assert ours.p == pytest.approx(min(1, 2 * min(below, above)), abs=1e-12)


def test_exact_equals_a_convolution_at_k_m():
    rng, n, m = np.random.default_rng(0), 1024, 256
    c = tuple(np.minimum(rng.geometric(0.02, 60) - 1, n) for _ in range(2))
    law, other = np.ones(1), np.ones(1)
    for first, second in zip(*c, strict=True):
        p, q = pass_at_k(n, int(first), m), pass_at_k(n, int(second), m)
        law, other = np.convolve(law, [1 - p, p]), np.convolve(other, [1 - q, q])
    joint = np.outer(law, other)
    difference = np.subtract.outer(np.arange(61), np.arange(61))
    ours = subsampling_test((n, n), c, m, m)
    assert ours.below == pytest.approx(joint[difference <= 0].sum(), abs=1e-12)
    assert ours.above == pytest.approx(joint[difference >= 0].sum(), abs=1e-12)


def test_exact_equals_a_convolution_of_scipys_laws_at_k_1():
    rng, n, m = np.random.default_rng(1), (64, 80), 16
    c = rng.integers(0, 65, 12), rng.integers(0, 81, 12)
    laws = []
    for size, counts in zip(n, c, strict=True):
        law = np.ones(1)
        for count in counts:
            law = np.convolve(law, stats.hypergeom.pmf(np.arange(m + 1), size, count, m))
        laws.append(law)
    joint = np.outer(*laws)
    difference = np.subtract.outer(np.arange(joint.shape[0]), np.arange(joint.shape[1]))
    ours = subsampling_test(n, c, 1, m)
    assert ours.below == pytest.approx(joint[difference <= 0].sum(), abs=1e-10)
    assert ours.above == pytest.approx(joint[difference >= 0].sum(), abs=1e-10)


@pytest.mark.parametrize("k", [1, 256])
@pytest.mark.parametrize("problems", [30, 200])
def test_exact_and_drawn_agree_within_four_standard_errors(k, problems):
    rng, draws = np.random.default_rng(problems + k), 20_000
    p = rng.beta(0.15, 0.5, problems)
    c = rng.binomial(1024, p), rng.binomial(1024, np.clip(p * 0.98, 0, 1))
    exact = subsampling_test((1024, 1024), c, k)
    drawn = subsampling_draws((1024, 1024), c, k, rng, draws=draws)
    for name in ("below", "above"):
        truth = getattr(exact, name)
        error = np.sqrt(truth * (1 - truth) / draws)
        assert abs(getattr(drawn, name) - truth) <= 4 * error + 1 / draws


def test_drawn_equals_all_subsets_in_between():
    n, m, k, c = (5, 4), 3, 2, (np.array([1, 4]), np.array([2, 3]))
    below, above = by_all_subsets(n, [side.tolist() for side in c], k, m)
    drawn = subsampling_draws(n, c, k, np.random.default_rng(0), m, draws=40_000)
    assert drawn.below == pytest.approx(below, abs=0.01)
    assert drawn.above == pytest.approx(above, abs=0.01)


def test_ties_at_zero_count_for_both_sides():
    c = np.array([0, 1024, 0])
    for k in (1, 256):
        assert subsampling_test((1024, 1024), (c, c), k).p == 1
        drawn = subsampling_draws((1024, 1024), (c, c), k, np.random.default_rng(0), draws=100)
        assert (drawn.below, drawn.above, drawn.p) == (1, 1, 1)


def test_certain_differences():
    zero, full = np.zeros(3, int), np.full(3, 300)
    for k in (1, 256):
        ours = subsampling_test((300, 300), (full, zero), k)
        assert ours.below == pytest.approx(0, abs=1e-12)
        assert ours.above == pytest.approx(1, abs=1e-12)
        assert ours.p == pytest.approx(0, abs=1e-12)


def test_the_normal_approximation_would_be_wrong_here():
    """Ties at zero carry much of the law on 30 problems (the reason for the exact one)."""
    c = np.zeros(30, int), np.zeros(30, int)
    c[0][:3], c[1][:2] = [1, 2, 1], [1, 3]
    exact = subsampling_test((1024, 1024), c, 256)
    solved = [pass_at_k(1024, side, 256) for side in c]
    mean = solved[0].sum() - solved[1].sum()
    spread = np.sqrt(sum((side * (1 - side)).sum() for side in solved))
    normal = 2 * stats.norm.sf(abs(mean) / spread)
    assert exact.p == 1
    assert normal < 0.95


@pytest.mark.parametrize(
    ("n", "c", "k", "m", "message"),
    [
        ((8, 8), ([1], [1]), 2, 4, "subsampling_draws"),
        ((8, 3), ([1], [1]), 1, 4, "4 of 3"),
        ((8, 8), ([1], [1, 2]), 1, 4, "same problems"),
        ((8, 8), ([9], [1]), 1, 4, "0 <= c <= n"),
        ((8, 8), ([], []), 1, 4, "at least one"),
    ],
)
def test_impossible_input_is_refused(n, c, k, m, message):
    sides = tuple(np.array(side, dtype=np.int64) for side in c)
    with pytest.raises(ValueError, match=message):
        subsampling_test(n, sides, k, m)
