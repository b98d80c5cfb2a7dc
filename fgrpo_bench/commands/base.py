"""``fgrpo-bench base``: make the base checkpoint of a preset."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from fgrpo_bench.commands.progress import progress, say
from fgrpo_bench.config.load import load_preset
from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.errors import UserError
from fgrpo_bench.executor import Job, run_jobs
from fgrpo_bench.maze.recipe import base_is_trained, trained_directory
from fgrpo_bench.rundir.atomic import write_bytes, write_json


def make_base(preset: str, overrides: Sequence[str], out: Path) -> None:
    """Train a preset's base, resumable, and write it with its manifest into ``out``."""
    from fgrpo_bench.maze.sft import load_base

    name, config = load_preset(preset, [*overrides, "base.train=true"])
    work = out / f"{name}-work"
    ensure_trained(work, config)
    base = load_base(config, work)
    there = out / f"{name}.json"
    if there.exists() and base.manifest["recipe_hash"] not in there.read_text("utf-8"):
        raise UserError(f"{there} describes a base of another recipe: choose another --out")
    weights = trained_directory(work, config) / "base.safetensors"
    write_bytes(out / f"{name}.safetensors", weights.read_bytes())
    words = ["fgrpo-bench", "base", "--preset", Path(preset).name]
    command = shlex.join(words + [word for text in overrides for word in ("--set", text)])
    write_json(there, {"command": command, **base.manifest})
    if complaint := base.complaint(config.base.gate):
        say(f"warning: {complaint}")
    curve = "  ".join(f"@{k} {v:.3f}" for k, v in base.manifest["tuning_pass_at_k"].items())
    print(f"{out / name}.safetensors: pass on the tuning mazes {curve}")


def ensure_trained(root: Path, config: MazeConfig) -> None:
    """Train the configuration's base under ``root`` in a worker, unless it is there."""
    if base_is_trained(root, config):
        return
    say(f"training the base: at most {config.base.steps} supervised steps")
    directory = trained_directory(root, config)
    job = Job(directory.name, "base", config.model_dump(mode="json"), directory)
    with progress(config.base.steps, at_most=True) as show_step:
        run_jobs([job], show_step)
