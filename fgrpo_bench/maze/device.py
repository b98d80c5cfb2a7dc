"""Where the mazes are trained: on a core, or on a CUDA GPU where a preset asks for one."""

import os

import torch

from fgrpo_bench.config.schema import MazeConfig


def device(config: MazeConfig) -> torch.device:
    """Return the device of a configuration's models: the first visible GPU, or the CPU."""
    return torch.device("cuda" if gpus(config) else "cpu")


def gpus(config: MazeConfig) -> list[str]:
    """Return the GPUs to use, as ``CUDA_VISIBLE_DEVICES`` names them; none means the CPU."""
    if config.train.device == "cpu" or not torch.cuda.is_available():
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = torch.cuda.device_count()
    return named.split(",")[:count] if named else [str(index) for index in range(count)]
