"""``fgrpo-bench grade``: verdicts on responses from anywhere, a line for a line."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO, Final, NamedTuple

from fgrpo_bench.benchmarks.benchmark import Benchmark
from fgrpo_bench.benchmarks.registry import BENCHMARKS, task_names
from fgrpo_bench.commands.progress import say
from fgrpo_bench.errors import Failed, UserError, quoted, suggestion
from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.sampling.engines.base import Finish
from fgrpo_bench.sampling.evaluation import MOST_ERRORS

_TOGETHER: Final = 512  # lines whose questions are asked side by side


class Line(NamedTuple):
    """One line of the input: a row or a gold answer, a response, and how it ended."""

    doc: dict[str, Any] | None
    gold: str
    response: str
    finish: Finish


def grade(task: str) -> None:
    """Read cases from standard input and write their verdicts to standard output, in order.

    Raises:
        UserError: no such task, or a line that cannot be used; the lines before it are graded.
        Failed: the grader failed on more than a thousandth of the lines.
    """
    names = task_names()
    if task not in names:
        raise UserError(f"no task {quoted(task)}: {suggestion(task, names)}")
    benchmark = BENCHMARKS[names[task]]
    outcomes: Counter[str] = Counter()
    lines = read_cases(sys.stdin.buffer, benchmark)
    while chunk := list(_until_fault(islice(lines, _TOGETHER))):
        for verdict in _verdicts([line for line in chunk if isinstance(line, Line)], benchmark):
            outcomes[verdict.outcome] += 1
            print(json.dumps(_shown(verdict)))
        sys.stdout.flush()
        if isinstance(chunk[-1], UserError):
            raise chunk[-1]
    say(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()) or "no lines")
    errors = outcomes["grader_error"]
    if errors > MOST_ERRORS * outcomes.total():
        raise Failed(f"the grader failed on {errors} of {outcomes.total()} lines: see the warnings")


def read_cases(stream: BinaryIO, benchmark: Benchmark) -> Iterator[Line]:
    """Yield the cases of a stream, one a line.

    Raises:
        UserError: a line that is none, by its number.
    """
    for number, raw in enumerate(stream, 1):
        if not raw.strip():
            continue
        try:
            yield _case(json.loads(raw.decode("utf-8-sig")), benchmark)
        except RecursionError:
            raise UserError(f"line {number}: nested too deeply; mend the line") from None
        except ValueError as error:
            reason = str(error) if isinstance(error, _Unfit) else "no JSON in UTF-8"
            raise UserError(f"line {number}: {reason}; mend the line") from None


class _Unfit(ValueError):
    """What a line lacks."""


def _case(value: Any, benchmark: Benchmark) -> Line:
    if not isinstance(value, dict):
        raise _Unfit("no JSON object")
    response, finish = value.get("response"), value.get("finish", "stop")
    if not isinstance(response, str):
        raise _Unfit("no text as response")
    if finish not in ("stop", "length"):
        raise _Unfit(f"finish is {quoted(finish)}, not stop or length")
    if "doc" in value:
        if not isinstance(value["doc"], dict):
            raise _Unfit("doc is no JSON object")
        return Line(value["doc"], "", response, finish)
    if benchmark.read is None:
        raise _Unfit(f"no doc, by which {benchmark.name} is graded")
    if not isinstance(gold := value.get("gold"), str | int | float) or isinstance(gold, bool):
        raise _Unfit("neither a row as doc nor a text as gold")
    return Line(None, str(gold), response, finish)


def _until_fault(lines: Iterable[Line]) -> Iterator[Line | UserError]:
    """Yield the lines before a fault, and the fault instead of what follows."""
    try:
        yield from lines
    except UserError as error:
        yield error


def _verdicts(lines: list[Line], benchmark: Benchmark) -> list[Verdict]:
    """Return the verdicts in order, of rows and of gold answers alike."""
    rows = [(line.doc, line.response, line.finish) for line in lines if line.doc is not None]
    texts = [(line.gold, line.response, line.finish) for line in lines if line.doc is None]
    by_row = iter(benchmark.grade(rows))
    by_text = iter(benchmark.grade_texts(texts)) if texts else iter(())
    return [next(by_text if line.doc is None else by_row) for line in lines]


def _shown(verdict: Verdict) -> dict[str, Any]:
    right = None if verdict.outcome == "grader_error" else verdict.outcome == "correct"
    return {"outcome": verdict.outcome, "correct": right, "answer": verdict.answer}
