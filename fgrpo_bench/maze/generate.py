"""Random Prim mazes: one spanning tree per maze, so exactly one path from start to goal.

The set-up of Tajwar et al. 2026 (arXiv 2602.02710), which F-GRPO section 5.2 follows: an odd
``size`` x ``size`` grid with a wall border, logical cells at odd rows and columns, grown from the
start (1, 1); the goal is the opposite corner.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fgrpo_bench.rng import stream

# Row and column steps of the actions UP, DOWN, LEFT, RIGHT, in the order of their tokens.
STEPS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)], dtype=np.int64)
_BACK = np.array([1, 0, 3, 2], dtype=np.int8)
_BLOCK = 1024

Links = NDArray[np.int8]


@dataclass(frozen=True)
class Mazes:
    """A set of mazes as rooted trees.

    Attributes:
        size: side of the grid, walls included (odd).
        links: [P, C] action that leads from a cell to its parent, -1 at the start cell. The tree
            is rooted at the start, so equal links mean equal mazes.
    """

    size: int
    links: Links

    def __len__(self) -> int:
        return len(self.links)

    def take(self, index: NDArray[np.intp] | slice) -> "Mazes":
        """Return the mazes at ``index``, in that order."""
        return Mazes(self.size, self.links[index])

    @property
    def side(self) -> int:
        """Logical cells on a side."""
        return (self.size - 1) // 2

    def keys(self) -> list[bytes]:
        """Return one hashable identity per maze."""
        return [row.tobytes() for row in self.links]

    @cached_property
    def walls(self) -> NDArray[np.bool_]:
        """Walls as [P, size, size]."""
        walls = np.ones((len(self), self.size, self.size), dtype=np.bool_)
        rows, columns = np.divmod(np.arange(self.side**2), self.side)
        walls[:, 2 * rows + 1, 2 * columns + 1] = False
        maze, cell = np.nonzero(self.links >= 0)
        step = STEPS[self.links[maze, cell]]
        walls[maze, 2 * rows[cell] + 1 + step[:, 0], 2 * columns[cell] + 1 + step[:, 1]] = False
        return walls

    @cached_property
    def moves(self) -> list[NDArray[np.int8]]:
        """The path from start to goal, one action per grid step (two per cell)."""
        shift = STEPS @ np.array([self.side, 1])
        cell = np.full(len(self), self.side**2 - 1)
        back = np.full((len(self), self.side**2), -1, dtype=np.int8)
        every = np.arange(len(self))
        for position in range(self.side**2):
            link = self.links[every, cell]
            going = link >= 0
            back[going, position] = link[going]
            cell = np.where(going, cell + shift[link], cell)
            if not going.any():
                break
        return [np.repeat(_BACK[row[row >= 0][::-1]], 2) for row in back]

    @property
    def monotone(self) -> NDArray[np.bool_]:
        """Whether the path only goes down and right, [P]; the others have a detour."""
        return np.array([bool(np.isin(path, (1, 3)).all()) for path in self.moves], dtype=np.bool_)


def grow(count: int, size: int, rng: np.random.Generator) -> Mazes:
    """Grow mazes by randomised Prim (arXiv 2602.02710, maze set-up), all in lock step.

    Each step carves a uniform frontier cell and joins it to a uniform carved neighbour.

    Args:
        count: number of mazes P.
        size: odd side of the grid.
        rng: source of the draws.
    """
    side = (size - 1) // 2
    neighbours = _neighbours(side)
    every = np.arange(count)
    carved = np.zeros((count, side**2), dtype=np.bool_)
    frontier = np.zeros_like(carved)
    links = np.full((count, side**2), -1, dtype=np.int8)
    cell = np.zeros(count, dtype=np.int64)
    for _ in range(side**2 - 1):
        carved[every, cell] = True
        frontier[every, cell] = False
        for action in range(4):
            near = neighbours[cell, action]
            fresh = (near >= 0) & ~carved[every, near]
            frontier[every[fresh], near[fresh]] = True
        cell = _uniform_true(frontier, rng)
        near = neighbours[cell]
        joinable = (near >= 0) & carved[every[:, None], near]
        links[every, cell] = _uniform_true(joinable, rng)
    return Mazes(size, links)


def _neighbours(side: int) -> NDArray[np.int64]:
    """Cell beside each cell in each direction, [C, 4], -1 outside."""
    row, column = np.divmod(np.arange(side**2), side)
    rows, columns = row[:, None] + STEPS[:, 0], column[:, None] + STEPS[:, 1]
    inside = (rows >= 0) & (rows < side) & (columns >= 0) & (columns < side)
    return np.where(inside, rows * side + columns, -1)


def _uniform_true(mask: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Index of a uniformly drawn True of each row, [P]."""
    rank = (rng.random(len(mask)) * mask.sum(axis=1)).astype(np.int64)
    return (np.cumsum(mask, axis=1) > rank[:, None]).argmax(axis=1)


def evaluation_sets(size: int, count: int, seed: int) -> tuple[Mazes, Mazes]:
    """Return the tuning and the held-out mazes: distinct, and none in both.

    Args:
        size: odd side of the grid.
        count: mazes in each set.
        seed: the preset's data seed.
    """
    taken: set[bytes] = set()
    sets = []
    for purpose in ("maze-tuning", "maze-heldout"):
        rows: list[Links] = []
        block = 0
        while len(rows) < count:
            for row in grow(_BLOCK, size, stream(seed, purpose, block)).links:
                if row.tobytes() not in taken and len(rows) < count:
                    taken.add(row.tobytes())
                    rows.append(row)
            block += 1
        sets.append(Mazes(size, np.stack(rows)))
    return sets[0], sets[1]


def training_set(size: int, count: int, seed: int, excluded: set[bytes]) -> Mazes:
    """Return the training mazes, in their order; a maze of ``excluded`` is drawn anew.

    Args:
        size: odd side of the grid.
        count: mazes in the set.
        seed: the preset's data seed.
        excluded: keys of the tuning and held-out mazes.
    """
    blocks = []
    for block in range(-(-count // _BLOCK)):
        rng = stream(seed, "maze-train", block)
        links = grow(_BLOCK, size, rng).links
        while (clash := np.array([row.tobytes() in excluded for row in links])).any():
            links[clash] = grow(int(clash.sum()), size, rng).links
        blocks.append(links)
    return Mazes(size, np.concatenate(blocks)[:count])
