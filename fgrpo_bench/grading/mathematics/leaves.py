"""Whether two expressions have the same value: parsed by latex2sympy, compared at points.

Two expressions that agree with 100 digits at several points are the same function, but for a
chance that is none; sympy's simplification is asked only where a value cannot be computed.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from sympy import Basic, Symbol

from fgrpo_bench.grading.mathematics.evaluation import (
    DIGITS,
    MATH,
    Huge,
    Unknown,
    Value,
    evaluate,
    hashed,
)
from fgrpo_bench.grading.mathematics.numbers import ROUNDING, close
from fgrpo_bench.grading.mathematics.parser import Unreadable, parse

_EXACT: Final = Fraction(1, 10 ** (DIGITS - 20))
_WHOLE: Final = re.compile(r"\\l?floor|\\l?ceil|\\binom|!|\(-1\)\^")
_IMAGINARY: Final = ("i", "I")


def same_value(gold: str, answer: str) -> bool:
    """Return whether two tidy texts are the same expression.

    Args:
        gold: the right one.
        answer: the one to judge; if it cannot be read, or holds a number beyond all bounds on the
            way, it is not the same.
    """
    try:
        right, given = parse(gold), parse(answer)
    except Unreadable:
        return False
    rounded = ("." in gold) != ("." in answer)
    try:
        verdict = _agree(right, given, gold, answer, rounded)
    except Huge:
        return False
    if verdict is not None:
        return verdict
    from math_verify import verify

    return bool(verify(right, given, timeout_seconds=None))


def same_relation(gold: tuple[str, str], answer: tuple[str, str], signed: bool = False) -> bool:
    """Return whether two relations say the same: their differences are in a constant ratio.

    Args:
        gold: both sides of the right one.
        answer: both sides of the one to judge.
        signed: whether the ratio must be above 0, as for inequalities.
    """
    try:
        sides = [parse(side) for side in (*gold, *answer)]
    except Unreadable:
        return False
    text, ratios = " ".join((*gold, *answer)), []
    try:
        for point in _points(sides, text):
            values = [evaluate(side, point) for side in sides]
            right, given = _minus(values[0], values[1]), _minus(values[2], values[3])
            if (not right) != (not given):
                return False
            if right:
                ratios.append(_over(given, right))
    except (Huge, Unknown):
        return False
    if not ratios or any(not _near(ratio, ratios[0], _EXACT) for ratio in ratios):
        return False
    return not signed or (not isinstance(ratios[0], MATH.mpc) and ratios[0] > 0)


def _agree(right: Any, given: Any, gold: str, answer: str, rounded: bool) -> bool | None:
    """Compare at points; None where too few have values. Real values count before complex ones."""
    complex_ones = []
    compared = 0
    imaginary = any(symbol.name in _IMAGINARY for one in (right, given) for symbol in _symbols(one))
    for point in _points([right, given], gold + answer):
        try:
            one, other = evaluate(right, point), evaluate(given, point)
        except Unknown:
            continue
        if not imaginary and any(isinstance(value, MATH.mpc) for value in (one, other)):
            complex_ones.append((one, other))
            continue
        if not _equal(one, other, gold, answer, rounded):
            return False
        compared += 1
    if compared:
        return True
    if complex_ones:
        return all(_equal(one, other, gold, answer, rounded) for one, other in complex_ones)
    return None


def _equal(one: Value, other: Value, gold: str, answer: str, rounded: bool) -> bool:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return close(one, other, gold, answer)
    return _near(one, other, ROUNDING if rounded else _EXACT)


def _near(one: Value, other: Value, tolerance: Fraction) -> bool:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    one, other = _digits(one), _digits(other)
    limit = _digits(tolerance)
    if not one or not other:
        return abs(one - other) <= limit
    return abs(one - other) <= limit * max(abs(one), abs(other))


def _digits(value: Value) -> Any:
    return MATH.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _minus(one: Value, other: Value) -> Value:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one - other
    one, other = _digits(one), _digits(other)
    return Fraction(0) if _near(one, other, _EXACT) else one - other


def _over(one: Value, other: Value) -> Value:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one / other
    return _digits(one) / _digits(other)


def _symbols(expression: Any) -> set[Any]:
    return expression.atoms(Symbol) if isinstance(expression, Basic) else set()


def _points(expressions: list[Any], text: str) -> Iterator[dict[str, Fraction]]:
    """Yield values of all symbols: fractions, or whole numbers where the text is about those."""
    names = sorted({symbol.name for one in expressions for symbol in _symbols(one)})
    if not names:
        yield {}
    elif not _WHOLE.search(text):
        for turn in range(4):  # most symbols stand for positive numbers, but in an absolute value
            sign = -1 if "|" in text and turn % 2 else 1
            yield {name: sign * hashed(f"{turn}/{name}") for name in names}
    else:
        for turn in range(30):
            spread = [
                Fraction(2 + (turn + 7 * place * (turn + 1)) % 31) for place in range(len(names))
            ]
            yield dict(zip(names, spread, strict=True))
