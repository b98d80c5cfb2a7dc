"""A slow reading of printed numbers, to check rewritings and breakages against."""

import re
from fractions import Fraction

_FRACTION = r"\\[dt]?frac\s*(?:\{\s*(-?\d+)\s*\}|(\d))\s*(?:\{\s*(\d+)\s*\}|(\d))"


def worth(text: str) -> Fraction:
    """What a number is worth, whatever its unit; it fails on anything else."""
    text = re.sub(r"\\(text|mbox)\s*\{[^}]*\}(\^\d)?|\\?%|\^\{?\\circ\}?|\\\$", "", text)
    text = re.sub(r"\{,\}|,\\!\s*|(?<=\d),(?=\d{3})", "", text).strip()
    if power := re.fullmatch(r"(?:(\S+) \\(?:times|cdot) )?10\^\{(-?\d+)\}", text):
        return Fraction(power[1] or 1) * Fraction(10) ** int(power[2])
    if fraction := re.fullmatch(rf"(-?)(\d*)\s*{_FRACTION}", text):
        sign, whole, *digits = fraction.groups()
        top, bottom = (int(x) for x in digits if x is not None)
        value = Fraction(whole or 0) + Fraction(top, bottom)
        return -value if sign else value
    if python := re.fullmatch(r"(-?\d+)\./(\d+)", text):
        return Fraction(int(python[1]), int(python[2]))
    return Fraction(text)  # also 4.5e33 and .5
