r"""Whether an answer is the gold answer: lists, intervals, matrices and equations by their shape.

What has a shape is compared piece by piece, and the parser sees one expression at a time: read as a
whole, a tuple loses its count and an interval its ends.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import Final

from fgrpo_bench.grading.mathematics.golds import Gold
from fgrpo_bench.grading.mathematics.numbers import close, number
from fgrpo_bench.grading.mathematics.shapes import (
    TURNED,
    Part,
    bracketed,
    parts,
    plain,
    related,
    renamed,
    rows,
    unwrapped,
)
from fgrpo_bench.grading.mathematics.texts import (
    bare,
    join_thousands,
    primed,
    tidy,
    unconditioned,
    word,
)

LONGEST: Final = 2_000  # characters of an answer that is read
DEEPEST: Final = 12  # brackets in brackets
_ENDLESS: Final = re.compile(r"\\binom\s*\{\s*\d{5}|\d{5,}\s*!")  # the parser would compute them
_BASED: Final = re.compile(r"(\d+)_\{?(?:\\text\{)?(\d+|[a-z]+)\}*")
_BASES: Final = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9",
}  # fmt: skip


def meets(gold: str, answer: str) -> tuple[bool, None]:
    """Return whether an answer meets a gold answer, for a worker.

    Args:
        gold: a ``Gold`` as JSON.
        answer: what stood in the box.
    """
    return equal(Gold.from_json(gold), answer), None


def decide(gold: Gold, answer: str) -> bool | None:
    """Return the verdict where the texts alone decide it, at no cost, and None elsewhere."""
    if unreadable(answer):
        return False
    text = tidy(answer)
    if text == gold.text:
        return True
    if len(gold.parts) != 1:
        return None
    right = bare(join_thousands(tidy(gold.parts[0])))
    given = bare(join_thousands(text))
    one, other = number(right), number(given)
    if one is not None and other is not None:
        return _close(one, other, right, given, gold.error)
    return None


def unreadable(answer: str) -> bool:
    """Return whether an answer is longer, larger or its brackets deeper than any that is read."""
    if len(answer) > LONGEST or _ENDLESS.search(answer):
        return True
    depth = deepest = 0
    for char in answer:
        depth += (char in "([{") - (char in ")]}")
        deepest = max(deepest, depth)
    return deepest > DEEPEST


def equal(gold: Gold, answer: str) -> bool:
    """Return whether an answer is the gold answer; the order of several answers is free.

    Args:
        gold: of the problem.
        answer: what stood in the box.
    """
    if (decided := decide(gold, answer)) is not None:
        return decided
    golds = [part for text in gold.parts for part in parts(tidy(text), False)]
    text = unconditioned(tidy(answer))
    readings = [parts(text, True)]
    if (other := parts(text, False)) != readings[0] and len(golds) > 1:
        readings.append(other)
    return any(
        _matched(golds, reading, gold.error) or _named_tuple(golds, reading) for reading in readings
    )


def _close(
    gold: Fraction, answer: Fraction, gold_text: str, answer_text: str, error: float | None
) -> bool:
    if error is not None and abs(gold - answer) <= Fraction(str(error)):
        return True
    return close(gold, answer, gold_text, answer_text)


def _matched(golds: Sequence[Part], answers: Sequence[Part], error: float | None) -> bool:
    """Return whether answers are the golds in some order, each once."""
    if len(golds) != len(answers):
        return False
    several = len({gold.head for gold in golds}) > 1
    free = list(answers)
    for gold in golds:
        for answer in free:
            if _same_part(gold, answer, several, error):
                free.remove(answer)
                break
        else:
            return False
    return True


def _named_tuple(golds: Sequence[Part], answers: Sequence[Part]) -> bool:
    """Return whether one tuple says with its names what the golds list: ``(x, y) = (1, 2)``."""
    if len(answers) != 1 or len(golds) < 2 or not answers[0].head.startswith("("):
        return False
    values = bracketed(answers[0].value)
    return values is not None and _all_same([gold.value for gold in golds], values[1])


def _same_part(gold: Part, answer: Part, several: bool, error: float | None) -> bool:
    """Compare values whose names allow it, or both as equations, as y = 2x and 2x - y = 0.

    A name may be left out where only one is asked for.
    """
    answer = renamed(gold, answer)
    named = gold.head == answer.head or (not several and not (gold.head and answer.head))
    if named and same(gold.value, answer.value, error):
        return True
    return bool(_same_relation(gold.text, answer.text)) if "=" in gold.text else False


def same(gold: str, answer: str, error: float | None = None) -> bool:
    """Return whether two tidy texts, of one answer each, are the same."""
    gold, answer = bare(unwrapped(gold)), bare(unwrapped(answer))
    if gold == answer:
        return True
    one, other = number(gold), number(answer)
    if one is not None and other is not None:
        return _close(one, other, gold, answer, error)
    if (right := word(gold)) is not None and (given := word(answer)) is not None:
        if right == given and (len(right) > 1 or not gold.isalpha()):  # n and N are two variables
            return True
        if len(right) > 1 and r"\text" in gold:
            return False
    for shaped in (_same_based, _same_matrix, _same_bracketed, _same_relation):
        if (verdict := shaped(gold, answer)) is not None:
            return verdict
    from fgrpo_bench.grading.mathematics.leaves import same_value

    return same_value(gold, answer)


def _same_based(gold: str, answer: str) -> bool | None:
    """Compare numbers in a base: the base may be left out, since the question names it."""
    right, given = _BASED.fullmatch(gold), _BASED.fullmatch(answer)
    if right is None:
        return None
    if given is not None:
        return right[1] == given[1] and right[2] == _BASES.get(given[2], given[2])
    return right[1] == answer


def _same_matrix(gold: str, answer: str) -> bool | None:
    right, given = rows(gold), rows(answer)
    if right is None and given is None:
        return None
    if given is None:
        return _same_vector(right or [], answer, turned=False)
    if right is None:
        return _same_vector(given, gold, turned=True)
    if [len(row) for row in right] != [len(row) for row in given]:
        return False
    return _all_same(list(chain(*right)), list(chain(*given)))


def _same_vector(matrix: list[list[str]], other: str, turned: bool) -> bool:
    """Compare a column or a row with its entries in round brackets."""
    entries = bracketed(other)
    if entries is None or entries[0] != "()" or min(len(matrix), len(matrix[0])) != 1:
        return False
    both = [list(chain(*matrix)), entries[1]]
    return _all_same(*(both[::-1] if turned else both))


def _same_bracketed(gold: str, answer: str) -> bool | None:
    right, given = bracketed(gold), bracketed(answer)
    if right is None and given is None:
        return None
    if right is None or given is None or right[0] != given[0]:
        return False
    if right[0] == "{}":
        return _matched(plain(right[1]), plain(given[1]), None)
    return _all_same(right[1], given[1])


def _all_same(golds: Sequence[str], answers: Sequence[str]) -> bool:
    return len(golds) == len(answers) and all(
        same(gold.strip(), answer.strip()) for gold, answer in zip(golds, answers, strict=True)
    )


def _same_relation(gold: str, answer: str) -> bool | None:
    """Compare two equations or inequalities that define no name."""
    (right, how), (given, its) = related(primed(gold)), related(primed(answer))
    if not how and not its:
        return None
    if len(how) != 1 or len(its) != 1:
        return False
    from fgrpo_bench.grading.mathematics.leaves import same_relation

    signed = how[0] != "="
    if how == its and same_relation(right, given, signed):
        return True
    return TURNED[how[0]] == its[0] and same_relation(right, given[::-1], signed)
