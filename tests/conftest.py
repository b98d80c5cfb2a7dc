"""Shared fixtures: the reference data beside a checkout, and a tiny experiment."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)

MICRO = """
[maze]
size = 9
train_mazes = 300
evaluation_mazes = 24
data_seed = 3
max_answer_tokens = 31

[model]
width = 32
layers = 1
heads = 2
kv_heads = 2
ffn = 32
positions = "learned"

[base]
train = true
steps = 200
batch = 16
learning_rate = 1e-2
warmup = 2
gate = [0.0, 1.0]

[train]
steps = 24
prompts = 8
minibatches = 2
learning_rate = 5e-4

[method]
gamma = 1.0

[evaluation]
every = 4
k = [1, 4, 16, 64]
"""


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of the tests' own, for this process and those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FGRPO_BENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of reference data; tests that need it are skipped where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("FGRPO_BENCH_REFERENCE", beside))
    if not folder.is_dir():
        pytest.skip("the folder of reference data is not on this machine")
    return folder


@pytest.fixture(scope="session")
def micro_preset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A preset whose whole experiment takes seconds."""
    path = tmp_path_factory.mktemp("preset") / "micro.toml"
    path.write_text(MICRO, "utf-8")
    return path
