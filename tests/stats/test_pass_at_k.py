"""pass@k against exact fractions and brute force over subsets."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgrpo_bench.stats.pass_at_k import (
    exact_pass_at_k,
    exact_success_at_k,
    unbiased_success_at_k,
)


def test_unbiased_equals_all_subsets():
    for n in range(1, 9):
        for c in range(n + 1):
            for k in range(1, n + 1):
                hits = [any(i < c for i in s) for s in combinations(range(n), k)]
                ours = unbiased_success_at_k(np.array([c]), n, [k])[0, 0]
                assert ours == pytest.approx(sum(hits) / len(hits), abs=1e-14)


@given(
    st.integers(1, 2048).flatmap(
        lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
    )
)
def test_unbiased_equals_exact_fractions(case):
    n, c, k = case
    exact = float(1 - Fraction(comb(n - c, k), comb(n, k)))
    ours = unbiased_success_at_k(np.array([c]), n, [k])[0, 0]
    assert ours == pytest.approx(exact, rel=1e-12, abs=1e-300)


def test_unbiased_is_unbiased():
    n, k, p = 9, 4, 0.3
    c = np.arange(n + 1)
    weight = np.array([comb(n, int(i)) * p**i * (1 - p) ** (n - i) for i in c])
    mean = weight @ unbiased_success_at_k(c, n, [k])[:, 0]
    assert mean == pytest.approx(1 - (1 - p) ** k, rel=1e-12)


def test_k_beyond_n_is_nan_never_a_number():
    out = unbiased_success_at_k(np.array([0, 3, 4]), 4, [4, 5])
    assert np.isnan(out[:, 1]).all()
    np.testing.assert_allclose(out[:, 0], [0, 1, 1])


@pytest.mark.parametrize("c", [-1, 5])
def test_impossible_counts_are_refused(c):
    with pytest.raises(ValueError, match=r"\[0, 4\]"):
        unbiased_success_at_k(np.array([c]), 4, [1])


@given(st.floats(0, 1), st.sampled_from([1, 2, 16, 2048, 10**6]))
def test_exact_equals_the_formula_in_fractions(p, k):
    ours = exact_success_at_k(np.array([p]), [k])[0, 0]
    assert 0 <= ours <= 1
    if k <= 16:
        assert ours == pytest.approx(float(1 - (1 - Fraction(p)) ** k), rel=1e-12, abs=1e-300)


def test_exact_keeps_tiny_probabilities():
    assert exact_success_at_k(np.array([1e-18]), [1000])[0, 0] == pytest.approx(1e-15, rel=1e-9)


def test_exact_pass_at_k_is_the_mean_over_problems():
    success = np.array([0.0, 0.5, 1.0])
    np.testing.assert_allclose(exact_pass_at_k(success, [1, 2]), [0.5, (0 + 0.75 + 1) / 3])
