r"""Whether two gold answers have the same value: a small evaluator of LaTeX in floating point.

It decides which gold of another row is a wrong answer, and is the oracle of the accuracy
measurement: on purpose it shares nothing with the grader. Variables stand for fixed numbers, so
that two expressions are the same if they are so there.
"""

import cmath
import math
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeAlias

from fgrpo_bench.grading.measure.notations import Number, Tuple

# a value; a text that was not understood; or brackets with the elements between them
Element: TypeAlias = complex | str | tuple[str, tuple["Element", ...]]

_TOKEN: Final = re.compile(r"\d+(?:\.\d+)?|\.\d+|\\[A-Za-z]+|\\[{}]|[^\s]")
_IGNORED: Final = re.compile(r"\\(?:left|right|quad)(?![a-zA-Z])|\\[,!;: ]|\^\s*\{?\s*\\circ\s*\}?")
_NAMED: Final = re.compile(r"\s*(?:[A-Za-z](?:_\{[^{}]*\})?|\\angle[^=]*)\s*=(.*)", re.DOTALL)
_FUNCTION: Final = re.compile(r"\s*[A-Za-z]\s*\(\s*([A-Za-z])\s*\)\s*=(.*)", re.DOTALL)
_BASED: Final = re.compile(r"(\d+)_\{?(\d)\}?")
_WORDS: Final = re.compile(r"\\(?:text|mbox|mathrm)\s*|[\s{}()$]")
_WORD: Final = re.compile(r"\\text\s*\{([^{}]*)\}")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", r"\lfloor": r"\rfloor", r"\lceil": r"\rceil"}
_TOLERANCE: Final = 1e-9
_LARGEST_FACTORIAL: Final = 170
_FUNCTIONS: Final[dict[str, Callable[[complex], complex]]] = {
    r"\sin": cmath.sin,
    r"\cos": cmath.cos,
    r"\tan": cmath.tan,
    r"\cot": lambda x: 1 / cmath.tan(x),
    r"\arcsin": cmath.asin,
    r"\exp": cmath.exp,
    r"\ln": cmath.log,
    r"\log": cmath.log10,
}
_FAULTS: Final = (ValueError, ZeroDivisionError, OverflowError, IndexError, RecursionError)


def same(one: tuple[str, ...], other: tuple[str, ...]) -> bool | None:
    r"""Return whether two answers have the same value, in any order; None if that is not clear.

    >>> same((r"\frac{1}{2}",), ("0.50",)), same(("1", "2"), ("2", "3")), same((r"1\pm i",), ("7",))
    (True, False, None)
    """
    left, right = [element(part) for part in one], [element(part) for part in other]
    found = [_within(left, right), _within(right, left)]
    if all(found):
        return True
    return False if False in found else None


def constant(text: str) -> complex | None:
    r"""Return the value of an expression without variables, None for anything else.

    >>> round(constant(r"3\sqrt{13}").real, 3), constant("2x"), constant("(1, 2)")
    (10.817, None, None)
    """
    try:
        parser = _Parser(text)
        value = parser.whole()
    except _FAULTS:
        return None
    return None if parser.variables else value


def at_a_point(text: str) -> complex | None:
    """Return the value of an expression where its variables stand for fixed numbers, or None."""
    try:
        return _Parser(text).whole()
    except _FAULTS:
        return None


def element(text: str) -> Element:
    r"""Return what one answer is; the name of an equation for a variable or a function is left out.

    >>> element("k=3"), element("f(n)=n") == element("f(z)=z"), element("(1, 2]")
    ((3+0j), True, ('(]', ((1+0j), (2+0j))))
    """
    text = _IGNORED.sub(" ", text).strip()
    if word := _WORD.fullmatch(text):
        text = word[1]  # its letters are variables then
    if function := _FUNCTION.fullmatch(text):
        name = function[1]
        text = re.sub(rf"(?<![A-Za-z\\]){name}(?![A-Za-z])", "x", function[2])
    elif named := _NAMED.fullmatch(text):
        text = named[1]
    number, inner = Number.read(text), Tuple.read(text)
    if number is not None:
        return complex(float(number.value))
    if based := _BASED.fullmatch(text.strip()):
        return complex(int(based[1], int(based[2])))
    if inner is not None:
        return inner.opening + inner.closing, tuple(map(element, inner.parts))
    value = at_a_point(text)
    return value if value is not None else _WORDS.sub("", text).lower()


def _within(few: list[Element], many: list[Element]) -> bool | None:
    """Return whether each of the few is among the many."""
    each = [_any([_equal(one, other) for other in many]) for one in few]
    return False if False in each else None if None in each else True


def _any(found: list[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


def _equal(one: Element, other: Element) -> bool | None:
    if isinstance(one, str) or isinstance(other, str):
        return True if one == other else None
    if isinstance(one, complex) and isinstance(other, complex):
        return abs(one - other) <= _TOLERANCE * max(abs(one), abs(other))
    if isinstance(one, complex) or isinstance(other, complex):
        return False
    if one[0] != other[0] or len(one[1]) != len(other[1]):
        return False
    each = [_equal(*pair) for pair in zip(one[1], other[1], strict=True)]
    return False if False in each else None if None in each else True


class _Parser:
    """Recursive descent over the tokens of an expression; it evaluates while it reads."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"\\[dt]frac", r"\\frac", _IGNORED.sub(" ", text))
        self.tokens: list[str] = []
        for token in _TOKEN.findall(text):
            fused = self.tokens and self.tokens[-1] == r"\frac" and token.isdigit()
            self.tokens += token if fused else [token]  # \frac43 has two arguments
        self.place = 0
        self.variables: set[str] = set()

    def whole(self) -> complex:
        value = self._sum()
        if self.place < len(self.tokens) or not self.tokens:
            raise ValueError
        return value

    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._next()
        if not token or (wanted and token not in wanted):
            raise ValueError
        self.place += 1
        return token

    def _sum(self) -> complex:
        value = -self._product() if self._sign() else self._product()
        while self._next() in ("+", "-"):
            minus = self._sign()
            value += -self._product() if minus else self._product()
        return value

    def _sign(self) -> bool:
        return self._next() in ("+", "-") and self._take() == "-"

    def _product(self) -> complex:
        value = self._power()
        while True:
            if self._next() in ("*", r"\cdot", r"\times"):
                self._take()
                value *= self._power()
            elif self._next() == "/":
                self._take()
                value /= self._power()
            elif self._starts():
                value *= self._power()
            else:
                return value

    def _starts(self) -> bool:
        token = self._next()
        closing = token in (*_CLOSING.values(), r"\}", r"\{")
        return bool(token) and not closing and token not in ("+", "-", "^", "_", "=", ",", "!", "&")

    def _power(self) -> complex:
        value = self._atom()
        while self._next() in ("^", "!"):
            if self._take() == "^":
                value = value ** self._argument()
            elif value == int(value.real) and 0 <= value.real <= _LARGEST_FACTORIAL:
                value = complex(math.factorial(int(value.real)))
            else:
                raise ValueError
        return value

    def _argument(self) -> complex:
        """Read what belongs to a command or a power: braces, or one token."""
        return self._atom()

    def _atom(self) -> complex:
        token = self._take()
        if token in _CLOSING:
            value = self._sum()
            self._take(_CLOSING[token])
            rounded = {r"\lfloor": math.floor, r"\lceil": math.ceil}.get(token)
            return complex(rounded(value.real)) if rounded else value
        if token[0].isdigit() or token[0] == ".":
            return complex(float(token))
        if token == r"\frac":
            return self._argument() / self._argument()
        if token == r"\binom":
            top, bottom = self._argument().real, self._argument().real
            return complex(
                math.gamma(top + 1) / math.gamma(bottom + 1) / math.gamma(top - bottom + 1)
            )
        if token == r"\sqrt":
            return self._root()
        if token in _FUNCTIONS:
            return self._applied(token)
        return self._letter(token)

    def _root(self) -> complex:
        degree = complex(2)
        if self._next() == "[":
            self._take()
            degree = self._sum()
            self._take("]")
        return self._argument() ** (1 / degree)

    def _applied(self, token: str) -> complex:
        base, power = None, complex(1)
        while self._next() in ("_", "^"):
            if self._take() == "_":
                base = self._argument()
            else:
                power = self._argument()
        value = self._atom()
        while self.tokens[self.place - 1] not in (")", "}") and self._starts():
            if self._next() in (*_FUNCTIONS, "/", "*", r"\cdot", "("):
                break
            value *= self._power()
        found = cmath.log(value) / cmath.log(base) if base else _FUNCTIONS[token](value)
        return found**power

    def _letter(self, token: str) -> complex:
        known = {"i": 1j, "e": complex(math.e), r"\pi": complex(math.pi)}
        if token in known:
            return known[token]
        if not re.fullmatch(r"[A-Za-z]|\\[A-Za-z]+", token) or token in _REFUSED:
            raise ValueError
        if self._next() == "_":
            self._take()
            token += "_" + self._subscript()
        self.variables.add(token)
        return complex(3 + sha256(token.encode()).digest()[0] / 37 + len(token) / 977)

    def _subscript(self) -> str:
        if self._next() != "{":
            return self._take()
        self._take()
        inside = []
        while self._next() != "}":
            inside.append(self._take())
        self._take("}")
        return "".join(inside)


_REFUSED: Final = {
    *(r"\pm", r"\mp", r"\cup", r"\in", r"\infty", r"\begin", r"\end", r"\text", r"\mbox"),
    *(r"\geqslant", r"\angle", r"\ddot", r"\dot", r"\prime", r"\mathrm", r"\mho", r"\where"),
}
