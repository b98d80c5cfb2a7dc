"""The ways a command ends early on purpose; each message is one line."""

from collections.abc import Iterable
from difflib import get_close_matches


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
