"""What a benchmark is: its data, what may be shown of it, and how its answers are graded."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fgrpo_bench.errors import UserError, quoted
from fgrpo_bench.grading.outcomes import Question, Verdict
from fgrpo_bench.sampling.engines.base import Finish

if TYPE_CHECKING:
    from fgrpo_bench.grading.grader import Grader

Family: TypeAlias = Literal["math", "ood", "own"]
Doc: TypeAlias = dict[str, Any]
Case: TypeAlias = tuple[Doc, str, Finish]
Found: TypeAlias = Verdict | Question


@dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Attributes:
        name: of the benchmark, its folder under ``tasks/`` and its task.
        title: for people.
        family: ``math`` is in the training's domain, ``ood`` out of it, ``own`` not in the paper.
        rows: how many the published data have.
        licence: of the data.
        texts: columns that the prompt is made of.
        columns: further columns, for identity, stratum and grade.
        gold: gives what the responses to a row are judged by.
        judge: takes that, a response and how it ended; gives a verdict or what to ask a worker.
        grader: name and version of these; with another version old verdicts no longer count.
        read: gives what ``gold`` does from a gold answer as text, None where it takes the row.
        key: column that identifies a problem, None for the place of its row.
        hub: data set on the Hugging Face hub, None where the rows are made here.
        revision: commit of that data set.
        style: whether the prompt is a chat or text to be continued.
        redistributable: whether its texts may be shown, in reports for example.
        guess: chance that a uniform guess is right, None where guessing is no way to answer.
        part: the stratum of a row, None where the benchmark has none.
        rates: further accuracies, from how often each answer of a verdict occurred, or None.
    """

    name: str
    title: str
    family: Family
    rows: int
    licence: str
    texts: tuple[str, ...]
    columns: tuple[str, ...]
    gold: Callable[[Doc], Any]
    judge: Callable[[Any, str, Finish], Found]
    grader: str
    read: Callable[[str], Any] | None = None
    key: str | None = None
    hub: str | None = None
    revision: str | None = None
    style: Literal["chat", "completion"] = "chat"
    redistributable: bool = True
    guess: float | None = None
    part: Callable[[Doc], str] | None = None
    rates: Callable[[Mapping[str, int]], dict[str, float]] | None = None

    def problem_id(self, doc: Doc, index: int) -> str:
        """Return the identity of a row: its key, or its place from 0."""
        return str(doc[self.key]) if self.key else str(index)

    def stratum(self, doc: Doc) -> str | None:
        """Return the part of the benchmark that a row is in, or None."""
        return self.part(doc) if self.part else None

    def grade(self, cases: Sequence[Case], grader: "Grader | None" = None) -> list[Verdict]:
        """Return the verdict of each case; whatever goes wrong in a grader is a grader error.

        Args:
            cases: row of the data, response without what stopped it, and how it ended; the cases of
                one row share it.
            grader: asks the workers, None for the one that this process shares.

        Raises:
            ModuleNotFoundError: the grader needs an extra that is not installed.
        """
        return self._settled(list(self._judged(cases)), grader)

    def grade_texts(
        self, cases: Sequence[tuple[str, str, Finish]], grader: "Grader | None" = None
    ) -> list[Verdict]:
        """Return verdicts as ``grade`` does, where only the gold answers are known, as texts.

        Raises:
            UserError: this benchmark's responses are judged by the row.
        """
        if (read := self.read) is None:
            raise UserError(f"{self.name} is judged by the row: give it as doc, not gold")

        def judged(gold: str, response: str, finish: Finish) -> Found:
            return self.judge(read(gold), response, finish)

        return self._settled([self._safely(judged, *case) for case in cases], grader)

    def _judged(self, cases: Sequence[Case]) -> Iterator[Found]:
        row, gold = None, None
        for doc, response, finish in cases:
            if doc is not row:
                row, gold = doc, self._safely(self.gold, doc)
            # a gold that cannot be read is a verdict itself
            yield (
                gold if type(gold) is Verdict else self._safely(self.judge, gold, response, finish)
            )

    def _settled(self, found: Sequence[Found], grader: "Grader | None") -> list[Verdict]:
        questions = [one for one in found if isinstance(one, Question)]
        if not questions:
            return [one for one in found if isinstance(one, Verdict)]
        if grader is None:
            from fgrpo_bench.grading.grader import shared_grader

            grader = shared_grader()
        answers = iter(grader.settle(questions, self.grader))
        return [one if isinstance(one, Verdict) else next(answers) for one in found]

    def _safely(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except ModuleNotFoundError:
            raise
        except Exception as error:  # never wrong: a fault of ours or of the data says nothing
            reason = quoted(f"{type(error).__name__}: {error}")
            _tell(self.grader, reason)
            return Verdict("grader_error", None)


@cache
def _tell(grader: str, reason: str) -> None:
    """Warn once of what may come with every sample."""
    logging.getLogger(__name__).warning("%s: %s", grader, reason)
