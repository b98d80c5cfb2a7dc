"""A few mazes with sampled answers and their verdicts: what a report draws."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.maze.evaluate import Floats
from fgrpo_bench.maze.generate import Mazes
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.rollout import Rollouts, sample
from fgrpo_bench.maze.tokens import DONE, EOS, VOCABULARY, encode_prompts
from fgrpo_bench.maze.verdict import correct
from fgrpo_bench.rng import stream

SAMPLES = 64
_QUANTILES = (0.85, 0.5, 0.15)


def drawn_problems(base_success: Floats) -> list[int]:
    """Return the mazes to draw: an easy one, a middling one and a hard one for the base.

    They are fixed quantiles of the base's success [P], so no method has a say in the choice.
    """
    order = np.argsort(base_success, kind="stable")
    return list(dict.fromkeys(int(order[round(q * (len(order) - 1))]) for q in _QUANTILES))


def draw(
    model: Transformer, mazes: Mazes, problem_ids: Sequence[str], config: MazeConfig, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 64 samples of each maze and their grades, a line per sample each.

    Args:
        model: the policy.
        mazes: the few mazes.
        problem_ids: their names.
        config: the reward and the longest answer.
        seed: seed of the draws.
    """
    rng = stream(seed, "maze-drawn")
    limit = config.maze.max_answer_tokens
    rollouts = sample(model, encode_prompts(mazes), SAMPLES, limit, rng)
    verdicts = correct(rollouts, mazes, config.maze.reward).ravel()
    answers = [_words(rollouts, leaf) for leaf in rollouts.leaves.ravel()]
    cut = rollouts.truncated.ravel()
    which = {
        "problem_id": np.repeat(problem_ids, SAMPLES),
        "sample": np.tile(np.arange(SAMPLES), len(mazes)),
    }
    samples = {
        "response": [" ".join(words) for words in answers],
        "n_tokens": [len(words) for words in answers],
        "finish": np.where(cut, "length", "stop"),
        "seed": seed,
        "prompt": np.repeat(_pictures(mazes), SAMPLES),
    }
    grades = {
        "outcome": np.where(verdicts, "correct", np.where(cut, "truncated", "wrong")),
        "answer": [" ".join(w for w in words if w not in _ENDS) for words in answers],
        "grader": f"maze-{config.maze.reward}",
    }
    return pd.DataFrame(which | samples), pd.DataFrame(which | grades)


_ENDS = (VOCABULARY[DONE], VOCABULARY[EOS])


def _words(rollouts: Rollouts, leaf: np.int64) -> list[str]:
    words = []
    while leaf >= 0:
        words.append(VOCABULARY[rollouts.token[leaf]])
        leaf = rollouts.parent[leaf]
    return words[::-1]


def _pictures(mazes: Mazes) -> list[str]:
    """The grids as text: walls #, free places, S and G."""
    out = []
    for walls in mazes.walls:
        grid = np.where(walls, "#", " ")
        grid[1, 1], grid[-2, -2] = "S", "G"
        out.append("\n".join("".join(row) for row in grid))
    return out
