r"""How gold answers print a number, a tuple and a list, read and written back.

This is the oracle of the accuracy measurement: on purpose it shares nothing with the grader.
"""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, Self, TypeAlias

Form: TypeAlias = Literal["integer", "decimal", "fraction", "power"]

_PLACES: Final = 12  # of a decimal: nobody writes longer ones
_GROUPS: Final = r"\d{1,3}(?:,(?:\\!\s*)?\d{3})+"
_ARGUMENT: Final = r"\s*(?:\{\s*([+-]?\d+)\s*\}|(\d))"
_FRACTION: Final = rf"\\[dt]?frac{_ARGUMENT}{_ARGUMENT}"
_UNIT: Final = r"\\(?:text|mbox)\s*\{[^{}]*\}(?:\^\{?\d\}?)?"
_WRAPPED: Final = re.compile(
    r"(?P<before>\\\$\s*)?(?P<body>[^$]*?)"
    rf"(?P<after>\s*(?:\^\s*\{{?\s*\\circ\s*\}}?|\\?%|{_UNIT}))?",
    re.DOTALL,
)
_INTEGER: Final = re.compile(rf"[+-]?(?:\d+|{_GROUPS})")
_DECIMAL: Final = re.compile(r"[+-]?\d*\.\d+")
_POWER: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)e([+-]?\d+)")
_RATIO: Final = re.compile(r"([+-]?\d+)\.?/(\d+)")
_QUOTIENT: Final = re.compile(rf"([+-]?)\s*{_FRACTION}")
_MIXED: Final = re.compile(rf"([+-]?\d+)\s*{_FRACTION}")
_TUPLE: Final = re.compile(r"(?:\\left\s*)?([(\[])(.*?)(?:\\right\s*)?([)\]])", re.DOTALL)


@dataclass(frozen=True)
class Number:
    r"""A number as it is printed.

    Attributes:
        value: exact.
        form: how it is written; ``power`` is with a power of ten.
        before: what stands before it, such as ``\$``.
        after: its unit, degree or percent sign.
    """

    value: Fraction
    form: Form
    before: str = ""
    after: str = ""

    @classmethod
    def read(cls, text: str) -> Self | None:
        r"""Return the number that the whole text is, or None.

        >>> Number.read(r"\$18.90"), Number.read("x")
        (Number(value=Fraction(189, 10), form='decimal', before='\\$', after=''), None)
        """
        wrapped = _WRAPPED.fullmatch(text.strip())
        found = _value(wrapped["body"].strip()) if wrapped else None
        if wrapped is None or found is None:
            return None
        return cls(*found, before=wrapped["before"] or "", after=wrapped["after"] or "")

    def write(self, value: Fraction) -> str:
        r"""Return another value in the same notation.

        >>> Number.read("90^\\circ").write(Fraction(91))
        '91^\\circ'
        """
        return f"{self.before}{write(value, self.form)}{self.after}"

    def bare(self) -> Self:
        """Return it without what stands around it."""
        return replace(self, before="", after="")


def write(value: Fraction, form: Form) -> str:
    r"""Return a value in a notation; one without a terminating decimal is a fraction.

    >>> write(Fraction(3, 2), "decimal"), write(Fraction(3, 2), "fraction")
    ('1.5', '\\frac{3}{2}')
    """
    if form == "power":
        mantissa, exponent = scientific(value)
        return rf"{write(mantissa, 'decimal')} \times 10^{{{exponent}}}"
    if value.denominator == 1:
        return str(value.numerator)
    if form != "fraction" and (text := decimal(value)) is not None:
        return text
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def decimal(value: Fraction) -> str | None:
    """Return the decimal that is exactly the value, None if it has none or a long one.

    >>> decimal(Fraction(-1, 8)), decimal(Fraction(1, 3))
    ('-0.125', None)
    """
    scaled = value * 10**_PLACES
    if scaled.denominator != 1:
        return None
    digits = str(abs(scaled.numerator)).rjust(_PLACES + 1, "0")
    places = digits[-_PLACES:].rstrip("0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-_PLACES]}{'.' if places else ''}{places}"


def scientific(value: Fraction) -> tuple[Fraction, int]:
    """Return mantissa, from 1 to below 10, and power of ten.

    >>> scientific(Fraction(450))
    (Fraction(9, 2), 2)
    """
    exponent = 0
    while abs(value) >= 10:
        value, exponent = value / 10, exponent + 1
    while value and abs(value) < 1:
        value, exponent = value * 10, exponent - 1
    return value, exponent


def _value(body: str) -> tuple[Fraction, Form] | None:
    if _INTEGER.fullmatch(body):
        return Fraction(re.sub(r"[^\d+-]", "", body)), "integer"
    if _DECIMAL.fullmatch(body):
        return Fraction(body), "decimal"
    if power := _POWER.fullmatch(body):
        return Fraction(power[1]) * Fraction(10) ** int(power[2]), "power"
    if (ratio := _RATIO.fullmatch(body)) and int(ratio[2]):
        return Fraction(int(ratio[1]), int(ratio[2])), "fraction"
    if mixed := _MIXED.fullmatch(body):
        whole, rest = int(mixed[1]), _quotient(mixed)
        return (whole + rest if whole > 0 else whole - rest), "fraction"
    if found := _QUOTIENT.fullmatch(body):
        return (-_quotient(found) if found[1] == "-" else _quotient(found)), "fraction"
    return None


def _quotient(found: re.Match[str]) -> Fraction:
    return Fraction(int(found[2] or found[3]), int(found[4] or found[5]))


@dataclass(frozen=True)
class Tuple:
    """A tuple or an interval: its brackets and what is between them."""

    opening: str
    parts: tuple[str, ...]
    closing: str

    @classmethod
    def read(cls, text: str) -> Self | None:
        r"""Return the tuple that the whole text is, or None.

        >>> Tuple.read(r"\left( 3, \frac{\pi}{2} \right)")
        Tuple(opening='(', parts=('3', '\\frac{\\pi}{2}'), closing=')')
        """
        found = _TUPLE.fullmatch(text.strip())
        if found is None:
            return None
        parts = _at_commas(found[2])
        return None if len(parts) < 2 or _closes(found[2]) else cls(found[1], parts, found[3])

    def write(self) -> str:
        """Return it as text."""
        return f"{self.opening}{', '.join(self.parts)}{self.closing}"

    @property
    def interval(self) -> bool:
        """Whether brackets or an infinite end tell that it is one, and no point."""
        return "[" in self.opening or "]" in self.closing or "infty" in "".join(self.parts)


def split(text: str) -> tuple[str, ...]:
    r"""Return what is between the commas that are in no bracket.

    A comma that groups the digits of a lone number is none.

    >>> split("(1,2), 3"), split(r"10,\!080")
    (('(1,2)', '3'), ('10,\\!080',))
    """
    number = Number.read(text)
    return (text.strip(),) if number is not None else _at_commas(text)


def _at_commas(text: str) -> tuple[str, ...]:
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += _step(letter)
        if letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return (*parts, text[start:].strip())


def _closes(text: str) -> bool:
    """Return whether it closes a bracket that was opened before it."""
    depth = 0
    for letter in text:
        depth += _step(letter)
        if depth < 0:
            return True
    return False


def _step(letter: str) -> int:
    return (letter in "([{") - (letter in ")]}")
