r"""Changes that make another answer of a right one: a grader must take none of them.

Every function returns nothing where its change does not apply, or could leave the answer what it
was. The grader's own normalisation is not used here.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Final, NamedTuple

from fgrpo_bench.grading.measure.notations import Number, Tuple, scientific
from fgrpo_bench.grading.measure.rewritings import Parts, joined
from fgrpo_bench.grading.measure.values import at_a_point, constant, same

_PLUS_MINUS: Final = re.compile(r"\\pm(?![a-zA-Z])\s*")
_NAMED: Final = re.compile(r"\s*([A-Za-z](?:_\{[^{}]*\})?(?:\([A-Za-z]\))?)\s*=[^=]*")
_CONSTANT_OF_INTEGRATION: Final = re.compile(r"(?<![A-Za-z\\])[cC](?![A-Za-z])")
_PIECE: Final = re.compile(r"([(\[])([^()\[\]]*),([^()\[\]]*)([)\]])")
_OTHER_BRACKET: Final = {"(": "[", "[": "(", ")": "]", "]": ")"}


class Breakage(NamedTuple):
    """A text for the box, and the kind of change that made it."""

    name: str
    text: str


def breakages(parts: Parts, unit: str | None = None) -> list[Breakage]:
    r"""Return other answers, made from what is right.

    Args:
        parts: each answer that is asked for, in LaTeX as the data print it.
        unit: that the row names beside its gold.

    >>> breakages(("2",))[:2]
    [Breakage(name='plus one', text='3'), Breakage(name='times 100', text='200')]
    """
    found: dict[str, str] = {}
    for name, kind in KINDS.items():
        if unit == "%" and name == "over 100":
            continue  # 0.042 is 4.2%
        for text in kind(parts):
            found.setdefault(text, name)
    return [Breakage(name, text) for text, name in found.items()]


def plus_one(parts: Parts) -> list[str]:
    """Add one to a lone number, one with a power of ten before that; to a constant as a sum."""
    number = Number.read(joined(parts))
    if number is not None:
        return [number.write(_plus_one(number))]
    return [f"{parts[0]}+1"] if len(parts) == 1 and constant(parts[0]) is not None else []


def times_100(parts: Parts) -> list[str]:
    """Take a lone number 100 times."""
    return _scaled(parts, Fraction(100))


def over_100(parts: Parts) -> list[str]:
    """Take a hundredth of a lone number; not of per cent, where that leaves out the sign."""
    number = Number.read(joined(parts))
    return [] if number is None or "%" in number.after else _scaled(parts, Fraction(1, 100))


def sign(parts: Parts) -> list[str]:
    """Change the sign of a lone number or expression, or of the first of a tuple that has one."""
    number, inner = Number.read(joined(parts)), Tuple.read(joined(parts))
    if number is not None:
        return [number.write(-number.value)] if number.value else []
    if inner is not None and not inner.interval:
        return _component(inner, lambda found: -found.value)
    if len(parts) > 1 or inner is not None:
        return []
    return _negated(parts[0])


def dropped(parts: Parts) -> list[str]:
    r"""Leave out the last answer, or the first; one half of ``\pm``; a part of a union."""
    if len(parts) > 1:
        shorter = [parts[:-1], parts[1:]]
        return [joined(few) for few in shorter if same(few, parts) is not True]
    text = parts[0]
    if len(_PLUS_MINUS.findall(text)) == 1:
        return [_PLUS_MINUS.sub(mark, text) for mark in ("+ ", "- ")]
    united = re.split(r"\\cup(?![a-zA-Z])", text)
    return [one.strip() for one in united] if len(united) > 1 else []


def altered(parts: Parts) -> list[str]:
    """Change one number among several answers, or one component of a point."""
    if len(parts) == 1:
        return _plus_one_within(parts[0])
    found = []
    for place, part in enumerate(parts):
        number = Number.read(part)
        texts = _plus_one_within(part) if number is None else [number.write(_plus_one(number))]
        found += [_put(parts, place, text) for text in texts]
    return [joined(other) for other in found if same(other, parts) is False][:2]


def interval_end(parts: Parts) -> list[str]:
    """Take an open end of an interval for a closed one, and the other way."""
    text = joined(parts)
    if r"\geqslant" in text:
        return [text.replace(r"\geqslant", ">")]
    if r"\sqrt[" in text or not any(mark in text for mark in ("[", "]", r"\infty", r"\cup")):
        return []
    found = []
    for piece in _PIECE.finditer(text):
        for group, end in ((1, 2), (4, 3)):
            if "infty" not in piece[end]:
                place = piece.start(group)
                found.append(text[:place] + _OTHER_BRACKET[piece[group]] + text[place + 1 :])
    return found


def variable(parts: Parts) -> list[str]:
    """Write a variable in place of its value: the left side of an equation, or x for a number."""
    named = _NAMED.fullmatch(parts[0])
    if len(parts) == 1 and named is not None:
        return [named[1]]
    return ["x", "n"] if Number.read(joined(parts)) is not None else []


KINDS: Final[dict[str, Callable[[Parts], list[str]]]] = {
    "plus one": plus_one,
    "times 100": times_100,
    "over 100": over_100,
    "sign": sign,
    "answer dropped": dropped,
    "answer altered": altered,
    "interval end": interval_end,
    "variable": variable,
}


def _plus_one(number: Number) -> Fraction:
    if number.form != "power":
        return number.value + 1
    mantissa, exponent = scientific(number.value)
    return (mantissa + 1) * Fraction(10) ** exponent


def _scaled(parts: Parts, factor: Fraction) -> list[str]:
    number = Number.read(joined(parts))
    return [number.write(number.value * factor)] if number is not None and number.value else []


def _component(inner: Tuple, change: Callable[[Number], Fraction]) -> list[str]:
    for place, part in enumerate(inner.parts):
        number = Number.read(part)
        if number is not None and change(number) != number.value:
            changed = number.write(change(number))
            return [replace(inner, parts=_put(inner.parts, place, changed)).write()]
    return []


def _plus_one_within(text: str) -> list[str]:
    inner = Tuple.read(text)
    return [] if inner is None or inner.interval else _component(inner, _plus_one)


def _put(parts: Parts, place: int, text: str) -> Parts:
    return (*parts[:place], text, *parts[place + 1 :])


def _negated(text: str) -> list[str]:
    """Negate an expression that is no equation, no set, and has no constant of integration."""
    value = at_a_point(text)
    if value is None or not value or _CONSTANT_OF_INTEGRATION.search(text):
        return []
    return [rf"-\left({text}\right)"]
