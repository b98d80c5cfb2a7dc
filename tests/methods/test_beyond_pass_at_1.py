"""Neighbours of F-GRPO, against sums over all k-subsets, closed forms and reference numbers."""

import itertools
import json
import math
import statistics

import numpy as np
import pytest

from fgrpo_bench.methods.advantages import Settings
from fgrpo_bench.methods.registry import METHODS

LOGP = np.array([[-0.2, -0.4, -0.6, -0.3, -0.5, -0.7, -0.9, -1.1]])


def of(name, correct, logp=None, **settings):
    correct = np.atleast_2d(correct).astype(bool)
    return METHODS[name].advantage(correct * 1.0, correct, Settings(**settings), logp).advantages


def first(hits, size=8):
    return np.arange(size) < hits


CASES = [(size, hits, k) for size in (4, 7) for hits in range(size + 1) for k in range(2, size + 1)]


@pytest.mark.parametrize(("size", "hits", "k"), CASES)
def test_pkpo_is_the_sum_over_all_k_subsets(size, hits, k):
    correct = first(hits, size)
    subsets = list(itertools.combinations(range(size), k))
    for i, value in enumerate(of("pkpo", correct, k=k)[0]):
        gains = [
            float(max(correct[list(one)])) - max(float(correct[j]) for j in one if j != i)
            for one in subsets
            if i in one
        ]
        assert value == pytest.approx(size * sum(gains) / len(subsets), abs=1e-12)


@pytest.mark.parametrize(("size", "hits", "k"), [*CASES, (4, 1, 1), (4, 3, 1)])
def test_passk_is_the_mean_over_the_k_subsets_with_the_rollout(size, hits, k):
    correct = first(hits, size)
    subsets = list(itertools.combinations(range(size), k))
    rewards = [float(max(correct[list(one)])) for one in subsets]
    mean, spread = statistics.fmean(rewards), statistics.pstdev(rewards)
    for i, value in enumerate(of("passk", correct, k=k, epsilon=1e-6)[0]):
        own = [
            (r - mean) / (spread + 1e-6)
            for one, r in zip(subsets, rewards, strict=True)
            if i in one
        ]
        assert value == pytest.approx(statistics.fmean(own), abs=1e-9)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.8])
@pytest.mark.parametrize("k", [2, 4, 8])
def test_pkpo_is_unbiased_for_the_gradient_of_pass_at_k(p, k):
    total = 0.0
    for hits in range(9):
        correct = first(hits)
        score = np.where(correct, 1 / p, -1 / (1 - p))  # d log pi / d p
        weight = math.comb(8, hits) * p**hits * (1 - p) ** (8 - hits)
        total += weight * (of("pkpo", correct, k=k)[0] * score).mean()
    assert total == pytest.approx(k * (1 - p) ** (k - 1), rel=1e-9)


@pytest.mark.parametrize("hits", [1, 3, 7])
def test_reference_data(reference_data, hits):
    reference = json.loads((reference_data / "spec/methods_reference.json").read_text())
    numbers = reference[f"N8_X{hits}"]
    for name, key, factor in (
        ("pkpo", "pkpo_sloo_minus_one_k4", 8),  # the reference is a sum over rollouts
        ("passk", "passk_train_k4", 1),
        ("w_reinforce", "w_reinforce_lam0.1", 1),
    ):
        values = of(name, first(hits), k=4, epsilon=1e-6)[0][[0, -1]]
        np.testing.assert_allclose(values, factor * np.array(numbers[key]), rtol=1e-9, atol=1e-12)
    for name, std, key in (
        ("ds_grpo", "sample", "ds_grpo_bessel"),
        ("ds_grpo", "population", "ds_grpo_population"),
        ("unlikeliness", "sample", "unlikeliness_adv_bessel"),
    ):
        values = of(name, first(3), LOGP, std=std, epsilon=1e-6)[0]
        np.testing.assert_allclose(values, reference[key], rtol=1e-9)
    alike = of("ds_grpo", first(8), LOGP)[0]
    assert sorted(alike) == pytest.approx(sorted(reference["ds_all_correct_adv"]), rel=1e-9)


def test_unlikely_answers_count_for_more():
    values = of("unlikeliness", first(3), LOGP, epsilon=1e-6)[0]
    # ranks 7, 5, 3 from the least likely: rewards .78125, .84375, .90625
    assert values[:3].tolist() == pytest.approx([1.061386, 1.204093, 1.346801], abs=1e-6)
    assert values[0] < values[1] < values[2]
    assert len(set(values[3:])) == 1
    smoothed, plain = of("ds_grpo", first(3), LOGP)[0], of("grpo", first(3))[0]
    np.testing.assert_allclose(smoothed - plain, [0.01, 0.02, 0.03, *(LOGP[0, 3:] * 0.05)])


def test_ties_rank_in_order_and_nothing_is_penalised_without_a_penalty():
    tied = of("unlikeliness", first(4), np.zeros((1, 8)))[0]
    assert (np.diff(tied[:4]) < 0).all()
    np.testing.assert_array_equal(
        of("unlikeliness", first(4), LOGP, rank_penalty=0.0), of("grpo", first(4))
    )


def test_weights_of_single_methods_are_settings():
    assert of("w_reinforce", first(1, 2), correct_weight=0.5).tolist() == [[0.5, -1.0]]
    changed = of("ds_grpo", first(1, 2), LOGP[:, :2], ds_correct=1.0, ds_wrong=2.0)
    np.testing.assert_allclose(changed - of("grpo", first(1, 2)), [[0.2, -0.8]])


@pytest.mark.parametrize(("name", "k"), [("pkpo", 1), ("pkpo", 9), ("passk", 9)])
def test_k_that_does_not_fit_is_an_error(name, k):
    with pytest.raises(ValueError, match=f"it is {k}"):
        of(name, first(3), k=k)
    with pytest.raises(ValueError, match=f"{name} needs k"):
        METHODS[name].check(8, Settings(k=k))


@pytest.mark.parametrize("name", [name for name, one in METHODS.items() if one.needs_logp])
def test_a_missing_log_probability_is_an_error(name):
    for logp in (None, LOGP[:, :4]):
        with pytest.raises(ValueError, match=f"{name} needs mean_logp"):
            of(name, first(3), logp)
