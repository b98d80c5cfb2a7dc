r"""Numbers that a text spells out, as exact fractions: most answers need nothing else."""

import re
from fractions import Fraction
from typing import Final

MOST_DIGITS: Final = 1000
ROUNDING: Final = Fraction(1, 10**6)  # of a decimal that stands for an exact value
_DIGITS: Final = r"\d+(?:\.\d*)?|\.\d+"
_NUMBER: Final = re.compile(
    rf"(?P<sign>[+-]*)(?:(?P<value>{_DIGITS})"
    rf"(?:[eE](?P<exponent>[+-]?\d{{1,4}})"
    rf"|(?:\\times|\\cdot|\*|x)\s*10(?:\^|\*\*)\{{?\(?(?P<power>[+-]?\d{{1,4}})\)?\}}?)?"
    rf"|10\^\{{?(?P<ten>[+-]?\d{{1,4}})\}}?)"
    rf"(?:/(?P<below>{_DIGITS}))?"
)
_FRACTION: Final = re.compile(
    rf"(?P<sign>[+-]*)(?P<whole>\d+)?\\frac\{{(?P<above>-?(?:{_DIGITS}))\}}\{{(?P<below>-?(?:{_DIGITS}))\}}"
)


def number(text: str) -> Fraction | None:
    r"""Return the value of a tidy text that is a number, or None.

    Whole numbers, decimals, fractions, mixed numbers and powers of ten; exact, so that neither
    size nor rounding can make two of them equal. More than a thousand digits are none.

    >>> number("025"), number("-1./3"), number(r"1\frac{4}{5}"), number("4.5e3"), number("x")
    (Fraction(25, 1), Fraction(-1, 3), Fraction(9, 5), Fraction(4500, 1), None)
    >>> number(r"4.5\times 10^{3}") == number(r"4.5\cdot10^3") == 4500
    True
    """
    if len(text) > MOST_DIGITS:
        return None
    if found := _NUMBER.fullmatch(text):
        value = Fraction(found["value"] or 1)
        value *= Fraction(10) ** int(found["exponent"] or found["power"] or found["ten"] or 0)
        below = Fraction(found["below"] or 1)
    elif found := _FRACTION.fullmatch(text):
        value, below = Fraction(found["above"]), Fraction(found["below"])
    else:
        return None
    if not below:
        return None
    value /= below
    if "whole" in found.groupdict() and found["whole"]:
        value += int(found["whole"])
    return -value if found["sign"].count("-") % 2 else value


def close(gold: Fraction, answer: Fraction, gold_text: str, answer_text: str) -> bool:
    r"""Return whether two numbers are the same answer.

    They must be equal, but that a decimal may stand for a fraction that has none, such as 0.333333
    for 1/3, within a millionth of it.

    >>> third, near = Fraction(1, 3), Fraction("0.3333333")
    >>> close(third, near, r"\frac{1}{3}", "0.3333333"), close(near, near + 1, "0.3", "1.3")
    (True, False)
    """
    if gold == answer:
        return True
    if (_terminates(gold) and _terminates(answer)) or ("." in gold_text) == ("." in answer_text):
        return False
    return abs(gold - answer) <= ROUNDING * abs(gold)


def _terminates(value: Fraction) -> bool:
    below = value.denominator
    for prime in (2, 5):
        while not below % prime:
            below //= prime
    return below == 1
