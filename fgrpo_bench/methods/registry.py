"""What a method is: an advantage, a surrogate and perhaps focal weighting.

To add one, write its advantage in ``advantages.py`` (or reuse one) and add an entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgrpo_bench.errors import suggestion
from fgrpo_bench.methods.advantages import (
    Bools,
    Floats,
    Settings,
    active_groups,
    check_groups,
    dr_grpo,
    grpo,
    maxrl,
    rloo,
)
from fgrpo_bench.methods.beyond_pass_at_1 import (
    ds_grpo,
    passk,
    pkpo,
    unlikeliness,
    w_reinforce,
)
from fgrpo_bench.methods.focal import estimate_success, focal_weight, shuffled
from fgrpo_bench.methods.surrogates import Surrogate

Advantage = Callable[..., Floats]  # of rewards, correct, settings, and maybe mean_logp


@dataclass(frozen=True)
class Weighted:
    """Advantages of a batch [G, N], the focal weight of each group [G], and the method's state."""

    advantages: Floats
    weights: Floats
    state: Floats | None


@dataclass(frozen=True)
class Focal:
    """Focal weighting by the success rate that ``Settings.success`` names.

    Attributes:
        shuffle: permute the weights among the active groups, so that difficulty has no say
            (a control).
    """

    shuffle: bool = False


@dataclass(frozen=True)
class Method:
    """A group-relative RL method.

    Attributes:
        name: as given to ``--method``.
        title: as printed in tables and figures.
        transform: rewards of the whole batch to advantages.
        surrogate: the clip rule.
        focal: how groups are weighted; None is the base method.
        needs_logp: whether ``transform`` takes the rollouts' mean log-probabilities too.
        every_group: whether groups teach whose rollouts are all correct or all wrong; elsewhere
            their advantages are exactly 0.
    """

    name: str
    title: str
    transform: Advantage
    surrogate: Surrogate
    focal: Focal | None = None
    needs_logp: bool = False
    every_group: bool = False

    def advantage(
        self,
        rewards: Floats,
        correct: Bools,
        settings: Settings,
        mean_logp: Floats | None = None,
        state: Floats | None = None,
        rng: np.random.Generator | None = None,
    ) -> Weighted:
        """Return the advantages of a batch of groups.

        Args:
            rewards: [G, N], R_c or R_w each.
            correct: [G, N] verdicts.
            settings: conventions and gamma.
            mean_logp: [G, N] mean token log-probability under the sampling policy, nats, for
                methods that need it.
            state: what the method keeps about the batch's prompts, as it returned it at their last
                visit: with ``settings.success == "running"`` their history [G, W].
            rng: draws of methods that need some.

        Raises:
            ValueError: rewards that are not binary, named, a missing ``rng`` or ``mean_logp``, or
                a parameter that does not fit the group size.
        """
        check_groups(rewards, correct, settings)
        advantages = self.transform(*self._arguments(rewards, correct, settings, mean_logp))
        weights = np.ones(len(rewards))
        if self.focal is not None:
            success, state = estimate_success(correct, settings, state)
            weights = focal_weight(success, settings.gamma)
            if self.focal.shuffle:
                if rng is None:
                    raise ValueError(f"{self.name} needs rng")
                weights = shuffled(weights, active_groups(correct), rng)
        return Weighted(advantages * weights[:, None], weights, state)

    def check(self, group_size: int, settings: Settings) -> None:
        """Raise ``ValueError`` if the settings do not fit a group size."""
        nothing = np.zeros((1, group_size))
        self.transform(*self._arguments(nothing, nothing > 0, settings, nothing))

    def _arguments(
        self, rewards: Floats, correct: Bools, settings: Settings, mean_logp: Floats | None
    ) -> tuple[Any, ...]:
        if not self.needs_logp:
            return rewards, correct, settings
        if mean_logp is None or mean_logp.shape != rewards.shape:
            raise ValueError(f"{self.name} needs mean_logp, [G, N] as the rewards")
        return rewards, correct, settings, mean_logp


# Bounds of arXiv 2602.06717, appendix L.
_GRPO = Surrogate("clip", low=0.2, high=0.2)
_DAPO = Surrogate("clip", low=0.2, high=0.28)
_CISPO = Surrogate("cispo", low=1.0, high=5.0)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("grpo", "GRPO", grpo, _GRPO),
        Method("fgrpo", "F-GRPO", grpo, _GRPO, Focal()),
        Method("dapo", "DAPO", grpo, _DAPO),
        Method("fdapo", "F-DAPO", grpo, _DAPO, Focal()),
        Method("cispo", "CISPO", grpo, _CISPO),
        Method("fcispo", "F-CISPO", grpo, _CISPO, Focal()),
        Method("rloo", "RLOO", rloo, _GRPO),
        Method("dr_grpo", "Dr. GRPO", dr_grpo, _GRPO),
        Method("maxrl", "MaxRL", maxrl, _GRPO),
        Method("pkpo", "PKPO", pkpo, _GRPO),
        Method("passk", "pass@k training", passk, _GRPO),
        Method("w_reinforce", "W-REINFORCE", w_reinforce, _GRPO, every_group=True),
        Method("unlikeliness", "unlikeliness", unlikeliness, _GRPO, needs_logp=True),
        Method("ds_grpo", "DS-GRPO", ds_grpo, _GRPO, needs_logp=True, every_group=True),
        Method("shuffled-focal", "shuffled focal", grpo, _GRPO, Focal(shuffle=True)),
    )
}


def get_method(name: str) -> Method:
    """Return the method of that name.

    Raises:
        KeyError: an unknown name; the message suggests the nearest one.
    """
    if name in METHODS:
        return METHODS[name]
    raise KeyError(f"unknown method '{name}': {suggestion(name.lower(), METHODS, 'choose from')}")
