"""``fgrpo-bench run --dry-run``: what a command would do, without doing it."""

from collections.abc import Sequence
from pathlib import Path

from fgrpo_bench.commands.progress import say
from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.maze.grid import Cell
from fgrpo_bench.maze.recipe import base_is_trained, shipped_base, trained_directory


def show(grid: Sequence[Cell], states: dict[str, str], root: Path) -> None:
    """Print the resolved configuration, the base, and every run with its state.

    Args:
        grid: the cells.
        states: state of each cell's directory, by name.
        root: folder of the runs.
    """
    config = grid[0].config
    for section, values in config.model_dump(mode="json").items():
        for key, value in values.items():
            text = str(value).lower() if isinstance(value, bool) else value
            print(f"{section}.{key} = {text}")
    print(f"\nbase: {_base(config, root)}")
    print(f"runs in {root}/:")
    width = max(len(cell.name) for cell in grid)
    for cell in grid:
        print(f"  {cell.name:{width}}  {_progress(cell, states[cell.name], root)}")
    waiting = sum(state != "finished" for state in states.values())
    say(f"dry run: {waiting} of {len(grid)} runs to do; nothing was written")


def _base(config: MazeConfig, root: Path) -> str:
    if not config.base.train:
        return f"{shipped_base(config)}, shipped"
    directory = trained_directory(root, config)
    return f"{directory}, {'trained' if base_is_trained(root, config) else 'to be trained first'}"


def _progress(cell: Cell, state: str, root: Path) -> str:
    if state != "started":
        return {"new": "to do", "finished": "finished"}[state]
    checkpoints = sorted((root / cell.name / "checkpoints").glob("step-*.safetensors"))
    step = int(checkpoints[-1].stem.removeprefix("step-")) if checkpoints else 0
    return f"begun, step {step} of {cell.config.train.steps}"
