"""``arith``: arithmetic to continue, made here from a seed, for models too small for a chat.

The prompts are few-shot and end where the answer begins; a newline ends the answer. Three kinds
have one right answer. The fourth, a multiple of k between two numbers, has many, so that one can
also measure how many of them a model still finds.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.rng import stream
from fgrpo_bench.sampling.engines.base import Finish

PER_LEVEL: Final = 22
# longer runs of digits are wrong anyway, and too long ones would not convert
_NUMBER: Final = re.compile(r" *(-?[0-9]{1,18}) *")


class Question(NamedTuple):
    """A question, and its right answers: the multiples of ``step`` from ``low`` to ``high``."""

    key: str
    text: str
    step: int
    low: int
    high: int

    @property
    def right(self) -> int:
        """How many right answers there are."""
        return self.high // self.step - (self.low - 1) // self.step


Draw: TypeAlias = Callable[[np.random.Generator, int], Question]


class Kind(NamedTuple):
    """A kind of question: how one is drawn, its levels, and its solved examples."""

    draw: Draw
    levels: tuple[int, ...]
    shots: tuple[tuple[Question, int], ...]


def addition(a: int, b: int) -> Question:
    """Return the question for a + b.

    >>> addition(17, 25)
    Question(key='addition-17-25', text='17 + 25 =', step=1, low=42, high=42)
    """
    return Question(f"addition-{a}-{b}", f"{a} + {b} =", 1, a + b, a + b)


def subtraction(a: int, b: int) -> Question:
    """Return the question for a - b."""
    return Question(f"subtraction-{a}-{b}", f"{a} - {b} =", 1, a - b, a - b)


def larger(a: int, b: int) -> Question:
    """Return the question for the larger of two numbers."""
    return Question(f"larger-{a}-{b}", f"Larger of {a} and {b}:", 1, max(a, b), max(a, b))


def multiple(k: int, low: int, high: int) -> Question:
    """Return the question for a multiple of k between two numbers.

    >>> multiple(7, 20, 50).right  # 21, 28, 35, 42, 49
    5
    """
    text = f"Between {low} and {high}, a multiple of {k} is"
    return Question(f"multiple-{k}-{low}-{high}", text, k, low, high)


def _number(draw: np.random.Generator, digits: int) -> int:
    return int(draw.integers(10 ** (digits - 1), 10**digits))


def _addition(draw: np.random.Generator, level: int) -> Question:
    return addition(_number(draw, level), _number(draw, level))


def _subtraction(draw: np.random.Generator, level: int) -> Question:
    low, high = sorted((_number(draw, level), _number(draw, level)))
    return subtraction(high, low)


def _larger(draw: np.random.Generator, level: int) -> Question:
    numbers = np.arange(10 ** (level - 1), 10**level)
    a, b = draw.choice(numbers, 2, replace=False).tolist()
    return larger(a, b)


def _multiple(draw: np.random.Generator, level: int) -> Question:
    k = int(draw.integers(*((2, 6) if level == 1 else (6, 10))))
    low = int(draw.integers(10, 51))
    high = low + int(draw.integers(5 * k, 10 * k + 1))
    # neither end is a multiple: "between" would leave open whether it counts
    return multiple(k, low + (low % k == 0), high - (high % k == 0))


KINDS: Final[dict[str, Kind]] = {
    "addition": Kind(
        _addition,
        (1, 2, 3),
        tuple((addition(a, b), a + b) for a, b in ((3, 5), (41, 27), (126, 352), (68, 19))),
    ),
    "subtraction": Kind(
        _subtraction,
        (1, 2),
        tuple((subtraction(a, b), a - b) for a, b in ((9, 4), (58, 23), (76, 41), (95, 38))),
    ),
    "larger": Kind(
        _larger,
        (2, 3),
        tuple((larger(a, b), max(a, b)) for a, b in ((34, 58), (91, 17), (23, 46), (75, 62))),
    ),
    "multiple": Kind(
        _multiple,
        (1, 2),
        tuple(
            (multiple(k, low, high), answer)
            for k, low, high, answer in (
                (3, 10, 40, 21),
                (7, 30, 80, 56),
                (5, 41, 99, 75),
                (4, 17, 70, 32),
            )
        ),
    ),
}


def generate(seed: int = 0, per_level: int = PER_LEVEL) -> list[dict[str, Any]]:
    """Return the problems: one row each, all different and none of them an example of a prompt.

    Args:
        seed: of the problems; those of ``arith`` have seed 0.
        per_level: problems of each level of each kind.

    >>> generate()[0]["prompt"].splitlines()[-2:]
    ['68 + 19 = 87', '8 + 8 =']
    """
    rows = []
    for name, kind in KINDS.items():
        shots = "".join(f"{shot.text} {answer}\n" for shot, answer in kind.shots)
        seen = {shot.key for shot, _ in kind.shots}
        for level in kind.levels:
            draw, left = stream(seed, f"arith {name}", level), per_level
            while left:
                question = kind.draw(draw, level)
                if question.key not in seen:
                    seen.add(question.key)
                    left -= 1
                    rows.append(_row(name, level, question, shots))
    return rows


def _row(kind: str, level: int, question: Question, shots: str) -> dict[str, Any]:
    return {
        "id": question.key,
        "kind": kind,
        "level": level,
        "question": question.text,
        "prompt": shots + question.text,
        "step": question.step,
        "low": question.low,
        "high": question.high,
        "right": question.right,
    }


def grade(doc: dict[str, Any], response: str, finish: Finish) -> Verdict:
    """Grade the first line of a response, which must be one integer and nothing else but spaces.

    A number inside a sentence does not count: "12 or 15" would be two tries in one sample. A
    response cut off by the length limit is truncated unless the line had ended: more digits might
    have come.

    Args:
        doc: a row of ``generate``.
        response: what the model wrote behind the prompt.
        finish: ``length`` if it ran into the limit.

    >>> grade({"step": 7, "low": 20, "high": 50}, " 35", "stop")
    Verdict(outcome='correct', answer='35')
    """
    line, end, _ = response.partition("\n")
    number = _NUMBER.fullmatch(line)
    if finish == "length" and not end:
        return Verdict("truncated", None)
    if number is None:
        return Verdict("wrong" if re.search("[0-9]", line) else "no_answer", None)
    value = int(number[1])
    right = doc["low"] <= value <= doc["high"] and value % doc["step"] == 0
    return Verdict("correct" if right else "wrong", str(value))
