"""A broken seed is refused, a collapsed model is not."""

import math
from collections import Counter

import numpy as np
import pytest

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.repeats import Repeats, Trace, collapse_warning, trace


def blocks(repeats: Repeats, rows: list[list[list[str]]], each: int = 64) -> None:
    for index, row in enumerate(rows):
        repeats.add(range(len(row)), index * each, [trace(texts) for texts in row])


def drawn(rng, problems: int, n: int, words: int, top: float) -> list[list[str]]:
    """Samples of a model that says its first word with probability ``top``."""
    p = np.array([top] + [(1 - top) / (words - 1)] * (words - 1)) if words > 1 else [1.0]
    return [[f"w{w}" for w in rng.choice(words, size=n, p=p)] for _ in range(problems)]


def test_log_probability_against_a_plain_product():
    texts = list("abacabadxyz") * 3
    p = math.prod(Counter(texts)[text] / len(texts) for text in texts)
    assert trace(texts)[1:] == (33, round(math.log(p), 3))


def test_texts_are_told_apart_where_they_join():
    assert trace(["ab", "c"])[0] != trace(["a", "bc"])[0]
    assert trace(["a", "b"])[0] != trace(["b", "a"])[0]
    assert trace(["\ud800"])[0]  # a lone surrogate can be hashed


@pytest.mark.parametrize("n", [4, 16, 64])
def test_a_block_that_comes_again_is_refused(n):
    rng = np.random.default_rng(0)
    block = [[f"{rng.random()}" for _ in range(n)] for _ in range(8)]
    with pytest.raises(UserError, match=r"from number 128 on repeat those from number 0.*seed"):
        blocks(Repeats(), [block, drawn(rng, 8, n, 50, 0.1), block])


def test_one_problem_that_comes_again_is_enough_where_chance_cannot():
    rng = np.random.default_rng(1)
    one, other = ([[f"{rng.random()}" for _ in range(64)] for _ in range(8)] for _ in range(2))
    with pytest.raises(UserError, match="in 1 of 8 problems"):
        blocks(Repeats(), [one, [*other[:7], one[7]]])


@pytest.mark.parametrize("top", [0.0, 0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("n", [1, 2, 16, 64])
def test_independent_samples_are_never_refused_however_collapsed(top, n):
    """150 blocks of 20 problems each: a criterion that is a little too strict would show."""
    rng = np.random.default_rng(3)
    words = 1 if top == 1 else 3
    blocks(Repeats(), [drawn(rng, 20, n, words, top) for _ in range(150)])


def test_many_short_answers_that_coincide_here_and_there_are_no_repeat():
    """Of 400 problems a quarter gives the same two answers again, as it should by chance."""
    rng = np.random.default_rng(4)
    blocks(Repeats(), [drawn(rng, 400, 2, 2, 0.5) for _ in range(5)])


@pytest.mark.parametrize(("blocks_before", "refused"), [(2, True), (1000, False)])
def test_the_more_blocks_the_more_improbable_a_repeat_must_be(blocks_before, refused):
    """exp(-25) is less than 1e-9 for a pair, and no longer for half a million of them."""
    repeats = Repeats()
    for index in range(blocks_before):
        repeats.add([0], index, [Trace(f"{index:x}", 16, -25.0)])
    again = [Trace("0", 16, -25.0)]
    if refused:
        with pytest.raises(UserError, match="repeat"):
            repeats.add([0], blocks_before, again)
    else:
        repeats.add([0], blocks_before, again)


def test_equal_samples_are_a_warning_only():
    repeats = Repeats()
    blocks(repeats, [[["same"] * 16] * 3 + [["a", "b"] * 8]] * 1)
    assert repeats.equal_share == 0.75
    assert "75% of the blocks" in str(collapse_warning("arith", repeats.equal_share, 1.0))
    assert collapse_warning("arith", 0.75, 0.0) is None
    assert collapse_warning("arith", 0.5, 1.0) is None
    assert collapse_warning("arith", math.nan, 1.0) is None
    single = Repeats()
    blocks(single, [[["a"]] * 5])
    assert single.equal_share == 0  # one sample is not many equal ones
