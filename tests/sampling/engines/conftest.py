"""One tiny checkpoint of each architecture for all tests of engines."""

from pathlib import Path

import pytest

from tests.sampling.engines import tiny


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture(scope="session")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tmp_path_factory.mktemp("models") / "tiny-qwen", "qwen2", seed=1)
