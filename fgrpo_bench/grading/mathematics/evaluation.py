"""The value of a parsed expression at a point, within bounds that no expression can exceed.

Whatever is rational stays an exact fraction; the rest is computed with 120 digits. sympy's own
evaluation has no bounds: a tower of powers keeps it busy for ever, and so does printing one.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any, Final, TypeAlias

import mpmath
import sympy
from sympy.core.function import AppliedUndef

DIGITS: Final = 120
_BITS: Final = 50_000  # of any number on the way: beyond that nothing is an answer
_MOST_FACTORIAL: Final = 5_000
MATH: Final = mpmath.mp.clone()
MATH.dps = DIGITS
Value: TypeAlias = Any  # Fraction, or mpf or mpc of MATH
Point: TypeAlias = Mapping[str, Fraction]


class Huge(Exception):
    """A number on the way is larger, or nearer to zero, than any answer."""


class Unknown(Exception):
    """Not a number: undefined at this point, or of a kind that is not evaluated here."""


def evaluate(expression: Any, point: Point) -> Value:
    """Return the value of a sympy expression where its symbols have these values.

    The imaginary unit is ``i``. An unknown function, or a derivative, has a value of its own for
    each value of its arguments, derived by hashing.

    Raises:
        Huge: a number on the way exceeds the bounds.
        Unknown: it has no value, or holds something that is not evaluated here.
    """
    try:
        return _bounded(_value(expression, point))
    except RecursionError:
        raise Huge from None
    except (ArithmeticError, ValueError, TypeError, KeyError) as error:
        raise Unknown from error


def _value(node: Any, point: Point) -> Value:
    if isinstance(node, sympy.Rational):
        return _bounded(Fraction(int(node.p), int(node.q)))
    if isinstance(node, sympy.Symbol):
        return MATH.mpc(0, 1) if node.name in ("i", "I") else point[node.name]
    if node in _CONSTANTS:
        return _CONSTANTS[node]()
    if isinstance(node, AppliedUndef | sympy.Derivative):
        return _own(node, point)
    function = _FUNCTIONS.get(type(node))
    if function is None:
        raise Unknown
    return _bounded(function(*(_value(child, point) for child in node.args)))


def _bounded(value: Value) -> Value:
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _BITS:
            raise Huge
        return value
    if not MATH.isfinite(value):
        raise Unknown
    if isinstance(value, MATH.mpc) and not value.imag:
        value = value.real
    if value and abs(MATH.mag(value)) > _BITS:
        raise Huge
    return value


def _number(value: Value) -> Any:
    """Return a value as a number of 120 digits."""
    if isinstance(value, Fraction):
        return MATH.mpf(value.numerator) / value.denominator
    return value


def _add(*values: Value) -> Value:
    return sum(_alike(values), start=Fraction(0) if _exact(values) else MATH.mpf(0))


def _multiply(*values: Value) -> Value:
    product: Value = Fraction(1) if _exact(values) else MATH.mpf(1)
    for value in _alike(values):
        product = _bounded(product * value)
    return product


def _exact(values: tuple[Value, ...]) -> bool:
    return all(isinstance(value, Fraction) for value in values)


def _alike(values: tuple[Value, ...]) -> list[Value]:
    return list(values) if _exact(values) else [_number(value) for value in values]


def _power(base: Value, exponent: Value) -> Value:
    if not base and not isinstance(exponent, MATH.mpc):
        if exponent > 0:
            return Fraction(0)
        raise Unknown
    size = abs(MATH.mag(_number(base))) + 1
    if abs(_number(exponent)) * size > _BITS:
        raise Huge
    if _exact((base, exponent)):
        if exponent.denominator == 1:
            return base ** int(exponent)
        if base > 0 and (root := _root(base, exponent.denominator)) is not None:
            return root**exponent.numerator
        if base < 0 and exponent.denominator % 2:  # the real root, as in school
            return (-1) ** exponent.numerator * _power(-base, exponent)
    return MATH.power(_number(base), _number(exponent))


def _root(base: Fraction, degree: int) -> Fraction | None:
    """Return the exact root of a fraction, or None where it is not rational."""
    above, exact_above = sympy.integer_nthroot(base.numerator, degree)
    below, exact_below = sympy.integer_nthroot(base.denominator, degree)
    return Fraction(int(above), int(below)) if exact_above and exact_below else None


def _real(function: Callable[..., Any]) -> Callable[..., Value]:
    """Return a function of numbers of 120 digits, undefined where an argument is too large."""

    def call(*values: Value) -> Value:
        numbers = [_number(value) for value in values]
        if any(number and MATH.mag(number) > DIGITS for number in numbers):
            raise Huge
        return function(*numbers)

    return call


def _whole(value: Value, most: int) -> int:
    if not isinstance(value, Fraction) or value.denominator != 1:
        raise Unknown
    if abs(value) > most:
        raise Huge
    return int(value)


def _factorial(value: Value) -> Value:
    if isinstance(value, Fraction) and value.denominator == 1:
        if value < 0:
            raise Unknown
        return Fraction(int(sympy.factorial(_whole(value, _MOST_FACTORIAL))))
    return _real(MATH.factorial)(value)


def _binomial(above: Value, below: Value) -> Value:
    if _exact((above, below)) and above.denominator == below.denominator == 1:
        number, chosen = _whole(above, 10**9), _whole(below, 10**9)
        if number >= 0:
            chosen = min(chosen, number - chosen)
            if chosen > _MOST_FACTORIAL:
                raise Huge
            return Fraction(int(sympy.binomial(number, chosen)))
    return _real(MATH.binomial)(above, below)


def _floor(value: Value) -> Value:
    return Fraction(value.__floor__()) if _exact((value,)) else Fraction(int(MATH.floor(value)))


def _ceiling(value: Value) -> Value:
    return Fraction(value.__ceil__()) if _exact((value,)) else Fraction(int(MATH.ceil(value)))


def _log(value: Value, base: Value | None = None) -> Value:
    above = MATH.log(_number(value))
    if base is None:
        return above
    below = MATH.log(_number(base))
    return above / below


def _own(node: Any, point: Point) -> Fraction:
    """Return the value of an unknown function: by its name and the values of its arguments."""
    name = node.func.__name__
    parts = [name]
    for child in node.args:
        children = child.args if isinstance(child, sympy.Tuple) else (child,)
        parts += [MATH.nstr(_number(_value(one, point)), 30) for one in children]
    return hashed("/".join(parts))


def hashed(name: str) -> Fraction:
    """Return a number between 0.3 and 2.3 that belongs to a name."""
    digest = int.from_bytes(sha256(name.encode("utf-8", "replace")).digest()[:4], "big")
    return Fraction(3, 10) + Fraction(digest % 99_991, 99_991) * 2


_CONSTANTS: Final[dict[Any, Callable[[], Value]]] = {
    sympy.pi: lambda: +MATH.pi,
    sympy.E: lambda: +MATH.e,
    sympy.I: lambda: MATH.mpc(0, 1),
}
_TRIGONOMETRY: Final = (
    "sin cos tan cot sec csc asin acos atan acot asec acsc sinh cosh tanh coth sech csch asinh "
    "acosh atanh"
)
_FUNCTIONS: Final[dict[Any, Callable[..., Value]]] = {
    sympy.Add: _add,
    sympy.Mul: _multiply,
    sympy.Pow: _power,
    sympy.UnevaluatedExpr: lambda value: value,
    sympy.exp: _real(MATH.exp),
    sympy.log: _log,
    sympy.Abs: abs,
    sympy.factorial: _factorial,
    sympy.binomial: _binomial,
    sympy.floor: _floor,
    sympy.ceiling: _ceiling,
    sympy.gamma: _real(MATH.gamma),
    **{getattr(sympy, name): _real(getattr(MATH, name)) for name in _TRIGONOMETRY.split()},
}
