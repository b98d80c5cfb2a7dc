r"""Judge a response by the mathematics in its last box, for rewards and evaluation alike."""

from functools import lru_cache

from fgrpo_bench.grading.boxed import last_boxed
from fgrpo_bench.grading.mathematics.compare import LONGEST, decide
from fgrpo_bench.grading.mathematics.golds import Gold
from fgrpo_bench.grading.mathematics.numbers import number
from fgrpo_bench.grading.mathematics.texts import bare, join_thousands, tidy
from fgrpo_bench.grading.outcomes import Question, Verdict
from fgrpo_bench.sampling.engines.base import Finish


def judge(gold: Gold, response: str, finish: Finish) -> Verdict | Question:
    r"""Return the verdict where texts decide it, else the question to a worker.

    A response without a complete box, or with nothing in it, gave no answer, or was cut off.

    Args:
        gold: of the problem.
        response: the whole text, without what stopped it.
        finish: ``length`` if it ran into the length limit.

    >>> judge(Gold.from_text("025"), r"\boxed{25}", "stop")
    Verdict(outcome='correct', answer='25')
    >>> judge(Gold.from_text("2x"), r"\boxed{x + x}", "stop").kind
    'math'
    """
    box = last_boxed(response)
    if box is None or not box.strip():
        return Verdict("truncated" if finish == "length" else "no_answer", None)
    # one that is too long to be read is not worth keeping either
    return (_judged.__wrapped__ if len(box) > LONGEST else _judged)(gold, box)


@lru_cache(maxsize=1 << 14)  # of many samples of a problem most give the same few answers
def _judged(gold: Gold, box: str) -> Verdict | Question:
    right = decide(gold, box)
    if right is None:
        return Question("math", gold.to_json(), tidy(box))
    return Verdict("correct" if right else "wrong", shown_answer(box))


def shown_answer(box: str) -> str:
    r"""Return the one spelling of an answer, by which equal ones are counted together.

    >>> shown_answer(r"\frac12"), shown_answer("0.50"), shown_answer("x  + 1")
    ('1/2', '1/2', 'x+1')
    """
    if len(box) > LONGEST:
        return box[:LONGEST]
    text = tidy(box)
    value = number(bare(join_thousands(text)))
    return text if value is None else str(value)
