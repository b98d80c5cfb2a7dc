"""Which mazes are drawn, and the walks in their figure."""

import numpy as np
import pandas as pd
import pytest

from fgrpo_bench.config.load import load_preset
from fgrpo_bench.maze.drawn import SAMPLES, draw, drawn_problems
from fgrpo_bench.maze.evaluate import exact_success
from fgrpo_bench.maze.generate import grow
from fgrpo_bench.report.mazes import walk
from fgrpo_bench.rng import stream
from tests.maze.tiny import skilled_model


def test_drawn_mazes_are_quantiles_of_the_base_alone():
    success = stream(0, "test").permutation(np.arange(101) / 100)
    assert success[drawn_problems(success)].tolist() == [0.85, 0.5, 0.15]
    assert drawn_problems(np.array([0.3])) == [0]
    assert sorted(drawn_problems(np.zeros(40))) == [6, 20, 33]


def test_samples_are_right_about_as_often_as_the_policy_is(micro_preset):
    model, mazes = skilled_model(), grow(40, 9, stream(0, "test"))
    config = load_preset(str(micro_preset))[1]
    samples, grades = draw(model, mazes, [str(i) for i in range(40)], config, seed=3)
    p = exact_success(model, mazes)
    expected, spread = SAMPLES * p.sum(), (SAMPLES * p * (1 - p)).sum() ** 0.5
    assert expected > 20
    assert abs((grades["outcome"] == "correct").sum() - expected) < 4 * spread
    again = draw(model, mazes, [str(i) for i in range(40)], config, seed=3)
    pd.testing.assert_frame_equal(again[0], samples)
    grid = samples["prompt"].iloc[0].splitlines()
    assert ["".join("#" if w else "." for w in row) for row in mazes.walls[0]] == [
        line.replace("S", ".").replace("G", ".").replace(" ", ".") for line in grid
    ]
    assert (grid[1][1], grid[7][7]) == ("S", "G")


@pytest.mark.parametrize(
    ("words", "places", "hit"),
    [
        ("RIGHT RIGHT DOWN DOWN DONE", [(1, 1), (1, 2), (1, 3), (2, 3), (3, 3)], None),
        ("RIGHT RIGHT DOWN DOWN UP", [(1, 1), (1, 2), (1, 3), (2, 3), (3, 3)], None),
        ("RIGHT LEFT DOWN RIGHT", [(1, 1), (1, 2), (1, 1)], (2, 1)),
        ("UP", [(1, 1)], (0, 1)),
        ("RIGHT <pad> RIGHT", [(1, 1), (1, 2)], None),
    ],
)
def test_a_drawn_walk_ends_at_goal_wall_or_nonsense(words, places, hit):
    text = ["#####", "#...#", "###.#", "#...#", "#####"]
    walls = np.array([[c == "#" for c in line] for line in text])
    assert walk(walls, words.split()) == (places, hit)
