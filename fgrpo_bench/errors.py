"""The ways a command ends early on purpose; each message is one line."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from typing import Any, Final

QUOTED: Final = 60
_QUOTE: Final = Repr()
_QUOTE.maxstring = QUOTED


class UserError(Exception):
    """Wrong use or bad input, exit code 2: what is wrong, where, and how to mend it."""


class Interrupted(Exception):
    """Stopped before the end with the work kept, exit code 3."""


class Failed(Exception):
    """A worker broke down by itself, exit code 1: running it again would not help."""


def suggestion(word: str, words: Iterable[str], otherwise: str = "there are") -> str:
    """Return ``did you mean 'x'?`` for the nearest of ``words``, or the list behind ``otherwise``.

    >>> suggestion("fgrop", ["grpo", "fgrpo"])
    "did you mean 'fgrpo'?"
    >>> suggestion("ppo", ["alpha", "beta"], "choose from")
    'choose from alpha, beta'
    """
    words = list(words)
    near = get_close_matches(word, words, n=1)
    return f"did you mean '{near[0]}'?" if near else f"{otherwise} {', '.join(words)}"


def quoted(value: Any) -> str:
    r"""Return foreign text or data as a short literal on one line.

    >>> quoted("two\nlines")
    "'two\\nlines'"
    >>> len(quoted("a" * 1000))
    60
    """
    text = _QUOTE.repr(value)
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 3]}..."


def shown(path: Path) -> str:
    """Return a path as it is written, quoted where it would not print on one line."""
    return str(path) if str(path).isprintable() else quoted(str(path))


def fault(path: Path, text: str, line: int = 0) -> UserError:
    """Return the error of a file, with the line (from 1) where there is one."""
    return UserError(f"{shown(path)}{f' line {line}' if line else ''}: {text}")
