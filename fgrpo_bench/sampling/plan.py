"""The plan of an evaluation: which samples of which problems are asked for together.

Blocks lie on a fixed grid of problems x samples. What is missing is always cut along that grid, so
an interrupted evaluation goes on with the blocks it would have had, and ``--samples`` raised later
adds blocks without touching those that are there.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fgrpo_bench.rng import stream

LEAST: Final = 16
"""Samples of a problem that are asked for together, at least: they share the work of its prompt."""
_NAME: Final = re.compile(r"p(\d{5,})-(\d{5,})_s(\d{6,})-(\d{6,})", re.ASCII)
_SEEDS: Final = 2**30


class Block(NamedTuple):
    """Samples ``start`` to ``stop`` of the problems ``first`` to ``last``, both ends exclusive."""

    first: int
    last: int
    start: int
    stop: int

    @property
    def name(self) -> str:
        """The name of the block's files, the same wherever it is sampled.

        >>> Block(0, 8, 16, 32).name
        'p00000-00008_s000016-000032'
        """
        return f"p{self.first:05}-{self.last:05}_s{self.start:06}-{self.stop:06}"

    @property
    def rows(self) -> int:
        """Number of samples in it."""
        return (self.last - self.first) * (self.stop - self.start)


class Shard(NamedTuple):
    """Part number ``part``, from 0, of ``parts`` of an evaluation, for several machines."""

    part: int
    parts: int


WHOLE: Final = Shard(0, 1)


def block_of(name: str) -> Block | None:
    """Return the block that a file's name tells, None for a name that is none.

    >>> block_of("p00000-00008_s000016-000032")
    Block(first=0, last=8, start=16, stop=32)
    >>> block_of("notes") is None
    True
    """
    match = _NAME.fullmatch(name)
    block = Block(*map(int, match.groups())) if match else None
    if block is None or block.name != name or block.rows <= 0 or block.first >= block.last:
        return None
    return block


def plan(
    problems: int,
    samples: int,
    present: Iterable[Block],
    block_rows: int,
    shard: Shard = WHOLE,
) -> list[Block]:
    """Return the blocks that are missing, few samples of all problems before many of one.

    Args:
        problems: number of problems.
        samples: wanted of each.
        present: what there is already.
        block_rows: about how many samples a block of full height should have.
        shard: the part to return; all parts together make up the whole.
    """
    group, unit = grid(problems, block_rows, min(samples, LEAST))
    missing = np.ones((problems, samples), dtype=bool)
    for block in present:
        missing[block.first : block.last, block.start : block.stop] = False
    blocks, cell = [], 0
    for start in range(0, samples, unit):
        for first in range(0, problems, group):
            if cell % shard.parts == shard.part:
                part = missing[first : first + group, start : start + unit]
                blocks += [_moved(block, first, start) for block in _rectangles(part)]
            cell += 1
    return blocks


def grid(problems: int, block_rows: int, least: int = LEAST) -> tuple[int, int]:
    """Return how many problems a block has and how many samples of each, together ``block_rows``.

    Problems come first, with ``least`` samples; where they are too few, the more samples.

    >>> grid(500, 8192), grid(30, 8192), grid(500, 64)
    ((500, 16), (30, 272), (4, 16))
    >>> grid(500, 64, least=1)
    (64, 1)
    """
    group = min(problems, max(1, block_rows // least))
    return group, least * max(1, block_rows // (least * group))


def _moved(block: Block, first: int, start: int) -> Block:
    return Block(first + block.first, first + block.last, start + block.start, start + block.stop)


def _rectangles(missing: NDArray[np.bool_]) -> list[Block]:
    """Cut what is missing, [problems, samples], into blocks: equal rows that touch go together."""
    out, first = [], 0
    for _, rows in groupby(missing, key=lambda row: row.tobytes()):
        row, *others = rows
        last = first + 1 + len(others)
        out += [Block(first, last, start, stop) for start, stop in _intervals(row)]
        first = last
    return out


def _intervals(row: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(row, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def seed_bases(seed: int, task: str, problem_ids: Sequence[str]) -> list[int]:
    """Return a number for each problem; its samples from ``start`` on have the seed base + start.

    An engine that derives the seeds of a request's samples by counting up then never meets a seed
    of another block of the problem. With fewer than 2^30 samples seeds are in [0, 2^31).
    """
    return [int(stream(seed, f"sampling/{task}/{name}").integers(_SEEDS)) for name in problem_ids]
