"""The shape of an answer: a list, a named value, an interval, a matrix, a union, a tuple."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from fgrpo_bench.grading.mathematics.texts import cut, split

_NAME: Final = re.compile(
    r"(?:\\(?!frac|sqrt|binom|sin|cos|tan|log|ln|exp|cdot|times|pi\b)[A-Za-z]+|[A-Za-z]|\|)"
    r"[A-Za-z0-9_{}'\\ |,]*(?:\([A-Za-z0-9_{}, \\]*\))?|\([A-Za-z][A-Za-z0-9_{}, ]*\)"
)
_ONE: Final = r"[A-Za-z](?:_\{?[A-Za-z0-9]+\}?)?(?:\([a-z]\))?"
# what an answer may be said to be besides a name: a ratio, a sine, a curve with its variable
_QUANTITY: Final = re.compile(
    rf"\\(?:sin|cos|tan) *\\?[A-Za-z]+|\\frac\{{{_ONE}\}}\{{{_ONE}\}}"
    r"|[A-Za-z]\^\{?[A-Za-z]+\}?\([a-z]\)"
)
_SYMBOL: Final = re.compile(r"\\[A-Za-z]+|[A-Za-z]")
_FUNCTION: Final = re.compile(r"([A-Za-z]+) ?\(([a-z])\) ?=")
_RELATION: Final = re.compile(r"(\\le(?![a-z])|\\ge(?![a-z])|<|>|(?<![<>!\\])=)\s*")
TURNED: Final = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", "=": "="}
_MATRIX: Final = re.compile(
    r"\\begin\{([a-z]*matrix|array)\}(?:\{[lcr|]*\})?(.*)\\end\{(?:[a-z]*matrix|array)\}"
)


class Part(NamedTuple):
    """One answer: what it is said to be the value of, or "", the value, and both together."""

    head: str
    value: str
    text: str


def parts(text: str, thousands: bool) -> list[Part]:
    r"""Return the answers that a tidy text lists, each ``\pm`` as two of them, a union as its sets.

    So ``x < 2 or x > 3`` is a union.

    >>> [part[:2] for part in parts(r"x=1\pm\sqrt{2},-2", True)]
    [('x', '1+\\sqrt{2}'), ('x', '1-\\sqrt{2}'), ('', '-2')]
    >>> [part.value for part in parts(r"(-\infty,2)\cup(3,\infty)", True)]
    ['(-\\infty,2)', '(3,\\infty)']
    """
    if listed := _listed(text):
        text = listed
    elif named := _named(text):
        inner = _listed(named.value)
        text = inner if inner else text
    return [
        one._replace(value=piece)
        for part in split(text, thousands)
        for sign in _signs(part)
        for one in [_named(sign) or Part("", sign, sign)]
        for piece in _union(one.value)
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
    name, *rest = re.split(r"\\in(?![a-z])", text, maxsplit=1)
    if rest and _NAME.fullmatch(name.strip()):
        return Part(_head(name.strip()), rest[0].strip(), text)
    sides, relations = related(text)
    if relations and set(relations) == {"="} and sides[-1]:
        if _NAME.fullmatch(sides[0]):
            return Part(_head(sides[0]), sides[-1], text)
        if _QUANTITY.fullmatch(sides[0]):
            return Part(sides[0], sides[-1], text)
    return _interval(text, sides, relations)


def related(text: str) -> tuple[list[str], list[str]]:
    r"""Return the sides of a relation and what stands between them, outside of brackets.

    >>> related(r"0 < x \le 1"), related(r"\sum_{k=1}^{3}k")
    ((['0', 'x', '1'], ['<', '\\le']), (['\\sum_{k=1}^{3}k'], []))
    """
    sides, relations, start = [], [], 0
    for match in _RELATION.finditer(text):
        before = text[: match.start()]
        if any(before.count(one) > before.count(other) for one, other in ("()", "{}")):
            continue
        sides.append(text[start : match.start()].strip())
        relations.append(match[1])
        start = match.end()
    return [*sides, text[start:].strip()], relations


def _interval(text: str, sides: Sequence[str], relations: Sequence[str]) -> Part | None:
    """Return the interval that ``a < x <= b`` or ``x > a`` describes."""
    if "=" in relations or len(set(sides)) != len(sides) or not 2 <= len(sides) <= 3:
        return None
    if len(sides) == 2:
        if _NAME.fullmatch(sides[1]) and not _NAME.fullmatch(sides[0]):
            sides, relations = sides[::-1], [TURNED[relations[0]]]
        if not _NAME.fullmatch(sides[0]):
            return None
        name, bound, relation = sides[0], sides[1], relations[0]
        closed = "\\" in relation
        if relation in ("<", r"\le"):
            return Part(_head(name), rf"(-\infty,{bound}{']' if closed else ')'}", text)
        return Part(_head(name), rf"{'[' if closed else '('}{bound},\infty)", text)
    if relations[0] in (">", r"\ge"):
        sides, relations = sides[::-1], [TURNED[one] for one in reversed(relations)]
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


def unwrapped(text: str) -> str:
    r"""Return a text without brackets around the whole that hold one value.

    >>> unwrapped("((5))"), unwrapped("(1,2)"), unwrapped("(a)(b)")
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


def rows(text: str) -> list[list[str]] | None:
    """Return the entries of a matrix, row by row, or None for any other text."""
    found = _MATRIX.fullmatch(unwrapped(text))
    if found is None:
        return None
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", found[2]) if row.strip()]
    return [[entry.strip() for entry in cut(row, "&")] for row in rows] or None


def _union(text: str) -> list[str]:
    """Return the sets that a text unites, one for most texts."""
    return [piece.strip() for piece in re.split(r"\\cup(?![a-z])", text)]


def renamed(gold: Part, answer: Part) -> Part:
    r"""Return an answer with a function's variable as in the gold: ``f(x) = 2x`` is ``f(n) = 2n``.

    >>> pair = [parts(text, True)[0] for text in ("f(n)=2n", "f(x)=2x")]
    >>> renamed(*pair).value
    '2n'
    """
    right, given = _FUNCTION.match(gold.text), _FUNCTION.match(answer.text)
    if not right or not given or right[1] != given[1] or right[2] == given[2]:
        return answer
    if right[2] in _SYMBOL.findall(answer.value):
        return answer
    value = _SYMBOL.sub(lambda found: right[2] if found[0] == given[2] else found[0], answer.value)
    return answer._replace(value=value)


def bracketed(text: str) -> tuple[str, list[str]] | None:
    r"""Return brackets and pieces of a tuple, an interval or a set inside an answer, or None."""
    if (listed := _listed(text)) is not None:
        return "{}", split(listed)
    if text[:1] not in "([" or text[-1:] not in ")]" or _inside(text) is None:
        return None
    pieces = cut(text[1:-1], ",;")
    return (text[0] + text[-1], pieces) if len(pieces) > 1 else None


def plain(texts: Sequence[str]) -> list[Part]:
    """Return values without names."""
    return [Part("", text, text) for text in texts]
