"""Find finished runs and put those together that can be compared."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fgrpo_bench.config.load import digest
from fgrpo_bench.errors import UserError
from fgrpo_bench.maze.grid import completed
from fgrpo_bench.methods.registry import METHODS
from fgrpo_bench.rundir.results import BenchmarkResult, Results, read_results
from fgrpo_bench.stats.pass_at_k import exact_pass_at_k, pass_at_k

Floats = NDArray[np.float64]
SATURATED = 0.5
_NOT_SETTINGS = ("evaluation.", "method.gamma", "base.train", "base.gate")


@dataclass(frozen=True)
class Run:
    """A finished run, where it lies, and what decided it.

    ``settings`` is the resolved configuration as {"section.key": value}, without what the columns
    of a table or the names of its rows tell anyway and what does not move the numbers.
    """

    directory: Path
    results: Results
    settings: dict[str, Any]

    def curve(self, stage: str, stratum: str | None = None) -> BenchmarkResult:
        """Return pass@k of a stage, over all problems or one stratum; exact if that is known."""
        results = [
            result
            for result in self.results.benchmarks
            if (result.stage, result.stratum) == (stage, stratum)
        ]
        if not results:
            raise UserError(f"{self.directory}/results.json has no pass@k of stage '{stage}'")
        return max(results, key=lambda result: result.exact)

    def pass_at_k(self, stage: str, ks: Sequence[int]) -> Floats:
        """Return pass@k of a stage at any k, [K], from its problems; NaN beyond the samples."""
        columns = ["stage", "n", "c", "p_exact"]
        problems = _read(self.directory / "problems.parquet", columns)
        rows = problems[problems["stage"] == stage]
        if rows["p_exact"].notna().all():
            return exact_pass_at_k(rows["p_exact"].to_numpy(dtype=np.float64), ks)
        counts = rows[["n", "c"]].to_numpy()[:, :, None]
        return pass_at_k(counts[:, 0], counts[:, 1], ks).mean(axis=0)

    def sampling_error(self, stage: str) -> float:
        """Return the standard error that sampling alone gives pass@1 of a stage; NaN if n is 1."""
        problems = _read(self.directory / "problems.parquet", ["stage", "n", "c"])
        rows = problems[problems["stage"] == stage]
        n, rate = rows["n"].to_numpy(), (rows["c"] / rows["n"]).to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = rate * (1 - rate) / (n - 1)
        return float(np.sqrt(variance.sum()) / len(rows))

    def samples(self, stage: str) -> pd.DataFrame | None:
        """Return the kept samples of a stage with their outcomes; None if the run keeps none.

        Columns are problem_id, prompt, response and outcome.
        """
        folder = self.directory / "samples"
        if not folder.exists():  # a run made before samples were kept
            return None
        which = ["problem_id", "sample"]
        samples = _read(folder / f"{stage}.parquet", [*which, "prompt", "response"])
        grades = _read(self.directory / "grades" / f"{stage}.parquet", [*which, "outcome"])
        if not samples[which].equals(grades[which]):
            raise UserError(
                f"{folder}/{stage}.parquet and its grades are not of the same samples; "
                "run it again with --force"
            )
        return samples.assign(outcome=grades["outcome"])


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    try:
        return pd.read_parquet(path, columns=columns)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} cannot be read ({reason}); run it again with --force") from None


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed."""

    label: str
    runs: list[Run]

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.runs[0].results.method

    def values(self, ks: Sequence[int], stratum: str | None = None) -> Floats:
        """Return the final pass@k of every seed, [seeds, K]."""
        curves = [run.curve("final", stratum).pass_at_k for run in self.runs]
        return np.array([[curve[str(k)] for k in ks] for curve in curves])


@dataclass(frozen=True)
class Comparison:
    """Groups that share preset, problems, base and k, and so can be compared.

    ``overrides`` is what all of them set otherwise than the preset.
    """

    preset: str
    benchmark: str
    ks: list[int]
    groups: list[Group]
    overrides: dict[str, Any]

    @property
    def reference(self) -> Run:
        """A run to read guesser and base from: they are the same in all of them."""
        return self.groups[0].runs[0]

    def values(self, stage: str, stratum: str | None = None) -> Floats:
        """Return pass@k of ``guesser`` or ``base``, [K]."""
        curve = self.reference.curve(stage, stratum).pass_at_k
        return np.array([curve[str(k)] for k in self.ks])

    @property
    def saturated(self) -> list[bool]:
        """Whether the guesser exceeds one half at each k: there, skill cannot be told."""
        return (self.values("guesser") > SATURATED).tolist()

    @property
    def headline(self) -> int:
        """The largest unsaturated k, or the smallest of all if there is none."""
        good = [k for k, bad in zip(self.ks, self.saturated, strict=True) if not bad]
        return max(good, default=self.ks[0])


def find_runs(paths: Iterable[Path]) -> tuple[list[Run], list[Path]]:
    """Return the finished runs at or under ``paths``, and the directories of unfinished ones.

    Raises:
        UserError: a path that does not exist, none with a finished run, or the same run twice.
    """
    runs, unfinished = search(paths)
    if not runs:
        where = ", ".join(map(str, paths))
        raise UserError(f"no finished run under {where}: start one with 'fgrpo-bench run'")
    return runs, unfinished


def search(paths: Iterable[Path]) -> tuple[list[Run], list[Path]]:
    """Return what ``find_runs`` does, and two empty lists where there is nothing.

    Raises:
        UserError: a path that does not exist, or the same run twice.
    """
    directories: dict[Path, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise UserError(f"{path} is no directory: name run directories or a folder of them")
        for file in sorted(path.rglob("config.json")):
            directories.setdefault(file.parent.resolve(), file.parent)
    runs, unfinished, seen = [], [], dict[str, Path]()
    for directory in directories.values():
        config = _config(directory)
        if config is None:
            continue
        if not (directory / "results.json").exists():
            unfinished.append(directory)
            continue
        if (twin := seen.setdefault(digest(config), directory)) != directory:
            raise UserError(f"{directory} and {twin} are the same run: name only one of them")
        runs.append(Run(directory, read_results(directory), _settings(config)))
    return runs, unfinished


def _config(directory: Path) -> dict[str, Any] | None:
    """Return a run's ``config.json``, None if the directory is no run."""
    try:
        value = json.loads((directory / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(value, dict) and value.get("experiment") not in (None, "eval")
    return completed(value) if known else None


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    """Flatten the resolved configuration of a run that ``results.json`` vouches for."""
    return {
        f"{section}.{key}": value
        for section, values in config["config"].items()
        for key, value in values.items()
        if not f"{section}.{key}".startswith(_NOT_SETTINGS)
    }


def compare(runs: Sequence[Run]) -> list[Comparison]:
    """Group runs over seeds, then collect the groups that share everything a comparison needs."""
    comparisons: dict[str, list[Run]] = {}
    for run in runs:
        comparisons.setdefault(_shared(run), []).append(run)
    return [_comparison(members) for members in comparisons.values()]


def _shared(run: Run) -> str:
    curve = run.curve("base")
    same: list[Any] = [
        run.results.preset,
        curve.name,
        curve.pass_at_k,
        run.curve("guesser").pass_at_k,
    ]
    return json.dumps(same)


def _comparison(runs: list[Run]) -> Comparison:
    first = runs[0]
    varied = [k for k, v in first.settings.items() if any(r.settings.get(k) != v for r in runs)]
    groups: dict[str, list[Run]] = {}
    seen: set[tuple[str, int]] = set()
    for run in sorted(runs, key=lambda run: _order(run, varied)):
        label, seed = _label(run, varied), run.results.seed
        if (label, seed) not in seen:  # evaluated otherwise, but the same training: no new seed
            groups.setdefault(label, []).append(run)
        seen.add((label, seed))
    curve = first.curve("base")
    overrides = {k: v for k, v in first.results.overrides.items() if k in first.settings}
    return Comparison(
        preset=first.results.preset,
        benchmark=curve.name,
        ks=[int(k) for k in curve.pass_at_k],
        groups=[Group(label, members) for label, members in groups.items()],
        overrides={k: v for k, v in overrides.items() if k not in varied},
    )


def _order(run: Run, varied: list[str]) -> tuple[Any, ...]:
    """Methods in the order of the registry, then group size, gamma, settings and seed."""
    results, names = run.results, list(METHODS)
    place = names.index(results.method) if results.method in names else len(names)
    values = [run.settings.get(key) for key in varied]
    settings = [(v if isinstance(v, int | float) else 0.0, str(v)) for v in values]
    return place, results.group_size, results.gamma, settings, results.seed


def _label(run: Run, varied: list[str]) -> str:
    """Name a group by what sets it apart; what all groups share is in the title."""
    results, method = run.results, METHODS.get(run.results.method)
    parts = [method.title if method else results.method, f"N={results.group_size}"]
    if results.gamma or (method and method.focal):
        parts.append(f"γ={results.gamma:g}")
    return " ".join(parts + [f"{k.partition('.')[2]}={run.settings.get(k)}" for k in varied])
