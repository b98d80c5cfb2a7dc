"""Advantages that aim at pass@k, or at answers the policy finds unlikely: neighbours of F-GRPO.

Their authors' losses differ: sums over rollouts (PKPO), token means over the rows kept
(W-REINFORCE), KL penalties. Here all are advantages under the same loss, GRPO's clip range and the
token mean over all response tokens, so that a comparison shows the advantage alone.
"""

import math
from functools import lru_cache

import numpy as np

from fgrpo_bench.methods.advantages import Bools, Floats, Settings, grpo


def pkpo(rewards: Floats, correct: Bools, settings: Settings) -> Floats:
    """Return N C(N - X, k - 1) / C(N, k) where correct and 0 elsewhere (PKPO, arXiv 2505.15201).

    The leave-one-out-minus-one estimator (eq. 33) of the gradient of pass@k, unbiased: how often
    a k-subset with this rollout has no other correct one. Its sum over rollouts is written as a
    mean, hence the N. Wrong rollouts have no gradient, nor have groups with N - X < k - 1; all
    groups are treated alike, and homogeneous ones come out 0.

    Args:
        rewards: [G, N], not used: the estimator is defined on verdicts.
        correct: [G, N].
        settings: k.

    Raises:
        ValueError: k below 2, where the estimator is not defined, or above N.
    """
    size, k = correct.shape[1], settings.k
    if not 2 <= k <= size:
        raise ValueError(f"pkpo needs k from 2 to the group size {size}; it is {k}")
    return np.where(correct, _pkpo_table(size, k)[correct.sum(axis=1)][:, None], 0)


@lru_cache
def _pkpo_table(size: int, k: int) -> Floats:
    """Return the advantage of a correct rollout by X, [N + 1]."""
    subsets = math.comb(size, k)
    return np.array([size * math.comb(size - hits, k - 1) / subsets for hits in range(size + 1)])


def passk(rewards: Floats, correct: Bools, settings: Settings) -> Floats:
    """Return the mean normalised reward of the k-subsets with the rollout (arXiv 2508.10751).

    Pass@k training: a k-subset's reward is its best rollout's, normalised over all k-subsets
    (section 2.4 and appendix, in closed form). 0 where N - X < k, since then every subset succeeds,
    and in groups without a correct rollout.

    Args:
        rewards: [G, N], not used: the estimator is defined on verdicts.
        correct: [G, N].
        settings: k, and epsilon (the authors' is 1e-6).

    Raises:
        ValueError: k above N.
    """
    size, k = correct.shape[1], settings.k
    if not k <= size:
        raise ValueError(f"passk needs k up to the group size {size}; it is {k}")
    right, wrong = _passk_table(size, k, settings.epsilon)[:, correct.sum(axis=1), None]
    return np.where(correct, right, wrong)


@lru_cache
def _passk_table(size: int, k: int, epsilon: float) -> Floats:
    """Return the advantages of a correct and of a wrong rollout by X, [2, N + 1]."""
    table = np.zeros((2, size + 1))
    for hits in range(1, size - k + 1):
        mean = 1 - math.comb(size - hits, k) / math.comb(size, k)
        scale = math.sqrt(mean * (1 - mean)) + epsilon
        missed = math.comb(size - hits - 1, k - 1) / math.comb(size - 1, k - 1)
        table[:, hits] = (1 - mean) / scale, (1 - mean - missed) / scale
    return table


def w_reinforce(rewards: Floats, correct: Bools, settings: Settings) -> Floats:
    """Return lambda where correct and -1 elsewhere (W-REINFORCE, arXiv 2506.01347).

    Nothing is relative to the group, so homogeneous groups teach as well.

    Args:
        rewards: [G, N], not used.
        correct: [G, N].
        settings: lambda is ``correct_weight`` (the authors' is 0.1).
    """
    return np.where(correct, settings.correct_weight, -1.0)


def unlikeliness(rewards: Floats, correct: Bools, settings: Settings, mean_logp: Floats) -> Floats:
    """Return GRPO's advantages of rewards that fall with a correct rollout's likelihood.

    A correct rollout's reward is 1 - beta a / N, where a is its rank by log-probability in the
    whole group, 0 for the least likely (arXiv 2506.02355, section 4.1, as in the authors' code).
    Equal log-probabilities rank in the order of the rollouts. Homogeneous groups are skipped: all
    correct, half of them would be pushed down.

    Args:
        rewards: [G, N], not used: shaping starts from verdicts.
        correct: [G, N].
        settings: beta is ``rank_penalty`` (the authors' is 0.25); standard deviation as in GRPO.
        mean_logp: [G, N] mean token log-probability under the sampling policy, nats.
    """
    order = mean_logp.argsort(axis=1, kind="stable")
    rank = order.argsort(axis=1, kind="stable")
    shaped = correct * (1 - settings.rank_penalty * rank / correct.shape[1])
    return grpo(shaped, correct, settings)


def ds_grpo(rewards: Floats, correct: Bools, settings: Settings, mean_logp: Floats) -> Floats:
    """Return GRPO's advantages minus gamma_p logp where correct, plus gamma_n logp elsewhere.

    Differential smoothing (arXiv 2511.19942, eq. 6), after the normalisation: unlikely rollouts
    count for more, correct or wrong. It acts in every group, homogeneous ones included. The
    coefficients are a later reimplementation's: the paper's own are not known to us.

    Args:
        rewards: [G, N].
        correct: [G, N].
        settings: ``ds_correct`` is gamma_p and ``ds_wrong`` gamma_n; standard deviation as in GRPO.
        mean_logp: [G, N] mean token log-probability under the sampling policy, nats.
    """
    change = np.where(correct, -settings.ds_correct, settings.ds_wrong) * mean_logp
    return grpo(rewards, correct, settings) + change
