"""``fgrpo-bench presets``: what is shipped."""

from fgrpo_bench.config.load import describe_preset, load_preset, preset_names
from fgrpo_bench.errors import UserError
from fgrpo_bench.maze.recipe import shipped_base


def presets() -> None:
    """Print each preset with its first line of description, size, length and base."""
    for name in preset_names():
        config = load_preset(name)[1]
        try:
            base = f"base {shipped_base(config)} shipped"
        except UserError:
            base = "base trained first"
        train = config.train
        print(f"{name}: {describe_preset(name)}")
        print(
            f"  {config.maze.size}x{config.maze.size} mazes, {train.steps} steps of "
            f"{train.prompts} prompts, gamma {config.method.gamma:g}, {base}"
        )
