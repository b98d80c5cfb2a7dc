r"""Whether an answer is the gold answer: lists, intervals, matrices and equations by their shape.

What has a shape is compared piece by piece, with the library's parser seeing one expression at a
time: read as a whole, a tuple loses its count and an interval its ends.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from fgrpo_bench.grading.mathematics.golds import Gold
from fgrpo_bench.grading.mathematics.numbers import close, number
from fgrpo_bench.grading.mathematics.texts import bare, cut, join_thousands, split, tidy, word

LONGEST: Final = 2_000  # characters of an answer that is read
DEEPEST: Final = 12  # brackets in brackets
_ENDLESS: Final = re.compile(r"\\binom\s*\{\s*\d{5}|\d{5,}\s*!")  # the parser would compute them
_NAME: Final = re.compile(
    r"(?:\\(?!frac|sqrt|binom|sin|cos|tan|log|ln|exp|cdot|times|pi\b)[A-Za-z]+|[A-Za-z]|\|)"
    r"[A-Za-z0-9_{}'\\ |,]*(?:\([A-Za-z0-9_{}, \\]*\))?|\([A-Za-z][A-Za-z0-9_{}, ]*\)"
)
_RELATION: Final = re.compile(r"(\\le(?![a-z])|\\ge(?![a-z])|<|>|(?<![<>!\\])=)\s*")
_TURNED: Final = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", "=": "="}
_MATRIX: Final = re.compile(
    r"\\begin\{([a-z]*matrix|array)\}(?:\{[lcr|]*\})?(.*)\\end\{(?:[a-z]*matrix|array)\}"
)
_BASED: Final = re.compile(r"(\d+)_\{?(\d+)\}?")


class Part(NamedTuple):
    """One answer: what it is said to be the value of, or "", the value, and both together."""

    head: str
    value: str
    text: str


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
    if text == ",".join(map(tidy, gold.parts)):
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
    golds = [part for text in gold.parts for part in _parts(tidy(text), False)]
    text = tidy(answer)
    readings = [_parts(text, True)]
    if (other := _parts(text, False)) != readings[0] and len(golds) > 1:
        readings.append(other)
    return any(_matched(golds, reading, gold.error) for reading in readings)


def _close(
    gold: Fraction, answer: Fraction, gold_text: str, answer_text: str, error: float | None
) -> bool:
    if error is not None and abs(gold - answer) <= Fraction(str(error)):
        return True
    return close(gold, answer, gold_text, answer_text)


def _parts(text: str, thousands: bool) -> list[Part]:
    r"""Return the answers that a tidy text lists, each ``\pm`` as two of them.

    >>> [part[:2] for part in _parts(r"x=1\pm\sqrt{2},-2", True)]
    [('x', '1+\\sqrt{2}'), ('x', '1-\\sqrt{2}'), ('', '-2')]
    """
    if listed := _listed(text):
        text = listed
    elif named := _named(text):
        inner = _listed(named.value)
        text = inner if inner else text
    return [
        _named(sign) or Part("", sign, sign)
        for part in split(text, thousands)
        for sign in _signs(part)
    ]


def _listed(text: str) -> str | None:
    r"""Return what a set's braces hold, or None for any other text."""
    if text.startswith(r"\{") and text.endswith(r"\}") and r"\}" not in text[:-2]:
        return text[2:-2]
    return None


def _signs(text: str) -> list[str]:
    if r"\pm" not in text and r"\mp" not in text:
        return [text]
    texts = []
    for sign, other in ("+-", "-+"):
        chosen = re.sub(r"\\pm *", sign, re.sub(r"\\mp *", other, text))
        texts.append(re.sub(r"(^|[=(,{])\+", r"\1", chosen))
    return texts


def _named(text: str) -> Part | None:
    r"""Return name and value of ``x = 5``, ``f(x) = 2x`` or ``x \in [1, 2]``, or None.

    Of a chain, as ``x = 2 + 3 = 5``, the last value counts; ``x > 2`` is its interval.
    """
    name, found, rest = text.partition(r"\in") if re.search(r"\\in(?![a-z])", text) else ("", "", "")
    if found and _NAME.fullmatch(name.strip()):
        return Part(_head(name), rest.strip(), text)
    pieces = [piece.strip() for piece in _RELATION.split(text)]
    sides, relations = pieces[::2], pieces[1::2]
    if relations and set(relations) == {"="} and _NAME.fullmatch(sides[0]) and sides[-1]:
        return Part(_head(sides[0]), sides[-1], text)
    return _interval(text, sides, relations)


def _interval(text: str, sides: Sequence[str], relations: Sequence[str]) -> Part | None:
    """Return the interval that ``a < x <= b`` or ``x > a`` describes."""
    if "=" in relations or len(set(sides)) != len(sides) or not 2 <= len(sides) <= 3:
        return None
    if len(sides) == 2:
        if _NAME.fullmatch(sides[1]) and not _NAME.fullmatch(sides[0]):
            sides, relations = sides[::-1], [_TURNED[relations[0]]]
        if not _NAME.fullmatch(sides[0]):
            return None
        name, bound, relation = sides[0], sides[1], relations[0]
        closed = "\\" in relation
        if relation in ("<", r"\le"):
            return Part(_head(name), rf"(-\infty,{bound}{']' if closed else ')'}", text)
        return Part(_head(name), rf"{'[' if closed else '('}{bound},\infty)", text)
    if relations[0] in (">", r"\ge"):
        sides, relations = sides[::-1], [_TURNED[one] for one in reversed(relations)]
    if not _NAME.fullmatch(sides[1]) or not set(relations) <= {"<", r"\le"}:
        return None
    left, right = "[" if "\\" in relations[0] else "(", "]" if "\\" in relations[1] else ")"
    return Part(_head(sides[1]), f"{left}{sides[0]},{sides[2]}{right}", text)


def _head(name: str) -> str:
    r"""Return a name without arguments, subscripts and spaces: of ``f(x)`` and ``f`` the same.

    >>> _head(r"m_{\max}"), _head("f(x)"), _head("(x,y)")
    ('m', 'f', '(x,y)')
    """
    if name.startswith("("):
        return name.replace(" ", "")
    return re.sub(r"[_(].*", "", name).replace(" ", "")


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


def _same_part(gold: Part, answer: Part, several: bool, error: float | None) -> bool:
    """Compare values whose names allow it, or both as equations, as y = 2x and 2x - y = 0.

    A name may be left out where only one is asked for.
    """
    named = gold.head == answer.head or (not several and not (gold.head and answer.head))
    if named and same(gold.value, answer.value, error):
        return True
    return bool(_same_relation(gold.text, answer.text)) if "=" in gold.text else False


def same(gold: str, answer: str, error: float | None = None) -> bool:
    """Return whether two tidy texts, of one answer each, are the same."""
    gold, answer = bare(_unwrapped(gold)), bare(_unwrapped(answer))
    if gold == answer:
        return True
    one, other = number(gold), number(answer)
    if one is not None and other is not None:
        return _close(one, other, gold, answer, error)
    if (right := word(gold)) is not None and (given := word(answer)) is not None:
        if right == given:
            return True
        if len(right) > 1 and r"\text" in gold:
            return False
    for shaped in (_same_based, _same_matrix, _same_union, _same_bracketed, _same_relation):
        if (verdict := shaped(gold, answer)) is not None:
            return verdict
    from fgrpo_bench.grading.mathematics.leaves import same_value

    return same_value(gold, answer)


def _unwrapped(text: str) -> str:
    r"""Return a text without brackets around the whole that hold one value.

    >>> _unwrapped("((5))"), _unwrapped("(1,2)"), _unwrapped("(a)(b)")
    ('5', '(1,2)', '(a)(b)')
    """
    while text[:1] == "(" and text[-1:] == ")" and (inner := _inside(text)) is not None:
        if len(cut(inner, ",")) > 1 or not inner:
            break
        text = inner
    return text


def _inside(text: str) -> str | None:
    """Return what is between the first bracket and the last, if they belong together."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if not depth and place < len(text) - 1:
            return None
    return text[1:-1] if not depth and len(text) > 1 else None


def _same_based(gold: str, answer: str) -> bool | None:
    """Compare numbers in a base: the base may be left out, since the question names it."""
    right, given = _BASED.fullmatch(gold), _BASED.fullmatch(answer)
    if right is None:
        return None
    if given is not None:
        return right.groups() == given.groups()
    return right[1] == answer


def _same_matrix(gold: str, answer: str) -> bool | None:
    right, given = _rows(gold), _rows(answer)
    if right is None and given is None:
        return None
    if right is None or given is None:
        return _same_vector(gold, answer, right or given or [])
    if [len(row) for row in right] != [len(row) for row in given]:
        return False
    return _all_same(sum(right, []), sum(given, []))


def _same_vector(gold: str, answer: str, rows: list[list[str]]) -> bool:
    """Compare a column or row with a list of its entries in brackets."""
    other = _bracketed(answer if _rows(answer) is None else gold)
    if other is None or min(len(rows), len(rows[0])) != 1:
        return False
    return _all_same(sum(rows, []), other[1])


def _rows(text: str) -> list[list[str]] | None:
    found = _MATRIX.fullmatch(_unwrapped(text))
    if found is None:
        return None
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", found[2]) if row.strip()]
    return [[entry.strip() for entry in cut(row, "&")] for row in rows] or None


def _same_union(gold: str, answer: str) -> bool | None:
    right, given = _union(gold), _union(answer)
    if len(right) == 1 and len(given) == 1:
        return None
    return _matched(_plain(right), _plain(given), None)


def _plain(texts: Sequence[str]) -> list[Part]:
    return [Part("", text, text) for text in texts]


def _union(text: str) -> list[str]:
    return [piece.strip() for piece in re.split(r"\\cup(?![a-z])", text)]


def _bracketed(text: str) -> tuple[str, list[str]] | None:
    r"""Return brackets and pieces of a tuple, an interval or a set inside an answer, or None."""
    if (listed := _listed(text)) is not None:
        return "{}", split(listed)
    if text[:1] not in "([" or text[-1:] not in ")]" or _inside(text) is None:
        return None
    pieces = cut(text[1:-1], ",;")
    return (text[0] + text[-1], pieces) if len(pieces) > 1 else None


def _same_bracketed(gold: str, answer: str) -> bool | None:
    right, given = _bracketed(gold), _bracketed(answer)
    if right is None and given is None:
        return None
    if right is None or given is None or right[0] != given[0]:
        return False
    if right[0] == "{}":
        return _matched(_plain(right[1]), _plain(given[1]), None)
    return _all_same(right[1], given[1])


def _all_same(golds: Sequence[str], answers: Sequence[str]) -> bool:
    return len(golds) == len(answers) and all(
        same(gold.strip(), answer.strip()) for gold, answer in zip(golds, answers, strict=True)
    )


def _same_relation(gold: str, answer: str) -> bool | None:
    """Compare two equations or inequalities that define no name."""
    right, given = _RELATION.split(gold), _RELATION.split(answer)
    if len(right) == len(given) == 1:
        return None
    if len(right) != 3 or len(given) != 3:
        return False
    from fgrpo_bench.grading.mathematics.leaves import same_relation

    sides, other = (right[0], right[2]), (given[0], given[2])
    if right[1] == given[1] and same_relation(sides, other, right[1] != "="):
        return True
    if _TURNED[right[1]] == given[1]:
        return same_relation(sides, other[::-1], right[1] != "=")
    return False
