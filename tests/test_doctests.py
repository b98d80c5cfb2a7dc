"""The examples in docstrings are true."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["errors", "rng", "methods.focal", "stats.pass_at_k"])
def test_examples(name):
    result = doctest.testmod(import_module(f"fgrpo_bench.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
