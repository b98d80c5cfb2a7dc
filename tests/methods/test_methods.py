"""Focal weights, advantages and the registry, against reference numbers and naive loops."""

import json
import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fgrpo_bench.methods.advantages import Settings, active_groups, grpo
from fgrpo_bench.methods.focal import (
    empirical_success,
    focal_weight,
    mean_advantage_scale,
    mean_advantage_scale_of,
    running_success,
    shuffled,
    smoothed_success,
)
from fgrpo_bench.methods.registry import METHODS, get_method
from fgrpo_bench.methods.surrogates import Surrogate
from fgrpo_bench.rng import stream

FOCAL = {"fgrpo": "grpo", "fdapo": "dapo", "fcispo": "cispo"}

verdicts = st.tuples(st.integers(1, 12), st.integers(2, 16)).flatmap(
    lambda shape: arrays(np.bool_, shape)
)


def advantage(name, correct, **settings):
    return METHODS[name].advantage(
        correct.astype(np.float64),
        correct,
        Settings(**settings),
        mean_logp=-1.0 - np.arange(correct.size).reshape(correct.shape) / 10,
        rng=stream(0, "test"),
    )


KEYS = {
    "grpo_bessel_eps1e-6": ("grpo", {"epsilon": 1e-6}),
    "grpo_bessel_eps1e-4(TRL)": ("grpo", {}),
    "grpo_population_eps1e-6": ("grpo", {"epsilon": 1e-6, "std": "population"}),
    "fgrpo_gamma0.5": ("fgrpo", {"epsilon": 1e-6, "gamma": 0.5}),
    "fgrpo_gamma1": ("fgrpo", {"epsilon": 1e-6, "gamma": 1.0}),
    "drgrpo": ("dr_grpo", {}),
    "rloo": ("rloo", {}),
    "maxrl": ("maxrl", {}),
}

# Advantage of a correct and of a wrong rollout at N = 8, by X.
REFERENCE = {
    ("grpo_bessel_eps1e-6", 1): (2.474867, -0.353552),
    ("grpo_bessel_eps1e-6", 3): (1.207612, -0.724567),
    ("grpo_bessel_eps1e-6", 7): (0.353552, -2.474867),
    ("grpo_bessel_eps1e-4(TRL)", 1): (2.474174, -0.353453),
    ("grpo_bessel_eps1e-4(TRL)", 3): (1.207381, -0.724429),
    ("grpo_bessel_eps1e-4(TRL)", 7): (0.353453, -2.474174),
    ("grpo_population_eps1e-6", 1): (2.645743, -0.377963),
    ("grpo_population_eps1e-6", 3): (1.290992, -0.774595),
    ("fgrpo_gamma0.5", 1): (2.315026, -0.330718),
    ("fgrpo_gamma0.5", 3): (0.954701, -0.572821),
    ("fgrpo_gamma0.5", 7): (0.125000, -0.874998),
    ("fgrpo_gamma1", 1): (2.165508, -0.309358),
    ("fgrpo_gamma1", 3): (0.754758, -0.452855),
    ("fgrpo_gamma1", 7): (0.044194, -0.309358),
    ("drgrpo", 3): (0.625, -0.375),
    ("rloo", 1): (1.0, -0.142857),
    ("rloo", 3): (0.714286, -0.428571),
    ("rloo", 7): (0.142857, -1.0),
    ("maxrl", 1): (7.0, -1.0),
    ("maxrl", 3): (1.666667, -1.0),
    ("maxrl", 7): (0.142857, -1.0),
}


def ours(key: str, hits: int) -> np.ndarray:
    name, settings = KEYS[key]
    correct = np.arange(8)[None] < hits
    values = advantage(name, correct, **settings).advantages[0]
    np.testing.assert_array_equal(values[:hits], values[0])
    np.testing.assert_array_equal(values[hits:], values[-1])
    return values[[0, -1]]


@pytest.mark.parametrize(("key", "hits"), REFERENCE)
def test_reference_numbers(key, hits):
    np.testing.assert_allclose(ours(key, hits), REFERENCE[key, hits], atol=1e-6)


@pytest.mark.parametrize("hits", [1, 3, 7])
@pytest.mark.parametrize("key", KEYS)
def test_reference_data(reference_data, key, hits):
    reference = json.loads((reference_data / "spec/methods_reference.json").read_text())
    np.testing.assert_allclose(ours(key, hits), reference[f"N8_X{hits}"][key], rtol=1e-9)


@given(verdicts, st.sampled_from(["sample", "population"]), st.floats(1e-8, 1e-2))
def test_grpo_equals_a_loop_over_rollouts(correct, std, epsilon):
    advantages = grpo(correct.astype(np.float64), correct, Settings(std=std, epsilon=epsilon))
    for group, values in zip(correct.tolist(), advantages, strict=True):
        spread = (statistics.stdev if std == "sample" else statistics.pstdev)(map(float, group))
        for hit, value in zip(group, values, strict=True):
            expected = (hit - statistics.fmean(group)) / (spread + epsilon) if spread else 0.0
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-15)


@given(verdicts)
def test_rloo_equals_leaving_one_out(correct):
    values = advantage("rloo", correct).advantages
    for group, row in zip(correct.tolist(), values, strict=True):
        for i, value in enumerate(row):
            others = group[:i] + group[i + 1 :]
            expected = group[i] - statistics.fmean(others) if 0 < sum(group) < len(group) else 0
            assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("rloo", lambda p, n: 1.0),
        ("dr_grpo", lambda p, n: (n - 1) / n),
        ("maxrl", lambda p, n: (1 - (1 - p) ** (n - 1)) / p),
    ],
)
@pytest.mark.parametrize("p", [0.1, 0.3, 0.8])
def test_expected_gradient_of_a_bernoulli_policy(name, target, p):
    """Summed over every outcome: the factor on dp of mean_i A_i d log pi(y_i), in closed form."""
    n = 8
    total = 0.0
    for hits in range(n + 1):
        correct = (np.arange(n) < hits)[None]
        values = advantage(name, correct).advantages[0]
        score = np.where(correct[0], 1 / p, -1 / (1 - p))  # d log pi / d p
        total += math.comb(n, hits) * p**hits * (1 - p) ** (n - hits) * (values * score).mean()
    assert total == pytest.approx(target(p, n), rel=1e-9)


def test_mean_advantage_scale_is_the_integral():
    grid = (np.arange(200_000) + 0.5) / 200_000
    for gamma in (0.0, 0.5, 1.0, 2.0, 3.7):
        closed = mean_advantage_scale(gamma)
        assert closed == pytest.approx(mean_advantage_scale_of(grid, gamma), rel=1e-6)
    assert mean_advantage_scale(0.0) == pytest.approx(1)
    assert mean_advantage_scale(0.5) == pytest.approx(0.679, abs=5e-4)  # the paper's low-LR control


def test_mean_advantage_scale_of_given_rates_by_hand():
    rates = np.array([0.0, 0.25, 0.5, 1.0])
    a, b = math.sqrt(3) / 4, 1 / 2
    assert mean_advantage_scale_of(rates, 1.0) == pytest.approx((0.75 * a + 0.5 * b) / (a + b))
    assert math.isnan(mean_advantage_scale_of(np.array([0.0, 1.0]), 1.0))
    with pytest.raises(ValueError, match="gamma"):
        mean_advantage_scale(-1.0)


@given(verdicts, st.floats(0, 4))
def test_focal_weight_is_the_formula(correct, gamma):
    weights = focal_weight(empirical_success(correct), gamma)
    for group, weight in zip(correct.tolist(), weights, strict=True):
        failure = float(1 - Fraction(sum(group), len(group)))
        assert weight == pytest.approx(math.pow(failure, gamma), rel=1e-12)
        assert 0 <= weight <= 1


@given(verdicts, st.floats(0, 3), st.sampled_from(sorted(FOCAL)))
def test_focal_method_scales_its_base_by_one_number_per_group(correct, gamma, name):
    focal, base = advantage(name, correct, gamma=gamma), advantage(FOCAL[name], correct)
    np.testing.assert_array_equal(focal.advantages, base.advantages * focal.weights[:, None])
    np.testing.assert_allclose(focal.advantages.sum(axis=1), 0, atol=1e-9)
    assert METHODS[name].surrogate == METHODS[FOCAL[name]].surrogate


@given(st.integers(2, 64), st.floats(0.01, 4))
def test_easier_groups_count_for_less(group_size, gamma):
    rates = np.arange(group_size + 1) / group_size
    assert (np.diff(focal_weight(rates, gamma)) < 0).all()


@given(verdicts)
def test_gamma_zero_is_bit_identical(correct):
    for focal, base in (*FOCAL.items(), ("shuffled-focal", "grpo")):
        zero = advantage(focal, correct, gamma=0.0).advantages
        assert zero.tobytes() == advantage(base, correct).advantages.tobytes()


@given(verdicts)
def test_homogeneous_groups_get_exactly_zero_where_the_method_says_so(correct):
    correct = correct.copy()
    correct[0] = correct[0, 0]
    for name, method in METHODS.items():
        values = advantage(name, correct, gamma=0.7, k=2).advantages[0]
        assert values.any() == method.every_group


@given(verdicts, st.floats(0.1, 3))
def test_shuffled_weights_are_a_permutation_of_the_active_ones(correct, gamma):
    weights = focal_weight(empirical_success(correct), gamma)
    active = active_groups(correct)
    mixed = shuffled(weights, active, stream(0, "test"))
    assert sorted(mixed[active]) == sorted(weights[active])
    np.testing.assert_array_equal(mixed[~active], weights[~active])


def test_shuffling_is_uniform_and_really_moves_weights():
    weights, active = np.array([0.1, 0.2, 0.3, 1.0]), np.array([True, True, True, False])
    rng = stream(0, "test")
    seen = [tuple(shuffled(weights, active, rng)[:3]) for _ in range(6000)]
    counts = [seen.count(order) for order in set(seen)]
    assert len(counts) == 6
    assert max(abs(c - 1000) for c in counts) < 5 * math.sqrt(6000 * 5 / 36)


def test_shuffled_focal_without_rng_is_an_error():
    correct = np.array([[True, False]])
    with pytest.raises(ValueError, match="needs rng"):
        METHODS["shuffled-focal"].advantage(correct * 1.0, correct, Settings(gamma=1.0))


@pytest.mark.parametrize(
    ("reward", "hit", "message"),
    [
        (0.5, True, r"reward 0\.5 of rollout 1 in group 0 \(correct\) is not 1\.0"),
        (1.0, False, r"reward 1\.0 of rollout 1 in group 0 \(wrong\) is not 0\.0"),
        (float("nan"), False, "reward nan of rollout 1"),
    ],
)
def test_a_reward_that_is_not_binary_is_named(reward, hit, message):
    rewards, correct = np.array([[1.0, reward]]), np.array([[True, hit]])
    with pytest.raises(ValueError, match=message):
        METHODS["grpo"].advantage(rewards, correct, Settings())


def test_other_binary_rewards_give_the_same_advantages_up_to_epsilon():
    correct = np.arange(8)[None] < 3
    settings = Settings(reward_wrong=-1.0, reward_correct=1.0, epsilon=1e-12)
    signed = METHODS["grpo"].advantage(np.where(correct, 1.0, -1.0), correct, settings)
    expected = advantage("grpo", correct, epsilon=1e-12).advantages
    np.testing.assert_allclose(signed.advantages, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [(np.zeros(3), "must both be"), (np.zeros((3, 1)), "at least 2 rollouts")],
)
def test_wrong_shapes_are_refused(rewards, message):
    with pytest.raises(ValueError, match=message):
        METHODS["grpo"].advantage(rewards, rewards > 0, Settings())


@pytest.mark.parametrize("gamma", [-0.5, float("nan")])
def test_gamma_below_zero_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma"):
        Settings(gamma=gamma)
    with pytest.raises(ValueError, match="gamma"):
        focal_weight(np.array([0.5]), gamma)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_rate_outside_the_unit_interval_is_refused(rate):
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        focal_weight(np.array([0.5, rate]), 1.0)


def test_swapped_rewards_are_refused():
    with pytest.raises(ValueError, match="must exceed"):
        Settings(reward_wrong=1.0, reward_correct=0.0)


@pytest.mark.parametrize(
    ("typed", "suggestion"), [("fgrp", "'fgrpo'"), ("GRPO", "'grpo'"), ("sft", "choose from")]
)
def test_an_unknown_method_gets_a_suggestion(typed, suggestion):
    with pytest.raises(KeyError, match=suggestion):
        get_method(typed)


# Bounds of the paper, table of objectives in appendix L: (low, high).
@pytest.mark.parametrize(
    ("name", "rule", "low", "high"),
    [("grpo", "clip", 0.2, 0.2), ("dapo", "clip", 0.2, 0.28), ("cispo", "cispo", 1.0, 5.0)],
)
def test_bounds_are_the_papers(name, rule, low, high):
    assert METHODS[name].surrogate == Surrogate(rule, low, high)


@pytest.mark.parametrize("name", ["grpo", "dapo", "cispo"])
def test_surrogate_value_gradient_and_clip_by_hand(name):
    surrogate = METHODS[name].surrogate
    for ratio in (0.01, 0.5, 0.79, 0.81, 1.0, 1.19, 1.25, 1.3, 5.9, 6.1):
        for adv in (2.0, -3.0):
            logp = torch.tensor([math.log(ratio)], dtype=torch.float64, requires_grad=True)
            value = surrogate.objective(logp, torch.zeros(1).double(), torch.tensor([adv]).double())
            value.sum().backward()
            low, high = 1 - surrogate.low, 1 + surrogate.high
            bounded = min(max(ratio, low), high)
            if surrogate.rule == "cispo":
                assert value.item() == pytest.approx(bounded * adv * math.log(ratio))
                gradient, acts = bounded * adv, bounded != ratio
            else:
                assert value.item() == pytest.approx(min(ratio * adv, bounded * adv))
                acts = ratio > high if adv > 0 else ratio < low
                gradient = 0.0 if acts else ratio * adv
            assert logp.grad.item() == pytest.approx(gradient)
            above, below = surrogate.clipped(logp.detach(), torch.zeros(1).double())
            assert (above if adv > 0 else below).item() == acts


def test_on_policy_all_surrogates_have_the_policy_gradient():
    logp = torch.tensor([-0.3, -1.2, -2.0], dtype=torch.float64)
    adv = torch.tensor([1.5, -0.5, 0.25], dtype=torch.float64)
    for name in ("grpo", "dapo", "cispo"):
        x = logp.clone().requires_grad_()
        METHODS[name].surrogate.objective(x, logp, adv).sum().backward()
        torch.testing.assert_close(x.grad, adv)


@given(verdicts, st.floats(0.01, 10))
def test_smoothed_success_is_the_posterior_mean(correct, a):
    values = smoothed_success(correct, a)
    for group, value in zip(correct.tolist(), values, strict=True):
        assert value == pytest.approx((sum(group) + a) / (len(group) + 2 * a), rel=1e-12)
        assert 0 < value < 1


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 10**6))
def test_running_success_is_the_mean_of_the_last_visits(window, groups, seed):
    rng = stream(seed, "test")
    visits = rng.random((9, groups, 4)) < 0.5
    history = np.full((groups, window), np.nan)
    for t, correct in enumerate(visits):
        rates, history = running_success(correct, history)
        recent = visits[max(0, t - window) : t + 1].mean(axis=2)
        np.testing.assert_allclose(rates, recent.mean(axis=0), rtol=1e-12)
        assert history.shape == (groups, window)


def test_the_estimator_is_chosen_by_the_settings():
    correct = np.array([[True, True, False, False], [True, False, False, False]])
    history = np.array([[1.0, np.nan], [0.0, 0.0]])
    for success, rates in (
        ("empirical", [0.5, 0.25]),
        ("smoothed", [0.5, 1.5 / 5]),
        ("running", [0.75, 0.25 / 3]),
    ):
        settings = Settings(gamma=2.0, success=success, smoothing=0.5)
        out = METHODS["fgrpo"].advantage(correct * 1.0, correct, settings, state=history)
        np.testing.assert_allclose(out.weights, (1 - np.array(rates)) ** 2)
    np.testing.assert_array_equal(out.state, [[0.5, 1.0], [0.25, 0.0]])
    base = METHODS["grpo"].advantage(correct * 1.0, correct, settings, state=history)
    assert base.state is history
    with pytest.raises(ValueError, match="needs the history"):
        METHODS["fgrpo"].advantage(correct * 1.0, correct, settings)
