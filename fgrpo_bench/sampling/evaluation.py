"""One task under one model in a directory of its own: sample, grade, count, results."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeAlias

from fgrpo_bench.benchmarks.problems import Task
from fgrpo_bench.benchmarks.registry import BENCHMARKS
from fgrpo_bench.config.load import digest
from fgrpo_bench.errors import Failed, UserError, fault
from fgrpo_bench.grading.blocks import Tally, grade_block
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.directory import begin, inspect, locked
from fgrpo_bench.rundir.manifest import (
    environment,
    now,
    read_manifest,
    resume_manifest,
    write_manifest,
)
from fgrpo_bench.rundir.results import Evaluation, read_evaluation, write_results
from fgrpo_bench.sampling.engines.base import Engine, Settings
from fgrpo_bench.sampling.plan import WHOLE, Shard
from fgrpo_bench.sampling.repeats import collapse_warning
from fgrpo_bench.sampling.results import problems_table, results_of
from fgrpo_bench.sampling.run import Sampling, prompts_hash
from fgrpo_bench.sampling.store import SCHEMA

MOST_ERRORS: Final = 0.001  # share of samples on which the grader may fail
QUIET: Final = 2.0  # seconds of grading before its progress is shown
_REMEDY: Final = "use another --out"
Progress: TypeAlias = Callable[[str, int, int], None]


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
    on_progress: Progress,
    say: Callable[[str], None],
) -> Evaluation | None:
    """Sample what is missing of a task, grade it, and write the results once all is there.

    Args:
        task: with its problems.
        engine: the model.
        wanted: how many samples, and how.
        directory: of the evaluation of this task; made, resumed, or left as it is if finished.
        on_progress: receives what is being done, and the number of samples done and to do here,
            first and after a block.
        say: receives remarks.

    Returns:
        The results, or None while samples of other shards are missing.

    Raises:
        UserError: the directory holds something else, or is in use; engine or data fail.
        Failed: the grader failed on more than a thousandth of the samples.
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
            on_progress(task.name, 0, total)
        sampling.fill(
            blocks,
            engine,
            settings,
            wanted.seed,
            lambda: on_progress(task.name, next(done), total),
        )
        if warning := collapse_warning(task.name, sampling.equal_share, wanted.temperature):
            say(warning)
        if not alone:  # others may have been at work meanwhile
            sampling = _open(task, config, directory)
        tally = _grade(task, sampling, directory, on_progress, say)
        if sampling.missing(wanted.samples, engine.block_rows):
            return None
        problems = problems_table(task, tally)
        write_bytes(directory / "problems.parquet", problems.to_parquet(index=False))
        if begun:
            write_manifest(directory, manifest | {"finished": now()})
        results = results_of(task, config, problems, tally, sampling.tokens)
        write_results(directory, results)
        return results


def regrade(
    task: Task, directory: Path, command: str, on_progress: Progress, say: Callable[[str], None]
) -> Evaluation:
    """Grade all samples of a finished evaluation anew, without its model.

    Args:
        task: with its problems, the same as when it was sampled.
        directory: of the evaluation of this task.
        command: for the manifest.
        on_progress: as in ``evaluate``.
        say: receives remarks.

    Raises:
        UserError: no finished evaluation is there, of other prompts, or in use; damaged samples.
        Failed: the grader failed on more than a thousandth of the samples.
    """
    with locked(directory):
        config = read_config(directory)
        if prompts_hash(task.problems) != config["prompts_sha256"]:
            raise UserError(
                f"{directory} was sampled with other prompts than the rows give now: give the same "
                "rows by --data FILE"
            )
        samples = read_evaluation(directory).benchmarks[0].samples
        sampling = _open(task, config, directory)
        manifest = read_manifest(directory, "run the evaluation again")
        manifest.pop("schema", None)
        tally = _grade(task, sampling, directory, on_progress, say, anew=True)
        if tally.n.min() < samples:
            raise fault(directory, f"fewer than {samples} samples of a problem; run it again")
        problems = problems_table(task, tally)
        write_bytes(directory / "problems.parquet", problems.to_parquet(index=False))
        again = {"command": command, "time": now(), **environment()}
        write_manifest(directory, {**manifest, "regraded": [*manifest.get("regraded", []), again]})
        results = results_of(task, config, problems, tally, sampling.tokens)
        write_results(directory, results)
        return results


def read_config(directory: Path) -> dict[str, Any]:
    """Return the configuration of an evaluation.

    Raises:
        UserError: there is none.
    """
    try:
        config = json.loads((directory / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        config = None
    if not isinstance(config, dict) or config.get("experiment") != "eval":
        raise UserError(f"{directory} is no evaluation: name one with --out or --model")
    return config


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


def _grade(
    task: Task,
    sampling: Sampling,
    directory: Path,
    on_progress: Progress,
    say: Callable[[str], None],
    anew: bool = False,
) -> Tally:
    benchmark = BENCHMARKS[task.benchmark]
    tally = Tally(len(task.problems), benchmark.rates is not None)
    total, begun = sum(stored.block.rows for stored in sampling.stored), time.monotonic()
    for stored in sampling.stored:
        grades = grade_block(
            stored, task.problems, directory / "grades", benchmark.grade, benchmark.grader, anew
        )
        tally.add(stored.block, *grades)
        if time.monotonic() - begun > QUIET:
            on_progress(f"{task.name} graded", tally.outcomes.total(), total)
    _check_errors(task.name, tally, say)
    return tally


def _check_errors(name: str, tally: Tally, say: Callable[[str], None]) -> None:
    errors, total = tally.outcomes["grader_error"], tally.outcomes.total()
    if not errors:
        return
    found = f"{name}: the grader failed on {errors} of {total} samples"
    if errors > MOST_ERRORS * total:
        raise Failed(
            f"{found}, more than {MOST_ERRORS:.1%}: no results are written, the samples are kept; "
            "mend what the warnings above name and run the same command again"
        )
    say(f"warning: {found}, counted as not correct")


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
