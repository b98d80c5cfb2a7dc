"""Group-relative advantages, one transform per function, all over a whole batch of groups."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Settings:
    """Conventions that papers and trainers differ in, and the focal exponent.

    Attributes:
        gamma: focal exponent (0 is the base method, bit for bit).
        std: ``sample`` divides by N - 1 (TRL, verl), ``population`` by N.
        epsilon: added to the standard deviation (TRL 1e-4, verl 1e-6).
        reward_wrong: R_w.
        reward_correct: R_c.
        success: estimator of the success rate mu that focal weights use: ``empirical`` X / N (the
            paper's), ``smoothed`` (X + a) / (N + 2 a), ``running`` over recent visits.
        smoothing: a of ``smoothed``.
        k: of pass@k, where a method aims at it.
        correct_weight: lambda, the advantage of correct rollouts in W-REINFORCE.
        rank_penalty: beta of unlikeliness rewards, in [0, 1].
        ds_correct: gamma_p of differential smoothing.
        ds_wrong: gamma_n of differential smoothing.
    """

    gamma: float = 0.0
    std: Literal["sample", "population"] = "sample"
    epsilon: float = 1e-4
    reward_wrong: float = 0.0
    reward_correct: float = 1.0
    success: Literal["empirical", "smoothed", "running"] = "empirical"
    smoothing: float = 0.5
    k: int = 4
    correct_weight: float = 0.1
    rank_penalty: float = 0.25
    ds_correct: float = 0.05
    ds_wrong: float = 0.05

    def __post_init__(self) -> None:
        if not self.gamma >= 0:
            raise ValueError(f"gamma is {self.gamma}; it must be 0 or more")
        if not self.reward_correct > self.reward_wrong:
            raise ValueError(
                f"reward_correct ({self.reward_correct}) must exceed "
                f"reward_wrong ({self.reward_wrong})"
            )


def check_groups(rewards: Floats, correct: Bools, settings: Settings) -> None:
    """Raise ``ValueError`` unless rewards [G, N] are R_c where correct and R_w elsewhere.

    Focal weighting is defined for binary rewards (arXiv 2602.06717, section 3); a shaped reward
    would silently change what X counts.
    """
    if rewards.ndim != 2 or rewards.shape != correct.shape:
        raise ValueError(f"rewards {rewards.shape} and correct {correct.shape} must both be [G, N]")
    if rewards.shape[1] < 2:
        raise ValueError(f"group size is {rewards.shape[1]}; a group needs at least 2 rollouts")
    expected = np.where(correct, settings.reward_correct, settings.reward_wrong)
    if (strange := rewards != expected).any():
        group, rollout = np.argwhere(strange)[0]
        verdict = "correct" if correct[group, rollout] else "wrong"
        raise ValueError(
            f"reward {rewards[group, rollout]} of rollout {rollout} in group {group} ({verdict}) "
            f"is not {expected[group, rollout]}; rewards must be {settings.reward_wrong} when "
            f"wrong and {settings.reward_correct} when correct"
        )


def active_groups(correct: Bools) -> Bools:
    """Return which groups have both correct and wrong rollouts (0 < X < N), [G].

    Judged from counts: the standard deviation of equal rewards need not be exactly 0.
    """
    hits = correct.sum(axis=1)
    return (hits > 0) & (hits < correct.shape[1])


def grpo(rewards: Floats, correct: Bools, settings: Settings) -> Floats:
    """Return (R - mean R) / (std R + epsilon), 0 in homogeneous groups (arXiv 2402.03300, eq. 2).

    Args:
        rewards: [G, N].
        correct: [G, N].
        settings: standard deviation convention and epsilon.
    """
    mean = rewards.mean(axis=1, keepdims=True)
    ddof = 1 if settings.std == "sample" else 0
    std = rewards.std(axis=1, ddof=ddof, keepdims=True)
    return np.where(active_groups(correct)[:, None], (rewards - mean) / (std + settings.epsilon), 0)


def dr_grpo(rewards: Floats, correct: Bools, settings: Settings) -> Floats:
    """Return R - mean R, 0 in homogeneous groups (Dr. GRPO, arXiv 2503.20783, eq. 3).

    Only the advantage: its constant length divisor is a choice of the loss, not of the advantage.

    Args:
        rewards: [G, N].
        correct: [G, N].
        settings: not used.
    """
    centred = rewards - rewards.mean(axis=1, keepdims=True)
    return np.where(active_groups(correct)[:, None], centred, 0)


def rloo(rewards: Floats, correct: Bools, settings: Settings) -> Floats:
    """Return R_i minus the mean of the others, 0 in homogeneous groups (arXiv 2402.14740, eq. 7).

    Args:
        rewards: [G, N].
        correct: [G, N].
        settings: not used.
    """
    group_size = rewards.shape[1]
    return dr_grpo(rewards, correct, settings) * (group_size / (group_size - 1))


def maxrl(rewards: Floats, correct: Bools, settings: Settings) -> Floats:
    """Return (r - mean r) / mean r for r in {0, 1}, 0 in homogeneous groups (arXiv 2602.02710).

    Correct rollouts get (N - X) / X and wrong ones -1: the gradient of log-likelihood truncated
    at N - 1 terms, since groups without a correct rollout are left out.

    Args:
        rewards: [G, N], not used: the estimator is defined on verdicts.
        correct: [G, N].
        settings: not used.
    """
    rate = correct.mean(axis=1, keepdims=True)
    active = active_groups(correct)[:, None]
    return np.where(active, (correct - rate) / np.where(active, rate, 1.0), 0)
