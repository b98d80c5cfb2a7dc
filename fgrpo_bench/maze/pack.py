"""Prompts and their tries as one row of tokens, in the depth-first chunks of ``TrieAttention``."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgrpo_bench.maze.attention import Nodes
from fgrpo_bench.maze.rollout import Rollouts
from fgrpo_bench.maze.tokens import PAD

_CHUNK = 32, 64  # places of a chunk, in short tries and in long ones


@dataclass(frozen=True)
class PackedTries:
    """A prompts of L tokens end to end, their tries in M chunks of C places, and what to score.

    Attributes:
        tokens: [A L + M C] the prompts, then the nodes that have children: see ``TrieAttention``.
        positions: [A L + M C].
        prompts: A.
        length: L.
        keys: [M, K'] places that each chunk looks at.
        seen: [M, 1, C, K'] whether a place of a chunk may look at a key.
        before: [K] place whose output predicts each of K nodes, of those in ``wanted``.
        token: [K] the node's token.
        node: [K] its index in the rollouts.
    """

    tokens: Tensor
    positions: Tensor
    prompts: int
    length: int
    keys: Nodes
    seen: NDArray[np.bool_]
    before: Tensor
    token: Tensor
    node: Nodes

    @property
    def wanted(self) -> Tensor:
        """Places whose outputs predict nodes: each prompt's last, and all of the chunks."""
        behind = self.prompts * self.length
        lasts = torch.arange(self.length - 1, behind, self.length)
        return torch.cat((lasts, torch.arange(behind, len(self.tokens))))


def pack(rollouts: Rollouts, groups: Nodes) -> PackedTries:
    """Lay out the tries of ``groups``; nodes without children need no place."""
    rows, length = len(groups), rollouts.prompts.shape[1]
    place, size = rollouts.preorder
    row_of = np.full(len(rollouts.prompts), -1)
    row_of[groups] = np.arange(rows)
    kept = np.nonzero(row_of[rollouts.group] >= 0)[0]
    run = kept[~rollouts.ended[kept]]
    nodes = np.bincount(row_of[rollouts.group[run]], minlength=rows)
    width = _width(int(nodes.max()))
    chunks = -(-nodes // width)
    # Places are counted behind the prompts, and no chunk has places of two tries: what descends
    # from a place lies in [place, end), whichever trie it is of.
    first = (np.cumsum(chunks) - chunks) * width
    total = max(1, int(chunks.sum()))  # one chunk even if all tries are empty
    slot = np.where(rollouts.ended, -1, first[row_of[rollouts.group]] + place)
    behind = rows * length
    tokens = np.full(behind + total * width, PAD)
    positions = np.zeros_like(tokens)
    tokens[:behind] = rollouts.prompts[groups].ravel()
    positions[:behind] = np.tile(np.arange(length), rows)
    tokens[behind + slot[run]] = rollouts.token[run]
    positions[behind + slot[run]] = length + rollouts.depth[run]
    end, above = np.zeros(total * width, dtype=np.int64), np.full(total * width, -1)
    end[slot[run]] = slot[run] + size[run]
    parent = rollouts.parent[run]
    above[slot[run]] = np.where(parent >= 0, slot[parent], -1)
    keys = _keys(above, width)
    row = np.repeat(np.arange(rows), chunks) if len(run) else np.zeros(1, dtype=np.int64)
    prompt = row[:, None] * length + np.arange(length)
    parent = rollouts.parent[kept]
    return PackedTries(
        tokens=torch.from_numpy(tokens),
        positions=torch.from_numpy(positions),
        prompts=rows,
        length=length,
        keys=np.concatenate((prompt, behind + np.maximum(keys, 0)), axis=1),
        seen=_seen(keys, end, length),
        before=torch.from_numpy(
            np.where(parent >= 0, rows + slot[parent], row_of[rollouts.group[kept]])
        ),
        token=torch.from_numpy(rollouts.token[kept]),
        node=kept,
    )


def _width(longest: int) -> int:
    """Return the places C of a chunk: narrow ones waste fewer, wide ones fetch fewer prompts."""
    narrow, wide = _CHUNK
    return max(1, min(longest, narrow if longest < 8 * wide else wide))


def _keys(above: Nodes, width: int) -> Nodes:
    """Return the trie places that each chunk looks at, [M, K' - L], -1 where there is none.

    They are the ancestors of its first place, and its own places.

    Args:
        above: [M C] place of each place's parent, -1 without one.
        width: C.
    """
    own = np.arange(len(above)).reshape(-1, width)
    ancestors, place = [own], above[own[:, 0]]
    while (place >= 0).any():
        ancestors.append(place[:, None])
        place = np.where(place >= 0, above[place], -1)
    return np.concatenate(ancestors[::-1], axis=1)


def _seen(keys: Nodes, end: Nodes, length: int) -> NDArray[np.bool_]:
    """Return whether each place of a chunk may look at each key: the prompt, ancestors, itself.

    Args:
        keys: [M, K' - L] places in the trie, -1 for none.
        end: [M C] place behind the last descendant of each place, 0 where there is no node.
        length: tokens of the prompt L.
    """
    chunks, count = keys.shape
    own = np.arange(len(end)).reshape(chunks, -1, 1)
    last = np.where(keys >= 0, end[keys], 0)[:, None]
    seen = np.ones((chunks, 1, own.shape[1], length + count), dtype=np.bool_)
    seen[:, 0, :, length:] = (keys[:, None] <= own) & (own < last)
    return seen
