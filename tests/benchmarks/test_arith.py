"""The offline benchmark: made the same each time, right answers by enumeration."""

import hashlib
import json
import re

import pytest

from fgrpo_bench.benchmarks import arith

ROWS = arith.generate()


def answers(question: str) -> set[int]:
    """All right answers, from the text of the question alone."""
    numbers = [int(digits) for digits in re.findall("[0-9]+", question)]
    match question.split():
        case [_, "+", *_]:
            return {numbers[0] + numbers[1]}
        case [_, "-", *_]:
            return {numbers[0] - numbers[1]}
        case ["Larger", *_]:
            return {max(numbers)}
    low, high, k = numbers
    return {n for n in range(low, high + 1) if n % k == 0}


def test_the_right_answers_are_those_that_enumeration_finds():
    for row in ROWS:
        right = answers(row["question"])
        said = {
            n for n in range(-50, 2500) if arith.grade(row, f" {n}", "stop") == ("correct", str(n))
        }
        assert said == right, row["question"]
        assert row["right"] == len(right)


def test_only_multiples_have_many_right_answers_and_no_bound_is_one():
    for row in ROWS:
        assert (row["right"] > 1) == (row["kind"] == "multiple")
        if row["kind"] == "multiple":
            assert 3 <= row["right"] <= 12
            assert row["low"] % row["step"]
            assert row["high"] % row["step"]


def test_problems_differ_and_no_example_is_one():
    assert len(ROWS) <= 200
    assert len({row["id"] for row in ROWS}) == len({row["question"] for row in ROWS}) == len(ROWS)
    questions = {row["question"] for row in ROWS}
    for kind in arith.KINDS:
        (examples,) = {
            row["prompt"].removesuffix(row["question"]) for row in ROWS if row["kind"] == kind
        }
        assert examples.endswith("\n")
        for line in examples.splitlines():
            question, answer = re.fullmatch(r"(.*(?:[=:]| is)) (\d+)", line).groups()
            assert int(answer) in answers(question)
            assert question not in questions


def test_levels_are_the_number_of_digits():
    for row in ROWS:
        numbers = re.findall("[0-9]+", row["question"])
        if row["kind"] == "multiple":
            assert (int(numbers[2]) < 6) == (row["level"] == 1)
        else:
            assert {len(digits) for digits in numbers} == {row["level"]}
    cells = {(row["kind"], row["level"]) for row in ROWS}
    assert len(ROWS) == len(cells) * arith.PER_LEVEL
    assert {kind for kind, _ in cells} == set(arith.KINDS)


def test_the_same_seed_makes_the_same_problems_on_every_machine():
    assert arith.generate() == ROWS
    text = json.dumps(ROWS, sort_keys=True).encode()
    assert hashlib.sha256(text).hexdigest()[:16] == "4e074df037cf3ae2"
    other = {row["id"] for row in arith.generate(seed=1)}
    assert len(other & {row["id"] for row in ROWS}) < len(ROWS) / 2


DOC = {"step": 7, "low": 20, "high": 50}


@pytest.mark.parametrize(
    ("response", "finish", "verdict"),
    [
        (" 35", "stop", ("correct", "35")),
        ("35  ", "stop", ("correct", "35")),
        (" 035", "stop", ("correct", "35")),
        (" 35\n36", "stop", ("correct", "35")),
        (" 35\nMultiple of", "length", ("correct", "35")),
        (" 35", "length", ("truncated", None)),
        ("", "length", ("truncated", None)),
        (" 36", "stop", ("wrong", "36")),
        (" -35", "stop", ("wrong", "-35")),
        (" 14", "stop", ("wrong", "14")),
        (" 56", "stop", ("wrong", "56")),
        (" 35 or 36", "stop", ("wrong", None)),
        (" 35.", "stop", ("wrong", None)),
        (" 35.0", "stop", ("wrong", None)),
        (" 3_5", "stop", ("wrong", None)),
        (" " + "9" * 5000, "stop", ("wrong", None)),
        (" ٣٥", "stop", ("no_answer", None)),
        ("\t35", "stop", ("wrong", None)),
        ("", "stop", ("no_answer", None)),
        ("\n35", "stop", ("no_answer", None)),
        (" none", "stop", ("no_answer", None)),
    ],
)
def test_verdicts(response, finish, verdict):
    assert arith.grade(DOC, response, finish) == verdict
