"""``fgrpo-bench bench``: measure a part, against what it is held to."""

import os
from pathlib import Path
from typing import Any

from fgrpo_bench.commands.progress import say
from fgrpo_bench.errors import UserError, suggestion
from fgrpo_bench.rundir.atomic import write_bytes, write_json
from fgrpo_bench.rundir.manifest import environment, now

BENCHES = ("maze", "stats", "sampling", "grading")


def bench(
    name: str,
    preset: str | None,
    group_size: int | None,
    model: str | None,
    data: Path | None,
    json: Path | None,
) -> None:
    """Run the benchmark of that name, print its result, and write it to ``json`` if given.

    Args:
        name: one of ``BENCHES``.
        preset: for ``maze``; None for maze-small.
        group_size: for ``maze``; None for 16.
        model: for ``sampling``: a checkpoint to measure the hf engine with.
        data: for ``grading``: a folder with rows of the benchmarks.
        json: file for everything that was measured; what there is to read goes beside it, as .md.

    Raises:
        UserError: no such benchmark, bad input, or no folder for the file.
    """
    if name not in BENCHES:
        raise UserError(f"no bench '{name}': {suggestion(name, BENCHES)}")
    if json is not None and not json.parent.is_dir():
        raise UserError(f"--json {json}: there is no folder {json.parent}")
    if json is not None and (json.is_dir() or not os.access(json.parent, os.W_OK)):
        raise UserError(f"--json {json}: no file can be written there; choose another place")
    _check_options(name, preset, group_size, model, data)
    result, report = _measured(name, preset, group_size, model, data)
    if json is not None:
        about = {"schema": 1, "bench": name, "created": now()}
        write_json(json, {**about, **result, **environment()})
        say(f"written: {json}")
    if json is not None and report is not None:
        write_bytes(json.with_suffix(".md"), report.encode("utf-8", "replace"))
        say(f"written: {json.with_suffix('.md')}")


def _check_options(
    name: str, preset: str | None, group_size: int | None, model: str | None, data: Path | None
) -> None:
    if name != "maze" and (preset is not None or group_size is not None):
        raise UserError(f"bench {name} takes no --preset and no --n: leave them out")
    if name != "sampling" and model is not None:
        raise UserError(f"bench {name} takes no --model: leave it out")
    if name != "grading" and data is not None:
        raise UserError(f"bench {name} takes no --data: leave it out")


def _measured(
    name: str, preset: str | None, group_size: int | None, model: str | None, data: Path | None
) -> tuple[dict[str, Any], str | None]:
    """Return what was measured, and a report to read where there is one."""
    if name == "grading":
        from fgrpo_bench.commands.bench_grading import bench_grading

        return bench_grading(data)
    if name == "sampling":
        from fgrpo_bench.commands.bench_sampling import bench_sampling

        return bench_sampling(model), None
    if name == "stats":
        from fgrpo_bench.commands.bench_stats import bench_stats

        return bench_stats(), None
    from fgrpo_bench.commands.bench_maze import bench_maze

    size = 16 if group_size is None else group_size
    return bench_maze(preset or "maze-small", size), None
