"""Mazes: the distribution of randomised Prim, the paths, and the sets that share nothing."""

from collections import deque
from fractions import Fraction

import numpy as np
import pytest

from fgrpo_bench.maze.generate import Mazes, evaluation_sets, grow, training_set
from fgrpo_bench.maze.tokens import (
    DONE,
    PAD,
    VOCABULARY,
    encode_answers,
    encode_prompts,
    prompt_length,
)
from fgrpo_bench.rng import stream


def prim_distribution(side: int) -> dict[frozenset, Fraction]:
    """Exact probability of each spanning tree, by walking every choice Prim can make."""

    def near(cell):
        row, column = divmod(cell, side)
        for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            if 0 <= row + dr < side and 0 <= column + dc < side:
                yield (row + dr) * side + column + dc

    states = {(frozenset([0]), frozenset()): Fraction(1)}
    for _ in range(side**2 - 1):
        following: dict = {}
        for (carved, edges), weight in states.items():
            frontier = {n for cell in carved for n in near(cell)} - carved
            for cell in frontier:
                joints = [n for n in near(cell) if n in carved]
                for joint in joints:
                    key = carved | {cell}, edges | {frozenset((cell, joint))}
                    share = weight / len(frontier) / len(joints)
                    following[key] = following.get(key, 0) + share
        states = following
    return {edges: weight for (_, edges), weight in states.items()}


def edges(mazes: Mazes) -> list[frozenset]:
    shift = np.array([-mazes.side, mazes.side, -1, 1])
    return [
        frozenset(frozenset((c, int(c + shift[link]))) for c, link in enumerate(row) if link >= 0)
        for row in mazes.links
    ]


@pytest.mark.parametrize(("size", "trees"), [(5, 4), (7, 192)])
def test_trees_follow_prims_distribution(size, trees):
    exact = prim_distribution((size - 1) // 2)
    assert len(exact) == trees
    assert sum(exact.values()) == 1
    draws = 200_000
    seen: dict = {}
    for tree in edges(grow(draws, size, stream(0, "test"))):
        seen[tree] = seen.get(tree, 0) + 1
    assert seen.keys() <= exact.keys()
    chi2 = sum((seen.get(t, 0) - draws * p) ** 2 / (draws * p) for t, p in exact.items())
    freedom = trees - 1
    assert abs(float(chi2) - freedom) < 5 * (2 * freedom) ** 0.5


def bfs(walls: np.ndarray) -> list[int]:
    """Shortest path from start to goal as actions; the only simple one in a tree."""
    goal = (len(walls) - 2, len(walls) - 2)
    queue, came = deque([(1, 1)]), {(1, 1): []}
    while queue:
        cell = queue.popleft()
        if cell == goal:
            return came[cell]
        for action, (dr, dc) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
            following = (cell[0] + dr, cell[1] + dc)
            if not walls[following] and following not in came:
                came[following] = [*came[cell], action]
                queue.append(following)
    raise AssertionError("no path")


@pytest.mark.parametrize("size", [5, 9, 11, 17])
def test_paths_are_the_only_path(size):
    mazes = grow(60, size, stream(1, "test"))
    side = (size - 1) // 2
    for walls, moves, monotone in zip(mazes.walls, mazes.moves, mazes.monotone, strict=True):
        assert (~walls).sum() == 2 * side**2 - 1  # cells and the openings of a spanning tree
        assert bfs(walls) == moves.tolist()
        assert monotone == (set(moves.tolist()) <= {1, 3})
        assert len(moves) <= 2 * (side**2 - 1)


def test_sets_share_no_maze_and_do_not_depend_on_each_other():
    tuning, heldout = evaluation_sets(9, 300, seed=5)
    assert len({*tuning.keys(), *heldout.keys()}) == 600
    excluded = {*tuning.keys(), *heldout.keys()}
    training = training_set(9, 20_000, 5, excluded)
    assert len(training) == 20_000
    assert not excluded & set(training.keys())
    free = training_set(9, 20_000, 5, set())
    clashes = [key in excluded for key in free.keys()]  # noqa: SIM118 (not a dict)
    assert sum(clashes) > 50, "at 9x9 an unfiltered training set does meet held-out mazes"
    again = training_set(9, 20_000, 5, excluded)
    np.testing.assert_array_equal(again.links, training.links)


def test_another_seed_gives_other_mazes():
    assert evaluation_sets(11, 50, 1)[1].keys() != evaluation_sets(11, 50, 2)[1].keys()


def test_prompt_and_answer_of_a_maze_drawn_by_hand():
    # S and G on the top and bottom; the path goes right, then down: a 5x5 grid of 2x2 cells.
    right_then_down = Mazes(5, np.array([[-1, 2, 3, 0]], dtype=np.int8))
    words = [VOCABULARY[token] for token in encode_prompts(right_then_down)[0]]
    grid = """
        WALL WALL  WALL WALL WALL NEWLINE
        WALL START PATH PATH WALL NEWLINE
        WALL WALL  WALL PATH WALL NEWLINE
        WALL PATH  PATH GOAL WALL NEWLINE
        WALL WALL  WALL WALL WALL NEWLINE
    """.split()
    assert words == ["<bos>", "GRID_START", *grid, "GRID_END", "PATH_START"]
    assert len(words) == prompt_length(5)
    answers, lengths = encode_answers(right_then_down)
    assert [VOCABULARY[token] for token in answers[0]] == "RIGHT RIGHT DOWN DOWN DONE".split()
    assert lengths.tolist() == [5]


def test_answers_are_padded_after_done():
    answers, lengths = encode_answers(grow(40, 9, stream(2, "test")))
    for row, length in zip(answers, lengths, strict=True):
        assert row[length - 1] == DONE
        assert (row[length:] == PAD).all()


def test_vocabulary_has_the_published_ids():
    published = {"<pad>": 0, "<eos>": 2, "PATH_START": 6, "DONE": 7, "WALL": 9, "RIGHT": 16}
    assert len(VOCABULARY) == 32
    assert {word: VOCABULARY.index(word) for word in published} == published
