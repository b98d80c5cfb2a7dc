"""Verdicts on samples: the one answer, and every walk that reaches the goal."""

import numpy as np
import torch

from fgrpo_bench.config.load import load_preset
from fgrpo_bench.maze.evaluate import sampled_success
from fgrpo_bench.maze.generate import Mazes, grow
from fgrpo_bench.maze.rollout import sample
from fgrpo_bench.maze.tokens import DONE, EOS, PAD, UP, encode_answers, encode_prompts
from fgrpo_bench.maze.verdict import matches, reaches
from fgrpo_bench.rng import stream
from tests.maze.tiny import forest, sequences, skilled_model, small_model

MOVES = {UP: (-1, 0), UP + 1: (1, 0), UP + 2: (0, -1), UP + 3: (0, 1)}


def test_matches_is_equality_with_the_answer():
    model, mazes = skilled_model(), grow(8, 9, stream(0, "test"))
    answers, lengths = encode_answers(mazes)
    r = sample(model, encode_prompts(mazes), 200, 31, stream(1, "test"))
    expected = [
        [tokens == answers[g, : lengths[g]].tolist() for tokens, _ in group]
        for g, group in enumerate(sequences(r))
    ]
    assert 0.01 < np.mean(expected) < 0.9
    np.testing.assert_array_equal(matches(r, mazes), expected)


def test_the_right_moves_cut_before_done_are_wrong():
    model, mazes = skilled_model(), grow(8, 9, stream(0, "test"))
    answers, lengths = encode_answers(mazes)
    short = int(lengths.min()) - 1
    r = sample(model, encode_prompts(mazes), 400, short, stream(1, "test"))
    right = [
        tokens == answers[g, :short].tolist()
        for g, group in enumerate(sequences(r))
        for tokens, _ in group
    ]
    assert any(right)
    assert not matches(r, mazes).any()


def test_eos_in_place_of_done_is_wrong():
    """The right moves count only when DONE ends them."""
    model, mazes = skilled_model(), grow(1, 9, stream(0, "test"))
    answers, lengths = encode_answers(mazes)
    with torch.no_grad():  # make <eos> the twin of DONE in the (tied) output layer
        model.embed_tokens.weight[EOS] = model.embed_tokens.weight[DONE]
    r = sample(model, encode_prompts(mazes), 4000, 31, stream(1, "test"))
    moves = answers[0, : lengths[0] - 1].tolist()
    ends = [tokens[-1] for tokens, _ in sequences(r)[0] if tokens[:-1] == moves]
    assert {DONE, EOS} <= set(ends)
    assert matches(r, mazes).sum() == ends.count(DONE)


def walk(walls, tokens) -> bool:
    """The judge in words: go on while tokens are moves and places are free; was the goal seen?"""
    row, column = 1, 1
    for token in tokens:
        if token not in MOVES:
            return False
        row, column = row + MOVES[token][0], column + MOVES[token][1]
        if walls[row][column]:
            return False
        if (row, column) == (len(walls) - 2, len(walls) - 2):
            return True
    return False


def wander(walls, rng, length) -> list[int]:
    """Moves that mostly avoid walls and turn back at will, with a stop or a nonsense here and there."""
    row, column, tokens = 1, 1, []
    while len(tokens) < length and not (tokens and tokens[-1] in (DONE, EOS)):
        free = [t for t, (r, c) in MOVES.items() if not walls[row + r][column + c]]
        token = int(rng.choice(free if free and rng.random() < 0.97 else [*MOVES, DONE, EOS, PAD]))
        tokens.append(token)
        if token in MOVES and token in free:
            row, column = row + MOVES[token][0], column + MOVES[token][1]
    return tokens


def test_reach_is_the_judge_applied_to_every_sample():
    mazes, rng = grow(12, 5, stream(0, "test")), stream(1, "test")
    samples = [[wander(walls.tolist(), rng, 14) for _ in range(300)] for walls in mazes.walls]
    r = forest(mazes, samples)
    spelled = [[tokens for tokens, _ in group] for group in sequences(r)]
    assert [sorted(group) for group in spelled] == [sorted(group) for group in samples]
    expected = [
        [walk(walls.tolist(), tokens) for tokens in group]
        for walls, group in zip(mazes.walls, spelled, strict=True)
    ]
    np.testing.assert_array_equal(reaches(r, mazes), expected)
    right = [tokens for group, ok in zip(spelled, expected, strict=True)
             for tokens, good in zip(group, ok, strict=True) if good]  # fmt: skip
    assert 0.1 < np.mean(expected) < 0.9
    assert any(DONE not in tokens for tokens in right), "cut after the goal"
    assert any(PAD in tokens for tokens in right), "nonsense behind the goal"
    exact = matches(r, mazes)
    assert (reaches(r, mazes) >= exact).all()
    assert 0 < exact.sum() < np.sum(expected)


def test_cases_of_reach_drawn_by_hand():
    mazes = Mazes(5, np.array([[-1, 2, 3, 0]], dtype=np.int8))  # right, then down; a wall below
    up, down, left, right = MOVES
    there = [right, right, down, down]
    cases = {
        (*there, DONE): True,
        (*there, EOS): True,
        (*there, up, up, up, DONE): True,
        (right, left, *there, DONE): True,
        (right, right, DONE): False,
        (right, right, down, DONE): False,
        (down, up, *there, DONE): False,
        (up, down, *there, DONE): False,
        (right, PAD, right, down, down, DONE): False,
        (DONE,): False,
    }
    r = forest(mazes, [[list(case) for case in cases]])
    verdict = {
        tuple(tokens): bool(ok)
        for (tokens, _), ok in zip(sequences(r)[0], reaches(r, mazes)[0], strict=True)
    }
    assert verdict == cases


def exact_reach(model, prompt, walls, place, tokens, limit) -> float:
    """Sum the probabilities of all walks that reach the goal, one forward pass per prefix."""
    ids = torch.tensor([[*prompt, *tokens]])
    with torch.no_grad():
        p = model.log_probs(model(ids, torch.arange(ids.shape[1]))[0, -1]).exp().double()
    total = 0.0
    for token, (row, column) in MOVES.items():
        there = place[0] + row, place[1] + column
        if there == (len(walls) - 2, len(walls) - 2):
            total += p[token].item()
        elif not walls[there[0]][there[1]] and len(tokens) + 1 < limit:
            rest = exact_reach(model, prompt, walls, there, [*tokens, token], limit)
            total += p[token].item() * rest
    return total


def test_sampled_reach_agrees_with_the_sum_over_all_walks(micro_preset):
    mazes, n, limit = grow(3, 5, stream(5, "test")), 20_000, 6
    model = small_model(scale=2.0)
    with torch.no_grad():  # so that moves are what it likes
        model.embed_tokens.weight[UP : UP + 4] += 2 * model.norm.weight / 32**0.5
        model.embed_positions.weight += 0.5
    p = np.array(
        [
            exact_reach(model, prompt, walls.tolist(), (1, 1), [], limit)
            for prompt, walls in zip(encode_prompts(mazes).tolist(), mazes.walls, strict=True)
        ]
    )
    texts = ["maze.reward=reach", f"evaluation.samples={n}"]
    config = load_preset(str(micro_preset), texts)[1]
    maze = config.maze.model_copy(update={"max_answer_tokens": limit})
    c = sampled_success(model, mazes, config.model_copy(update={"maze": maze}), seed=0)
    assert (p > 20 / n).all()
    z = (c - n * p) / np.sqrt(n * p * (1 - p))
    assert np.abs(z).max() < 4.5
