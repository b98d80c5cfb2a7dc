"""Token-tree rollouts against exact probabilities and per-sample walks."""

import numpy as np
import pytest
import torch

from fgrpo_bench.config.load import load_preset
from fgrpo_bench.maze import attention, rollout
from fgrpo_bench.maze.evaluate import (
    answer_log_probs,
    exact_success,
    guesser_success,
    sampled_success,
)
from fgrpo_bench.maze.generate import evaluation_sets, grow
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.tokens import DONE, EOS, encode_answers, encode_prompts
from fgrpo_bench.rng import stream
from fgrpo_bench.stats.pass_at_k import exact_success_at_k, pass_at_k
from tests.maze.tiny import sequences, skilled_model, small_model

MAX_TOKENS = 7


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_every_node_has_the_log_probability_of_a_full_pass(positions, by_row, monkeypatch):
    """Whether a level is mixed as one padded block or row by row, and whatever the cache drops."""
    if by_row:
        monkeypatch.setattr(attention, "_CALL", -1)
    kept = []
    keep = attention.KVCache.keep
    monkeypatch.setattr(attention.KVCache, "keep", lambda *a: (kept.append(a), keep(*a)))
    monkeypatch.setattr(rollout, "_WORTH_KEEPING", 1.0)
    model = small_model(positions)
    mazes = grow(4, 9, stream(0, "test"))
    rollouts = sample(model, encode_prompts(mazes), 16, MAX_TOKENS, stream(1, "test"))
    assert len(kept) > 3, "some rows or slots were dropped"
    for group, samples in enumerate(sequences(rollouts)):
        for tokens, logps in samples:
            ids = torch.cat((torch.from_numpy(rollouts.prompts[group]), torch.tensor(tokens)))
            with torch.no_grad():
                full = model.log_probs(model(ids[None], torch.arange(len(ids))))[0]
            start = len(rollouts.prompts[group]) - 1
            expected = [full[start + t, token].item() for t, token in enumerate(tokens)]
            np.testing.assert_allclose(logps, expected, atol=2e-5)


def test_the_forest_is_consistent():
    model = small_model()
    mazes = grow(6, 9, stream(0, "test"))
    r = sample(model, encode_prompts(mazes), 50, MAX_TOKENS, stream(1, "test"))
    roots = r.parent < 0
    assert np.bincount(r.group[roots], weights=r.count[roots]).tolist() == [50] * 6
    for node in np.nonzero(~r.ended)[0]:
        children = r.parent == node
        assert r.count[children].sum() == r.count[node]
        assert (r.group[children] == r.group[node]).all()
        assert (r.depth[children] == r.depth[node] + 1).all()
        assert len(set(r.token[children])) == children.sum()
    ended = np.isin(r.token, (DONE, EOS)) | (r.depth == MAX_TOKENS - 1)
    np.testing.assert_array_equal(r.ended, ended)
    assert r.leaves.shape == (6, 50)
    means = [np.mean(logps) for group in sequences(r) for _, logps in group]
    np.testing.assert_allclose(r.mean_logp.ravel(), means, rtol=1e-9)
    lengths = [len(tokens) for group in sequences(r) for tokens, _ in group]
    assert r.tokens == sum(lengths)
    spelled = [tokens for group in sequences(r) for tokens, _ in group]
    cut = [tokens[-1] not in (DONE, EOS) for tokens in spelled]
    assert 0 < sum(cut) < len(cut)
    np.testing.assert_array_equal(r.truncated.ravel(), cut)


def test_first_tokens_follow_the_models_distribution():
    model, mazes = small_model(scale=4.0), grow(3, 9, stream(0, "test"))
    draws = 20_000
    r = sample(model, encode_prompts(mazes), draws, 1, stream(1, "test"))
    with torch.no_grad():
        prompts = torch.from_numpy(encode_prompts(mazes))
        p = model.log_probs(model(prompts, torch.arange(prompts.shape[1]))[:, -1]).exp().numpy()
    counts = np.zeros((3, 32))
    counts[r.group, r.token] = r.count
    chi2 = ((counts - draws * p) ** 2 / (draws * p)).sum()
    assert abs(chi2 - 93) < 5 * np.sqrt(2 * 93)


def test_sampler_agrees_with_exact_probabilities_over_many_mazes(micro_preset):
    model, mazes, n = skilled_model(), evaluation_sets(9, 256, seed=7)[1], 512
    config = load_preset(str(micro_preset), [f"evaluation.samples={n}"])[1]
    p = exact_success(model, mazes)
    c = sampled_success(model, mazes, config, seed=0)
    assert len(set(mazes.keys())) == 256, "different mazes, not one over and over"
    usable = (p > 5 / n) & (p < 1 - 5 / n)
    z = (c - n * p)[usable] / np.sqrt(n * p * (1 - p))[usable]
    assert usable.sum() > 150
    assert abs(z.mean()) < 4 / np.sqrt(usable.sum())
    assert 0.85 < z.std() < 1.15
    ks = [1, 4, 16, 64]
    exact = exact_success_at_k(p, ks)
    unbiased = pass_at_k(n, c[:, None], ks)
    error = (unbiased - exact).mean(axis=0)
    spread = (unbiased - exact).std(axis=0) / np.sqrt(len(mazes))
    assert (np.abs(error) < 4 * spread).all()
    assert (spread < 0.01).all()


def test_exact_success_is_the_product_of_token_probabilities():
    model, mazes = small_model(), grow(40, 9, stream(0, "test"))
    answers, lengths = encode_answers(mazes)
    prompts = encode_prompts(mazes)
    expected = []
    for prompt, answer, length in zip(prompts, answers, lengths, strict=True):
        ids, p = list(prompt), 1.0
        for token in answer[:length]:
            with torch.no_grad():
                hidden = model(torch.tensor([ids]), torch.arange(len(ids)))
                p *= model.log_probs(hidden[0, -1])[token].exp().item()
            ids.append(token)
        expected.append(p)
    np.testing.assert_allclose(exact_success(model, mazes), expected, rtol=1e-4)
    with torch.no_grad():
        logs = answer_log_probs(model, mazes).exp()
    np.testing.assert_allclose(logs, expected, rtol=1e-4)


def test_guesser_draws_training_paths_by_frequency():
    training, mazes = grow(3000, 7, stream(1, "test")), grow(50, 7, stream(2, "test"))
    rng, draws = stream(3, "test"), 40_000
    guesses = rng.integers(len(training), size=draws)
    paths = [training.moves[g].tobytes() for g in guesses]
    p = guesser_success(training, mazes)
    for path, chance in zip(mazes.moves, p, strict=True):
        hits = paths.count(path.tobytes())
        assert abs(hits - draws * chance) <= 5 * np.sqrt(draws * chance * (1 - chance)) + 1e-9
    assert 0 < p.mean() < 1


def test_unseen_paths_are_never_guessed():
    training, mazes = grow(1, 9, stream(1, "test")), grow(20, 9, stream(2, "test"))
    p = guesser_success(training, mazes)
    assert set(p) <= {0.0, 1.0}
    assert (p == 0).any()
