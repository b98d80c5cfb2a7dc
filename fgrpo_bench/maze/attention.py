"""Who looks at whom: every place at those before it, through a cache, or along paths of a trie."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F


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
    """Return what to add to scores: 0 where ``seen``, minus infinity elsewhere.

    Made once for all layers: from a boolean mask each would make its own.
    """
    mask = torch.from_numpy(seen).to(like.device)
    return like.new_zeros(mask.shape).masked_fill_(~mask, -torch.inf)


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
    """Rows of a prompt and its trie in depth-first order, cut into n chunks of C places each.

    A chunk looks at the prompt, at those ancestors of its first place that lie before it, and at
    itself: no other place of the trie is an ancestor of one in the chunk.

    Attributes:
        prompt: tokens of the prompt.
        slots: [B n K] place of each key of each chunk in the flattened rows [B T], None with one
            chunk, whose keys are the row.
        mask: [B n, 1, C, K] added to the scores.
    """

    prompt: int
    slots: Tensor | None
    mask: Tensor

    def __call__(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Mix; arguments as in ``Attention``, queries from the last place of the prompt or all."""
        rows, places = key.shape[:2]
        end = query.shape[1] - (places - self.prompt)
        head = causal(layer, query[:, :end], key[:, : self.prompt], value[:, : self.prompt])
        chunks, _, width, keys = self.mask.shape
        if self.slots is not None:
            key, value = (
                x.flatten(0, 1).index_select(0, self.slots).view(chunks, keys, *x.shape[2:])
                for x in (key, value)
            )
        tail = _mix(query[:, end:].reshape(chunks, width, *query.shape[2:]), key, value, self.mask)
        return torch.cat((head, tail.reshape(rows, -1, *query.shape[2:])), dim=1)
