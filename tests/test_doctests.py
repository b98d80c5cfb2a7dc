"""The examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import fgrpo_bench

ROOT = Path(fgrpo_bench.__file__).parent
NAMES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted(ROOT.rglob("*.py"))
    if ">>>" in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", NAMES)
def test_examples(name):
    result = doctest.testmod(import_module(f"fgrpo_bench.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
