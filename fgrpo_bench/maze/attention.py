"""Who looks at whom: every place at those before it, through a cache, or along paths of a trie."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

Nodes = NDArray[np.int64]
_CALL = 4000  # one more call of the kernel costs as much as so many pairs of query and key
_ROOM = 32  # slots to clean at once
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


@dataclass(frozen=True)
class _Level:
    """Where the A new places of a cache lie, and what they look at.

    Attributes:
        slot: [A] where they lie in the flattened store.
        block: their rows and columns [A] in a padded block [R, W], None where they fill it.
        spans: row, first and last place, and slots of each row; None to mix the padded block.
        mask: [R, 1, W, S] of the block, or [A, S] of the places themselves, added to scores.
    """

    slot: Tensor
    block: tuple[Tensor, Tensor] | None
    spans: list[tuple[int, int, int, int]] | None
    mask: Tensor


@dataclass
class KVCache:
    """Keys and values of R rows, per layer [R, capacity, kv_heads, head]; an ``Attention``.

    The first call is that of the prompts, [R, L], and causal. Each later one is of a level of new
    places, [1, A], which ``look`` has laid out. The first ``clean`` slots of every row hold finite
    numbers; what lies behind them was never written.
    """

    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    clean: int = 0
    level: _Level | None = None

    def look(self, rows: Nodes, slots: Nodes, seen: NDArray[np.bool_]) -> None:
        """Lay out the next level.

        Args:
            rows: [A] row of each new place, in order.
            slots: [A] slot of each new place.
            seen: [A, S] slots of its row that it looks at, its own included.
        """
        self._make_room(seen.shape[1])
        count, capacity = self.keys[0].shape[:2]
        column = np.arange(len(rows)) - np.searchsorted(rows, rows)
        width = int(column.max()) + 1
        first = np.flatnonzero(column == 0)
        last, used = np.append(first[1:], len(rows)), np.maximum.reduceat(slots, first) + 1
        slot = torch.from_numpy(rows * capacity + slots).to(self.keys[0].device)
        padding = count * width * seen.shape[1] - int(((last - first) * used).sum())
        if padding > _CALL * len(first) and self.keys[0].device.type == "cpu":
            spans = list(zip(*(x.tolist() for x in (rows[first], first, last, used)), strict=True))
            self.level = _Level(slot, None, spans, additive(seen, self.keys[0]))
            return
        # An unused place looks at the first prompt token, since a row of no keys has no softmax.
        block = np.zeros((count, 1, width, seen.shape[1]), dtype=np.bool_)
        block[..., 0] = True
        block[rows, 0, column] = seen
        full = len(rows) == count * width
        where = None if full else (torch.from_numpy(rows), torch.from_numpy(column))
        self.level = _Level(slot, where, None, additive(block, self.keys[0]))

    def _make_room(self, slots: int) -> None:
        """Let every row have so many clean slots: a mask hides what is finite, and only that."""
        if slots <= self.clean:
            return
        more = slots + _ROOM
        for store in (self.keys, self.values):
            for layer, old in enumerate(store):
                if more > old.shape[1]:
                    store[layer] = _stored(old[:, : self.clean], 2 * more)
                store[layer][:, self.clean : more] = 0
        self.clean = more

    def __call__(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Store keys and values and mix; arguments as in ``Attention``."""
        if self.level is None:
            self.clean = key.shape[1]
            self.keys.append(_stored(key, 2 * key.shape[1]))
            self.values.append(_stored(value, 2 * value.shape[1]))
            return causal(layer, query, key, value)
        for store, new in ((self.keys, key), (self.values, value)):
            store[layer].flatten(0, 1).index_copy_(0, self.level.slot, new[0])
        key, value, mask = self.keys[layer], self.values[layer], self.level.mask
        if self.level.spans is not None:
            parts = [
                _mix(
                    query[:, first:last],
                    key[row : row + 1, :used],
                    value[row : row + 1, :used],
                    mask[first:last, :used],
                )
                for row, first, last, used in self.level.spans
            ]
            return torch.cat(parts, dim=1)
        rows, _, width, used = mask.shape
        if self.level.block is None:
            block = query.reshape(rows, width, *query.shape[2:])
        else:
            block = query.new_zeros(rows, width, *query.shape[2:])
            block[self.level.block] = query[0]
        mixed = _mix(block, key[:, :used], value[:, :used], mask)
        if self.level.block is None:
            return mixed.reshape(query.shape)
        return mixed[self.level.block].unsqueeze(0)

    def keep(self, rows: Nodes, slots: Nodes) -> None:
        """Keep of some rows some slots, and let them move up.

        Args:
            rows: [R] rows.
            slots: [R, S] slots of each of them.
        """
        capacity = self.keys[0].shape[1]
        index = torch.from_numpy((rows[:, None] * capacity + slots).ravel())
        index = index.to(self.keys[0].device)
        for store in (self.keys, self.values):
            for layer, old in enumerate(store):
                kept = old.flatten(0, 1).index_select(0, index)
                kept = kept.view(*slots.shape, *old.shape[2:])
                store[layer] = _stored(kept, 2 * slots.shape[1])
        self.clean = slots.shape[1]


def _stored(content: Tensor, capacity: int) -> Tensor:
    """Copy [R, S, kv_heads, head] into a store that has room for more."""
    store = content.new_empty(content.shape[0], capacity, *content.shape[2:])
    store[:, : content.shape[1]] = content
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
        behind = self.prompts * self.length
        asking, tail = torch.split(query[0], [query.shape[1] - chunks * width, chunks * width])
        head = causal(
            layer,
            _rows(asking, self.prompts),
            _rows(key[0, :behind], self.prompts),
            _rows(value[0, :behind], self.prompts),
        )
        tail = _mix(
            _rows(tail, chunks),
            _rows(key[0].index_select(0, self.keys), chunks),
            _rows(value[0].index_select(0, self.keys), chunks),
            self.mask,
        )
        return torch.cat((head.flatten(0, 1), tail.flatten(0, 1))).unsqueeze(0)


def _rows(flat: Tensor, rows: int) -> Tensor:
    return flat.reshape(rows, -1, *flat.shape[1:])
