"""What grading a response can come to."""

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
