"""Focal weights: groups that already succeed often count for less (arXiv 2602.06717)."""

from math import exp, lgamma, log, pi

import numpy as np
from numpy.typing import NDArray

from fgrpo_bench.methods.advantages import Bools, Floats, Settings


def empirical_success(correct: Bools) -> Floats:
    """Return the success rate X / N of each group, [G] (arXiv 2602.06717, section 4).

    Args:
        correct: [G, N] verdicts of the rollouts.
    """
    return correct.mean(axis=1)


def smoothed_success(correct: Bools, smoothing: float) -> Floats:
    """Return (X + a) / (N + 2 a), [G]: the posterior mean under a Beta(a, a) prior.

    Args:
        correct: [G, N] verdicts of the rollouts.
        smoothing: a, above 0; the paper uses none.
    """
    return (correct.sum(axis=1) + smoothing) / (correct.shape[1] + 2 * smoothing)


def running_success(correct: Bools, history: Floats) -> tuple[Floats, Floats]:
    """Return the mean rate over this and recent visits of each prompt, [G], and the new history.

    Args:
        correct: [G, N] verdicts of the rollouts.
        history: [G, W] success rates of the prompts' last visits, newest first, NaN before the
            first; W visits are remembered beside this one.
    """
    now = empirical_success(correct)[:, None]
    visits = np.concatenate((now, history), axis=1)
    return np.nanmean(visits, axis=1), visits[:, :-1]


def estimate_success(
    correct: Bools, settings: Settings, state: Floats | None
) -> tuple[Floats, Floats | None]:
    """Return the success rate of each group by the chosen estimator, [G], and the new state.

    Args:
        correct: [G, N] verdicts of the rollouts.
        settings: the estimator's name and parameters.
        state: for ``running`` the history [G, W] of the batch's prompts.

    Raises:
        ValueError: ``running`` without its history.
    """
    if settings.success == "smoothed":
        return smoothed_success(correct, settings.smoothing), state
    if settings.success == "running":
        if state is None:
            raise ValueError("the running success rate needs the history of the batch's prompts")
        return running_success(correct, state)
    return empirical_success(correct), state


def focal_weight(success: NDArray[np.float64], gamma: float) -> Floats:
    """Return g = (1 - mu)^gamma (arXiv 2602.06717, section 4).

    Args:
        success: success rates mu in [0, 1], any shape.
        gamma: exponent, at least 0; 0 gives exactly 1 everywhere.

    Raises:
        ValueError: a rate outside [0, 1], or a negative gamma.

    >>> focal_weight(np.array([0.0, 0.25, 1.0]), 2.0).tolist()
    [1.0, 0.5625, 0.0]
    """
    if not gamma >= 0:
        raise ValueError(f"gamma is {gamma}; it must be 0 or more")
    success = np.asarray(success, dtype=np.float64)
    if not ((success >= 0) & (success <= 1)).all():
        raise ValueError("success rates must be in [0, 1]")
    return (1.0 - success) ** gamma


def shuffled(weights: Floats, active: Bools, rng: np.random.Generator) -> Floats:
    """Return the weights permuted among the active groups: the same scale, without the difficulty.

    The control for "is it only a smaller step?": the batch keeps its focal weights, but which
    group gets which no longer depends on how hard it is.

    Args:
        weights: [G].
        active: [G] groups with 0 < X < N; the others keep their weight.
        rng: source of the permutation.
    """
    out = weights.copy()
    out[active] = rng.permutation(weights[active])
    return out


def mean_advantage_scale(gamma: float) -> float:
    """Return m_gamma = (4 / sqrt(pi)) Gamma(gamma + 3/2) / Gamma(gamma + 3) (arXiv 2602.06717).

    The mean focal weight where success rates are uniform on [0, 1] and a group counts by its
    advantage scale sqrt(mu (1 - mu)): by how much gamma shrinks the step on average.

    Args:
        gamma: exponent, at least 0.

    >>> round(mean_advantage_scale(0.5), 3)
    0.679
    """
    if not gamma >= 0:
        raise ValueError(f"gamma is {gamma}; it must be 0 or more")
    return exp(log(4) - log(pi) / 2 + lgamma(gamma + 1.5) - lgamma(gamma + 3))


def mean_advantage_scale_of(success: Floats, gamma: float) -> float:
    """Return the mean focal weight over given success rates, weighted by sqrt(mu (1 - mu)).

    Args:
        success: [G] success rates in [0, 1], one per group; NaN comes out if none is inside (0, 1).
        gamma: exponent, at least 0.
    """
    weights = focal_weight(success, gamma)
    scale = np.sqrt(success * (1 - success))
    total = float(scale.sum())
    return float((weights * scale).sum()) / total if total else float("nan")
