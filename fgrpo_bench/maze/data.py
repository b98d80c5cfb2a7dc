"""The mazes of a configuration, and the model shape that fits them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.maze.generate import Mazes, evaluation_sets, training_set
from fgrpo_bench.maze.model import ModelShape
from fgrpo_bench.maze.recipe import positions
from fgrpo_bench.maze.tokens import VOCABULARY

Progress = Callable[[dict[str, Any]], None]
_MANY = 100_000


@dataclass(frozen=True)
class MazeData:
    """Training, tuning and held-out mazes; no maze is in two of them."""

    training: Mazes
    tuning: Mazes
    heldout: Mazes

    def split(self, name: str) -> Mazes:
        """Return the ``tuning`` or ``heldout`` mazes."""
        return {"tuning": self.tuning, "heldout": self.heldout}[name]


def load_mazes(config: MazeConfig, progress: Progress = lambda _: None) -> MazeData:
    """Generate the mazes that belong to a configuration; where that takes long, say so."""
    maze = config.maze
    if maze.train_mazes > _MANY:
        progress({"note": f"growing {maze.train_mazes} mazes"})
    tuning, heldout = evaluation_sets(maze.size, maze.evaluation_mazes, maze.data_seed)
    excluded = {*tuning.keys(), *heldout.keys()}
    training = training_set(maze.size, maze.train_mazes, maze.data_seed, excluded)
    return MazeData(training, tuning, heldout)


def content_hash(mazes: Mazes) -> str:
    """Return the SHA-256 of a set of mazes, in order."""
    return hashlib.sha256(mazes.links.tobytes()).hexdigest()


def model_shape(config: MazeConfig) -> ModelShape:
    """Return the shape of the policy; it has a position for every prompt and answer token."""
    return ModelShape(
        vocabulary=len(VOCABULARY),
        max_positions=positions(config),
        **config.model.model_dump(),
    )
