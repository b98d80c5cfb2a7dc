"""``results.json``: what a finished run found. No wall times, so equal runs give equal bytes."""

import json
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fgrpo_bench.errors import UserError
from fgrpo_bench.rundir.atomic import write_json

SCHEMA: Final = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class BenchmarkResult(_Record):
    """pass@k of one stage on one benchmark, or on one stratum of it.

    ``samples`` is 0 and ``exact`` true where the success probabilities themselves are known.
    """

    name: str
    stratum: str | None = None
    stage: str
    problems: int
    samples: int
    exact: bool
    pass_at_k: dict[str, float]


class TrainingTotals(_Record):
    """What training consumed, and the share of answer tokens whose ratio was clipped."""

    steps: int
    rollouts: int
    tokens: int
    clip_fraction: float


class Results(_Record):
    """Everything a comparison needs of one run; fractions in [0, 1]."""

    schema_version: Literal[1] = SCHEMA
    preset: str
    method: str
    group_size: int
    gamma: float
    seed: int
    overrides: dict[str, Any]
    benchmarks: list[BenchmarkResult]
    training: TrainingTotals
    outcomes: dict[str, int]


class Evaluation(_Record):
    """What an evaluation of one task found.

    ``distinct`` is the mean number of different right answers found to a problem, over all and by
    stratum; ``rates`` further accuracies of a benchmark that has some; ``tokens`` the length of all
    responses together, None where it is not known.
    """

    schema_version: Literal[1] = SCHEMA
    task: str
    engine: str
    model: dict[str, Any]
    sampling: dict[str, Any]
    seed: int
    grader: str
    benchmarks: list[BenchmarkResult]
    distinct: dict[str, float]
    outcomes: dict[str, int]
    rates: dict[str, float] = {}
    tokens: int | None


_Kind = TypeVar("_Kind", Results, Evaluation)


def write_results(directory: Path, results: Results | Evaluation) -> None:
    """Write ``results.json``, the last file of a run: its presence means finished."""
    value = results.model_dump(mode="json")
    write_json(directory / "results.json", {"schema": value.pop("schema_version"), **value})


def read_results(directory: Path) -> Results:
    """Read a finished run's ``results.json``.

    Raises:
        UserError: a missing, damaged or newer file, named.
    """
    return _read(directory / "results.json", Results, "run it again with --force")


def read_evaluation(directory: Path) -> Evaluation:
    """Read a finished evaluation's ``results.json``.

    Raises:
        UserError: a missing, damaged or newer file, named.
    """
    again = "delete it and run the evaluation again, its samples are kept"
    return _read(directory / "results.json", Evaluation, again)


def _read(path: Path, kind: type[_Kind], again: str) -> _Kind:
    try:
        value = json.loads(path.read_text("utf-8"))
        if value.get("schema") != SCHEMA:
            raise UserError(f"{path} has schema {value.get('schema')}; this version reads {SCHEMA}")
        return kind(**{k: v for k, v in value.items() if k != "schema"})
    except FileNotFoundError:
        raise UserError(f"{path} is missing: the run is not finished; run it again") from None
    except (OSError, ValueError, AttributeError, TypeError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} is damaged ({reason}); {again}") from None
