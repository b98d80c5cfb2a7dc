r"""Stand-in graders of boxed answers: exact text, until mathematics is compared as mathematics.

They never call a wrong answer right, but many right ones wrong: ``0.5`` is not ``\frac{1}{2}``
here. A grader's name and version belong to its verdicts, so that these cannot be mistaken for
those of another one.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from fgrpo_bench.grading.boxed import last_boxed
from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.sampling.engines.base import Finish

Doc: TypeAlias = dict[str, Any]
Judge: TypeAlias = Callable[[Doc, str, Finish], Verdict]
# longer runs of digits would not convert, and no gold answer is one
_INTEGER: Final = re.compile(r"([+-]?[0-9]{1,18})(\.0+)?")
_LETTER: Final = re.compile(r"(?:\\text\{)?\(?([A-D])\)?\.?\}?")


def boxed_text(gold: Callable[[Doc], str], normal: Callable[[str], str]) -> Judge:
    r"""Return the grader that compares the last box of a response with the gold answer as texts.

    A response without a complete box, or with nothing in it, gave no answer, or was cut off.

    Args:
        gold: gives the gold answer of a row.
        normal: brings gold and answer into one form.

    >>> boxed_text(lambda doc: doc["answer"], integer)({"answer": "025"}, r"\boxed{25}", "stop")
    Verdict(outcome='correct', answer='25')
    """

    def judge(doc: Doc, response: str, finish: Finish) -> Verdict:
        answer = normal(last_boxed(response) or "")
        if not answer:
            return Verdict("truncated" if finish == "length" else "no_answer", None)
        return Verdict("correct" if answer == normal(gold(doc)) else "wrong", answer)

    return judge


def plain(text: str) -> str:
    r"""Return text without outer spaces and dollar signs.

    >>> plain(r" $ \sqrt{2} $ ")
    '\\sqrt{2}'
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "$" and text[-2] != "\\":
        return text[1:-1].strip()
    return text


def listed(text: str) -> str:
    """Return text as ``plain`` does, without spaces behind its commas.

    >>> listed("1, 2")
    '1,2'
    """
    return re.sub(r",\s+", ",", plain(text))


def integer(text: str) -> str:
    """Return text as ``plain`` does, a whole number without zeros that say nothing.

    >>> integer("025"), integer("27.0"), integer("x")
    ('25', '27', 'x')
    """
    text = plain(text)
    number = _INTEGER.fullmatch(text)
    return str(int(number[1])) if number else text


def letter(text: str) -> str:
    r"""Return text as ``plain`` does, a letter from A to D without what may stand around it.

    >>> letter("(B)"), letter(r"\text{C}"), letter("B or C")
    ('B', 'C', 'B or C')
    """
    text = plain(text)
    found = _LETTER.fullmatch(text)
    return found[1] if found else text
