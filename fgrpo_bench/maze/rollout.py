"""Token-tree rollouts: N samples of a prompt as a trie whose counts are split by multinomials.

Each distinct prefix is run once and its count is split over the next tokens by an exact
multinomial draw, which is the distribution of N independent samples. The keys and values of a
prompt are computed once and shared by all of its samples.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from fgrpo_bench.maze.attention import KVCache, Nodes
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.tokens import DONE, EOS, Tokens

_WORTH_KEEPING = 0.5


@dataclass(frozen=True)
class Rollouts:
    """The samples of G prompts as one forest; M nodes, parents before their children.

    Attributes:
        prompts: [G, L] token ids.
        group_size: samples per prompt N.
        group: [M] prompt of the node.
        parent: [M] node before it, -1 at the first answer token.
        depth: [M] answer tokens before it.
        token: [M] its token.
        count: [M] samples that pass through it.
        ended: [M] whether its samples end here (DONE, ``<eos>`` or the length limit).
        logp: [M] log-probability of its token under the policy that sampled it, nats.
    """

    prompts: Tokens
    group_size: int
    group: Nodes
    parent: Nodes
    depth: Nodes
    token: Nodes
    count: Nodes
    ended: NDArray[np.bool_]
    logp: NDArray[np.float32]

    @property
    def tokens(self) -> int:
        """Answer tokens of all samples."""
        return int(self.count.sum())

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """Whether each sample was cut by the length limit, [G, N]."""
        token = self.token[self.leaves]
        return (token != DONE) & (token != EOS)

    @cached_property
    def leaves(self) -> Nodes:
        """The node where each sample ends, [G, N]."""
        ends = np.nonzero(self.ended)[0]
        ends = ends[np.argsort(self.group[ends], kind="stable")]
        return np.repeat(ends, self.count[ends]).reshape(len(self.prompts), self.group_size)

    @property
    def mean_logp(self) -> NDArray[np.float64]:
        """Mean log-probability of each sample's tokens under the sampling policy, nats, [G, N]."""
        total = self.logp.astype(np.float64)
        for level in self.levels()[1:]:
            total[level] += total[self.parent[level]]
        return (total / (self.depth + 1))[self.leaves]

    @cached_property
    def preorder(self) -> tuple[Nodes, Nodes]:
        """Depth-first place of each node that goes on, within its group, and places of its subtree.

        [M] each; nodes where samples end have no place: 0 in both. Whatever lies in
        [place, place + size) descends from the node or is the node.
        """
        levels = self.levels()
        size = (~self.ended).astype(np.int64)
        for level in reversed(levels[1:]):
            np.add.at(size, self.parent[level], size[level])
        place = np.zeros_like(size)
        for depth, level in enumerate(levels):
            parent = self.parent[level] if depth else self.group[level]
            before = np.cumsum(size[level]) - size[level]
            start = place[parent] + 1 if depth else 0
            place[level] = start + before - before[np.searchsorted(parent, parent)]
        return np.where(self.ended, 0, place), size

    def levels(self) -> list[Nodes]:
        """The nodes of each depth, in order of depth."""
        bounds = np.searchsorted(self.depth, np.arange(self.depth[-1] + 2))
        return [np.arange(a, b) for a, b in pairwise(bounds)]


def sample(
    model: Transformer,
    prompts: Tokens,
    group_size: int,
    max_tokens: int,
    rng: np.random.Generator,
) -> Rollouts:
    """Draw ``group_size`` samples of each prompt at temperature 1.

    Args:
        model: the policy.
        prompts: [G, L] ids, all of one length.
        group_size: samples per prompt N.
        max_tokens: answer tokens after which a sample is cut.
        rng: source of the multinomial draws.
    """
    groups, length = prompts.shape
    cache, levels, nodes = KVCache(), list[_Level](), 0
    with torch.inference_mode():
        last = slice(length - 1, None)
        hidden = model(torch.from_numpy(prompts), torch.arange(length), cache, last)
        log_probs = model.log_probs(hidden[:, 0]).cpu().numpy()
        frontier = _Frontier.at_prompts(groups, length, group_size)
        for depth in range(max_tokens):
            levels.append(frontier.split(log_probs, depth == max_tokens - 1, rng))
            going = np.nonzero(~levels[-1].ended)[0]
            if not len(going):
                break
            frontier = frontier.advance(levels[-1], going, nodes, cache)
            nodes += len(levels[-1].token)
            cache.look(frontier.row, frontier.slot, frontier.seen)
            tokens = torch.from_numpy(frontier.token).unsqueeze(0)
            hidden = model(tokens, torch.tensor([length + depth]), cache)
            log_probs = model.log_probs(hidden[0]).cpu().numpy()
    return Rollouts(
        prompts=prompts,
        group_size=group_size,
        group=np.concatenate([level.group for level in levels]),
        parent=np.concatenate([level.parent for level in levels]),
        depth=np.repeat(np.arange(len(levels)), [len(level.token) for level in levels]),
        token=np.concatenate([level.token for level in levels]),
        count=np.concatenate([level.count for level in levels]),
        ended=np.concatenate([level.ended for level in levels]),
        logp=np.concatenate([level.logp for level in levels]),
    )


@dataclass(frozen=True)
class _Level:
    """The nodes of one depth, as in ``Rollouts``; ``source`` is their place in the frontier."""

    source: Nodes
    group: Nodes
    parent: Nodes
    token: Nodes
    count: Nodes
    ended: NDArray[np.bool_]
    logp: NDArray[np.float32]


@dataclass(frozen=True)
class _Frontier:
    """The A prefixes that still go on, and where they lie in the cache.

    ``row`` [A] is the prefix's row of the cache, ``slot`` [A] its own slot there, and ``seen``
    [A, S] marks the slots it may look at: the prompt, its ancestors and itself. Of each of R rows
    the first ``used`` [R] slots are taken.
    """

    group: Nodes
    node: Nodes
    token: Nodes
    count: Nodes
    row: Nodes
    slot: Nodes
    used: Nodes
    seen: NDArray[np.bool_]

    @classmethod
    def at_prompts(cls, groups: int, length: int, group_size: int) -> "_Frontier":
        """Return the frontier behind the prompts: one prefix per group with all of its samples."""
        every, zeros = np.arange(groups), np.zeros(groups, dtype=np.int64)
        seen = np.ones((groups, length), dtype=np.bool_)
        used = zeros + length
        return cls(every, zeros - 1, zeros, zeros + group_size, every, used - 1, used, seen)

    def split(self, log_probs: NDArray[np.float32], last: bool, rng: np.random.Generator) -> _Level:
        """Split each prefix's count over its next tokens by a multinomial draw.

        Args:
            log_probs: [A, V] log-probabilities of the next token.
            last: whether the length limit ends every sample here.
            rng: source of the draws.
        """
        pvals = np.exp(log_probs.astype(np.float64))
        counts = rng.multinomial(self.count, pvals / pvals.sum(axis=1, keepdims=True))
        source, token = np.nonzero(counts)
        ended = (token == DONE) | (token == EOS) | last
        return _Level(
            source=source,
            group=self.group[source],
            parent=self.node[source],
            token=token,
            count=counts[source, token],
            ended=ended,
            logp=log_probs[source, token],
        )

    def advance(self, level: _Level, going: Nodes, nodes: int, cache: KVCache) -> "_Frontier":
        """Return the next frontier: the nodes ``going`` of a level that starts at ``nodes``."""
        source = level.source[going]
        row, used, seen = _compacted(self.row[source], self.used, self.seen[source], cache)
        slot = used[row] + np.arange(len(row)) - np.searchsorted(row, row)  # rows are in order
        used = used + np.bincount(row, minlength=len(used))
        slots = max(seen.shape[1], int(used.max()))
        sees = np.zeros((len(row), slots), dtype=np.bool_)
        sees[:, : seen.shape[1]] = seen
        sees[np.arange(len(row)), slot] = True
        group, token, count = level.group[going], level.token[going], level.count[going]
        return _Frontier(group, nodes + going, token, count, row, slot, used, sees)


def _compacted(
    row: Nodes, used: Nodes, seen: NDArray[np.bool_], cache: KVCache
) -> tuple[Nodes, Nodes, NDArray[np.bool_]]:
    """Drop rows whose group has ended and slots nobody looks at, once that halves the cache.

    Args:
        row: [A] rows of the prefixes, in order.
        used: [R] slots taken of each row.
        seen: [A, S] slots they look at.
        cache: changed accordingly.

    Returns:
        The same for the cache that is left.
    """
    first = np.flatnonzero(np.diff(row, prepend=-1))
    live = row[first]
    wanted = np.logical_or.reduceat(seen, first, axis=0)
    kept = wanted.sum(axis=1)
    width = int(kept.max())
    if len(live) * width > _WORTH_KEEPING * len(used) * seen.shape[1]:
        return row, used, seen
    # Wanted slots first, in order; what fills a row up is looked at by nobody.
    slots = np.argsort(~wanted, axis=1, kind="stable")[:, :width]
    cache.keep(live, slots)
    row = np.searchsorted(live, row)
    return row, kept, np.take_along_axis(seen, slots[row], axis=1)
