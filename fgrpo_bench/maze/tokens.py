"""The maze vocabulary of arXiv 2602.02710: 32 word-level ids, grid prompts, answers of moves."""

import numpy as np
from numpy.typing import NDArray

from fgrpo_bench.maze.generate import Mazes

VOCABULARY = (
    *("<pad>", "<bos>", "<eos>", "<unk>", "GRID_START", "GRID_END", "PATH_START", "DONE"),
    *("PATH", "WALL", "GOAL", "START", "NEWLINE", "UP", "DOWN", "LEFT", "RIGHT"),
    *(f"<reserved{index}>" for index in range(17, 32)),
)
PAD, BOS, EOS, _UNK, GRID_START, GRID_END, PATH_START, DONE = range(8)
PATH, WALL, GOAL, START, NEWLINE, UP = range(8, 14)

Tokens = NDArray[np.int64]


def prompt_length(size: int) -> int:
    """Return the tokens of a prompt: every cell, a newline per row, and four marks."""
    return size * (size + 1) + 4


def encode_prompts(mazes: Mazes) -> Tokens:
    """Return the prompts ``<bos> GRID_START cells.. NEWLINE .. GRID_END PATH_START``, [P, L]."""
    size = mazes.size
    grid = np.full((len(mazes), size, size + 1), NEWLINE, dtype=np.int64)
    grid[:, :, :size] = np.where(mazes.walls, WALL, PATH)
    grid[:, 1, 1] = START
    grid[:, size - 2, size - 2] = GOAL
    prompts = np.empty((len(mazes), prompt_length(size)), dtype=np.int64)
    prompts[:, :2] = BOS, GRID_START
    prompts[:, 2:-2] = grid.reshape(len(mazes), -1)
    prompts[:, -2:] = GRID_END, PATH_START
    return prompts


def encode_answers(mazes: Mazes) -> tuple[Tokens, Tokens]:
    """Return the answers, moves then DONE, padded to [P, T], and their lengths [P]."""
    lengths = np.array([len(path) + 1 for path in mazes.moves], dtype=np.int64)
    answers = np.full((len(mazes), int(lengths.max())), PAD, dtype=np.int64)
    for row, path in zip(answers, mazes.moves, strict=True):
        row[: len(path)] = UP + path.astype(np.int64)
        row[len(path)] = DONE
    return answers, lengths
