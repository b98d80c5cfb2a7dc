r"""Ways to write an answer that keep what it says: a grader has to take each of them.

Every function returns nothing where its rewriting does not apply. What it returns has the gold's
value by the benchmarks' conventions: a unit, a degree sign or a percent sign may be left out or
added, and several answers come in any order. The grader's own normalisation is not used here.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from fgrpo_bench.grading.measure.notations import Number, Tuple, decimal, scientific, write

Parts: TypeAlias = tuple[str, ...]

_WORDS: Final = re.compile(r"\\(?:text|mbox|begin)\b|where|np\.")
_SPACE: Final = re.compile(r"\s+")
_FUSED: Final = re.compile(r"\\[A-Za-z]+$")
_DEGREES: Final = re.compile(r"\s*\^\s*\{?\s*\\circ\s*\}?")
_BASE: Final = re.compile(r"(\d+)_\{?(\d)\}?")


class Rewriting(NamedTuple):
    """A text for the box, and the kind of rewriting that made it."""

    name: str
    text: str


def rewritings(parts: Parts, unit: str | None = None) -> list[Rewriting]:
    r"""Return the answer itself and its rewritings, each text once.

    Args:
        parts: each answer that is asked for, in LaTeX as the data print it.
        unit: that the row names beside its gold.

    >>> [text for name, text in rewritings((r"\frac{1}{2}",)) if name == "decimal"]
    ['0.5']
    """
    found = {joined(parts): "gold"}
    for name, kind in KINDS.items():
        for text in kind(parts):
            found.setdefault(text, name)
    for text in _unit(parts, unit):
        found.setdefault(text, "unit")
    return [Rewriting(name, text) for text, name in found.items()]


def joined(parts: Parts) -> str:
    """Return several answers as one text."""
    return ", ".join(parts)


def fraction_command(parts: Parts) -> list[str]:
    r"""Write ``\dfrac`` and ``\tfrac``."""
    text = joined(parts)
    plain = re.sub(r"\\[dt]frac", r"\\frac", text)
    return [plain.replace(r"\frac", command) for command in (r"\frac", r"\dfrac", r"\tfrac")]


def spacing(parts: Parts) -> list[str]:
    r"""Leave spaces out and put some in; write ``\left`` and ``\right``, and leave them out."""
    text = joined(parts)
    if _WORDS.search(text):
        return []
    found = [_tight(text)]
    if based := _BASE.fullmatch(text):
        found += [f"{based[1]}_{based[2]}", f"{based[1]}_{{{based[2]}}}"]
    if r"\left" in text and r"\left." not in text and r"\right." not in text:
        found.append(re.sub(r"\\(left|right)(?![a-zA-Z])\s*", "", text))
    elif re.search(r"[(\[]", text) and r"\sqrt[" not in text:
        found.append(re.sub(r"[)\]]", r"\\right\g<0>", re.sub(r"[(\[]", r"\\left\g<0>", text)))
    if re.fullmatch(r"[\w\s+*/=^{}().\\-]+", text) and "e-" not in text:
        found.append(re.sub(r"(?<=[\w})])\s*([+=-])\s*(?=[\w\\(])", r" \1 ", text))
    return found


def thousands(parts: Parts) -> list[str]:
    r"""Group the digits of a lone large integer, or leave the grouping out."""
    number = Number.read(joined(parts))
    if number is None or number.form != "integer" or abs(number.value) < 1000:
        return []
    grouped = f"{int(number.value):,}"
    texts = [str(number.value), *(grouped.replace(",", mark) for mark in (",", "{,}", r",\!"))]
    return [f"{number.before}{text}{number.after}" for text in texts]


def decimals(parts: Parts) -> list[str]:
    """Write fractions as the decimals that are exactly their value."""
    return _each(parts, _decimal)


def fractions(parts: Parts) -> list[str]:
    """Write decimals as fractions in lowest terms."""
    return _each(parts, _fraction)


def order(parts: Parts) -> list[str]:
    """Write several answers backwards, and with the first one last."""
    named = ["=" in part for part in parts]
    if any(named) and not all(named):
        return []  # x=1, 2: the name belongs to the first
    return [joined(parts[::-1]), joined((*parts[1:], parts[0]))]


def braces(parts: Parts) -> list[str]:
    r"""Write several different answers as a set."""
    if len(set(parts)) < max(2, len(parts)) or "=" in joined(parts):
        return []
    return [rf"\{{{joined(parts)}\}}"]


def power_of_ten(parts: Parts) -> list[str]:
    r"""Write ``4.5e33`` as ``4.5 \times 10^{33}``, and with a dot."""
    number = Number.read(joined(parts))
    if number is None or number.form != "power":
        return []
    mantissa, exponent = joined(parts).split("e")
    texts = [rf"{mantissa} {sign} 10^{{{int(exponent)}}}" for sign in (r"\times", r"\cdot")]
    return texts if Fraction(mantissa) != 1 else [*texts, f"10^{{{int(exponent)}}}"]


def programming(parts: Parts) -> list[str]:
    r"""Write ``-1./3`` and ``np.arcsin(10/13)`` as mathematics."""
    text = joined(parts)
    if text.startswith("np."):
        return [re.sub(r"np\.(\w+)", r"\\\1", text)]
    number = Number.read(text) if "./" in text else None
    return [number.write(number.value)] if number else []


def sign_dropped(parts: Parts) -> list[str]:
    """Leave out degree signs and percent signs."""
    text = joined(parts)
    bare = _DEGREES.sub("", text)
    number = Number.read(text)
    if number is not None and "%" in number.after:
        bare = re.sub(r"\s*\\?%", "", bare)
    return [bare]


def zero_padding(parts: Parts) -> list[str]:
    """Write zeros that say nothing, before and behind, and leave out those that are there."""
    number = Number.read(joined(parts))
    padded = [] if number is None else [_before(number)]
    return [
        *(text for pad in (_bare, _behind) for text in _each(parts, pad)),
        *filter(None, padded),
    ]


KINDS: Final[dict[str, Callable[[Parts], list[str]]]] = {
    "fraction command": fraction_command,
    "spacing": spacing,
    "thousands": thousands,
    "decimal": decimals,
    "fraction": fractions,
    "order": order,
    "set braces": braces,
    "power of ten": power_of_ten,
    "programming": programming,
    "sign dropped": sign_dropped,
    "zero padding": zero_padding,
}


def _unit(parts: Parts, unit: str | None) -> list[str]:
    r"""Write the row's own unit behind a lone number, or one that says nothing; or leave it out."""
    number = Number.read(joined(parts))
    if number is None or number.before or "%" in number.after:
        return []
    plain = joined(parts).removesuffix(number.after).strip()
    if number.after:
        inner = re.sub(r"\\mbox", r"\\text", number.after.strip())
        return [plain, f"{plain} {inner}"]
    if number.form == "power":
        plain = power_of_ten(parts)[0]
    if unit == "%":
        return [rf"{plain}\%"]
    if unit is not None:
        word = re.sub(r"([a-z/]+)", r"\\text{ \1}", unit, count=1)
        return [f"{plain} {word}"]
    return [rf"{plain} \text{{ cm}}", rf"{plain}\text{{ units}}"]


def _each(parts: Parts, change: Callable[[Number], str | None]) -> list[str]:
    """Change each number among answers and their components; nothing if none changes."""
    changed = tuple(_changed(part, change) for part in parts)
    return [joined(changed)] if changed != parts else []


def _changed(text: str, change: Callable[[Number], str | None]) -> str:
    if (inner := Tuple.read(text)) is not None:
        parts = tuple(_changed(part, change) for part in inner.parts)
        return Tuple(inner.opening, parts, inner.closing).write() if parts != inner.parts else text
    number = Number.read(text)
    new = change(number) if number is not None else None
    return text if number is None or new is None else f"{number.before}{new}{number.after}"


def _decimal(number: Number) -> str | None:
    return decimal(number.value) if number.form == "fraction" else None


def _fraction(number: Number) -> str | None:
    if number.form != "decimal" or number.value.denominator == 1:
        return None
    return write(number.value, "fraction")


def _bare(number: Number) -> str | None:
    return decimal(number.value) if number.form in ("integer", "decimal") else None


def _behind(number: Number) -> str | None:
    if number.form == "power":
        mantissa, exponent = scientific(number.value)
        text = write(mantissa, "decimal")
        return rf"{text}{'0' if '.' in text else '.0'} \times 10^{{{exponent}}}"
    bare = _bare(number)
    return None if bare is None else f"{bare}{'0' if '.' in bare else '.0'}"


def _before(number: Number) -> str | None:
    if number.before or number.after:
        return None
    if number.form == "integer" and 0 <= number.value < 100:
        return f"{int(number.value):03d}"
    if number.form == "decimal" and 0 < number.value < 1:
        return write(number.value, "decimal").removeprefix("0")
    return None


def _tight(text: str) -> str:
    """Leave out the spaces that LaTeX does not need."""
    pieces = _SPACE.split(text)
    out = pieces[0]
    for piece in pieces[1:]:
        needed = out.endswith("\\") or (_FUSED.search(out) and piece[:1].isalpha())
        out += f" {piece}" if needed else piece
    return out
