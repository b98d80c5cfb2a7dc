"""Who looks at whom: every place at those before it, through a cache, or along paths of a trie."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

_NOTHING = 1e30  # below any score by so much that its exponential is exactly zero


class Attention(Protocol):
    """What mixes the values of a layer."""

    def __call__(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return the mixed values, [B, Q, heads, head].

        Args:
            layer: index of the layer.
            query: [B, Q, heads, head], of all T places or of the last one or few that are wanted.
            key: [B, T, kv_heads, head].
            value: [B, T, kv_heads, head].
        """


def _mix(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    """Scaled dot-product attention of [B, T, heads, head] tensors; ``mask`` is added to scores."""
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    grouped = query.shape[1] != key.shape[1]
    mixed = F.scaled_dot_product_attention(
        query, key, value, mask, is_causal=causal, enable_gqa=grouped
    )
    return mixed.transpose(1, 2)


def causal(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Let every place look at itself and those before it; of queries all, or the last place's."""
    if query.shape[1] not in (1, key.shape[1]):
        raise ValueError(f"{query.shape[1]} queries of {key.shape[1]} places: all or the last one")
    return _mix(query, key, value, causal=query.shape[1] > 1)


def additive(seen: NDArray[np.bool_], like: Tensor) -> Tensor:
    """Return what to add to scores: 0 where ``seen``, elsewhere so little that nothing is left.

    Made once for all layers, since from a boolean mask each would make its own, and by arithmetic,
    which takes an eighth of the time of filling by a mask.
    """
    mask = torch.from_numpy(seen.view(np.uint8)).to(like.device, like.dtype)
    return mask.sub_(1).mul_(_NOTHING)


@dataclass
class KVCache:
    """Keys and values of what was run, per layer [B, kv_heads, capacity, head]; an ``Attention``.

    The first call is that of the prompts and causal. For the later ones ``mask`` [B, 1, Q, S] is
    added to the scores, S counting the new places.
    """

    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    mask: Tensor | None = None

    def __call__(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Store keys and values and mix; arguments as in ``Attention``."""
        if self.mask is None:
            self.keys.append(_stored(key.transpose(1, 2)))
            self.values.append(_stored(value.transpose(1, 2)))
            return causal(layer, query, key, value)
        end = self.mask.shape[-1]
        begin = end - key.shape[1]
        for store, new in ((self.keys, key), (self.values, value)):
            if end > store[layer].shape[2]:
                store[layer] = _stored(store[layer][:, :, :begin], 2 * end)
            store[layer][:, :, begin:end] = new.transpose(1, 2)
        key, value = (store[layer][:, :, :end] for store in (self.keys, self.values))
        return _mix(query, key.transpose(1, 2), value.transpose(1, 2), self.mask)

    def keep(self, rows: Tensor, slots: Tensor) -> None:
        """Keep of some rows some slots, and let them move up.

        Args:
            rows: [R] rows.
            slots: [R, S] slots of each of them.
        """
        index = slots[:, None, :, None].to(self.keys[0].device)
        for store in (self.keys, self.values):
            for layer, old in enumerate(store):
                shape = len(rows), old.shape[1], slots.shape[1], old.shape[3]
                store[layer] = _stored(old[rows].gather(2, index.expand(shape)))


def _stored(content: Tensor, capacity: int = 0) -> Tensor:
    """Copy [B, heads, S, head] into a store with room for as much again."""
    used = content.shape[2]
    store = content.new_empty(*content.shape[:2], capacity or 2 * used, content.shape[3])
    store[:, :, :used] = content
    return store


@dataclass(frozen=True)
class TrieAttention:
    """A prompts of L tokens end to end, and behind them the M chunks of C places of their tries.

    A chunk looks at its prompt, at those ancestors of its first place that lie in other chunks,
    and at itself: with a trie in depth-first order no other place is an ancestor of one in it.

    Attributes:
        prompts: A.
        length: L.
        keys: [M K] where the keys of each chunk lie among the A L + M C places.
        mask: [M, 1, C, K] added to the scores.
    """

    prompts: int
    length: int
    keys: Tensor
    mask: Tensor

    def __call__(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Mix; arguments as in ``Attention`` with B = 1.

        Queries are those of all places, or of each prompt's last and all of the chunks.
        """
        chunks, _, width, _ = self.mask.shape
        end = query.shape[1] - chunks * width
        behind = self.prompts * self.length
        head = causal(
            layer,
            _rows(query[0, :end], self.prompts),
            _rows(key[0, :behind], self.prompts),
            _rows(value[0, :behind], self.prompts),
        )
        tail = _mix(
            _rows(query[0, end:], chunks),
            _rows(key[0].index_select(0, self.keys), chunks),
            _rows(value[0].index_select(0, self.keys), chunks),
            self.mask,
        )
        return torch.cat((head.flatten(0, 1), tail.flatten(0, 1))).unsqueeze(0)


def _rows(flat: Tensor, rows: int) -> Tensor:
    return flat.reshape(rows, -1, *flat.shape[1:])
