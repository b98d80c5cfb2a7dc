"""Intervals over problems against scipy, statsmodels, loops and their own coverage."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from fgrpo_bench.stats.intervals import (
    bootstrap_interval,
    bootstrap_means,
    difference_band,
    difference_interval,
    mean_interval,
    simultaneous_band,
    wilson,
)
from fgrpo_bench.stats.pass_at_k import exact_success_at_k

KS = [1, 2, 4, 8, 16, 32, 64]


def curves(problems, seed=0):
    p = np.random.default_rng(seed).beta(0.4, 1.5, problems)
    return exact_success_at_k(p, KS)


def test_mean_interval_is_students():
    values = curves(50)
    ours = mean_interval(values, 0.9)
    for column in range(len(KS)):
        theirs = stats.ttest_1samp(values[:, column], 0).confidence_interval(0.9)
        assert ours.low[column] == pytest.approx(theirs.low)
        assert ours.high[column] == pytest.approx(theirs.high)
        assert ours.mean[column] == pytest.approx(values[:, column].mean())


@pytest.mark.parametrize("solved", [0, 1, 7, 29, 30])
def test_wilson_equals_statsmodels(solved):
    low, high = wilson(np.array(float(solved)), 30, stats.norm.ppf(0.975))
    theirs = proportion_confint(solved, 30, method="wilson")
    assert (float(low), float(high)) == pytest.approx(theirs, abs=1e-12)


def test_the_boundary_has_width():
    for interval in (
        mean_interval(np.zeros((30, 1))),
        simultaneous_band(np.zeros((30, 1)), np.random.default_rng(0)),
        bootstrap_interval(np.zeros((30, 1)), np.random.default_rng(0)),
    ):
        assert interval.low[0] == 0
        assert 0.1 < interval.high[0] < 0.15
    ones = mean_interval(np.ones((30, 1)))
    assert ones.high[0] == 1
    assert 0.85 < ones.low[0] < 0.9


def test_bounds_stay_in_their_range():
    values = np.array([[0.0], [0.0], [0.9]])
    assert mean_interval(values).low[0] == 0
    assert difference_interval(np.array([[1.0], [1.0], [-0.9]])).high[0] == 1


def test_bootstrap_means_are_means_of_resamples():
    values = np.random.default_rng(0).random((23, 3))
    means = bootstrap_means(values, np.random.default_rng(5), 400)
    rng = np.random.default_rng(5)  # the same draws in the same order, one resample at a time
    naive = [values[rng.integers(23, size=23, dtype=np.int32)].mean(axis=0) for _ in range(400)]
    np.testing.assert_allclose(means, naive, rtol=1e-12)


def test_bootstrap_in_chunks_is_whole(monkeypatch):
    monkeypatch.setattr("fgrpo_bench.stats.intervals._CHUNK", 50)
    values = curves(20)
    means = bootstrap_means(values, np.random.default_rng(0), 3001)
    assert means.shape == (3001, len(KS))
    np.testing.assert_allclose(means.mean(axis=0), values.mean(axis=0), atol=0.01)
    error = values.std(axis=0) / np.sqrt(20)
    np.testing.assert_allclose(means.std(axis=0), error, rtol=0.06)


def test_bootstrap_interval_equals_scipys():
    values = curves(80)[:, :1]
    ours = bootstrap_interval(values, np.random.default_rng(0), draws=40_000)
    theirs = stats.bootstrap(
        (values[:, 0],), np.mean, n_resamples=40_000, method="percentile", rng=1
    ).confidence_interval
    assert ours.low[0] == pytest.approx(theirs.low, abs=0.002)
    assert ours.high[0] == pytest.approx(theirs.high, abs=0.002)


def test_band_of_one_k_is_the_interval():
    values = curves(40)[:, :1]
    band = simultaneous_band(values, np.random.default_rng(0), draws=200_000)
    assert band.high[0] == pytest.approx(mean_interval(values).high[0], abs=0.001)


def test_band_of_independent_columns_is_sidaks():
    values = np.random.default_rng(3).normal(0.5, 0.02, (2000, 10))
    band = simultaneous_band(values, np.random.default_rng(0), draws=100_000)
    sidak = stats.norm.ppf((1 + 0.95 ** (1 / 10)) / 2)
    error = values.std(axis=0, ddof=1) / np.sqrt(2000)
    np.testing.assert_allclose((band.high - band.mean) / error, sidak, rtol=0.03)


def test_band_is_wider_than_the_interval_and_holds_for_the_whole_curve():
    rng = np.random.default_rng(0)
    truth = exact_success_at_k(rng.beta(0.4, 1.5, 400_000), KS).mean(axis=0)
    held = pointwise = 0
    for seed in range(400):
        values = curves(60, seed + 1)
        band = simultaneous_band(values, rng, draws=2000)
        plain = mean_interval(values)
        assert (band.low <= plain.low + 1e-3).all()
        held += bool(((band.low <= truth) & (truth <= band.high)).all())
        pointwise += bool(((plain.low <= truth) & (truth <= plain.high)).all())
    assert 0.91 <= held / 400 <= 0.98
    assert pointwise < held


def test_undefined_columns_stay_alone():
    values = curves(30)
    values[3, 2] = np.nan
    keep = [0, 1, 3, 4, 5, 6]
    band = simultaneous_band(values, np.random.default_rng(0))
    without = simultaneous_band(values[:, keep], np.random.default_rng(0))
    assert np.isnan([band.low[2], band.high[2], band.mean[2]]).all()
    np.testing.assert_allclose(band.low[keep], without.low)
    assert np.isnan(mean_interval(values).low[2])
    assert np.isnan(bootstrap_interval(values, np.random.default_rng(0)).low[2])


def test_equal_values_do_not_widen_the_others():
    values = curves(30)
    values[:, 1::2] = 0.1 + 0.2  # the mean of equal values is off by rounding
    band = simultaneous_band(values, np.random.default_rng(0))
    without = simultaneous_band(values[:, ::2], np.random.default_rng(0))
    np.testing.assert_allclose(band.low[::2], without.low, rtol=1e-12)
    np.testing.assert_allclose(band.low[1::2], 0.3)


def test_one_problem_has_no_interval():
    for interval in (
        mean_interval(np.array([[0.4, 0.6]])),
        bootstrap_interval(np.array([[0.4, 0.6]]), np.random.default_rng(0)),
        simultaneous_band(np.array([[0.4, 0.6]]), np.random.default_rng(0)),
    ):
        np.testing.assert_allclose(interval.mean, [0.4, 0.6])
        assert np.isnan(interval.low).all()
        assert np.isnan(interval.high).all()


def test_differences():
    d = curves(30) - curves(30, seed=9)
    plain = difference_interval(d)
    for column in range(len(KS)):
        theirs = stats.ttest_1samp(d[:, column], 0).confidence_interval(0.95)
        assert plain.low[column] == pytest.approx(theirs.low)
    band = difference_band(d, np.random.default_rng(0))
    assert (band.high >= plain.high - 1e-3).all()
    same = difference_interval(np.zeros((30, 1)))
    assert (same.low[0], same.mean[0], same.high[0]) == (0, 0, 0)
    all_won = difference_interval(np.ones((30, 1)))
    assert 0.7 < all_won.low[0] < 0.8
    assert all_won.high[0] == 1


def test_no_problem_is_refused():
    with pytest.raises(ValueError, match="at least one problem"):
        mean_interval(np.zeros((0, 3)))
