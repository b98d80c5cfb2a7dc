"""``fgrpo-bench bench``: measure the speed of a part, against what it is held to."""

import os
from typing import TYPE_CHECKING, Any, Final

from fgrpo_bench.commands.progress import say
from fgrpo_bench.errors import UserError, suggestion
from fgrpo_bench.rundir.atomic import write_bytes, write_json
from fgrpo_bench.rundir.manifest import environment, now

if TYPE_CHECKING:
    from fgrpo_bench.options import Bench

_TAKES: Final[dict[str, tuple[str, ...]]] = {
    "maze": ("preset", "n"),
    "stats": (),
    "sampling": ("model",),
    "grading": ("data",),
}
BENCHES: Final = tuple(_TAKES)


def bench(command: "Bench") -> None:
    """Run the benchmark of that name, print its result, and write it to a file if one is named.

    Raises:
        UserError: no such benchmark, bad input, or no folder for the file.
    """
    name, file = command.name, command.json
    if name not in BENCHES:
        raise UserError(f"no bench '{name}': {suggestion(name, BENCHES)}")
    for option in (option for options in _TAKES.values() for option in options):
        if getattr(command, option) is not None and option not in _TAKES[name]:
            raise UserError(f"bench {name} takes no --{option}: leave it out")
    if file is not None and not file.parent.is_dir():
        raise UserError(f"--json {file}: there is no folder {file.parent}")
    if file is not None and (file.is_dir() or not os.access(file.parent, os.W_OK)):
        raise UserError(f"--json {file}: no file can be written there; choose another place")
    result, report = _measured(command)
    if file is None:
        return
    about = {"schema": 1, "bench": name, "created": now()}
    write_json(file, {**about, **result, **environment()})
    say(f"written: {file}")
    if report is not None:
        write_bytes(file.with_suffix(".md"), report.encode("utf-8", "replace"))
        say(f"written: {file.with_suffix('.md')}")


def _measured(command: "Bench") -> tuple[dict[str, Any], str | None]:
    """Return what was measured, and a report to read where there is one."""
    if command.name == "grading":
        from fgrpo_bench.commands.bench_grading import bench_grading

        return bench_grading(command.data)
    if command.name == "sampling":
        from fgrpo_bench.commands.bench_sampling import bench_sampling

        return bench_sampling(command.model), None
    if command.name == "stats":
        from fgrpo_bench.commands.bench_stats import bench_stats

        return bench_stats(), None
    from fgrpo_bench.commands.bench_maze import bench_maze

    size = 16 if command.n is None else command.n
    return bench_maze(command.preset or "maze-small", size), None
