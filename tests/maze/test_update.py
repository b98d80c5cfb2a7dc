"""The trie gradient against one forward and backward pass per sample."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from fgrpo_bench.maze.generate import grow
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.tokens import encode_prompts
from fgrpo_bench.maze.update import backward, node_weights
from fgrpo_bench.methods.registry import METHODS
from fgrpo_bench.rng import stream
from tests.maze.tiny import sequences, small_model

GROUPS, GROUP_SIZE, MAX_TOKENS = 5, 12, 7


def naive_backward(model, rollouts, advantages, groups, surrogate, divisor):
    """One sample at a time, one token at a time, min/clip written out."""
    total, clipped = 0.0, 0
    spelled = sequences(rollouts)
    for group in groups:
        prompt = torch.from_numpy(rollouts.prompts[group])
        for (tokens, old), advantage in zip(spelled[group], advantages[group], strict=True):
            ids = torch.cat((prompt, torch.tensor(tokens)))[None]
            hidden = model(ids, torch.arange(ids.shape[1]))
            log_probs = model.log_probs(hidden[0, len(prompt) - 1 : -1])
            for t, token in enumerate(tokens):
                ratio = (log_probs[t, token] - old[t]).exp()
                bounded = torch.clamp(ratio, 1 - surrogate.low, 1 + surrogate.high)
                if surrogate.rule == "cispo":
                    gain = bounded.detach() * float(advantage) * log_probs[t, token]
                    clipped += int(advantage != 0 and bounded.item() != ratio.item())
                else:
                    gain = torch.min(ratio * float(advantage), bounded * float(advantage))
                    clipped += int(
                        (advantage > 0 and ratio.item() > 1 + surrogate.high)
                        or (advantage < 0 and ratio.item() < 1 - surrogate.low)
                    )
                total = total - gain / divisor
    total.backward()
    return total.item(), clipped


def rolled_out(positions: str):
    mazes = grow(GROUPS, 9, stream(0, "test"))
    model = small_model(positions)
    rollouts = sample(model, encode_prompts(mazes), GROUP_SIZE, MAX_TOKENS, stream(1, "test"))
    rng = stream(2, "test")
    advantages = rng.normal(size=(GROUPS, GROUP_SIZE))
    advantages[2] = 0.0
    return model, rollouts, advantages


@pytest.mark.parametrize("positions", ["learned", "rope"])
@pytest.mark.parametrize("off_policy", [False, True])
@pytest.mark.parametrize("name", ["grpo", "dapo", "cispo"])
def test_trie_gradient_equals_per_sample_loop(name, off_policy, positions):
    model, rollouts, advantages = rolled_out(positions)
    if off_policy:
        rng = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn(weight.shape, generator=rng), alpha=0.04)
    slow = copy.deepcopy(model)
    surrogate, groups = METHODS[name].surrogate, np.array([0, 2, 3, 4])
    if name == "cispo":  # the paper's [0, 6] is wider than any ratio here
        surrogate = replace(surrogate, low=0.2, high=0.3)
    weights = node_weights(rollouts, advantages)
    stats = backward(model, rollouts, weights, groups, surrogate, 37.0)
    loss, clipped = naive_backward(slow, rollouts, advantages, groups, surrogate, 37.0)
    assert stats.loss == pytest.approx(loss, rel=1e-5, abs=1e-6)
    assert stats.clipped == clipped
    assert (clipped > 0) == off_policy
    fast_grad = torch.cat([p.grad.flatten() for p in model.parameters()])
    slow_grad = torch.cat([p.grad.flatten() for p in slow.parameters()])
    assert slow_grad.norm() > 1e-3
    assert (fast_grad - slow_grad).norm() <= 1e-5 * slow_grad.norm()
