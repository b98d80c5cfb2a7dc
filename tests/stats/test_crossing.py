"""The crossing k against curves whose crossing is known."""

import numpy as np
import pytest

from fgrpo_bench.stats.crossing import crossing, first_crossing
from fgrpo_bench.stats.pass_at_k import exact_success_at_k

KS = [1, 2, 4, 8, 16]
RNG = np.random.default_rng


def test_first_sign_change_straight_in_log_k():
    curves = np.array(
        [
            [0.2, 0.1, -0.1, -0.2, -0.3],  # half way from 2 to 4
            [0.2, 0.1, 0.3, 0.2, 0.1],  # never
            [
                0.0,
                0.1,
                0.1,
                -0.3,
                0.1,
            ],  # from 4 to 8, a quarter of the way; twice, the first counts
            [0.2, 0.0, -0.1, 0.0, 0.0],  # at 2 exactly
            [0.0, 0.0, 0.0, 0.0, 0.0],  # no sign at all
            [-0.1, 0.0, -0.2, -0.1, 0.1],  # touches, goes back, then half way from 8 to 16
        ]
    )
    expected = [8**0.5, np.inf, 4 * 2**0.25, 2, np.inf, 128**0.5]
    np.testing.assert_allclose(first_crossing(curves, KS), expected)


def narrow_and_broad(problems, seed=None):
    """One method solves half of the problems surely, the other all of them at times."""
    sure = np.arange(problems) % 2 if seed is None else RNG(seed).random(problems) < 0.5
    narrow, broad = np.where(sure, 0.95, 0.0), np.full(problems, 0.2)
    return exact_success_at_k(narrow, KS) - exact_success_at_k(broad, KS)


def test_finds_a_known_crossing_with_an_interval_around_it():
    found = crossing(narrow_and_broad(400), KS, RNG(0), draws=4000)
    at_2, at_4 = 0.5 * (1 - 0.05**2) - (1 - 0.8**2), 0.5 * (1 - 0.05**4) - (1 - 0.8**4)
    assert found.k == pytest.approx(2 * 2 ** (at_2 / (at_2 - at_4)))
    assert 2 < found.low < found.k < found.high < 5
    assert found.share == 1


def test_fewer_problems_are_less_sure():
    few, many = (crossing(narrow_and_broad(p), KS, RNG(0), draws=4000) for p in (30, 3000))
    assert few.high - few.low > 3 * (many.high - many.low)


def test_the_interval_covers():
    truth = first_crossing(narrow_and_broad(200_000).mean(axis=0)[None], KS)[0]
    found = [crossing(narrow_and_broad(120, s), KS, RNG(s), draws=1000) for s in range(300)]
    covered = np.mean([f.low <= truth <= f.high for f in found])
    assert 0.91 <= covered <= 0.98


def test_no_crossing():
    d = np.full((20, 5), 0.1)
    found = crossing(d, KS, RNG(0))
    assert np.isnan([found.k, found.low, found.high]).all()
    assert found.share == 0
    same = crossing(np.zeros((20, 5)), KS, RNG(0))
    assert np.isnan(same.k)
    assert same.share == 0


def test_one_problem_has_no_interval():
    found = crossing(np.array([[0.2, 0.1, -0.1, -0.2, -0.3]]), KS, RNG(0))
    assert found.k == pytest.approx(8**0.5)
    assert np.isnan([found.low, found.high]).all()


def test_an_unsure_crossing_is_open_at_the_end():
    d = RNG(0).normal(0, 0.3, (20, 1)) * np.array([1, 1, 1, 1, -1]) + 0.12
    found = crossing(d, KS, RNG(1))
    assert 0 < found.share < 0.9
    assert found.high == np.inf


@pytest.mark.parametrize("ks", [[1, 2, 2, 4, 8], [1, 2, 4]])
def test_impossible_input_is_refused(ks):
    with pytest.raises(ValueError, match="must increase"):
        crossing(np.zeros((3, 5)), ks, RNG(0))
    with pytest.raises(ValueError, match="without NaN"):
        crossing(np.full((3, 5), np.nan), KS, RNG(0))
