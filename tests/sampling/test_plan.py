"""The plan against a plain set of (problem, sample)."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgrpo_bench.sampling.plan import LEAST, Block, Shard, block_of, grid, plan, seed_bases


def cells(blocks) -> list[tuple[int, int]]:
    return [
        cell
        for block in blocks
        for cell in product(range(block.first, block.last), range(block.start, block.stop))
    ]


SIZES = st.tuples(st.integers(1, 40), st.integers(1, 9 * LEAST), st.sampled_from([1, 200, 640]))
SOME = st.lists(
    st.tuples(st.integers(0, 39), st.integers(1, 9), st.integers(0, 150), st.integers(1, 99)),
    max_size=4,
)


@settings(max_examples=80, deadline=None)
@given(SIZES, SOME, st.integers(1, 5))
def test_all_parts_together_are_what_is_missing_once_each(sizes, some, parts):
    problems, samples, rows = sizes
    present = [Block(a, a + b, c, c + d) for a, b, c, d in some]
    have = set(cells(present))
    wanted = {cell for cell in product(range(problems), range(samples)) if cell not in have}
    shares = [plan(problems, samples, present, rows, Shard(i, parts)) for i in range(parts)]
    together = [cell for blocks in shares for cell in cells(blocks)]
    assert len(together) == len(set(together))
    assert set(together) == wanted
    assert sorted(together) == sorted(cells(plan(problems, samples, present, rows)))


@settings(max_examples=40, deadline=None)
@given(SIZES, st.data())
def test_an_interrupted_plan_goes_on_with_the_blocks_it_would_have_had(sizes, data):
    problems, samples, rows = sizes
    whole = plan(problems, samples, [], rows)
    done = data.draw(st.lists(st.sampled_from(whole), unique=True))
    assert plan(problems, samples, done, rows) == [b for b in whole if b not in done]


def test_blocks_are_about_as_large_as_asked_and_never_cross_the_grid():
    blocks = plan(100, 200, [], 160)
    assert max(block.rows for block in blocks) == 160
    assert all(b.start // 16 == (b.stop - 1) // 16 for b in blocks)
    assert all(b.first // 10 == (b.last - 1) // 10 for b in blocks)
    assert [b.start for b in blocks] == sorted(b.start for b in blocks)  # all problems advance


@pytest.mark.parametrize("problems", [1, 3, 30, 500, 1400])
@pytest.mark.parametrize("rows", [1, 64, 2048, 8192])
def test_blocks_are_nearly_full_whatever_the_number_of_problems(problems, rows):
    group, unit = grid(problems, rows)
    assert unit % LEAST == 0
    assert group <= problems
    assert group * unit <= max(rows, LEAST)
    assert group * unit > rows / 2 - LEAST * group


@pytest.mark.parametrize("samples", [1, 3, 16])
def test_blocks_are_full_with_few_samples_too(samples):
    blocks = plan(500, samples, [], 64)
    assert len(blocks) == -(-500 // (64 // samples))
    assert max(block.rows for block in blocks) > 60


def test_more_samples_later_add_the_difference():
    first = plan(10, 10, [], 64)
    more = plan(10, 40, first, 64)
    assert sorted({(b.start, b.stop) for b in more}) == [(10, 16), (16, 32), (32, 40)]
    assert not plan(10, 40, [*first, *more], 64)


def test_the_part_of_a_block_does_not_depend_on_what_is_there():
    mine = plan(40, 128, [], 64, Shard(1, 3))
    others = plan(40, 128, [], 64, Shard(0, 3))
    assert plan(40, 128, others, 64, Shard(1, 3)) == mine


@pytest.mark.parametrize(
    "name",
    ["p0-1_s0-1", "p00000-00000_s000000-000001", "p00002-00001_s000002-000001", "x", ""],
)
def test_only_a_blocks_own_name_is_one(name):
    assert block_of(name) is None
    assert block_of(Block(3, 5, 64, 128).name) == Block(3, 5, 64, 128)
    assert block_of(Block(99999, 123456, 0, 1024000).name) == Block(99999, 123456, 0, 1024000)


def test_seeds_belong_to_seed_task_and_problem():
    ids = [f"{i}" for i in range(300)]
    bases = seed_bases(7, "arith", ids)
    assert bases == seed_bases(7, "arith", ids)
    assert bases != seed_bases(8, "arith", ids)
    assert bases != seed_bases(7, "other", ids)
    assert len(set(bases)) == 300
    assert 0 <= min(bases) <= max(bases) < 2**30
    assert seed_bases(7, "arith", ids[5:6]) == bases[5:6]  # whatever problems are beside it
