"""``fgrpo-bench run``: the grid, its workers, and the comparison at the end."""

from collections.abc import Sequence
from pathlib import Path

from fgrpo_bench.commands.base import ensure_trained
from fgrpo_bench.commands.dry_run import show
from fgrpo_bench.commands.progress import progress, say
from fgrpo_bench.executor import Job, cores, run_jobs
from fgrpo_bench.maze.grid import Cell, cells, completed
from fgrpo_bench.maze.recipe import require_base
from fgrpo_bench.methods.focal import mean_advantage_scale
from fgrpo_bench.rundir.directory import check_clearable, clear, inspect


def run(
    methods: Sequence[str],
    group_sizes: Sequence[int],
    gammas: Sequence[float],
    seeds: Sequence[int],
    preset: str,
    overrides: Sequence[str],
    out: Path,
    force: bool,
    dry_run: bool,
) -> None:
    """Train and evaluate every unfinished cell, then print the table of all of them.

    With ``dry_run`` only say what would be done.

    Raises:
        UserError: bad input; nothing has been touched then.
    """
    grid = cells(preset, methods, group_sizes, gammas, seeds, overrides)
    root = out / grid[0].preset
    states: dict[str, str] = {}
    for cell in grid:
        if force:
            check_clearable(root / cell.name)
            states[cell.name] = "new"
        else:
            states[cell.name] = inspect(root / cell.name, cell.to_json(), completed)
    require_base(grid[0].config)
    if dry_run:
        show(grid, states, root)
        return
    waiting = [cell for cell in grid if states[cell.name] != "finished"]
    if waiting:
        _train(grid, waiting, root, force, list(states.values()))
    _conclude(grid, root)


def _announce(
    grid: list[Cell], waiting: list[Cell], states: list[str], gpus: Sequence[str]
) -> None:
    cell, going_on = grid[0], states.count("started")
    train = cell.config.train
    say(
        f"{cell.preset}: {len(waiting)} of {len(grid)} runs to do"
        + (f", {going_on} of them begun" if going_on else "")
        + f"; {train.steps} steps of {train.prompts} prompts in {train.minibatches} mini-batches, "
        f"{min(len(gpus) or cores(), len(waiting))} at a time on the {'GPU' if gpus else 'CPU'}"
    )
    if train.device == "auto" and not gpus:
        say("warning: train.device=auto, but torch finds no CUDA GPU here: this runs on the CPU")
    gammas = sorted({c.gamma for c in waiting if c.gamma})
    if gammas:
        means = ", ".join(f"{g:g} (m = {mean_advantage_scale(g):.2f})" for g in gammas)
        say(f"focal weight (1 - mu)^γ, mu {cell.config.method.success}, γ = {means}")


def _train(
    grid: list[Cell], waiting: list[Cell], root: Path, force: bool, states: list[str]
) -> None:
    """Get the base ready and train; old runs are removed only when all else is in order."""
    from fgrpo_bench.maze.device import gpus
    from fgrpo_bench.maze.sft import load_base

    config = waiting[0].config
    places = gpus(config)
    _announce(grid, waiting, states, places)
    if config.base.train:
        ensure_trained(root, config)
    if complaint := load_base(config, root).complaint(config.base.gate):
        say(f"warning: {complaint}")
    if force:
        clear([root / cell.name for cell in waiting])
    jobs = [Job(cell.name, "cell", cell.to_json(), root / cell.name) for cell in waiting]
    with progress(config.train.steps) as show_step:
        run_jobs(jobs, show_step, places)


def _conclude(grid: list[Cell], root: Path) -> None:
    from fgrpo_bench.report.collect import compare, find_runs
    from fgrpo_bench.report.tables import print_tables

    runs, _ = find_runs([root / cell.name for cell in grid])
    print_tables(compare(runs))
    say(f"runs are in {root}/; figures and tables: fgrpo-bench report {root}")
