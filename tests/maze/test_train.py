"""One whole training step against a plain loop over samples, written out from the definitions."""

import copy

import numpy as np
import pytest
import torch

from fgrpo_bench.maze.checkpoint import (
    Training,
    new_training,
    restore_training,
    save_training,
)
from fgrpo_bench.maze.data import load_mazes, model_shape
from fgrpo_bench.maze.generate import Mazes
from fgrpo_bench.maze.grid import cells
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.sft import epoch_index
from fgrpo_bench.maze.tokens import DONE, UP, encode_answers, encode_prompts
from fgrpo_bench.maze.train import TOTALS, _count, training_step
from fgrpo_bench.maze.update import Regulariser
from fgrpo_bench.maze.verdict import correct
from fgrpo_bench.rng import stream
from tests.maze.tiny import forest, sequences

N, GAMMA = 16, 0.7


@pytest.fixture
def cell(micro_preset):
    texts = ["train.prompts=6", "train.minibatches=3", "train.learning_rate=1e-2"]
    return lambda method: cells(str(micro_preset), [method], [N], [GAMMA], [5], texts)[0]


def skilled(cell, data):
    """The cell's model after enough supervised steps that groups are mixed and homogeneous."""
    torch.manual_seed(0)
    model = Transformer(model_shape(cell.config))
    model.load_state_dict(_skilled_weights(cell, data))
    return model.double()  # Adam turns the rounding of a tiny gradient into a full step


_cache: dict = {}


def _skilled_weights(cell, data):
    if not _cache:
        from fgrpo_bench.maze.sft import _sft_step, fresh_model

        training = new_training(fresh_model(cell.config), 1e-2, 0.0)
        for _ in range(150):
            _sft_step(cell.config, data, training)
        _cache.update(training.model.state_dict())
    return _cache


def plain(reference):
    return Regulariser(0.0, 0.0, reference)


def started(model, rate):
    training = new_training(model, rate, 0.01)
    training.totals = dict.fromkeys(TOTALS, 0)
    return training


def naive_step(cell, model, batch):
    """Group-relative policy gradient with focal weight, one sample and one token at a time."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    rollouts = sample(model, encode_prompts(batch), N, 31, stream(5, "maze-rollout", 0))
    answers, lengths = encode_answers(batch)
    groups = sequences(rollouts)
    total = sum(len(tokens) for group in groups for tokens, _ in group)
    seen = []
    for start in (0, 2, 4):
        optimizer.zero_grad()
        # A gradient of zero and not None: momentum and weight decay act without signal too.
        loss = sum(0 * weight.sum() for weight in model.parameters())
        for g in (start, start + 1):
            right = answers[g, : lengths[g]].tolist()
            rewards = torch.tensor([tokens == right for tokens, _ in groups[g]]).double()
            seen.append(int(rewards.sum()))
            if 0 < rewards.sum() < N:
                advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
                if cell.method.startswith("f"):
                    advantages = advantages * (1 - rewards.mean()) ** GAMMA
                for (tokens, old), adv in zip(groups[g], advantages, strict=True):
                    ids = torch.cat((torch.from_numpy(rollouts.prompts[g]), torch.tensor(tokens)))
                    hidden = model(ids[None], torch.arange(len(ids)))[0]
                    logp = model.log_probs(hidden[-len(tokens) - 1 : -1])
                    logp = logp[torch.arange(len(tokens)), tokens]
                    ratio = (logp - torch.tensor(old).double()).exp()
                    high = 1.28 if "dapo" in cell.method else 1.2
                    gain = torch.min(ratio * adv, ratio.clamp(0.8, high) * adv)
                    if "cispo" in cell.method:
                        gain = ratio.clamp(0, 6).detach() * adv * logp
                    loss = loss - gain.sum() / (total / 3)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return seen


@pytest.mark.parametrize("method", ["grpo", "fgrpo", "fdapo", "fcispo"])
def test_a_step_equals_the_plain_loop(cell, method):
    """Every token of the batch is in the divisor, and each mini-batch takes its own step."""
    cell = cell(method)
    data = load_mazes(cell.config)
    ours = skilled(cell, data)
    theirs, before = copy.deepcopy(ours), copy.deepcopy(ours)
    training = started(ours, 1e-2)
    line, _ = training_step(cell, training, data.training, plain(before))
    seen = naive_step(cell, theirs, data.training.take(epoch_index(300, 5, "maze-order", 0, 6)))
    assert {hits > 0 for hits in seen} == {True, False}, "some groups are homogeneous"
    assert line["reward"] == sum(seen) / (6 * N)
    assert line["active"] == sum(0 < hits < N for hits in seen) / 6
    for a, b, c in zip(ours.parameters(), theirs.parameters(), before.parameters(), strict=True):
        assert (b - c).abs().max() > 1e-3
        # where a gradient is as small as Adam's epsilon, its rounding shows: 4e-6 on one machine
        torch.testing.assert_close(a, b, rtol=0, atol=1e-5)
    assert training.totals["rollouts"] == 6 * N
    assert training.totals["correct"] == sum(seen)
    assert training.totals["tokens"] == line["tokens"]


def test_a_walk_that_arrives_and_goes_on_to_the_limit_is_correct_and_not_truncated():
    """Every sample has one outcome, so that these add up to the rollouts."""
    mazes = Mazes(5, np.array([[-1, 2, 3, 0]], dtype=np.int8))
    up, down, right = UP, UP + 1, UP + 3
    arrives = [right, right, down, down]
    samples = [[*arrives, up], [*arrives, DONE], [right, right, up, up, up], [down, DONE]]
    rollouts = forest(mazes, [samples])
    training = Training(None, None, 0, dict.fromkeys(TOTALS, 0))
    _count(training, rollouts, correct(rollouts, mazes, "reach"), clipped=0.0)
    outcomes = [training.totals[name] for name in ("correct", "truncated", "wrong")]
    assert outcomes == [2, 1, 1]
    assert training.totals["rollouts"] == 4


def stepped_and_restored(cell, data, directory):
    """A training after one step, and another restored from its checkpoint."""
    one = started(skilled(cell, data), 1e-2)
    training_step(cell, one, data.training, plain(one.model))
    save_training(directory, one)
    two = started(skilled(cell, data), 1e-2)
    restore_training(directory, two)
    return one, two


def test_a_checkpoint_restores_everything_a_step_depends_on(cell, tmp_path):
    cell = cell("fgrpo")
    data = load_mazes(cell.config)
    one, two = stepped_and_restored(cell, data, tmp_path)
    assert (two.step, two.totals) == (1, one.totals)
    lines = [training_step(cell, t, data.training, plain(t.model))[0] for t in (one, two)]
    assert lines[0] == lines[1]
    for a, b in zip(one.model.parameters(), two.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_step_without_signal_still_steps_alike_after_a_resume(cell, tmp_path):
    """Momentum acts in a step without an active group, whether or not a resume came before."""
    cell = cell("grpo")
    data = load_mazes(cell.config)
    one, two = stepped_and_restored(cell, data, tmp_path)
    for training in (one, two):
        training.optimizer.zero_grad(set_to_none=False)
        training.optimizer.step()
    for a, b in zip(one.model.parameters(), two.model.parameters(), strict=True):
        assert torch.equal(a, b)
