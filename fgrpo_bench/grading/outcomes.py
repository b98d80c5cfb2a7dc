"""What grading a response can come to, and what is asked of a worker where text does not decide."""

from typing import Final, Literal, NamedTuple, TypeAlias

Outcome: TypeAlias = Literal["correct", "wrong", "no_answer", "truncated", "grader_error"]
OUTCOMES: Final[tuple[Outcome, ...]] = (
    "correct",
    "wrong",
    "no_answer",
    "truncated",
    "grader_error",
)


class Verdict(NamedTuple):
    """The outcome of one response, and the answer that was found in it.

    Only ``correct`` counts as success. ``truncated`` is a response that ran into the length limit
    before it gave an answer; ``grader_error`` says nothing about the response.
    """

    outcome: Outcome
    answer: str | None


class Question(NamedTuple):
    """What a worker process is asked: does this answer meet that gold?

    Attributes:
        kind: which of the worker's graders, such as ``math``.
        gold: what is right, as that grader writes it: text, or JSON.
        answer: of the response, or the whole response.
        miss: the outcome if it does not meet it.
    """

    kind: Literal["math", "ifeval"]
    gold: str
    answer: str
    miss: Outcome = "wrong"


class Reply(NamedTuple):
    """What became of a question.

    Attributes:
        status: ``done`` decided it; ``exhausted`` used up its time of the processor or its memory,
            and would again; ``late`` was stopped by the clock, which may be the machine's load;
            ``failed`` is a fault of the grader.
        right: whether the answer meets the gold; False unless done.
        detail: what the grader noted instead of the answer, or None.
        reason: of a failure, on one line.
    """

    status: Literal["done", "exhausted", "late", "failed"]
    right: bool = False
    detail: str | None = None
    reason: str = ""
