"""The Hugging Face reference against our model, its own probabilities, and our update."""

import copy

import numpy as np
import pytest
import torch

from fgrpo_bench.config.load import load_preset
from fgrpo_bench.maze.checkpoint import Training, adamw
from fgrpo_bench.maze.generate import grow
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.tokens import DONE, EOS, PAD, encode_answers, encode_prompts
from fgrpo_bench.maze.train import _update
from fgrpo_bench.maze.update import Regulariser, backward, node_weights
from fgrpo_bench.maze.verdict import matches
from fgrpo_bench.methods.registry import METHODS, Weighted
from fgrpo_bench.rng import stream
from tests.maze.tiny import noisy_model, sequences, skilled_model, small_model

reference = pytest.importorskip("fgrpo_bench.maze.reference", exc_type=ModuleNotFoundError)


@pytest.mark.parametrize("positions", ["learned", "rope"])
@pytest.mark.parametrize("bias", [False, True])
def test_same_log_probabilities_from_the_same_weights(positions, bias):
    ours = noisy_model(positions, 2, bias)
    theirs = reference.hugging_face(ours)
    assert theirs.config._attn_implementation == "sdpa"
    assert sum(p.numel() for p in theirs.parameters()) == sum(p.numel() for p in ours.parameters())
    tokens = torch.randint(0, 32, (3, 40), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        got = theirs(tokens).logits.log_softmax(-1)
        expected = ours.log_probs(ours(tokens, torch.arange(40)))
    assert expected.std() > 0.5
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_generated_probabilities_are_those_of_our_model(positions):
    ours, mazes = small_model(positions), grow(4, 9, stream(0, "test"))
    prompts = encode_prompts(mazes)
    samples = reference.generate(reference.hugging_face(ours), prompts, 6, 9, seed=3)
    tokens, inside = samples.tokens, samples.inside
    assert tokens.shape[0] == 24
    assert tokens.shape[1] <= 9
    rows = torch.from_numpy(prompts).repeat_interleave(6, dim=0)
    ids = torch.cat((rows, tokens), dim=1)
    with torch.no_grad():
        hidden = ours(ids[:, :-1], torch.arange(ids.shape[1] - 1))[:, prompts.shape[1] - 1 :]
        expected = ours.log_probs(hidden).gather(-1, tokens[..., None])[..., 0]
    torch.testing.assert_close(samples.logp[inside], expected[inside], rtol=1e-4, atol=1e-4)
    lengths = set()
    for row, within in zip(tokens.tolist(), inside.tolist(), strict=True):
        length = sum(within)
        assert within == [True] * length + [False] * (len(row) - length)
        assert not {DONE, EOS} & set(row[: length - 1])
        assert row[length - 1] in (DONE, EOS) or length == 9
        assert set(row[length:]) <= {PAD}
        lengths.add(length)
    assert len(lengths) > 2, "some samples end before others"


def test_samples_follow_the_policy_at_temperature_1():
    ours, prompts = small_model(), encode_prompts(grow(1, 9, stream(0, "test")))
    tokens = reference.generate(reference.hugging_face(ours), prompts, 4000, 1, seed=0).tokens
    with torch.no_grad():
        hidden = ours(torch.from_numpy(prompts), torch.arange(prompts.shape[1]))
        expected = 4000 * ours.log_probs(hidden[0, -1]).exp()
    counts = torch.bincount(tokens[:, 0], minlength=32)
    often = expected > 5
    assert often.sum() > 5
    chi_square = ((counts - expected)[often].square() / expected[often]).sum()
    assert chi_square < 3 * often.sum()


def test_draws_depend_on_their_seed_alone():
    model = reference.hugging_face(small_model())
    prompts = encode_prompts(grow(2, 9, stream(0, "test")))
    state = torch.random.get_rng_state()
    one = reference.generate(model, prompts, 4, 9, seed=3).tokens
    assert torch.equal(torch.random.get_rng_state(), state), "the global generator is left alone"
    torch.manual_seed(99)
    assert torch.equal(reference.generate(model, prompts, 4, 9, seed=3).tokens, one)
    other = reference.generate(model, prompts, 4, 9, seed=4).tokens
    assert one.shape != other.shape or not torch.equal(one, other)


def spelled_out(rollouts):
    """The samples of our tries, one row each."""
    rows = [row for group in sequences(rollouts) for row in group]
    width = max(len(tokens) for tokens, _ in rows)
    padded = [(t + [PAD] * (width - len(t)), p + [0.0] * (width - len(p))) for t, p in rows]
    lengths = torch.tensor([len(tokens) for tokens, _ in rows])
    return reference.Samples(
        prompts=torch.from_numpy(rollouts.prompts),
        tokens=torch.tensor([tokens for tokens, _ in padded]),
        inside=torch.arange(width) < lengths[:, None],
        logp=torch.tensor([logp for _, logp in padded]),
    )


def rolled_out(model, groups=6, size=8, limit=31):
    mazes = grow(groups, 9, stream(4, "test"))
    rollouts = sample(model, encode_prompts(mazes), size, limit, stream(5, "test"))
    return mazes, rollouts


def flat(tensors):
    return torch.cat([x.detach().flatten() for x in tensors])


def in_our_order(theirs, ours, what=lambda weight: weight):
    """A flat vector of the reference's weights in the order of ours."""
    named = dict(theirs.named_parameters())
    return flat(
        what(named[f"model.{reference._name(name)}"]) for name, _ in ours.named_parameters()
    )


def test_the_verdict_is_ours():
    mazes, rollouts = rolled_out(skilled_model(), groups=12, size=16)
    answers = encode_answers(mazes)[0]
    verdicts = spelled_out(rollouts).matches(answers)
    assert verdicts.any()
    np.testing.assert_array_equal(verdicts, matches(rollouts, mazes))


@pytest.mark.parametrize("positions", ["learned", "rope"])
@pytest.mark.parametrize("name", ["grpo", "dapo", "cispo"])
def test_same_gradient_on_the_same_rollouts(name, positions):
    """Off the sampling policy, with a group without signal and one outside the mini-batch."""
    ours = small_model(positions)
    _, rollouts = rolled_out(ours, limit=9)
    advantages = stream(6, "test").normal(size=(6, 8))
    advantages[2] = 0.0
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for weight in ours.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator), alpha=0.02)
    theirs, surrogate = reference.hugging_face(ours), METHODS[name].surrogate
    groups, weights = np.array([0, 2, 3, 5]), node_weights(rollouts, advantages)
    clipped = backward(ours, rollouts, weights, groups, surrogate, 37.0).clipped
    reference.backward(theirs, spelled_out(rollouts), advantages, groups, surrogate, 37.0)
    assert clipped > 0 or name == "cispo", "the bounds act"
    mine = flat(weight.grad for weight in ours.parameters())
    other = in_our_order(theirs, ours, lambda weight: weight.grad)
    assert mine.norm() > 1e-3
    assert (mine - other).norm() <= 2e-5 * mine.norm()


@pytest.mark.parametrize(
    ("norm", "optimizer"),
    [
        (0.05, lambda model: adamw(model, 1e-2, 0.01)),
        (1e9, lambda model: torch.optim.SGD(model.parameters(), 1e-1)),  # Adam knows no divisor
    ],
)
def test_same_weights_after_a_step(norm, optimizer, micro_preset):
    """Mini-batches, divisor, clipping and optimiser; one mini-batch has no signal at all."""
    texts = ["train.prompts=6", "train.minibatches=3", f"train.max_grad_norm={norm}"]
    config, method = load_preset(str(micro_preset), texts)[1], METHODS["grpo"]
    before = skilled_model()
    _, rollouts = rolled_out(before)
    advantages = stream(6, "test").normal(size=(6, 8))
    advantages[[1, 2, 3]] = 0.0
    ours, theirs = copy.deepcopy(before), reference.hugging_face(before)
    training = Training(ours, optimizer(ours), 0, {})
    weighted = Weighted(advantages, np.ones(6), None)
    _update(config, method, training, rollouts, weighted, Regulariser(0.0, 0.0, before))
    samples = spelled_out(rollouts)
    reference.update(theirs, optimizer(theirs), samples, advantages, method.surrogate, config.train)
    mine, other = flat(ours.parameters()), in_our_order(theirs, before)
    moved = (mine - flat(before.parameters())).norm()
    assert moved > 1e-3
    # Adam turns the rounding of a tiny gradient into a full step, here and there.
    assert (mine - other).norm() <= 1e-3 * moved
