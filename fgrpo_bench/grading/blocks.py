"""Grade the blocks of a sample store, and count. Grading never needs the model again."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fgrpo_bench.benchmarks.problems import Problem
from fgrpo_bench.errors import UserError
from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.sampling.engines.base import Finish
from fgrpo_bench.sampling.plan import Block
from fgrpo_bench.sampling.store import Stored, read_block, read_content, write_table

GRADES: Final = pa.schema(
    [
        ("problem_id", pa.string()),
        ("sample", pa.int32()),
        ("outcome", pa.string()),
        ("answer", pa.string()),
        ("grader", pa.string()),
    ]
)
Grade: TypeAlias = Callable[[Sequence[tuple[dict[str, Any], str, Finish]]], list[Verdict]]


class Tally:
    """Counts over the blocks that were added; it grows with problems and right answers only."""

    def __init__(self, problems: int, answers: bool = False) -> None:
        """Begin with nothing.

        Args:
            problems: how many there are.
            answers: whether to count each answer; else the different right ones.
        """
        self.n: NDArray[np.int64] = np.zeros(problems, dtype=np.int64)
        self.c: NDArray[np.int64] = np.zeros(problems, dtype=np.int64)
        self.outcomes: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self._counted = answers
        self._right: list[set[str]] = [set() for _ in range(problems)]

    def add(self, block: Block, outcomes: Sequence[str], answers: Sequence[str | None]) -> None:
        """Count a block's grades, problem after problem."""
        each = block.stop - block.start
        right = np.array([outcome == "correct" for outcome in outcomes])
        self.n[block.first : block.last] += each
        self.c[block.first : block.last] += right.reshape(-1, each).sum(axis=1)
        self.outcomes.update(outcomes)
        if self._counted:
            self.answers.update(answer for answer in answers if answer is not None)
            return
        for row in np.flatnonzero(right).tolist():
            if (answer := answers[row]) is not None:
                self._right[block.first + row // each].add(answer)

    @property
    def distinct(self) -> NDArray[np.int64]:
        """Number of different right answers that were found to each problem, [P]."""
        return np.array([len(answers) for answers in self._right], dtype=np.int64)


def grade_block(
    stored: Stored,
    problems: Sequence[Problem],
    folder: Path,
    grade: Grade,
    grader: str,
    anew: bool = False,
) -> tuple[list[str], list[str | None]]:
    """Return outcome and answer of each sample of a block, graded now or by an earlier command.

    Args:
        stored: the block.
        problems: all problems of the task.
        folder: where grades are kept, a file per block beside the samples'.
        grade: takes rows of problems, responses, and how these ended; it does not fail.
        grader: name and version; grades of another one are replaced.
        anew: whether grades that are there are replaced in any case.

    Raises:
        UserError: damaged samples.
    """
    path = folder / stored.path.name
    about = {"grader": grader, "block": stored.block.name, "samples": stored.identity}
    if not anew and (known := _known(path, about, stored.block.rows)) is not None:
        return known
    table = read_block(stored, problems)
    each = stored.block.stop - stored.block.start
    rows = problems[stored.block.first : stored.block.last]
    docs = [problem.doc for problem in rows for _ in range(each)]
    responses, finishes = table["response"].to_pylist(), table["finish"].to_pylist()
    verdicts = grade(list(zip(docs, responses, finishes, strict=True)))
    outcomes: list[str] = [verdict.outcome for verdict in verdicts]
    answers = [_storable(verdict.answer) for verdict in verdicts]
    columns = [
        table["problem_id"],
        table["sample"],
        pa.array(outcomes, pa.string()),
        pa.array(answers, pa.string()),
        pa.array([grader] * len(outcomes), pa.string()),
    ]
    write_table(path, pa.Table.from_arrays(columns, schema=GRADES), about)
    return outcomes, answers


def _storable(answer: str | None) -> str | None:
    """Return an answer that UTF-8 has a place for: it may have been cut out of a surrogate pair."""
    return None if answer is None else answer.encode("utf-8", "replace").decode()


def _known(
    path: Path, about: dict[str, Any], rows: int
) -> tuple[list[str], list[str | None]] | None:
    """Return the grades in a file; None if they must come again.

    That is so if they are other ones, if the file is damaged, and if the grader had failed.
    """
    if not path.exists():
        return None
    try:
        content, found = read_content(path, GRADES.names)
        if found != rows or any(content.get(key) != value for key, value in about.items()):
            return None
        table = pq.read_table(path, page_checksum_verification=True, partitioning=None)
    except (UserError, OSError, pa.ArrowException):
        return None
    outcomes = table["outcome"].to_pylist()
    return None if "grader_error" in outcomes else (outcomes, table["answer"].to_pylist())
