"""The three questions against scipy, exhaustive enumeration and hand-made cases."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from fgrpo_bench.stats.pass_at_k import exact_success_at_k, pass_at_k
from fgrpo_bench.stats.significance import new_problems, new_runs, same_problems

RNG = np.random.default_rng


def exhaustive(differences, weights):
    """Two-sided sign-flip p-value of one column, by visiting every pattern in a loop."""
    observed = abs(sum(w * d for w, d in zip(weights, differences, strict=True)))
    patterns = list(product((1, -1), repeat=len(differences)))
    extreme = [
        abs(sum(s * w * d for s, w, d in zip(signs, weights, differences, strict=True)))
        >= observed - 1e-12
        for signs in patterns
    ]
    return sum(extreme) / len(patterns)


def test_q1_is_the_z_test_of_proportions_at_k_1():
    n, c = (40, 60), (np.array([7, 20, 40]), np.array([30, 33, 60]))
    rates = [count / size for count, size in zip(c, n, strict=True)]
    noise = [
        rate * (1 - rate) / (size - 1) for rate, size in zip(rates, n, strict=True)
    ]  # unbiased variance of a share
    z = (rates[0] - rates[1]).sum() / np.sqrt((noise[0] + noise[1]).sum())
    assert same_problems(n, c, [1])[0] == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_q1_weighs_strata_alike():
    n, c = (64, 64), (np.array([30, 5, 20]), np.array([20, 9, 12]))
    d, rate = (c[0] - c[1]) / 64, np.array(c) / 64
    noise = (rate * (1 - rate) / 63).sum(axis=0)
    z = (d[0] / 4 + d[1] / 4 + d[2] / 2) / np.sqrt(noise[0] / 16 + noise[1] / 16 + noise[2] / 4)
    p = same_problems(n, c, [1], ["a", "a", "b"])
    assert p[0] == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_q1_takes_unequal_samples_per_problem():
    n, c = np.array([8, 16, 32]), np.array([3, 4, 20])
    p = same_problems((n, n), (c, c[::-1] // 3), [1, 4, 8])
    assert np.isfinite(p[:2]).all()
    assert np.isnan(p[2])  # n = 8 gives no variance at k = 8


def test_q1_degenerate():
    n, zero, full = (16, 16), np.zeros(5, int), np.full(5, 16)
    assert same_problems(n, (zero, zero), [1])[0] == 1
    assert same_problems(n, (full, full), [8])[0] == 1
    assert np.isnan(same_problems(n, (zero, full), [1])[0])  # no noise to measure against
    assert same_problems(n, (zero, np.array([4, 0, 0, 0, 0])), [1])[0] < 0.1


@pytest.mark.parametrize("strata", [None, ["a"] * 3 + ["b"] * 7])
def test_q2_visits_all_patterns_of_few_problems(strata):
    d = RNG(0).normal(0.1, 0.2, (10, 3))
    d[4] = 0
    weights = np.full(10, 0.1) if strata is None else np.array([1 / 6] * 3 + [1 / 14] * 7)
    ours = new_problems(d, RNG(1), strata)
    for column in range(3):
        assert ours[column] == pytest.approx(exhaustive(d[:, column], weights))


def test_q2_equals_scipys_permutation_test():
    d = RNG(3).choice([-1.0, 0.0, 0.25, 1.0], size=(60, 1), p=[0.08, 0.6, 0.12, 0.2])
    theirs = stats.permutation_test(
        (d[:, 0],), np.mean, permutation_type="samples", n_resamples=40_000, rng=1
    )
    assert new_problems(d, RNG(0), draws=40_000)[0] == pytest.approx(theirs.pvalue, abs=0.006)


def test_q2_many_draws_agree_with_all_patterns(monkeypatch):
    d = RNG(4).normal(0.05, 0.2, (12, 2))
    exact = new_problems(d, RNG(0))
    monkeypatch.setattr("fgrpo_bench.stats.significance._ENUMERATED", 3)
    monkeypatch.setattr("fgrpo_bench.stats.significance._CHUNK", 12 * 1000)
    drawn = new_problems(d, RNG(0), draws=50_500)
    np.testing.assert_allclose(drawn, exact, atol=0.01)


def test_q2_strata_count_alike():
    d = np.concatenate([np.tile([0.1, -0.1], 250), np.full(8, -0.2)])[:, None]
    labels = ["large"] * 500 + ["small"] * 8
    assert new_problems(d, RNG(0), labels)[0] < 0.05
    assert new_problems(d, RNG(0))[0] > 0.2  # the large one drowns the small one


def test_q2_takes_exact_probabilities():
    p = RNG(5).beta(0.5, 0.5, 256)
    better = p + (1 - p) * 0.2
    d = exact_success_at_k(better, [1, 16]) - exact_success_at_k(p, [1, 16])
    assert (new_problems(d, RNG(0)) < 0.001).all()


def test_q2_never_is_zero_and_degenerate_input_has_answers():
    assert new_problems(np.ones((200, 1)), RNG(0), draws=999)[0] == pytest.approx(1 / 1000)
    assert new_problems(np.zeros((40, 1)), RNG(0))[0] == 1
    assert new_problems(np.zeros((4, 1)), RNG(0))[0] == 1
    assert new_problems(np.array([[0.7]]), RNG(0))[0] == 1  # one problem: either sign
    mixed = new_problems(np.array([[0.7, np.nan], [0.2, 0.1]]), RNG(0))
    assert np.isfinite(mixed[0])
    assert np.isnan(mixed[1])
    with pytest.raises(ValueError, match="at least one problem"):
        new_problems(np.zeros((0, 1)), RNG(0))


def test_q2_sign_does_not_matter():
    d = RNG(6).normal(0.1, 0.3, (11, 2))
    np.testing.assert_array_equal(new_problems(d, RNG(0)), new_problems(-d, RNG(0)))


def test_q3_is_welchs():
    a, b = RNG(0).normal(0.6, 0.02, (4, 2)), RNG(1).normal(0.63, 0.01, (3, 2))
    for column in range(2):
        t = (a[:, column].mean() - b[:, column].mean()) / np.sqrt(
            a[:, column].var(ddof=1) / 4 + b[:, column].var(ddof=1) / 3
        )
        u, v = a[:, column].var(ddof=1) / 4, b[:, column].var(ddof=1) / 3
        degrees = (u + v) ** 2 / (u**2 / 3 + v**2 / 2)
        assert new_runs(a, b)[column] == pytest.approx(2 * stats.t.sf(abs(t), degrees))


def test_q3_needs_three_runs_each():
    a, b = np.array([[0.5], [0.6], [0.7]]), np.array([[0.1], [0.2]])
    assert np.isnan(new_runs(a, b)[0])
    assert np.isnan(new_runs(b, a)[0])
    assert np.isfinite(new_runs(a, a)[0])


def test_q3_degenerate():
    same = np.full((3, 1), 0.5)
    assert new_runs(same, same)[0] == 1
    assert np.isnan(new_runs(same, same + 0.1)[0])
    assert np.isnan(new_runs(same, np.full((3, 1), np.nan))[0])
    with pytest.raises(ValueError, match=r"\[R, K\]"):
        new_runs(same, np.zeros((3, 2)))


def test_the_three_questions_differ():
    """Two policies that differ a lot, on few problems, in both directions."""
    n, shift = 1024, np.array([0.1] * 12 + [-0.1] * 8)
    c = tuple(RNG(9).binomial(n, rate) for rate in (np.full(20, 0.5), 0.5 + shift))
    d = pass_at_k(n, c[0][:, None], [1]) - pass_at_k(n, c[1][:, None], [1])
    assert same_problems((n, n), c, [1])[0] < 0.01
    assert new_problems(d, RNG(0))[0] > 0.1
