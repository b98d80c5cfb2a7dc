"""Surrogate objectives per token: the clip rules of GRPO, DAPO, CISPO (arXiv 2602.06717, App. B).

Everything is written with tensor methods, so that importing this module does not import torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Surrogate:
    """A clip rule on the ratio r = pi / pi_old with its bounds 1 - low and 1 + high.

    ``clip``: min(r A, clip(r) A) (GRPO, arXiv 2402.03300 eq. 3; DAPO, arXiv 2503.14476 eq. 8,
    with high > low). ``cispo``: stop_gradient(clip(r)) A log pi (arXiv 2506.13585 eq. 4).
    """

    rule: Literal["clip", "cispo"]
    low: float
    high: float

    def objective(self, logp: Tensor, logp_old: Tensor, advantage: Tensor) -> Tensor:
        """Return each token's objective, to be maximised; homogeneous in a signed advantage.

        Args:
            logp: [T] log-probability under the policy, nats, with gradient.
            logp_old: [T] under the policy that sampled.
            advantage: [T] advantage of the token's rollout, or a sum of advantages of one sign.
        """
        ratio = (logp - logp_old).exp()
        clipped = ratio.clamp(1 - self.low, 1 + self.high)
        if self.rule == "cispo":
            return clipped.detach() * advantage * logp
        return (ratio * advantage).minimum(clipped * advantage)

    def clipped(self, logp: Tensor, logp_old: Tensor) -> tuple[Tensor, Tensor]:
        """Return where the bounds act for a positive and for a negative advantage, [T] each.

        Under ``clip`` a bound acts where it removes the gradient; under ``cispo`` where it
        changes the weight, whatever the sign.
        """
        ratio = (logp - logp_old).exp()
        above, below = ratio > 1 + self.high, ratio < 1 - self.low
        return (above | below, above | below) if self.rule == "cispo" else (above, below)
