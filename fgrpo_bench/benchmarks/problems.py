"""What a benchmark's problem is to the rest: an identity, a prompt, and a row to grade against."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, str]
Prompt: TypeAlias = str | tuple[Message, ...]


@dataclass(frozen=True)
class Problem:
    """One problem of a benchmark.

    Attributes:
        problem_id: unique in its benchmark and stable between versions of the data.
        prompt: text to be continued, or chat messages of ``role`` and ``content``.
        doc: the row of the data, with the gold answer.
        stratum: a part of the benchmark that is reported apart, or None.
    """

    problem_id: str
    prompt: Prompt
    doc: dict[str, Any] = field(repr=False)
    stratum: str | None = None


@dataclass(frozen=True)
class Task:
    """A benchmark with its rows read and its prompts built.

    Attributes:
        name: of the task, such as ``math500``; the family's variant where one was taken.
        benchmark: name of the benchmark in the registry.
        problems: in the order of the data.
        stop: texts that end a response.
        max_tokens: the task's own limit of a response's length.
        template: further arguments of the chat template, such as ``enable_thinking``.
        source: where the rows came from, for the manifest: data set, revision, hash of the rows.
    """

    name: str
    benchmark: str
    problems: tuple[Problem, ...]
    stop: tuple[str, ...]
    max_tokens: int
    template: dict[str, Any]
    source: dict[str, Any]
