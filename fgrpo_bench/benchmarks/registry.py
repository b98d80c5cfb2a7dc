"""The benchmarks: their data, what may be shown of it, their groups, and how answers are graded.

Where the rows are and how the prompts read is the business of the lm-eval files under ``tasks/``,
which plain lm-eval runs too. Light on purpose: what a grader needs is imported when it grades.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from fgrpo_bench.benchmarks import arith, gpqa, olympiadbench
from fgrpo_bench.benchmarks.benchmark import Benchmark, Family
from fgrpo_bench.errors import UserError, quoted, suggestion
from fgrpo_bench.grading import choice, ifeval
from fgrpo_bench.grading.mathematics.golds import Gold
from fgrpo_bench.grading.mathematics.judge import judge as judge_mathematics

_PACKAGE: Final = Path(__file__).resolve().parents[1]


def _answer(doc: dict[str, Any]) -> Gold:
    return Gold.from_text(str(doc["answer"]))


def _row(doc: dict[str, Any]) -> dict[str, Any]:
    return doc


_MAA: Final = "(c) MAA"
_MATHEMATICS: Final = "math-1"
_ALL: Final = (
    Benchmark(
        "math500",
        "MATH-500",
        "math",
        500,
        "MIT",
        ("problem",),
        ("unique_id", "answer", "level"),
        _answer,
        judge_mathematics,
        _MATHEMATICS,
        Gold.from_text,
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
        _answer,
        judge_mathematics,
        _MATHEMATICS,
        Gold.from_text,
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
        _answer,
        judge_mathematics,
        _MATHEMATICS,
        Gold.from_text,
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
        _answer,
        judge_mathematics,
        _MATHEMATICS,
        Gold.from_text,
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
        _answer,
        judge_mathematics,
        _MATHEMATICS,
        Gold.from_text,
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
        ("id", "final_answer", "is_multiple_answer"),
        olympiadbench.gold,
        judge_mathematics,
        _MATHEMATICS,
        Gold.from_text,
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
        gpqa.right_letter,
        choice.judge,
        "choice-1",
        choice.read,
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
        _row,
        ifeval.judge,
        "ifeval-1",
        rates=ifeval.rates,
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
        _row,
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
