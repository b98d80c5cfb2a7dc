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

from fgrpo_bench.maze.model import KVCache, Transformer
from fgrpo_bench.maze.tokens import DONE, EOS, PAD, Tokens

Nodes = NDArray[np.int64]


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

    def levels(self) -> list[Nodes]:
        """The nodes of each depth, in order of depth."""
        bounds = np.searchsorted(self.depth, np.arange(self.depth[-1] + 2))
        return [np.arange(a, b) for a, b in pairwise(bounds)]

    def matches(self, answers: Tokens) -> NDArray[np.bool_]:
        """Return whether each sample equals its prompt's one answer (reward ``exact``), [G, N].

        Args:
            answers: [G, T] answer tokens, DONE last, padded.
        """
        on_path = np.zeros(len(self.token), dtype=np.bool_)
        for depth, level in enumerate(self.levels()[: answers.shape[1]]):
            before = on_path[self.parent[level]] if depth else True
            on_path[level] = before & (self.token[level] == answers[self.group[level], depth])
        return (on_path & (self.token == DONE))[self.leaves]


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
    cache = KVCache()
    parts: list[tuple[Nodes, ...]] = []
    logps: list[NDArray[np.float32]] = []
    with torch.inference_mode():
        hidden = model(torch.from_numpy(prompts), torch.arange(length), None, cache)
        log_probs = model.log_probs(hidden[:, -1]).numpy()
        frontier = _Frontier.at_prompts(groups, length, group_size)
        size = 0
        for depth in range(max_tokens):
            pvals = np.exp(log_probs.astype(np.float64))
            split = rng.multinomial(frontier.count, pvals / pvals.sum(axis=1, keepdims=True))
            source, token = np.nonzero(split)
            ended = (token == DONE) | (token == EOS) | (depth == max_tokens - 1)
            parts.append(
                (
                    frontier.group[source],
                    frontier.node[source],
                    np.full(len(token), depth),
                    token,
                    split[source, token],
                    ended,
                )
            )
            logps.append(log_probs[source, token])
            going = np.nonzero(~ended)[0]
            if not len(going):
                break
            children = parts[-1][0][going], size + going, parts[-1][4][going]
            frontier = frontier.advance(source[going], *children)
            hidden = model(*frontier.inputs(token[going], length + depth), cache)
            log_probs = model.log_probs(hidden[frontier.group, frontier.column]).numpy()
            size += len(token)
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    group, parent, depths, tokens, count, ends = columns
    return Rollouts(
        prompts,
        group_size,
        group,
        parent,
        depths,
        tokens,
        count,
        ends.astype(np.bool_),
        np.concatenate(logps),
    )


@dataclass(frozen=True)
class _Frontier:
    """The prefixes that still go on, laid out as a padded [G, W] block for the model.

    ``seen`` [A, S] marks the cache slots that each prefix may look at: the prompt, its ancestors
    and itself.
    """

    group: Nodes
    node: Nodes
    count: Nodes
    column: Nodes
    seen: NDArray[np.bool_]
    groups: int

    @classmethod
    def at_prompts(cls, groups: int, length: int, group_size: int) -> "_Frontier":
        every = np.arange(groups)
        seen = np.ones((groups, length), dtype=np.bool_)
        return cls(every, np.full(groups, -1), np.full(groups, group_size), every * 0, seen, groups)

    def advance(self, source: Nodes, group: Nodes, node: Nodes, count: Nodes) -> "_Frontier":
        """Return the next frontier, whose prefixes extend those at ``source``."""
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], group)
        column = np.empty_like(group)
        column[order] = np.arange(len(group))
        column -= first
        width = int(column.max()) + 1
        new = np.zeros((len(group), width), dtype=np.bool_)
        new[np.arange(len(group)), column] = True
        seen = np.concatenate((self.seen[source], new), axis=1)
        return _Frontier(group, node, count, column, seen, self.groups)

    def inputs(
        self, token: Nodes, position: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return tokens [G, W], positions [W] and the mask [G, 1, W, S] of this block."""
        width = int(self.column.max()) + 1
        tokens = np.full((self.groups, width), PAD)
        tokens[self.group, self.column] = token
        # An unused place looks at the first prompt token, since a row of no keys has no softmax.
        mask = np.zeros((self.groups, 1, width, self.seen.shape[1]), dtype=np.bool_)
        mask[:, 0, :, 0] = True
        mask[self.group, 0, self.column] = self.seen
        return torch.from_numpy(tokens), torch.full((width,), position), torch.from_numpy(mask)
