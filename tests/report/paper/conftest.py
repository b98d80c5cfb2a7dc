"""The published tables, and the bounds from their curves, computed once."""

import pytest

from fgrpo_bench.report.paper.published import Published, load
from fgrpo_bench.report.paper.retest import Bounds, bounds
from fgrpo_bench.report.paper.summary import Retest, retest


@pytest.fixture(scope="session")
def published() -> Published:
    return load()


@pytest.fixture(scope="session")
def known(published: Published) -> Bounds:
    return bounds(published)


@pytest.fixture(scope="session")
def found(published: Published, known: Bounds) -> Retest:
    return retest(published, known)
