"""Which device is taken, and that nothing is left on the wrong one."""

import numpy as np
import pytest
import torch

from fgrpo_bench.config.load import load_preset
from fgrpo_bench.maze import evaluate
from fgrpo_bench.maze.checkpoint import new_training, restore_training, save_training
from fgrpo_bench.maze.device import device, gpus
from fgrpo_bench.maze.generate import grow
from fgrpo_bench.maze.pack import pack
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.tokens import encode_prompts
from fgrpo_bench.maze.update import (
    Regulariser,
    backward,
    drift,
    node_weights,
    place_log_probs,
)
from fgrpo_bench.methods.registry import METHODS
from fgrpo_bench.rng import stream
from tests.maze.tiny import small_model


def config(where):
    return load_preset("maze-small", [f"train.device={where}"])[1]


@pytest.mark.parametrize(
    ("where", "count", "named", "expected"),
    [
        ("cpu", 4, None, []),
        ("auto", 0, None, []),
        ("auto", 2, None, ["0", "1"]),
        ("auto", 2, "3,5", ["3", "5"]),
        ("auto", 1, "GPU-8e,7", ["GPU-8e"]),
    ],
)
def test_gpus_are_taken_only_when_asked_and_there(monkeypatch, where, count, named, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if named:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert gpus(config(where)) == expected
    assert device(config(where)).type == ("cuda" if expected else "cpu")


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_a_model_on_another_device_takes_what_lies_on_the_cpu(positions):
    """The meta device stands for a GPU: it refuses tensors of another device as well."""
    mazes = grow(3, 9, stream(0, "test"))
    rollouts = sample(small_model(positions), encode_prompts(mazes), 6, 7, stream(1, "test"))
    model, packed = small_model(positions).to("meta"), pack(rollouts, np.arange(3))
    log_probs = place_log_probs(model, packed)
    answers = evaluate.answer_log_probs(model, mazes)
    assert log_probs.device.type == answers.device.type == "meta"
    assert log_probs.shape == (len(packed.node), 32)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_a_gpu_gives_the_same_losses_and_checkpoints(tmp_path):
    mazes = grow(4, 9, stream(0, "test"))
    here, there = small_model(), small_model().cuda()
    rollouts = sample(here, encode_prompts(mazes), 12, 7, stream(1, "test"))
    weights = node_weights(rollouts, stream(2, "test").normal(size=(4, 12)))
    losses = []
    for model in (here, there):
        reference = small_model(seed=9).to(model.embed_tokens.weight.device)
        stats = backward(
            model, rollouts, weights, np.arange(4), METHODS["grpo"].surrogate, 37.0,
            Regulariser(0.1, 0.1, reference),
        )  # fmt: skip
        losses.append([stats.loss, *drift(model, reference, rollouts).values()])
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    for a, b in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad.cpu(), rtol=1e-2, atol=1e-4)
    drawn = sample(there, encode_prompts(mazes), 12, 7, stream(1, "test"))
    every = pack(drawn, np.arange(4))
    logp = place_log_probs(here, every)[torch.arange(len(every.node)), every.token]
    np.testing.assert_allclose(drawn.logp[every.node], logp.detach().numpy(), atol=1e-3)
    np.testing.assert_allclose(
        evaluate.exact_success(here, mazes), evaluate.exact_success(there, mazes), rtol=1e-3
    )
    training = new_training(there, 1e-3, 0.0)
    training.optimizer.step()
    training.totals = {"tokens": 1}
    save_training(tmp_path, training)
    again = new_training(small_model().cuda(), 1e-3, 0.0)
    restore_training(tmp_path, again)
    again.optimizer.step()
    training.optimizer.step()
    for a, b in zip(training.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)
