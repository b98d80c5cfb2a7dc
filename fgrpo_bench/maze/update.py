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

from fgrpo_bench.maze.attention import TrieAttention, additive
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.rollout import Nodes, Rollouts
from fgrpo_bench.maze.tokens import PAD
from fgrpo_bench.methods.surrogates import Surrogate

Floats = NDArray[np.float64]
_ROWS = 32
_CHUNK = 64


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
class PackedTries:
    """Rows of a prompt and its trie in depth-first order, and the nodes to score (K of them).

    The trie's places are cut into n chunks of C: see ``TrieAttention``.

    Attributes:
        tokens: [A, T] prompt of L tokens, then the nodes that have children.
        positions: [A, T].
        prompt: L.
        slots: [A n K'] places of the keys of each chunk in the flattened rows, None if n is 1.
        seen: [A n, 1, C, K'] whether a place may look at a key.
        row: [K] row of the node.
        before: [K] place whose output predicts the node, counted from the prompt's last.
        token: [K] its token.
        node: [K] index of the node in the rollouts.
    """

    tokens: Tensor
    positions: Tensor
    prompt: int
    slots: Tensor | None
    seen: NDArray[np.bool_]
    row: Tensor
    before: Tensor
    token: Tensor
    node: Nodes


def pack(rollouts: Rollouts, groups: Nodes) -> PackedTries:
    """Pack the tries of ``groups`` into one row each; nodes without children need no place."""
    length, rows = rollouts.prompts.shape[1], len(groups)
    place, size = rollouts.preorder
    row_of = np.full(len(rollouts.prompts), -1)
    row_of[groups] = np.arange(rows)
    kept = np.nonzero(row_of[rollouts.group] >= 0)[0]
    run = kept[~rollouts.ended[kept]]
    row, here = row_of[rollouts.group[run]], place[run]
    longest = int(here.max(initial=0)) + 1
    chunks = -(-longest // _CHUNK)
    width = -(-longest // chunks) * chunks
    tokens = np.full((rows, length + width), PAD)
    positions = np.zeros_like(tokens)
    tokens[:, :length], positions[:, :length] = rollouts.prompts[groups], np.arange(length)
    tokens[row, length + here] = rollouts.token[run]
    positions[row, length + here] = length + rollouts.depth[run]
    end, above = np.zeros((rows, width), dtype=np.int64), np.full((rows, width), -1)
    end[row, here] = here + size[run]
    deep = rollouts.parent[run] >= 0
    above[row[deep], here[deep]] = place[rollouts.parent[run[deep]]]
    keys = _keys(above, chunks)
    parent = rollouts.parent[kept]
    return PackedTries(
        tokens=torch.from_numpy(tokens),
        positions=torch.from_numpy(positions),
        prompt=length,
        slots=None if chunks == 1 else torch.from_numpy(_slots(keys, length, width)),
        seen=_seen(keys, end, length),
        row=torch.from_numpy(row_of[rollouts.group[kept]]),
        before=torch.from_numpy(np.where(parent >= 0, place[parent] + 1, 0)),
        token=torch.from_numpy(rollouts.token[kept]),
        node=kept,
    )


def _keys(above: Nodes, chunks: int) -> Nodes:
    """Return the trie places that each chunk looks at, [A, n, K' - L], -1 where there is none.

    They are the ancestors of its first place, and itself.

    Args:
        above: [A, n C] place of each place's parent, -1 without one.
        chunks: n.
    """
    rows, width = above.shape
    own = np.arange(width).reshape(chunks, -1)
    place = np.broadcast_to(own[:, 0], (rows, chunks))
    line = np.arange(rows)[:, None]
    ancestors = []
    while chunks > 1:
        place = np.where(place >= 0, above[line, place], -1)
        if (place < 0).all():
            break
        ancestors.append(place)
    every = np.broadcast_to(own, (rows, *own.shape))
    return np.concatenate((*(place[..., None] for place in ancestors), every), axis=2)


def _slots(keys: Nodes, length: int, width: int) -> Nodes:
    """Return the places of the keys, prompts first, in the rows laid end to end, [A n K']."""
    rows, chunks, _ = keys.shape
    prompt = np.broadcast_to(np.arange(length), (rows, chunks, length))
    slots = np.concatenate((prompt, length + np.maximum(keys, 0)), axis=2)
    return (slots + (np.arange(rows) * (length + width))[:, None, None]).ravel()


def _seen(keys: Nodes, end: Nodes, length: int) -> NDArray[np.bool_]:
    """Return whether each place may look at each key, [A n, 1, C, K']: the prompt and ancestors.

    Args:
        keys: [A, n, K' - L] places in the trie, -1 for none.
        end: [A, n C] place behind the last descendant of each place.
        length: tokens of the prompt L.
    """
    rows, chunks, count = keys.shape
    width = end.shape[1] // chunks
    last = np.where(keys >= 0, end[np.arange(rows)[:, None, None], keys], 0)
    own = np.arange(chunks * width).reshape(1, chunks, width, 1)
    seen = np.ones((rows, chunks, width, length + count), dtype=np.bool_)
    seen[..., length:] = (keys[:, :, None] <= own) & (own < last[:, :, None])
    return seen.reshape(rows * chunks, 1, width, -1)


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
    slots = None if packed.slots is None else packed.slots.to(model.device)
    mask = additive(packed.seen, model.embed_tokens.weight)
    attention = TrieAttention(packed.prompt, slots, mask)
    hidden = model(packed.tokens, packed.positions, attention, start=packed.prompt - 1)
    return model.log_probs(hidden[packed.row, packed.before])


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
    """Cut rows into blocks that fit into memory."""
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
