"""Letters in boxes, and the curve of guesses against drawing them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgrpo_bench.grading.choice import guessing, judge, letter, read
from fgrpo_bench.grading.outcomes import Verdict


@pytest.mark.parametrize(
    "box",
    [
        "B", "(B)", "B.", "b", "(b)", " B ", r"\text{B}", r"\text{(B)}", r"\textbf{B}", r"\mathrm{B}",
        "$B$", r"\mathbf{(B)}", "B. 10 eV", "(B) 10 eV", "B) a word", "B: a word", "Option B",
        "The answer is B", r"\text{Answer: B}", r"\text{B. } 10^{-4}\ \text{eV}", "choice (B)",
    ],
)  # fmt: skip
def test_one_letter_however_written(box):
    assert letter(box) == "B"
    assert judge("B", rf"so \boxed{{{box}}}", "length") == Verdict("correct", "B")
    assert judge("C", rf"so \boxed{{{box}}}", "stop") == Verdict("wrong", "B")


@pytest.mark.parametrize(
    "box",
    ["A or B", "A, B", "A and B", "AB", "(A) or (B)", "A/B", "E", "a rise in B", "10", "Both", "?", "B C"],
)  # fmt: skip
def test_two_letters_or_none_are_no_choice(box):
    assert letter(box) not in set("ABCD")
    assert judge("B", rf"\boxed{{{box}}}", "stop").outcome == "wrong"


def test_no_box_and_a_cut_one():
    assert judge("B", "The answer is B.", "stop") == Verdict("no_answer", None)
    assert judge("B", r"\boxed{}", "stop") == Verdict("no_answer", None)
    assert judge("B", r"so \boxed{B", "length") == Verdict("truncated", None)


def test_a_gold_is_a_letter():
    assert [read(text) for text in ("A", "(d)", r"\text{C}")] == ["A", "D", "C"]
    with pytest.raises(ValueError, match="no letter"):
        read("10 eV")


@given(st.text(max_size=60))
def test_no_text_raises(text):
    assert judge("A", "\\boxed{" + text + "}", "stop").outcome in ("correct", "wrong", "no_answer")


def test_guesses_against_every_way_to_draw_them():
    for k in range(1, 6):
        draws = list(product(range(4), repeat=k))
        exact = sum(0 in draw for draw in draws) / len(draws)
        assert guessing(0.25, k) == pytest.approx(exact, abs=1e-15)
    assert guessing(0.25, np.array([1, 32])) == pytest.approx([0.25, 1 - 0.75**32])
