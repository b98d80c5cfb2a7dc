"""One cell of a maze experiment: base, RL, evaluation, and the files of its run directory."""

import copy
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from fgrpo_bench.config.load import digest
from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.maze.checkpoint import new_training, restore_training, save_weights
from fgrpo_bench.maze.data import MazeData, Progress, content_hash, load_mazes
from fgrpo_bench.maze.device import device
from fgrpo_bench.maze.drawn import draw, drawn_problems
from fgrpo_bench.maze.evaluate import Measured, guesser_success, measure
from fgrpo_bench.maze.generate import Mazes
from fgrpo_bench.maze.grid import Cell, completed
from fgrpo_bench.maze.model import Transformer
from fgrpo_bench.maze.sft import Base, load_base
from fgrpo_bench.maze.tokens import VOCABULARY, encode_prompts
from fgrpo_bench.maze.train import train
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.directory import begin, inspect, locked
from fgrpo_bench.rundir.manifest import environment, now, resume_manifest, write_manifest
from fgrpo_bench.rundir.results import BenchmarkResult, Results, TrainingTotals, write_results
from fgrpo_bench.stats.pass_at_k import exact_pass_at_k, pass_at_k


def run(cell: Cell, directory: Path, progress: Progress) -> None:
    """Run a cell in its directory, from its last checkpoint if it has one.

    Args:
        cell: what to run.
        directory: the run directory; a trained base lies beside it.
        progress: receives each evaluation's metrics.

    Raises:
        UserError: another process holds the directory, or a file in it is damaged.
    """
    with locked(directory):
        if inspect(directory, cell.to_json(), completed) == "finished":
            return  # by another command, in the meantime
        begin(directory, cell.to_json())
        config = cell.config
        data, base = load_mazes(config, progress), load_base(config, directory.parent)
        base.model.to(device(config))
        mazes = data.split(config.evaluation.split)
        manifest = resume_manifest(directory, _manifest(cell, data, base))
        write_manifest(directory, manifest)
        # Of the base the draws belong to the preset, so that runs of all seeds share its figures.
        stages = {
            "guesser": Measured(guesser_success(data.training, mazes)),
            "base": measure(base.model, mazes, config, config.maze.data_seed, extra=True),
        }
        reference = copy.deepcopy(base.model)
        training = new_training(base.model, config.train.learning_rate, config.train.weight_decay)
        if config.method.success == "running":
            pool = config.train.pool or len(data.training)
            training.history = torch.full((pool, config.method.window), torch.nan).double()
        restore_training(directory / "checkpoints", training)
        sets = data.training, mazes
        train(cell, training, reference, sets, directory, progress)
        stages["final"] = measure(training.model, mazes, config, cell.seed, extra=True)
        save_weights(directory / "checkpoints" / "final.safetensors", training.model)
        _write_drawn(cell, directory, mazes, stages["base"], (reference, training.model))
        problems = _problems(cell, mazes, stages)
        write_bytes(directory / "problems.parquet", problems.to_parquet(index=False))
        write_manifest(directory, manifest | {"finished": now()})
        write_results(directory, _results(cell, problems, training.totals))
        for checkpoint in (directory / "checkpoints").glob("step-*.safetensors"):
            checkpoint.unlink()


def benchmark_name(cell: Cell) -> str:
    """Return the name of the benchmark that a cell is evaluated on."""
    size, split = cell.config.maze.size, cell.config.evaluation.split
    return f"maze-{size}x{size}" + ("" if split == "heldout" else f"-{split}")


def _problem_ids(cell: Cell, count: int) -> list[str]:
    return [f"{cell.config.evaluation.split}-{index:05d}" for index in range(count)]


def _write_drawn(
    cell: Cell,
    directory: Path,
    mazes: Mazes,
    base: Measured,
    models: tuple[Transformer, Transformer],
) -> None:
    """Write samples and grades of base and final policy on the mazes that reports draw."""
    ids, index = _problem_ids(cell, len(mazes)), drawn_problems(base.rate)
    few, names = mazes.take(np.array(index)), [ids[i] for i in index]
    for kind in ("samples", "grades"):
        (directory / kind).mkdir(exist_ok=True)
    seeds = cell.config.maze.data_seed, cell.seed
    for stage, model, seed in zip(("base", "final"), models, seeds, strict=True):
        samples, grades = draw(model, few, names, cell.config, seed)
        write_bytes(directory / "samples" / f"{stage}.parquet", samples.to_parquet(index=False))
        write_bytes(directory / "grades" / f"{stage}.parquet", grades.to_parquet(index=False))


def _problems(cell: Cell, mazes: Mazes, stages: dict[str, Measured]) -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame(
            {
                "benchmark": benchmark_name(cell),
                "problem_id": _problem_ids(cell, len(mazes)),
                "stratum": np.where(mazes.monotone, "monotone", "detour"),
                "stage": stage,
                "n": measured.n,
                "c": 0 if measured.c is None else measured.c,
                "p_exact": np.nan if measured.p_exact is None else measured.p_exact,
            }
        )
        for stage, measured in stages.items()
    )


def _results(cell: Cell, problems: pd.DataFrame, totals: dict[str, float]) -> Results:
    benchmarks = []
    for stage, rows in problems.groupby("stage", sort=False):
        parts = [(None, rows), *((str(s), part) for s, part in rows.groupby("stratum"))]
        if rows["p_exact"].notna().all():
            benchmarks += [_exact(cell, str(stage), *part) for part in parts]
        if rows["n"].all():
            benchmarks += [_sampled(cell, str(stage), *part) for part in parts]
    training = TrainingTotals(
        steps=cell.config.train.steps,
        rollouts=int(totals["rollouts"]),
        tokens=int(totals["tokens"]),
        clip_fraction=totals["clipped"] / totals["tokens"],
    )
    return Results(
        preset=cell.preset,
        method=cell.method,
        group_size=cell.group_size,
        gamma=cell.gamma,
        seed=cell.seed,
        overrides=cell.overrides,
        benchmarks=benchmarks,
        training=training,
        outcomes={name: int(totals[name]) for name in ("correct", "wrong", "truncated")},
    )


def _exact(cell: Cell, stage: str, stratum: str | None, rows: pd.DataFrame) -> BenchmarkResult:
    ks = cell.config.evaluation.k
    curve = exact_pass_at_k(rows["p_exact"].to_numpy(), ks)
    return _benchmark(cell, stage, stratum, len(rows), 0, dict(zip(ks, curve, strict=True)))


def _sampled(cell: Cell, stage: str, stratum: str | None, rows: pd.DataFrame) -> BenchmarkResult:
    samples = cell.config.evaluation.samples
    ks = [k for k in cell.config.evaluation.k if k <= samples]
    curve = pass_at_k(samples, rows["c"].to_numpy()[:, None], ks).mean(axis=0)
    return _benchmark(cell, stage, stratum, len(rows), samples, dict(zip(ks, curve, strict=True)))


def _benchmark(
    cell: Cell, stage: str, stratum: str | None, problems: int, samples: int, curve: dict[int, Any]
) -> BenchmarkResult:
    return BenchmarkResult(
        name=benchmark_name(cell),
        stratum=stratum,
        stage=stage,
        problems=problems,
        samples=samples,
        exact=samples == 0,
        pass_at_k={str(k): float(value) for k, value in curve.items()},
    )


def _device_name(config: MazeConfig) -> str:
    where = device(config)
    return torch.cuda.get_device_name(where) if where.type == "cuda" else where.type


def _manifest(cell: Cell, data: MazeData, base: Base) -> dict[str, Any]:
    mazes = data.split(cell.config.evaluation.split)
    prompts = encode_prompts(mazes).tobytes() + json.dumps(VOCABULARY).encode()
    return {
        "command": cell.command,
        "config": cell.to_json(),
        "config_hash": digest(cell.to_json()),
        **environment(),
        "device": _device_name(cell.config),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or None,
        "model": {
            "id": "maze base",
            "revision": base.manifest["recipe_hash"],
            "weights_sha256": base.manifest["weights_sha256"],
        },
        "data": {
            "id": benchmark_name(cell),
            "revision": f"data_seed={cell.config.maze.data_seed}",
            "training_sha256": content_hash(data.training),
            "evaluation_sha256": content_hash(mazes),
            "prompts_sha256": hashlib.sha256(prompts).hexdigest(),
        },
        "seeds": {
            "run": cell.seed,
            "data": cell.config.maze.data_seed,
            "base": cell.config.base.seed,
        },
        "started": now(),
    }
