"""The published maze configuration: its values, and its first steps at full size."""

import math

import numpy as np
import pytest
import torch

from fgrpo_bench.cli import main
from fgrpo_bench.config.load import load_preset
from fgrpo_bench.maze.generate import grow
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.sft import _schedule, fresh_model
from fgrpo_bench.maze.tokens import VOCABULARY, encode_prompts
from fgrpo_bench.maze.update import backward, node_weights
from fgrpo_bench.methods.registry import METHODS
from fgrpo_bench.rng import stream
from fgrpo_bench.rundir.directory import read_metrics
from fgrpo_bench.rundir.results import read_results

# arXiv 2602.06717, section 5.2 and appendix K; arXiv 2602.02710 where these refer to it.
PUBLISHED = {
    "maze": {"size": 17, "reward": "exact", "train_mazes": 1_000_000, "evaluation_mazes": 256,
             "max_answer_tokens": 180},
    "model": {"width": 256, "layers": 4, "heads": 4, "kv_heads": 2, "ffn": 1024,
              "positions": "rope", "qkv_bias": True},
    "base": {"steps": 1500, "batch": 32, "learning_rate": 5e-4, "schedule": "cosine"},
    "train": {"steps": 20_000, "prompts": 256, "minibatches": 1, "learning_rate": 1e-4,
              "entropy": 0.0, "kl": 0.0, "device": "auto"},
    "evaluation": {"every": 250, "k": [1, 16, 128, 256, 2048]},
}  # fmt: skip


def test_the_preset_has_the_published_values():
    config = load_preset("maze-paper")[1].model_dump(mode="json")
    ours = {s: {key: config[s][key] for key in keys} for s, keys in PUBLISHED.items()}
    assert ours == PUBLISHED
    model = fresh_model(load_preset("maze-paper")[1])
    assert sum(weight.numel() for weight in model.parameters()) == 3_944_704
    assert (model.shape.rope_theta, model.shape.norm_epsilon) == (1e6, 1e-6)
    assert encode_prompts(grow(1, 17, stream(0, "test"))).shape == (1, 310)
    assert len(VOCABULARY) == 32


def test_the_bases_learning_rate_falls_along_a_cosine():
    section = load_preset("maze-paper")[1].base
    shares = [_schedule(section, step) for step in range(1500)]
    assert shares[:2] == [1.0, 1.0]
    assert shares == sorted(shares, reverse=True)
    assert shares[751] == pytest.approx(0.5, abs=2e-3)
    assert 0 < shares[-1] < 1e-5
    warm = section.model_copy(update={"warmup": 100, "steps": 300})
    shares = [_schedule(warm, step) for step in range(300)]
    assert shares[:100] == [(step + 1) / 100 for step in range(100)]
    cosine = [(1 + math.cos(math.pi * i / 200)) / 2 for i in range(200)]
    assert shares[100:] == pytest.approx(cosine)
    constant = warm.model_copy(update={"schedule": "constant"})
    assert {_schedule(constant, step) for step in range(100, 300)} == {1.0}


@pytest.mark.slow
def test_its_first_20_steps_run(tmp_path, capsys):
    """At full size but for the base, whose 1,500 steps are hours here: 20 as well."""
    words = ["--preset", "maze-paper", "--method", "fgrpo", "--n", "4", "--out", str(tmp_path)]
    sets = ["base.steps=20", "train.steps=20"]
    main(["run", *words, *(word for text in sets for word in ("--set", text))])
    out, error = capsys.readouterr()
    assert "F-GRPO N=4" in out
    assert "growing 1000000 mazes" in error
    assert torch.cuda.is_available() or "torch finds no CUDA GPU here" in error
    (run,) = [path.parent for path in tmp_path.rglob("results.json")]
    lines = read_metrics(run)
    assert [line["step"] for line in lines] == list(range(21))
    results = read_results(run)
    assert results.training.rollouts == 20 * 256 * 4
    assert sum(results.outcomes.values()) == results.training.rollouts


@pytest.mark.slow
def test_an_update_at_its_full_size_is_finite():
    """A base of few steps never earns a reward, so the gradient is asked for by hand."""
    config = load_preset("maze-paper")[1]
    model, mazes = fresh_model(config), grow(256, 17, stream(0, "test"))
    limit = config.maze.max_answer_tokens
    rollouts = sample(model, encode_prompts(mazes), 4, limit, stream(1, "test"))
    weights = node_weights(rollouts, stream(2, "test").normal(size=(256, 4)))
    surrogate, divisor = METHODS["grpo"].surrogate, float(rollouts.tokens)
    stats = backward(model, rollouts, weights, np.arange(256), surrogate, divisor)
    assert np.isfinite(stats.loss)
    norms = [weight.grad.norm().item() for weight in model.parameters()]
    assert all(0 < norm < math.inf for norm in norms)
