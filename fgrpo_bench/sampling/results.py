"""What a graded evaluation comes to: counts per problem, pass@k, outcomes."""

from typing import Any, Final

import numpy as np
import pandas as pd

from fgrpo_bench.benchmarks.problems import Task
from fgrpo_bench.benchmarks.registry import BENCHMARKS
from fgrpo_bench.benchmarks.rows import hash_row
from fgrpo_bench.grading.blocks import Tally
from fgrpo_bench.grading.outcomes import OUTCOMES
from fgrpo_bench.rundir.results import BenchmarkResult, Evaluation
from fgrpo_bench.stats.pass_at_k import pass_at_k

STAGE: Final = "final"


def problems_table(task: Task, tally: Tally) -> pd.DataFrame:
    """Return ``problems.parquet``: a row per problem with its samples and right ones."""
    benchmark = BENCHMARKS[task.benchmark]
    return pd.DataFrame(
        {
            "benchmark": task.benchmark,
            "problem_id": [problem.problem_id for problem in task.problems],
            "stratum": [problem.stratum for problem in task.problems],
            "stage": STAGE,
            "n": tally.n,
            "c": tally.c,
            "p_exact": np.nan,
            "distinct": tally.distinct,
            "doc_hash": [hash_row(benchmark, problem.doc) for problem in task.problems],
        }
    )


def results_of(
    task: Task, config: dict[str, Any], problems: pd.DataFrame, tally: Tally, tokens: int | None
) -> Evaluation:
    """Return ``results.json``.

    Args:
        task: with its problems.
        config: of the evaluation.
        problems: the table of problems.
        tally: what was counted.
        tokens: of all responses together, None where it is not known.
    """
    benchmark = BENCHMARKS[task.benchmark]
    strata = problems.groupby("stratum")
    parts = [(None, problems), *((str(name), rows) for name, rows in strata)]
    return Evaluation(
        task=task.name,
        engine=config["engine"],
        model=config["model"],
        sampling=config["sampling"],
        seed=config["seed"],
        grader=benchmark.grader,
        benchmarks=[_benchmark(task.benchmark, name, rows) for name, rows in parts],
        distinct={name or "all": float(rows["distinct"].mean()) for name, rows in parts},
        outcomes={name: tally.outcomes[name] for name in OUTCOMES},
        rates=benchmark.rates(tally.answers) if benchmark.rates else {},
        tokens=tokens,
    )


def _benchmark(name: str, stratum: str | None, rows: pd.DataFrame) -> BenchmarkResult:
    samples = int(rows["n"].min())
    ks = sorted({k for k in (2**i for i in range(32)) if k <= samples} | {samples})
    counts = rows[["n", "c"]].to_numpy()[:, :, None]
    curve = pass_at_k(counts[:, 0], counts[:, 1], ks).mean(axis=0)
    return BenchmarkResult(
        name=name,
        stratum=stratum,
        stage=STAGE,
        problems=len(rows),
        samples=samples,
        exact=False,
        pass_at_k={str(k): float(value) for k, value in zip(ks, curve, strict=True)},
    )
