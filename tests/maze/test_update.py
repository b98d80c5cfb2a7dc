"""The trie gradient against one forward and backward pass per sample."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from fgrpo_bench.maze import pack, update
from fgrpo_bench.maze.generate import grow
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.tokens import encode_prompts
from fgrpo_bench.maze.update import Regulariser, backward, drift, node_weights
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
def test_trie_gradient_equals_per_sample_loop(name, off_policy, positions, monkeypatch):
    if off_policy:  # in blocks of rows and in chunks of places too
        monkeypatch.setattr(update, "_ROWS", 2)
        monkeypatch.setattr(pack, "_CHUNK", (5, 5))
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


@pytest.mark.parametrize(("entropy", "kl"), [(0.3, 0.0), (0.0, 0.7), (0.2, 0.5)])
def test_regularised_gradient_equals_per_sample_loop(entropy, kl, monkeypatch):
    """Entropy bonus and k3 penalty are token means over all samples, homogeneous groups too."""
    monkeypatch.setattr(update, "_ROWS", 3)
    monkeypatch.setattr(pack, "_CHUNK", (7, 7))
    model, rollouts, advantages = rolled_out("learned")
    reference, surrogate = small_model(seed=9), METHODS["grpo"].surrogate
    slow, groups = copy.deepcopy(model), np.array([0, 2, 3, 4])
    weights, regulariser = node_weights(rollouts, advantages), Regulariser(entropy, kl, reference)
    stats = backward(model, rollouts, weights, groups, surrogate, 37.0, regulariser)
    loss, _ = naive_backward(slow, rollouts, advantages, groups, surrogate, 37.0)
    extra = torch.zeros(())
    for group in groups:
        prompt = torch.from_numpy(rollouts.prompts[group])
        for tokens, _ in sequences(rollouts)[group]:
            ids = torch.cat((prompt, torch.tensor(tokens)))[None]
            rows = []
            for net in (slow, reference):
                hidden = net(ids, torch.arange(ids.shape[1]))
                rows.append(net.log_probs(hidden[0, len(prompt) - 1 : -1]))
            ours, theirs = rows[0], rows[1].detach()
            extra = extra + entropy * (ours.exp() * ours).sum()
            gap = (theirs - ours)[torch.arange(len(tokens)), tokens]
            extra = extra + kl * (gap.exp() - gap - 1).sum()
    (extra / 37.0).backward()
    assert stats.loss == pytest.approx(loss + extra.item() / 37.0, rel=1e-5)
    fast_grad = torch.cat([p.grad.flatten() for p in model.parameters()])
    slow_grad = torch.cat([p.grad.flatten() for p in slow.parameters()])
    assert (fast_grad - slow_grad).norm() <= 1e-5 * slow_grad.norm()
    assert all(p.grad is None for p in reference.parameters())


def test_drift_is_the_mean_kl_at_the_sampled_prefixes(monkeypatch):
    monkeypatch.setattr(update, "_ROWS", 2)
    model, rollouts, _ = rolled_out("learned")
    reference = small_model(seed=9)
    total = 0.0
    for group, samples in enumerate(sequences(rollouts)):
        prompt = torch.from_numpy(rollouts.prompts[group])
        for tokens, _ in samples:
            ids = torch.cat((prompt, torch.tensor(tokens)))[None]
            with torch.no_grad():
                ours, theirs = (
                    net.log_probs(net(ids, torch.arange(ids.shape[1]))[0, len(prompt) - 1 : -1])
                    for net in (model, reference)
                )
            total += (ours.exp() * (ours - theirs)).sum().item()
    out = drift(model, reference, rollouts)
    assert out["kl_to_base"] == pytest.approx(total / rollouts.tokens, rel=1e-4)
    flat = [torch.cat([p.detach().flatten() for p in m.parameters()]) for m in (model, reference)]
    assert out["distance_to_base"] == pytest.approx((flat[0] - flat[1]).norm().item(), rel=1e-5)
    same = drift(model, copy.deepcopy(model), rollouts)
    assert same == {"kl_to_base": pytest.approx(0, abs=1e-7), "distance_to_base": 0.0}
