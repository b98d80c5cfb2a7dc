"""``fgrpo-bench bench``: measure the speed of a part, against what it is held to."""

import os
from pathlib import Path
from typing import Any

from fgrpo_bench.commands.progress import say
from fgrpo_bench.errors import UserError, suggestion
from fgrpo_bench.rundir.atomic import write_json
from fgrpo_bench.rundir.manifest import environment, now

BENCHES = ("maze", "stats", "sampling")


def bench(
    name: str, preset: str | None, group_size: int | None, model: str | None, json: Path | None
) -> None:
    """Run the benchmark of that name, print its result, and write it to ``json`` if given.

    Args:
        name: ``maze``, ``stats`` or ``sampling``.
        preset: for ``maze``; None for maze-small.
        group_size: for ``maze``; None for 16.
        model: for ``sampling``: a checkpoint to measure the hf engine with.
        json: file for everything that was measured.

    Raises:
        UserError: no such benchmark, bad input, or no folder for the file.
    """
    if name not in BENCHES:
        raise UserError(f"no bench '{name}': {suggestion(name, BENCHES)}")
    if json is not None and not json.parent.is_dir():
        raise UserError(f"--json {json}: there is no folder {json.parent}")
    if json is not None and (json.is_dir() or not os.access(json.parent, os.W_OK)):
        raise UserError(f"--json {json}: no file can be written there; choose another place")
    result = {**_measured(name, preset, group_size, model), **environment()}
    if json is not None:
        write_json(json, {"schema": 1, "bench": name, "created": now(), **result})
        say(f"written: {json}")


def _measured(
    name: str, preset: str | None, group_size: int | None, model: str | None
) -> dict[str, Any]:
    if name != "maze" and (preset is not None or group_size is not None):
        raise UserError(f"bench {name} takes no --preset and no --n: leave them out")
    if name != "sampling" and model is not None:
        raise UserError(f"bench {name} takes no --model: leave it out")
    if name == "sampling":
        from fgrpo_bench.commands.bench_sampling import bench_sampling

        return bench_sampling(model)
    if name == "stats":
        from fgrpo_bench.commands.bench_stats import bench_stats

        return bench_stats()
    from fgrpo_bench.commands.bench_maze import bench_maze

    return bench_maze(preset or "maze-small", 16 if group_size is None else group_size)
