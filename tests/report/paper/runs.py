"""Finished run directories without a run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fgrpo_bench.rundir.results import BenchmarkResult, Results, TrainingTotals, write_results


def make_run(
    directory: Path,
    benchmarks: Mapping[str, Mapping[str, float]],
    preset: str = "maze-paper",
    method: str = "fgrpo",
    gamma: float = 0.5,
    group_size: int = 8,
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    stage: str = "final",
    stratum: str | None = None,
) -> None:
    """Write what a finished run leaves behind, as far as reports of pass@k read it."""
    directory.mkdir(parents=True)
    same = {"preset": preset, "method": method, "gamma": gamma, "seed": seed}
    cell = {**same, "group_size": group_size, "overrides": dict(overrides or {})}
    config = {"experiment": "synthetic", **cell, "config": {"train": {"steps": 3}}}
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "manifest.json").write_text(json.dumps({"schema": 1, "command": "none"}))
    measured = [
        BenchmarkResult(
            name=name,
            stage=stage,
            stratum=stratum,
            problems=30,
            samples=1024,
            exact=False,
            pass_at_k=dict(curve),
        )
        for name, curve in benchmarks.items()
    ]
    totals = TrainingTotals(steps=3, rollouts=3, tokens=3, clip_fraction=0.0)
    write_results(directory, Results(**cell, benchmarks=measured, training=totals, outcomes={}))
