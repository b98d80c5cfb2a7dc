r"""LaTeX answers as texts: one spelling for what can be spelled in many ways.

Nothing here decides a verdict. What is taken away (dollar signs, spacing, ``\left``, units behind
a value) never tells two answers of one problem apart; what may, such as brackets, stays.
"""

import re
import unicodedata
from typing import Final

_SYMBOLS: Final = {
    "−": "-",
    "–": "-",
    "—": "-",
    "×": r"\times ",
    "·": r"\cdot ",
    "⋅": r"\cdot ",
    "∗": "*",
    "÷": "/",
    "π": r"\pi ",
    "θ": r"\theta ",
    "∞": r"\infty ",
    "°": r"^\circ ",
    "±": r"\pm ",
    "∓": r"\mp ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "≠": r"\ne ",
    "≈": r"\approx ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∈": r"\in ",
    "²": "^2",
    "³": "^3",
    "½": r"\frac{1}{2}",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "\u2009": " ",
    "\u00a0": " ",
    "\u202f": " ",
}
_COMMANDS: Final = {
    "dfrac": r"\frac",
    "tfrac": r"\frac",
    "cfrac": r"\frac",
    "dbinom": r"\binom",
    "tbinom": r"\binom",
    "leq": r"\le ",
    "leqslant": r"\le ",
    "leqq": r"\le ",
    "geq": r"\ge ",
    "geqslant": r"\ge ",
    "geqq": r"\ge ",
    "lt": "<",
    "gt": ">",
    "neq": r"\ne ",
    "ast": "*",
    "lbrace": r"\{",
    "rbrace": r"\}",
    "lbrack": "[",
    "rbrack": "]",
    "lparen": "(",
    "rparen": ")",
    "lvert": "|",
    "rvert": "|",
    "vert": "|",
    "colon": ":",
    "degree": r"^\circ ",
    "degrees": r"^\circ ",
    "arcctg": r"\arccot",
    "ctg": r"\cot ",
    "tg": r"\tan ",
    "varphi": r"\phi ",
    "varepsilon": r"\epsilon ",
    "mathrm": r"\text",
    "mbox": r"\text",
    "textbf": r"\text",
    "textit": r"\text",
    "textrm": r"\text",
    "textnormal": r"\text",
    "mathbf": r"\text",
    "mathit": r"\text",
    "mathsf": r"\text",
    "boldsymbol": "",
    "bm": "",
    "operatorname": r"\text",
    "quad": " ",
    "qquad": " ",
    "enspace": " ",
    "thinspace": " ",
}
_SIZES: Final = {size + side for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r")}
_LAYOUT: Final = {"displaystyle", "textstyle", "scriptstyle", "limits", "nolimits", "hfill"}
_DROPPED: Final = frozenset({"left", "right", "middle", "rm", "bf", "it"} | _SIZES | _LAYOUT)
_COMMAND: Final = re.compile(r"\\(?:([A-Za-z]+) *|(.))", re.DOTALL)
_SPACES: Final = " ,;:/>\n\t"
_PASSES: Final = 8  # until nothing changes: what one takes away may make room for another
_REWRITES: Final = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"(?:\\text\s*)?\{\s*,\s*\}", ","),
        (r"\bnp\.([a-z]+)", r"\\\1"),  # some golds are Python
        (r"\\(frac|binom)\s*(\d)\s*(\d)", r"\\\1{\2}{\3}"),
        (r"\\(frac|binom)\s*(\d)\s*\{", r"\\\1{\2}{"),
        (r"(\\(?:frac|binom)\s*\{[^{}]*\})\s*(\w)", r"\1{\2}"),
        (r"\\sqrt\s*(\w)", r"\\sqrt{\1}"),
        (r"\^\s*\{\s*\\circ\s*\}|\^\s*\\circ\b", r"^\\circ "),
        (r"'+", lambda match: "^{" + r"\prime" * len(match[0]) + "}"),
        (r"\^\s*\\prime", r"^{\\prime}"),
        (r"^(?:=|\\(?:approx|simeq|sim) )", ""),  # compared as closely as any other value
        # bold digits are digits: no letters are among them but a few commands and a joining word
        (
            r"(?<![\w}])\\text\s*\{((?:[^{}\\A-Za-z]|\\(?:frac|sqrt|pi|times|cdot)\b ?"
            r"|\{[^{}\\A-Za-z]*\}|\b(?:and|or)\b)+)\}",
            r"\1",
        ),
        (r"\s+", " "),
        (r"(?<![A-Za-z0-9]) | (?![A-Za-z0-9])|(?<=\d) (?=[A-Za-z])", ""),
    )
)
_WORDS: Final = (
    r"(?:square|cubic|sq\.?|cu\.?)? ?(?:[cmk]m|meters?|metres?|inch(?:es)?|feet|foot|ft"
    r"|yards?|miles?|units?|kg|grams?|pounds?|lbs?|ounces?|liters?|litres?|gallons?|seconds?|secs?"
    r"|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|degrees?|deg|radians?|rad|cents?"
    r"|dollars?|percent|mph|km/h|kmh|m/s|points?|people|students?|ways?|times)(?:\^\{?[23]\}?)?"
)
_UNIT: Final = re.compile(
    rf"(?:(?:\\text\{{[^{{}}]*\}}(?:\^\{{?-?\d\}}?)?[/.]?)+|\\?%|\^\\circ|(?<=[\d}}]){_WORDS})$"
)
_CONDITION: Final = re.compile(
    r"(?<=[\w})\]])[,;]?\s*(?:\\text\{\s*(?:for (?:all|any|every)|where)\b[^{}]*\}.*"
    r"|\(?[a-z] ?\\in ?\\mathbb\{?[A-Z]\}?\)?)$"
)
_VALUE: Final = r"[A-Za-z](?:_\{?\w+\}?)?"
_RATES: Final = re.compile(
    rf"\\frac\{{d(?P<twice>\^\{{?2\}}?)? ?(?P<what>{_VALUE})\}}\{{d ?t(?:\^\{{?2\}}?)?\}}"
)
_DOTS: Final = re.compile(
    r"\\(?P<twice>d)?dot ?(?P<what>\{[A-Za-z]\}(?:_\{?\w+\}?)?|[A-Za-z](?:_\w)?)"
)
_TIMED: Final = re.compile(rf"({_VALUE}(?:\^\{{(?:\\prime ?)+\}})?)\(t\)")
_JOINER: Final = re.compile(
    r",?\s*(?:\\text\{\s*(?:and|or)\s*\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z]))\s*"
)
_THOUSANDS: Final = re.compile(r"(?<![\d.,])\d{1,3}(?:[, ]\d{3})+(?![\d,])")


def tidy(text: str) -> str:
    r"""Return an answer in the one spelling that the other functions read.

    >>> tidy(r"$\left( 3,\, \dfrac{\pi}{2} \right)$.")
    '(3,\\frac{\\pi}{2})'
    >>> tidy(r"\$32,\!348"), tidy(r"\frac43"), tidy("−½")
    ('32,348', '\\frac{4}{3}', '-\\frac{1}{2}')
    """
    for _ in range(_PASSES):
        before, text = text, _pass(text)
        if text == before:
            break
    return text


def _pass(text: str) -> str:
    text = "".join(_SYMBOLS.get(char, _ascii(char)) for char in text)
    if "matrix" not in text and "array" not in text:  # there two backslashes end a row
        text = re.sub(r"\\{2,}(?=[A-Za-z])", r"\\", text)
    text = re.sub(r"\\[()\[\]]|(?<!\\)\$|\\\$|~", " ", text)
    text = _COMMAND.sub(_spelt, text)
    for pattern, new in _REWRITES:
        text = pattern.sub(new, text)
    return text.strip().rstrip(".").strip()


def _ascii(char: str) -> str:
    """Return the plain form of a character that only looks wider, such as full-width digits."""
    return unicodedata.normalize("NFKC", char) if "\uff01" <= char <= "\uff5e" else char


def _spelt(match: re.Match[str]) -> str:
    name, other = match.groups()
    if name is None:
        return " " if other in _SPACES else "" if other == "!" else match[0]
    return "" if name in _DROPPED else _COMMANDS.get(name, f"\\{name} ")


def bare(text: str) -> str:
    r"""Return a tidy answer without the units, per cent or degree signs behind it.

    >>> bare(r"5.4\text{cents}"), bare(r"28\%"), bare(r"15\text{cm}^2"), bare("45minutes")
    ('5.4', '28', '15', '45')
    >>> bare(r"\text{Evelyn}"), bare("2RC")
    ('\\text{Evelyn}', '2RC')
    """
    while (
        (found := _UNIT.search(text))
        and found.start()
        and text[found.start() - 1] not in "=<>+-*/^_{([,&"
    ):
        text = text[: found.start()].rstrip()
    return text


def unconditioned(text: str) -> str:
    r"""Return a tidy answer without what its variables are said to be behind it.

    >>> unconditioned(r"f(x)=x\text{for all }x\in \mathbb{N}")
    'f(x)=x'
    >>> unconditioned(r"\pi k,k\in \mathbb{Z}")
    '\\pi k'
    """
    return _CONDITION.sub("", text)


def primed(text: str) -> str:
    r"""Return a tidy equation with derivatives in time as primes, and functions of it as letters.

    >>> primed(r"\frac{d x}{d t}=kx(t)"), primed(r"\ddot {v}_o"), primed("2x(t)")
    ('x^{\\prime}=kx', 'v_o^{\\prime\\prime}', '2x(t)')
    """
    with_primes = _DOTS.sub(_prime, _RATES.sub(_prime, text))
    return _TIMED.sub(r"\1", with_primes) if r"\prime" in with_primes else text


def _prime(found: re.Match[str]) -> str:
    what = re.sub(r"[{}]", "", found["what"])
    return what + r"^{\prime\prime}" if found["twice"] else what + r"^{\prime}"


def word(text: str) -> str | None:
    r"""Return a tidy answer that is a word, in lower case, and None for any other.

    Of a choice with its text, as ``\text{(C) Plane}``, the letter counts.

    >>> word(r"\text{Evelyn}"), word(r"\text{(C)Plane}"), word("east"), word("(B)"), word(r"\pi")
    ('evelyn', 'c', 'east', 'b', None)
    """
    if choice := re.fullmatch(r"\\text\{\(([A-Za-z])\)[^{}]+\}", text):
        return choice[1].lower()
    inner = re.fullmatch(r"\(?(?:\\text\{\s*)?\(?([A-Za-z][A-Za-z '.-]*?)[.)]?\s*\}?\)?", text)
    return inner[1].lower() if inner else None


def split(text: str, thousands: bool = True) -> list[str]:
    r"""Return the answers that a tidy text lists, outside of brackets.

    Args:
        text: a tidy text.
        thousands: whether ``1,000`` is one number, not two.

    >>> split("(1,8),(2,7)"), split(r"3 and 5"), split("58,500"), split("58,500", thousands=False)
    (['(1,8)', '(2,7)'], ['3', '5'], ['58500'], ['58', '500'])
    """
    if thousands:
        text = join_thousands(text)
    text = _JOINER.sub(",", text)
    return [part.strip() for part in cut(text, ",;") if part.strip()]


def join_thousands(text: str) -> str:
    """Return a text whose numbers have no commas or spaces between groups of three digits.

    >>> join_thousands("1,234,567"), join_thousands("12,34"), join_thousands("(312,123,231)")
    ('1234567', '12,34', '(312,123,231)')
    """
    return _THOUSANDS.sub(
        lambda match: match[0] if _enclosed(text, match) else re.sub("[, ]", "", match[0]), text
    )


def _enclosed(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()]
    return any(before.count(one) > before.count(other) for one, other in ("()", "[]"))


def cut(text: str, separators: str) -> list[str]:
    """Return the pieces of a text between separators that are in no brackets.

    >>> cut("a,(b,c),d", ",")
    ['a', '(b,c)', 'd']
    """
    pieces, depth, start = [], 0, 0
    for place, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth <= 0 and char in separators:
            pieces.append(text[start:place])
            start = place + 1
    return [*pieces, text[start:]]
