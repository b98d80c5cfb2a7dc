"""Families of tests, detectable effects and the words for them."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower

from fgrpo_bench.stats.multiplicity import expected_false_positives, holm
from fgrpo_bench.stats.power import detectable_effect, paired_spread, wording


@pytest.mark.parametrize("tests", [1, 2, 7, 18, 162])
def test_holm_equals_statsmodels(tests):
    for seed in range(10):
        p = np.random.default_rng(seed).random(tests).round(2) ** 3  # with ties
        np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], atol=1e-15)


def test_holm_leaves_undefined_tests_out_of_the_family():
    adjusted = holm([[0.01, np.nan], [0.04, np.nan]])
    np.testing.assert_allclose(adjusted, [[0.02, np.nan], [0.04, np.nan]])
    assert np.isnan(holm([np.nan])).all()
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([1.5])


def test_expected_false_positives_of_the_paper():
    assert expected_false_positives(162) == pytest.approx(8.1)


def test_detectable_effect_has_its_power():
    effect = float(detectable_effect(0.3 / np.sqrt(90), level=0.05, power=0.8))
    # the same question asked the other way round; ratio=0 is its one-sample case
    power = NormalIndPower().power(effect / 0.3, nobs1=90, alpha=0.05, ratio=0)
    assert power == pytest.approx(0.8, abs=1e-4)


def test_spread_of_pairs_is_that_of_their_differences():
    rng = np.random.default_rng(0)
    a = rng.normal(0, 2, 1000)
    b = 0.5 * a + rng.normal(0, 1, 1000)
    r = np.corrcoef(a, b)[0, 1]
    ours = paired_spread(a.std(), b.std(), r)
    assert ours == pytest.approx((a - b).std(), rel=1e-12)
    assert paired_spread(0.3, 0.3, 1.0) == 0


def test_the_published_detectable_effect_of_aime_at_256():
    """Standard error 8.4 points, correlation .8: 14.9 points."""
    error = paired_spread(0.084, 0.084, 0.8)
    assert detectable_effect(error) == pytest.approx(0.149, abs=0.001)


@pytest.mark.parametrize(
    ("difference", "p", "detectable", "words"),
    [
        (0.1, 0.01, 0.05, "higher"),
        (-0.1, 0.01, 0.05, "lower"),
        (0.04, 0.01, 0.05, "not enough evidence"),
        (0.1, 0.2, 0.05, "not enough evidence"),
        (0.0, 1.0, 0.05, "not enough evidence"),
        (0.0, 1.0, 0.0, "not enough evidence"),
        (0.1, np.nan, 0.05, "not enough evidence"),
        (0.1, 0.01, np.nan, "not enough evidence"),
        (np.nan, 0.01, 0.05, "not enough evidence"),
    ],
)
def test_words(difference, p, detectable, words):
    assert wording(difference, p, detectable) == words
