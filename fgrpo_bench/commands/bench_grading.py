"""``fgrpo-bench bench grading``: how right and how fast mathematics is graded, beside others."""

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from fgrpo_bench.benchmarks.benchmark import Case as Graded
from fgrpo_bench.benchmarks.registry import BENCHMARKS
from fgrpo_bench.commands.bench_stats import Target, print_targets, target
from fgrpo_bench.commands.progress import say
from fgrpo_bench.errors import UserError, shown
from fgrpo_bench.grading.grader import Grader
from fgrpo_bench.grading.limits import Limits
from fgrpo_bench.grading.measure.accuracy import GOLD, Accuracy, measure
from fgrpo_bench.grading.measure.baselines import BASELINES, baseline
from fgrpo_bench.grading.measure.cases import Case, Grade, cases_of, thinned
from fgrpo_bench.grading.measure.gold_rows import FILES, find_rows, notation_rows
from fgrpo_bench.grading.measure.report import render, summary
from fgrpo_bench.grading.measure.speed import measure_hostile, measure_leaks, measure_speed
from fgrpo_bench.grading.outcomes import Outcome
from fgrpo_bench.grading.pool import Pool
from fgrpo_bench.report.grids import print_grid

BESIDE: Final = 1000  # cases of each benchmark and kind that the other graders are measured on
OURS: Final = "ours"


def bench_grading(data: Path | None) -> tuple[dict[str, Any], str]:
    """Measure accuracy and speed; return what was found, and the report as Markdown.

    Args:
        data: folder with rows of the benchmarks; None for integers made here alone.

    Raises:
        UserError: the folder is none, or has no rows.
    """
    cases = _cases(data)
    with Pool() as pool:
        grade = grading_by(Grader(pool, None))  # what was decided before would be no measurement
        results = _accuracy(cases, grade)
        speed = measure_speed(grade, say)
        hostile = measure_hostile(pool.ask, pool.workers, Limits().cpu)
        leaks = measure_leaks(pool.ask)
    targets = _targets(results[OURS]) | _speed_targets(speed, hostile, leaks)
    print_grid(summary(results))
    print_targets(targets)
    graders = {name: BENCHMARKS[name].grader for name in {case.row.benchmark: 0 for case in cases}}
    notes = [
        *(f"{name}: graded by {grader}" for name, grader in graders.items()),
        f"the other graders: at most {BESIDE:,} cases of each benchmark and kind, evenly spread",
        *(f"{name}: {one['measured']:.3g}, {_met(one)}" for name, one in targets.items()),
    ]
    result = {
        "threads": os.environ.get("OMP_NUM_THREADS", "unset"),
        "graders": graders,
        "accuracy": {name: found.to_dict() for name, found in results.items()},
        "speed": speed,
        "hostile": hostile,
        "leaks": leaks,
        "targets": targets,
    }
    return result, render(results, OURS, notes)


def grading_by(grader: Grader) -> Grade:
    """Return how ``eval`` grades, with questions settled by this grader."""

    def grade(cases: Sequence[Case]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for name, group in groupby(cases, lambda case: case.row.benchmark):
            rows: list[Graded] = [(case.row.doc, case.response, "stop") for case in group]
            outcomes += [verdict.outcome for verdict in BENCHMARKS[name].grade(rows, grader)]
        return outcomes

    return grade


def _cases(data: Path | None) -> list[Case]:
    rows = notation_rows()
    groups = [[row for row in rows if row.notation == notation] for notation in ("aime", "amc")]
    if data is None:
        say("the benchmarks' rows are left out: name their folder, --data DIR")
    else:
        if not data.is_dir():
            raise UserError(f"--data {shown(data)}: no such folder")
        found = find_rows(data)
        if not found:
            names = ", ".join(files[0] for files in FILES.values())
            raise UserError(f"--data {shown(data)}: none of {names} is there")
        for name in FILES.keys() - found.keys():
            say(f"{name} is left out: {' or '.join(FILES[name])} is not in {shown(data)}")
        groups = [*found.values(), *groups]
    return [case for group in groups for case in cases_of(group)]


def _accuracy(cases: Sequence[Case], grade: Grade) -> dict[str, Accuracy]:
    hidden = frozenset(name for name, one in BENCHMARKS.items() if not one.redistributable)
    say(f"{OURS}: {len(cases):,} cases")
    results = {OURS: measure(grade, cases, hidden)}
    few = thinned(cases, BESIDE)
    for name in BASELINES:
        say(f"{name}: {len(few):,} cases")
        results[name] = found = measure(baseline(name), few, hidden)
        # right answers that others reject are many, and their counts say enough
        found.failures = [failure for failure in found.failures if not failure.right]
    return results


def _targets(found: Accuracy) -> dict[str, Target]:
    targets = {}
    for name, kinds in found.counts.items():
        rejects, accepts = (found.rate(name, side) for side in ("rejects", "accepts"))
        targets[f"{name}: gold rejected"] = target(kinds[GOLD].failed, at_most=0)
        targets[f"{name}: false rejects"] = target(rejects[0] / rejects[1], at_most=0.01)
        targets[f"{name}: false accepts"] = target(accepts[0] / accepts[1], at_most=0.002)
    return targets


def _speed_targets(
    speed: dict[str, Any], hostile: dict[str, Any], leaks: dict[str, Any] | None
) -> dict[str, Target]:
    targets = {
        "sampled answers misgraded": target(speed["misgraded"], at_most=0),
        "times one math-verify call per sample": target(speed["ratio"], at_least=10),
        "hostile answers, share of their limits": target(hostile["share_of_bound"], at_most=1),
        "hostile answers, pool alive afterwards": target(int(hostile["alive"]), at_least=1),
    }
    if leaks is not None:
        targets["10,000 answers, zombies"] = target(leaks["zombies"], at_most=0)
        targets["10,000 answers, growth of memory"] = target(leaks["growth"], at_most=0.1)
    return targets


def _met(one: Target) -> str:
    return "met" if one["met"] else "missed"
