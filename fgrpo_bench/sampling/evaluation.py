"""One task under one model in a directory of its own: sample, grade, count, results."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from fgrpo_bench.benchmarks.problems import Task
from fgrpo_bench.benchmarks.registry import BENCHMARKS
from fgrpo_bench.benchmarks.rows import hash_row
from fgrpo_bench.config.load import digest
from fgrpo_bench.grading.blocks import Tally, grade_block
from fgrpo_bench.grading.outcomes import OUTCOMES
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.directory import begin, inspect, locked
from fgrpo_bench.rundir.manifest import environment, now, resume_manifest, write_manifest
from fgrpo_bench.rundir.results import BenchmarkResult, Evaluation, write_results
from fgrpo_bench.sampling.engines.base import Engine, Settings
from fgrpo_bench.sampling.plan import WHOLE, Shard
from fgrpo_bench.sampling.repeats import collapse_warning
from fgrpo_bench.sampling.run import Sampling, prompts_hash
from fgrpo_bench.sampling.store import SCHEMA
from fgrpo_bench.stats.pass_at_k import pass_at_k

STAGE: Final = "final"
_REMEDY: Final = "use another --out"


@dataclass(frozen=True)
class Wanted:
    """What an evaluation is to have.

    Attributes:
        samples: of every problem.
        temperature: 0 is greedy.
        top_p: mass of the nucleus.
        max_tokens: limit of a response's length, None for the task's own.
        seed: all seeds are derived from it.
        shard: the part to sample here.
        command: for the manifest.
    """

    samples: int
    temperature: float
    top_p: float
    max_tokens: int | None
    seed: int
    shard: Shard
    command: str


def evaluate(
    task: Task,
    engine: Engine,
    wanted: Wanted,
    directory: Path,
    on_progress: Callable[[int, int], None],
    say: Callable[[str], None],
) -> Evaluation | None:
    """Sample what is missing of a task, grade it, and write the results once all is there.

    Args:
        task: with its problems.
        engine: the model.
        wanted: how many samples, and how.
        directory: of the evaluation of this task; made, resumed, or left as it is if finished.
        on_progress: receives the number of samples done and to do here, first and after a block.
        say: receives remarks.

    Returns:
        The results, or None while samples of other shards are missing.

    Raises:
        UserError: the directory holds something else, or is in use; engine or data fail.
    """
    settings = _settings(task, wanted)
    config = _config(task, engine, settings, wanted.seed)
    alone = wanted.shard == WHOLE
    part = None if alone else "{}-of-{}".format(*wanted.shard)
    with locked(directory, part):
        inspect(directory, config, remedy=_REMEDY)
        begin(directory, config, ("samples", "grades"), alone)
        sampling = _open(task, config, directory)
        blocks = sampling.missing(wanted.samples, engine.block_rows, wanted.shard)
        if blocks:
            (directory / "results.json").unlink(missing_ok=True)  # no longer finished
        begun = bool(blocks) or not (directory / "manifest.json").exists()
        if begun:
            fresh = _manifest(task, engine, wanted, config)
            manifest = resume_manifest(directory, fresh) | {"command": wanted.command}
            write_manifest(directory, manifest)
        total = sum(block.rows for block in blocks)
        done = accumulate((block.rows for block in blocks), initial=0)
        if next(done) < total:
            on_progress(0, total)
        sampling.fill(blocks, engine, settings, wanted.seed, lambda: on_progress(next(done), total))
        if warning := collapse_warning(task.name, sampling.equal_share, wanted.temperature):
            say(warning)
        if not alone:  # others may have been at work meanwhile
            sampling = _open(task, config, directory)
        tally = _grade(task, sampling, directory, say)
        if sampling.missing(wanted.samples, engine.block_rows):
            return None
        problems = _problems(task, tally)
        write_bytes(directory / "problems.parquet", problems.to_parquet(index=False))
        results = _results(task, engine, config, problems, tally, sampling.tokens)
        if begun:
            write_manifest(directory, manifest | {"finished": now()})
        write_results(directory, results)
        return results


def _settings(task: Task, wanted: Wanted) -> Settings:
    limit = task.max_tokens if wanted.max_tokens is None else wanted.max_tokens
    return Settings(wanted.temperature, wanted.top_p, limit, task.stop, task.template)


def _config(task: Task, engine: Engine, settings: Settings, seed: int) -> dict[str, Any]:
    """Return what samples of different origin must share to be put together."""
    return {
        "experiment": "eval",
        "schema": SCHEMA,
        "task": task.name,
        "prompts_sha256": prompts_hash(task.problems),
        "engine": engine.name,
        "model": engine.identity,
        "sampling": {**asdict(settings), "stop": list(settings.stop)},
        "seed": seed,
    }


def _open(task: Task, config: dict[str, Any], directory: Path) -> Sampling:
    return Sampling(directory / "samples", task.name, task.problems, config)


def _grade(task: Task, sampling: Sampling, directory: Path, say: Callable[[str], None]) -> Tally:
    benchmark, tally = BENCHMARKS[task.benchmark], Tally(len(task.problems))
    for stored in sampling.stored:
        grades = grade_block(
            stored, task.problems, directory / "grades", benchmark.grade, benchmark.grader
        )
        tally.add(stored.block, *grades)
    if errors := tally.outcomes["grader_error"]:
        say(f"warning: {task.name}: the grader failed on {errors} samples, counted as not correct")
    return tally


def _manifest(task: Task, engine: Engine, wanted: Wanted, config: dict[str, Any]) -> dict[str, Any]:
    return {
        "command": wanted.command,
        "config": config,
        "config_hash": digest(config),
        **environment(),
        "device": None,
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or None,
        "model": engine.identity,
        "data": {"id": task.name, **task.source, "prompts_sha256": config["prompts_sha256"]},
        "seeds": {"run": wanted.seed},
        "started": now(),
    }


def _problems(task: Task, tally: Tally) -> pd.DataFrame:
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


def _results(
    task: Task,
    engine: Engine,
    config: dict[str, Any],
    problems: pd.DataFrame,
    tally: Tally,
    tokens: int | None,
) -> Evaluation:
    strata = problems.groupby("stratum")
    parts = [(None, problems), *((str(name), rows) for name, rows in strata)]
    return Evaluation(
        task=task.name,
        engine=engine.name,
        model=engine.identity,
        sampling=config["sampling"],
        seed=config["seed"],
        grader=BENCHMARKS[task.benchmark].grader,
        benchmarks=[_benchmark(task.benchmark, name, rows) for name, rows in parts],
        distinct={name or "all": float(rows["distinct"].mean()) for name, rows in parts},
        outcomes={name: tally.outcomes[name] for name in OUTCOMES},
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
