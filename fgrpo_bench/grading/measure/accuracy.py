"""How often a grader of mathematics rejects right answers and accepts wrong ones."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias

from fgrpo_bench.grading.measure.cases import Case, Grade
from fgrpo_bench.grading.outcomes import Outcome

Side: TypeAlias = Literal["rejects", "accepts"]

GOLD: Final = "gold"
HIDDEN: Final = "(not shown: its texts are not ours to pass on)"


@dataclass
class Count:
    """How many cases of a kind there were, and on how many the grader failed.

    Attributes:
        right: whether the answers are right: failing is to reject them, else to accept them.
        cases: how many.
        failed: on how many of them the grader failed.
        errors: how many ended in a grader error, which fails right answers only.
    """

    right: bool
    cases: int = 0
    failed: int = 0
    errors: int = 0


@dataclass(frozen=True)
class Failure:
    """A case that a grader got wrong."""

    benchmark: str
    row: str
    kind: str
    right: bool
    clear: bool
    gold: str
    answer: str
    outcome: Outcome


@dataclass
class Accuracy:
    """What was found about one grader: counts by benchmark and kind, and every failure."""

    counts: dict[str, dict[str, Count]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def rate(self, benchmark: str, side: Side) -> tuple[int, int]:
        """Return failures and cases among a benchmark's right (``rejects``) or wrong answers."""
        counts = [
            count
            for count in self.counts.get(benchmark, {}).values()
            if count.right == (side == "rejects")
        ]
        return sum(count.failed for count in counts), sum(count.cases for count in counts)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def measure(grade: Grade, cases: Sequence[Case], hidden: frozenset[str]) -> Accuracy:
    """Grade cases and count the failures.

    Args:
        grade: gives an outcome for each case.
        cases: what to grade.
        hidden: benchmarks whose texts may not be listed.
    """
    found = Accuracy()
    for case, outcome in zip(cases, grade(cases), strict=True):
        kinds = found.counts.setdefault(case.row.group, {})
        count = kinds.setdefault(case.kind, Count(case.right))
        failed = (outcome == "correct") != case.right
        count.cases += 1
        count.failed += failed
        count.errors += outcome == "grader_error"
        if failed:
            found.failures.append(_failure(case, outcome, case.row.group in hidden))
    return found


def _failure(case: Case, outcome: Outcome, hide: bool) -> Failure:
    row = case.row
    texts = (HIDDEN, HIDDEN) if hide else (row.gold, case.answer)
    return Failure(row.group, row.id, case.kind, case.right, case.clear, *texts, outcome)
