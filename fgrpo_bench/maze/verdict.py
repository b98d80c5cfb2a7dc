"""Which samples are right: the two rewards of the mazes (arXiv 2602.06717, 5.2; 2602.02710)."""

import numpy as np

from fgrpo_bench.maze.generate import STEPS, Mazes
from fgrpo_bench.maze.rollout import Rollouts
from fgrpo_bench.maze.tokens import DONE, UP, encode_answers
from fgrpo_bench.methods.advantages import Bools


def correct(rollouts: Rollouts, mazes: Mazes, reward: str) -> Bools:
    """Return the verdict on every sample, [G, N].

    Args:
        rollouts: the samples.
        mazes: the maze of each of the G prompts.
        reward: ``exact`` or ``reach``.
    """
    return matches(rollouts, mazes) if reward == "exact" else reaches(rollouts, mazes)


def matches(rollouts: Rollouts, mazes: Mazes) -> Bools:
    """Return whether each sample is its maze's one answer, the moves and then DONE, [G, N]."""
    answers, _ = encode_answers(mazes)
    on_path = np.zeros(len(rollouts.token), dtype=np.bool_)
    for depth, level in enumerate(rollouts.levels()[: answers.shape[1]]):
        before = on_path[rollouts.parent[level]] if depth else True
        right = rollouts.token[level] == answers[rollouts.group[level], depth]
        on_path[level] = before & right
    return (on_path & (rollouts.token == DONE))[rollouts.leaves]


def reaches(rollouts: Rollouts, mazes: Mazes) -> Bools:
    """Return whether each sample's moves come to the goal without touching a wall, [G, N].

    Turning back is allowed and what follows the first visit is ignored (the judge of arXiv
    2602.02710); a token that is no move ends the walk.
    """
    goal = mazes.size - 2
    nodes = len(rollouts.token)
    place = np.ones((nodes, 2), dtype=np.int64)
    walking = np.zeros(nodes, dtype=np.bool_)
    arrived = np.zeros(nodes, dtype=np.bool_)
    for depth, level in enumerate(rollouts.levels()):
        move = rollouts.token[level] - UP
        going = (move >= 0) & (move < len(STEPS))
        if depth:
            parent = rollouts.parent[level]
            going &= walking[parent]
            place[level], arrived[level] = place[parent], arrived[parent]
        on = level[going]
        place[on] += STEPS[move[going]]
        # The border is wall and a walk ends at a wall, so no place is ever outside of the grid.
        walking[on] = ~mazes.walls[rollouts.group[on], place[on, 0], place[on, 1]]
        arrived[on] |= walking[on] & (place[on] == goal).all(axis=1)
    return arrived[rollouts.leaves]
