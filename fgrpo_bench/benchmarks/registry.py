"""The benchmarks: their data, what may be shown of it, their groups, and how answers are graded.

Where the rows are and how the prompts read is the business of the lm-eval files under ``tasks/``,
which plain lm-eval runs too. Light on purpose: what a grader needs is imported when it grades.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from fgrpo_bench.benchmarks import arith, gpqa
from fgrpo_bench.benchmarks.standins import Judge, boxed_text, integer, letter, listed, plain
from fgrpo_bench.errors import UserError, quoted, suggestion
from fgrpo_bench.grading import ifeval
from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.sampling.engines.base import Finish

Family: TypeAlias = Literal["math", "ood", "own"]
_PACKAGE: Final = Path(__file__).resolve().parents[1]


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
        judge: grades a response, see ``grade``.
        grader: name and version of that; with another version old verdicts no longer count.
        key: column that identifies a problem, None for the place of its row.
        hub: data set on the Hugging Face hub, None where the rows are made here.
        revision: commit of that data set.
        style: whether the prompt is a chat or text to be continued.
        redistributable: whether its texts may be shown, in reports for example.
        guess: chance that a uniform guess is right, None where guessing is no way to answer.
        part: the stratum of a row, None where the benchmark has none.
    """

    name: str
    title: str
    family: Family
    rows: int
    licence: str
    texts: tuple[str, ...]
    columns: tuple[str, ...]
    judge: Judge
    grader: str
    key: str | None = None
    hub: str | None = None
    revision: str | None = None
    style: Literal["chat", "completion"] = "chat"
    redistributable: bool = True
    guess: float | None = None
    part: Callable[[dict[str, Any]], str] | None = None

    def problem_id(self, doc: dict[str, Any], index: int) -> str:
        """Return the identity of a row: its key, or its place from 0."""
        return str(doc[self.key]) if self.key else str(index)

    def stratum(self, doc: dict[str, Any]) -> str | None:
        """Return the part of the benchmark that a row is in, or None."""
        return self.part(doc) if self.part else None

    def grade(self, doc: dict[str, Any], response: str, finish: Finish) -> Verdict:
        """Return the verdict on a response; whatever goes wrong in a grader is a grader error.

        Args:
            doc: row of the data.
            response: the whole text, without what stopped it.
            finish: ``length`` if it ran into the length limit.

        Raises:
            ModuleNotFoundError: the grader needs an extra that is not installed.
        """
        try:
            return self.judge(doc, response, finish)
        except ModuleNotFoundError:
            raise
        except Exception as error:  # never wrong: a fault of ours or of the data says nothing
            logging.getLogger(__name__).debug("%s: %s", self.grader, quoted(str(error)))
            return Verdict("grader_error", None)


def _answer(doc: dict[str, Any]) -> str:
    return str(doc["answer"])


def _final_answers(doc: dict[str, Any]) -> str:
    answers = doc["final_answer"]
    return ",".join(map(plain, [answers] if isinstance(answers, str) else answers))


def _ifeval(doc: dict[str, Any], response: str, finish: Finish) -> Verdict:
    asked = ifeval.judge(doc, response, finish)
    if isinstance(asked, Verdict):
        return asked
    right, flags = ifeval.meets(asked.gold, asked.answer)
    return Verdict("correct" if right else asked.miss, flags)


_MAA: Final = "(c) MAA"
_EXACT: Final = "exact-box-1"
_ALL: Final = (
    Benchmark(
        "math500",
        "MATH-500",
        "math",
        500,
        "MIT",
        ("problem",),
        ("unique_id", "answer", "level"),
        boxed_text(_answer, plain),
        _EXACT,
        key="unique_id",
        hub="HuggingFaceH4/MATH-500",
        revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
        part=lambda doc: f"level {doc['level']}",
    ),
    Benchmark(
        "aime24",
        "AIME 2024",
        "math",
        30,
        _MAA,
        ("problem",),
        ("id", "answer"),
        boxed_text(_answer, integer),
        _EXACT,
        key="id",
        hub="HuggingFaceH4/aime_2024",
        revision="2fe88a2f1091d5048c0f36abc874fb997b3dd99a",
        redistributable=False,
    ),
    Benchmark(
        "aime25",
        "AIME 2025",
        "math",
        30,
        _MAA,
        ("problem",),
        ("id", "answer"),
        boxed_text(_answer, integer),
        _EXACT,
        key="id",
        hub="math-ai/aime25",
        revision="563bb8404243c5f09de6ec262f2db674fe5bce9b",
        redistributable=False,
    ),
    Benchmark(
        "amc23",
        "AMC 2023",
        "math",
        40,
        _MAA,
        ("question",),
        ("id", "answer"),
        boxed_text(_answer, integer),
        _EXACT,
        key="id",
        hub="math-ai/amc23",
        revision="80815d37005feb82cd7f8fbc6901d5d3eff43057",
        redistributable=False,
    ),
    Benchmark(
        "minerva",
        "Minerva Math",
        "math",
        272,
        "MIT",
        ("question",),
        ("answer",),
        boxed_text(_answer, plain),
        _EXACT,
        hub="math-ai/minervamath",
        revision="ee46ddc498933b1977577953250ca5c66be64f96",
    ),
    Benchmark(
        "olympiadbench",
        "OlympiadBench, maths in English",
        "math",
        674,
        "Apache-2.0",
        ("question",),
        ("id", "final_answer"),
        boxed_text(_final_answers, listed),
        _EXACT,
        key="id",
        hub="Hothan/OlympiadBench",
        revision="91184b52131e7fc9455fef848035173aea8cc01a",
    ),
    Benchmark(
        "gpqa_diamond",
        "GPQA Diamond",
        "ood",
        198,
        "CC BY 4.0, gated",
        ("Question", *gpqa.CHOICES),
        (),
        boxed_text(gpqa.right_letter, letter),
        "choice-box-1",
        hub="Idavidrein/gpqa",
        revision="633f5ee89ab8ad4522a9f850766b73f62147ffdd",
        redistributable=False,
        guess=0.25,
    ),
    Benchmark(
        "ifeval",
        "IFEval",
        "ood",
        541,
        "Apache-2.0",
        ("prompt",),
        ("key", "instruction_id_list", "kwargs"),
        _ifeval,
        "ifeval-strict-2",
        key="key",
        hub="google/IFEval",
        revision="966cd89545d6b6acfd7638bc708b98261ca58e84",
    ),
    Benchmark(
        "arith",
        "Arithmetic, made here",
        "own",
        len(arith.generate()),
        "Apache-2.0",
        ("prompt",),
        ("id", "kind", "step", "low", "high"),
        arith.grade,
        "arith-1",
        key="id",
        style="completion",
        part=lambda doc: str(doc["kind"]),
    ),
)
BENCHMARKS: Final[dict[str, Benchmark]] = {benchmark.name: benchmark for benchmark in _ALL}


def _members(*families: Family) -> tuple[str, ...]:
    return tuple(each.name for each in _ALL if each.family in families)


GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "math": _members("math"),
    "ood": _members("ood"),
    "paper": _members("math", "ood"),
}


def tasks_folder() -> Path:
    """Return the folder of lm-eval files, in the package or the checkout.

    Raises:
        UserError: it is in neither.
    """
    places = (_PACKAGE / "tasks", _PACKAGE.parent / "tasks")
    for place in places:
        if place.is_dir():
            return place
    raise UserError(f"{places[0]} is not there: install fgrpo-bench again")


def task_names() -> dict[str, str]:
    """Return every task with its benchmark: the benchmarks' own names, then their variants."""
    names = {name: name for name in BENCHMARKS}
    for path in sorted(tasks_folder().glob("*/*.yaml")):
        if path.parent.name in BENCHMARKS:
            names.setdefault(path.stem, path.parent.name)
    return names


def resolve(names: Iterable[str]) -> list[str]:
    """Return the tasks meant by names of tasks and groups, each once, in the order named.

    >>> resolve(["arith", "ood", "ifeval"])
    ['arith', 'gpqa_diamond', 'ifeval']

    Raises:
        UserError: a name that is none.
    """
    tasks = task_names()
    found: dict[str, None] = {}
    for name in names:
        if name not in GROUPS and name not in tasks:
            raise UserError(f"no task {quoted(name)}: {suggestion(name, [*tasks, *GROUPS])}")
        found.update(dict.fromkeys(GROUPS.get(name, (name,))))
    return list(found)
