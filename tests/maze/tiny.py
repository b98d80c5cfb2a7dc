"""Tiny models and rollouts for the maze tests."""

from functools import cache

import numpy as np
import torch

from fgrpo_bench.maze.evaluate import answer_log_probs
from fgrpo_bench.maze.generate import Mazes, grow
from fgrpo_bench.maze.model import ModelShape, Transformer
from fgrpo_bench.maze.rollout import Rollouts
from fgrpo_bench.maze.tokens import encode_prompts
from fgrpo_bench.rng import stream


def small_model(positions="learned", seed=0, scale=8.0) -> Transformer:
    """A model of visible opinions: default weights are so small that it is uniform."""
    bias = positions == "rope"
    model = Transformer(ModelShape(32, 32, 2, 4, 2 if bias else 4, 48, positions, 128, bias))
    model.initialise(torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(scale if weight.ndim > 1 else 1.0)
    return model


def noisy_model(positions: str, kv_heads: int, bias: bool) -> Transformer:
    """A model with noise on every weight, biases and norms too, so that each is tested."""
    model = Transformer(ModelShape(32, 48, 3, 4, kv_heads, 64, positions, 64, qkv_bias=bias))
    model.initialise(torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator), alpha=0.2)
    return model


@cache
def _trained() -> dict[str, torch.Tensor]:
    model = small_model(scale=1.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(120):
        loss = -answer_log_probs(model, grow(16, 9, stream(step, "skill"))).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.state_dict()


def skilled_model() -> Transformer:
    """A model that solves 9x9 mazes now and then."""
    model = small_model()
    model.load_state_dict(_trained())
    return model


def sequences(rollouts: Rollouts) -> list[list[tuple[list[int], list[float]]]]:
    """Every sample spelled out as tokens and log-probabilities, walking up from its leaf."""
    out = []
    for leaves in rollouts.leaves:
        group = []
        for leaf in leaves:
            tokens, logps, node = [], [], leaf
            while node >= 0:
                tokens.append(int(rollouts.token[node]))
                logps.append(float(rollouts.logp[node]))
                node = rollouts.parent[node]
            group.append((tokens[::-1], logps[::-1]))
        out.append(group)
    return out


def forest(mazes: Mazes, samples: list[list[list[int]]]) -> Rollouts:
    """Rollouts that consist of the given samples, G lists of N token lists."""
    limit = max(len(tokens) for group in samples for tokens in group)
    nodes: dict[tuple, list[int]] = {}
    for depth in range(limit):
        for group, lists in enumerate(samples):
            for tokens in lists:
                if len(tokens) > depth:
                    key = group, tuple(tokens[: depth + 1])
                    entry = nodes.setdefault(key, [len(nodes), 0, 0])
                    entry[1] += 1
                    entry[2] |= len(tokens) == depth + 1
    keys = list(nodes)
    return Rollouts(
        prompts=encode_prompts(mazes),
        group_size=len(samples[0]),
        group=np.array([group for group, _ in keys]),
        parent=np.array([nodes[g, p[:-1]][0] if len(p) > 1 else -1 for g, p in keys]),
        depth=np.array([len(prefix) - 1 for _, prefix in keys]),
        token=np.array([prefix[-1] for _, prefix in keys]),
        count=np.array([nodes[key][1] for key in keys]),
        ended=np.array([bool(nodes[key][2]) for key in keys]),
        logp=np.zeros(len(keys), dtype=np.float32),
    )
