"""The trie policy gradient: every sample's loss at the cost of the distinct prefixes.

All samples through a node share its ratio, and every surrogate here is positively homogeneous in
the advantage, so sum_i f(r, A_i) = f(r, sum of A_i > 0) + f(r, sum of A_i < 0): two numbers per
node replace its samples exactly, on and off the sampling policy.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgrpo_bench.maze.attention import Nodes, TrieAttention, additive
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.pack import PackedTries, pack
from fgrpo_bench.maze.rollout import Rollouts
from fgrpo_bench.methods.surrogates import Surrogate

Floats = NDArray[np.float64]
_ROWS = 32


@dataclass(frozen=True)
class NodeWeights:
    """What the samples through each node ask for, all [M].

    Attributes:
        positive: sum of the positive advantages.
        negative: sum of the negative advantages.
        n_positive: samples with a positive advantage.
        n_negative: samples with a negative advantage.
    """

    positive: Floats
    negative: Floats
    n_positive: Floats
    n_negative: Floats


def node_weights(rollouts: Rollouts, advantages: Floats) -> NodeWeights:
    """Sum the advantages of the samples through each node.

    Args:
        rollouts: the trie, M nodes.
        advantages: [G, N], in the order of ``rollouts.leaves``.
    """
    per_sample = np.stack(
        (np.maximum(advantages, 0), np.minimum(advantages, 0), advantages > 0, advantages < 0),
        axis=-1,
    )
    sums = np.zeros((len(rollouts.token), 4))
    np.add.at(sums, rollouts.leaves, per_sample)
    for level in reversed(rollouts.levels()[1:]):
        np.add.at(sums, rollouts.parent[level], sums[level])
    return NodeWeights(*sums.T)


@dataclass(frozen=True)
class UpdateStats:
    """What one mini-batch did: its loss and the answer tokens whose ratio was clipped."""

    loss: float
    clipped: float


@dataclass(frozen=True)
class Regulariser:
    """What is added to the loss over all response tokens, homogeneous groups included.

    Attributes:
        entropy: coefficient of the entropy bonus (arXiv 2602.06717, appendix L: GRPO-H).
        kl: coefficient of the KL penalty to the reference, in Schulman's k3 form (GRPO-KL).
        reference: the model the penalty and the logged drift compare with: the base.
    """

    entropy: float
    kl: float
    reference: Transformer

    @property
    def acts(self) -> bool:
        """Whether the loss changes at all."""
        return bool(self.entropy or self.kl)

    def loss(self, log_probs: Tensor, logp: Tensor, packed: PackedTries, count: Tensor) -> Tensor:
        """Return the penalty summed over tokens, to be minimised.

        Args:
            log_probs: [K, V] log-probabilities at each scored node's place, nats.
            logp: [K] log-probability of the node's token.
            packed: the rows they come from.
            count: [K] samples through the node.
        """
        out = -self.entropy * (count * _entropy(log_probs)).sum()
        if self.kl:
            with torch.no_grad():
                reference = _chosen(place_log_probs(self.reference, packed), packed)
            gap = reference - logp
            out = out + self.kl * (count * (gap.exp() - gap - 1)).sum()
        return out


def _entropy(log_probs: Tensor) -> Tensor:
    return -(log_probs.exp() * log_probs).sum(dim=-1)


def place_log_probs(model: Transformer, packed: PackedTries) -> Tensor:
    """Return the log-probabilities over the vocabulary at each scored node, [K, V], in nats."""
    mask = additive(packed.seen, model.embed_tokens.weight)
    keys = torch.from_numpy(packed.keys.ravel()).to(model.device)
    attention = TrieAttention(packed.prompts, packed.length, keys, mask)
    tokens, positions = packed.tokens.unsqueeze(0), packed.positions.unsqueeze(0)
    hidden = model(tokens, positions, attention, packed.wanted)
    return model.log_probs(hidden[0, packed.before])


def _chosen(log_probs: Tensor, packed: PackedTries) -> Tensor:
    return log_probs[torch.arange(len(packed.node)), packed.token]


def drift(model: Transformer, reference: Transformer, rollouts: Rollouts) -> dict[str, float]:
    """Return how far a policy is from its reference.

    ``kl_to_base`` is KL(policy || reference) in nats per token, exact at each sampled prefix and
    averaged over the samples; ``distance_to_base`` the Euclidean distance of the weights.
    """
    groups, total = np.arange(len(rollouts.prompts)), 0.0
    with torch.inference_mode():
        for rows in _blocks(len(groups)):
            packed = pack(rollouts, groups[rows])
            ours, theirs = place_log_probs(model, packed), place_log_probs(reference, packed)
            kl = (ours.exp() * (ours - theirs)).sum(dim=-1).double()
            total += float((kl * torch.from_numpy(rollouts.count[packed.node]).to(kl.device)).sum())
        pairs = zip(model.parameters(), reference.parameters(), strict=True)
        square = sum(float((a - b).double().square().sum()) for a, b in pairs)
    return {"kl_to_base": total / rollouts.tokens, "distance_to_base": square**0.5}


def backward(
    model: Transformer,
    rollouts: Rollouts,
    weights: NodeWeights,
    groups: Nodes,
    surrogate: Surrogate,
    divisor: float,
    regulariser: Regulariser | None = None,
) -> UpdateStats:
    """Add the gradient of one mini-batch's loss to the model.

    Groups whose advantages are all zero carry no signal and are not run unless a regulariser
    acts on them; their tokens are in the divisor all the same, so that methods which drop
    different groups take equal step sizes.

    Args:
        model: the policy.
        rollouts: the samples of the whole batch.
        weights: sums of advantages per node.
        groups: [B] groups of the mini-batch.
        surrogate: the clip rule.
        divisor: answer tokens per mini-batch, homogeneous groups included.
        regulariser: entropy bonus and KL penalty, if any.
    """
    if regulariser is not None and not regulariser.acts:
        regulariser = None
    signal = np.zeros(len(rollouts.prompts), dtype=np.bool_)
    np.logical_or.at(signal, rollouts.group, (weights.positive > 0) | (weights.negative < 0))
    active = groups[signal[groups]] if regulariser is None else groups
    parts = [
        _backward_rows(model, rollouts, weights, active[rows], surrogate, divisor, regulariser)
        for rows in _blocks(len(active))
    ]
    return UpdateStats(sum(part.loss for part in parts), sum(part.clipped for part in parts))


def _blocks(rows: int) -> list[slice]:
    """Cut groups into blocks: a batch of any size takes the memory of one."""
    return [slice(start, start + _ROWS) for start in range(0, rows, _ROWS)]


def _backward_rows(
    model: Transformer,
    rollouts: Rollouts,
    weights: NodeWeights,
    groups: Nodes,
    surrogate: Surrogate,
    divisor: float,
    regulariser: Regulariser | None,
) -> UpdateStats:
    """``backward`` for groups that are all run, in one pass."""
    packed = pack(rollouts, groups)
    log_probs = place_log_probs(model, packed)
    logp = _chosen(log_probs, packed)
    old, positive, negative = (
        torch.from_numpy(x[packed.node]).to(logp)
        for x in (rollouts.logp, weights.positive, weights.negative)
    )
    gain = surrogate.objective(logp, old, positive) + surrogate.objective(logp, old, negative)
    loss = -gain.sum() / divisor
    if regulariser is not None:
        count = torch.from_numpy(rollouts.count[packed.node]).to(logp)
        loss = loss + regulariser.loss(log_probs, logp, packed, count) / divisor
    loss.backward()  # type: ignore[no-untyped-call]
    high, low = surrogate.clipped(logp.detach(), old)
    clipped = (weights.n_positive[packed.node] * high.cpu().numpy()).sum()
    clipped += (weights.n_negative[packed.node] * low.cpu().numpy()).sum()
    return UpdateStats(loss.item(), float(clipped))
