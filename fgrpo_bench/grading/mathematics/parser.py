"""From LaTeX to a sympy expression: latex2sympy, the parser of math-verify, with exact numbers."""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import sympy
from latex2sympy2_extended.latex2sympy2 import ConversionConfig, _Latex2Sympy

_CONFIG: Final = ConversionConfig(lowercase_symbols=False)
# what the parser does not know, or takes for something else, under names that nobody uses
_RENAMED: Final = (
    (re.compile(r"\\odot"), "o"),
    (re.compile(r"\\hbar"), r"\\eta_{h}"),
    (re.compile(r"\\gamma(?![a-z])"), r"\\varsigma "),  # the constant
    (re.compile(r"(?<![A-Za-z\\])E(?=_)"), r"\\Xi"),  # Euler's number
    (re.compile(r"\{\\(max|min)\}"), r"{\1}"),
)


class Unreadable(Exception):
    """The text is no mathematics that the parser knows."""


class _Reader(_Latex2Sympy):  # type: ignore[misc]
    def parse_number(self, text: str) -> Any:
        """Return a number as an exact fraction; the library's own way is Python's ``eval``."""
        return sympy.Rational(Fraction(text.replace(",", "")))


@lru_cache(maxsize=512)
def parse(text: str) -> Any:
    """Return the sympy expression of a tidy text, unevaluated.

    Raises:
        Unreadable: it is none.
    """
    for pattern, new in _RENAMED:
        text = pattern.sub(new, text)
    try:
        return _Reader(config=_CONFIG).parse(text)
    except Exception as error:  # the parser raises bare ones, and runs out of stack
        raise Unreadable from error
