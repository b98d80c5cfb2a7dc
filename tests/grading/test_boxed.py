"""The last balanced box, against a slow reading of the same rule."""

import random
import re
import time

import pytest

from fgrpo_bench.grading.boxed import last_boxed

PIECES = ["\\boxed{", "\\boxed {", "{", "}", "\\{", "\\}", "\\\\", "x", "5", "\n", "\\frac"]


def slowly(text: str) -> str | None:
    """From the last box backwards: walk character by character until its brace is closed."""
    for box in reversed(list(re.finditer(r"\\boxed\s*\{", text))):
        depth, place = 1, box.end()
        while place < len(text) and depth:
            if text[place] == "\\":
                place += 2
                continue
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            place += 1
        if not depth:
            return text[box.end() : place - 1]
    return None


def test_it_is_what_a_slow_reading_finds():
    draw = random.Random(5)
    found = 0
    for _ in range(5000):
        text = "".join(draw.choices(PIECES, k=draw.randrange(1, 16)))
        assert last_boxed(text) == slowly(text), text
        found += last_boxed(text) is not None
    assert found > 500


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("", None),
        (r"\boxed", None),
        (r"\boxed 5", None),
        (r"\boxed{5", None),
        (r"\boxed{}", ""),
        (r"\boxed{5} and \boxed{6", "5"),
        (r"\boxed{1}\boxed{2}", "2"),
        (r"\boxed{\boxed{7}}", "7"),
        (r"\boxed{\text{a {b} c}}", r"\text{a {b} c}"),
        (r"} \boxed{\{1\}} {", r"\{1\}"),
        ("\\\\boxed{5}", "5"),  # an answer that was escaped once too often
        ("\\boxed{a\nb}", "a\nb"),
    ],
)
def test_boxes(text, inside):
    assert last_boxed(text) == inside


@pytest.mark.parametrize("text", ["\\boxed{" * 100_000, "{" * 400_000, "\\" * 400_000])
def test_hostile_text_takes_no_longer_than_it_is(text):
    start = time.monotonic()
    assert last_boxed(text) is None
    assert time.monotonic() - start < 5
