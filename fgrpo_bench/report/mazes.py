"""A figure of a few mazes with the walks that base and methods sample in them."""

from collections import Counter
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from fgrpo_bench.report.collect import Comparison

Place = tuple[int, int]
_STEPS = {"UP": (-1, 0), "DOWN": (1, 0), "LEFT": (0, -1), "RIGHT": (0, 1)}
_RIGHT, _WRONG = "#0072B2", "#D55E00"
_WIDEST = 7.0  # points, of a line that all samples share
_DISC: Any = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "linewidth": 0.6}
_CAPTION = (
    "Width: share of the samples (first seed) that go there. Blue: right answers. "
    "Cross: a wall is hit."
)


def mazes(comparison: Comparison) -> Figure | None:
    """Draw each kept maze once per policy, with its sampled walks; None without kept samples.

    Lines are as wide as the share of samples that go there, blue where these are right; a cross
    marks where walks hit a wall.
    """
    runs = [("base", comparison.reference.samples("base"))]
    runs += [(group.label, group.runs[0].samples("final")) for group in comparison.groups]
    columns = [(label, rows) for label, rows in runs if rows is not None]
    if len(columns) < 2:
        return None
    problems = list(dict.fromkeys(columns[0][1]["problem_id"]))
    figure, grid = plt.subplots(
        len(problems),
        len(columns),
        figsize=(0.9 + 1.45 * len(columns), 0.5 + 1.7 * len(problems)),
        layout="constrained",
        squeeze=False,
    )
    for line, problem in zip(grid, problems, strict=True):
        for axes, (_, rows) in zip(line, columns, strict=True):
            _maze(axes, rows[rows["problem_id"] == problem])
        line[0].set_ylabel(problem, fontsize=8)
    for axes, (label, _) in zip(grid[0], columns, strict=True):
        axes.set_title(label.replace(" N=", "\nN=", 1), fontsize=8.5, loc="center")
    figure.supxlabel(_CAPTION, fontsize=7.5, x=0.02, ha="left")
    return figure


def _maze(axes: Axes, rows: pd.DataFrame) -> None:
    """One maze with the walks of its samples, and the share of them that is right."""
    text = rows["prompt"].iloc[0].splitlines()
    walls = np.array([[character == "#" for character in line] for line in text])
    axes.imshow(walls, cmap="Greys", vmin=0, vmax=1.6, interpolation="nearest")
    right = rows["outcome"] == "correct"
    hits: Counter[Place] = Counter()
    for colour, chosen in ((_WRONG, slice(None)), (_RIGHT, right)):
        edges: Counter[tuple[Place, Place]] = Counter()
        for response in rows.loc[chosen, "response"]:
            places, hit = walk(walls, response.split())
            edges.update(dict.fromkeys(map(_edge, places[:-1], places[1:]), 1))
            if hit is not None and colour == _WRONG:
                hits[hit] += 1
        _lines(axes, edges, len(rows), colour)
    for (row, column), count in hits.items():
        size = 8 + 60 * count / len(rows)
        axes.scatter(column, row, s=size, c=_WRONG, marker="x", linewidths=1.1, zorder=4)
    for letter in "SG":
        row = next(i for i, line in enumerate(text) if letter in line)
        place = text[row].index(letter), row
        axes.text(*place, letter, ha="center", va="center", fontsize=6, zorder=5, bbox=_DISC)
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel(f"{right.mean():.0%} right", fontsize=7.5, labelpad=2)


def _edge(one: Place, other: Place) -> tuple[Place, Place]:
    return min(one, other), max(one, other)


def _lines(axes: Axes, edges: Counter[tuple[Place, Place]], samples: int, colour: str) -> None:
    segments = [[(a[1], a[0]), (b[1], b[0])] for a, b in edges]
    widths = [max(0.7, _WIDEST * count / samples) for count in edges.values()]
    axes.add_collection(
        LineCollection(segments, linewidths=widths, colors=colour, capstyle="round", zorder=3)
    )


def walk(walls: np.ndarray, words: list[str]) -> tuple[list[Place], Place | None]:
    """Return the places of a walk from the start, and the wall that ended it, if one did.

    The walk ends at the goal, at a wall, or before the first word that is no move.

    Args:
        walls: [size, size] grid.
        words: the answer's words.
    """
    goal = walls.shape[0] - 2, walls.shape[1] - 2
    places = [(1, 1)]
    for word in words:
        if word not in _STEPS or places[-1] == goal:
            break
        there = places[-1][0] + _STEPS[word][0], places[-1][1] + _STEPS[word][1]
        if walls[there]:
            return places, there
        places.append(there)
    return places, None
