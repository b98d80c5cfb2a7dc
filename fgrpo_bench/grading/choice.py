"""Multiple choice: the letter in the last box, and what guessing alone would reach."""

import re
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fgrpo_bench.grading.boxed import last_boxed
from fgrpo_bench.grading.mathematics.texts import tidy
from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.sampling.engines.base import Finish

_LONGEST: Final = 1_000
_PREFIX: Final = r"(?:(?:the )?(?:option|choice|answer)(?: is)?[ :=]*)?"
_ALONE: Final = re.compile(rf"{_PREFIX}\(?([A-D])\)?[.:]?", re.IGNORECASE)
_BEFORE_TEXT: Final = re.compile(
    r"(?:\(([A-D])\)|([A-D])[.:)])\s*(?!\s*(?:or|and)\b|[,/&]).+", re.DOTALL
)


def judge(right: str, response: str, finish: Finish) -> Verdict:
    r"""Return the verdict on a response, by the letter in its last box.

    Args:
        right: letter of the right choice.
        response: the whole text, without what stopped it.
        finish: ``length`` if it ran into the length limit.

    >>> judge("B", r"so \boxed{\text{(B)}}", "stop")
    Verdict(outcome='correct', answer='B')
    >>> judge("B", r"\boxed{B or C}", "stop")
    Verdict(outcome='wrong', answer='B or C')
    """
    box = last_boxed(response)
    if box is None or not box.strip():
        return Verdict("truncated" if finish == "length" else "no_answer", None)
    answer = letter(box)
    return Verdict("correct" if answer == right else "wrong", answer)


def read(text: str) -> str:
    """Return the letter of a gold answer.

    Raises:
        ValueError: it is no letter from A to D.
    """
    if (found := letter(text)) not in ("A", "B", "C", "D"):
        raise ValueError("the gold answer is no letter from A to D")
    return found


def letter(box: str) -> str:
    r"""Return the letter that an answer names, or the answer itself where it names not just one.

    >>> letter("(B)"), letter(r"\text{C}"), letter("B. 10 eV"), letter("A, B"), letter("a rise")
    ('B', 'C', 'B', 'A, B', 'a rise')
    """
    if len(box) > _LONGEST:
        return box[:_LONGEST]
    text = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", tidy(box)).strip()
    found = _ALONE.fullmatch(text) or _BEFORE_TEXT.fullmatch(text)
    if found is None:
        return box
    return next(filter(None, found.groups())).upper()


def guessing(chance: float, ks: ArrayLike) -> NDArray[np.float64]:
    """Return pass@k of uniform guesses: 1 - (1 - chance)^k.

    Args:
        chance: that one guess is right, in (0, 1].
        ks: numbers of samples, [K].

    >>> guessing(0.25, [1, 32]).round(4).tolist()
    [0.25, 0.9999]
    """
    return 1 - (1 - chance) ** np.asarray(ks, dtype=np.float64)
