"""Find evaluations, show what each found, and take their counts for a comparison."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from fgrpo_bench.benchmarks.registry import BENCHMARKS
from fgrpo_bench.errors import UserError, fault, quoted, shown
from fgrpo_bench.grading.choice import guessing
from fgrpo_bench.report.counts import Counts
from fgrpo_bench.report.grids import Grid
from fgrpo_bench.rundir.directory import differing_keys
from fgrpo_bench.rundir.results import Evaluation, read_evaluation
from fgrpo_bench.stats.intervals import mean_interval
from fgrpo_bench.stats.pass_at_k import pass_at_k

_COLUMNS: Final = ("benchmark", "problem_id", "stratum", "n", "c", "distinct", "doc_hash")
_SHOWN_KS: Final = (1, 4, 16, 64, 256, 1024)
SUMMARY_NOTE: Final = (
    "What was sampled: the interval of pass@1 is over problems; distinct right is the mean number "
    "of different right answers found to a problem; truncated (the length limit came before an "
    "answer) and no answer are shares of all samples; tokens is a sample's mean length."
)
_GUESS_NOTE: Final = (
    "Where uniform guesses exceed one half, pass@k is saturated: it shows diversity, not skill."
)


@dataclass(frozen=True)
class Found:
    """A finished evaluation of one task.

    Attributes:
        directory: where it lies.
        config: its ``config.json``: what decides the distribution of its samples.
        results: its ``results.json``.
        problems: its ``problems.parquet``.
    """

    directory: Path
    config: dict[str, Any]
    results: Evaluation
    problems: pd.DataFrame


def find_evaluations(paths: Iterable[Path]) -> tuple[list[Found], list[Path]]:
    """Return the finished evaluations at or under ``paths``, and directories of unfinished ones.

    Raises:
        UserError: a damaged file.
    """
    found, unfinished, seen = [], [], set()
    for path in paths:
        for file in sorted(path.rglob("config.json")):
            directory, config = file.parent, _config(file)
            if config is None or (real := directory.resolve()) in seen:
                continue
            seen.add(real)
            if (directory / "results.json").exists():
                results = read_evaluation(directory)
                found.append(Found(directory, config, results, _problems(directory)))
            else:
                unfinished.append(directory)
    return found, unfinished


def counts_of(found: Sequence[Found]) -> list[Counts]:
    """Return what was counted, one entry a model: the tasks of a folder belong together.

    Raises:
        UserError: two folders of the same name.
    """
    folders: dict[Path, list[Found]] = {}
    for one in found:
        folders.setdefault(one.directory.resolve().parent, []).append(one)
    names: dict[str, Path] = {}
    for folder in folders:
        if (other := names.setdefault(folder.name, folder)) != folder:
            raise UserError(
                f"{shown(other)} and {shown(folder)} are both called {quoted(folder.name)}: "
                "rename one"
            )
    return [_counts(folder.name, members) for folder, members in folders.items()]


def remarks(found: Sequence[Found]) -> list[str]:
    """Return what a reader must know: the columns, and what differs beside the model and the seed.

    A difference of prompts, temperature or grader may be what is compared, or a mistake.
    """
    first: dict[str, dict[str, Any]] = {}
    differ: dict[str, set[str]] = {}
    for one in found:
        benchmark = one.results.benchmarks[0].name
        own = {key: one.config.get(key) for key in ("task", "engine", "sampling", "prompts_sha256")}
        own["grader"] = one.results.grader
        keys = differing_keys(first.setdefault(benchmark, own), own)
        differ.setdefault(benchmark, set()).update(keys)
    guessed = [_GUESS_NOTE] if any(_guess(one) is not None for one in found) else []
    return [SUMMARY_NOTE, *guessed] + [
        f"{benchmark}: beside model and seed the evaluations differ in {', '.join(sorted(keys))}."
        for benchmark, keys in differ.items()
        if keys
    ]


def summary_grid(found: Sequence[Found]) -> Grid:
    """Return the table of what evaluations found: pass@k, and how the responses ended."""
    most = max(one.results.benchmarks[0].samples for one in found)
    ks = [k for k in _SHOWN_KS if k <= most]
    several = len({one.directory.resolve().parent for one in found}) > 1
    heads = (
        *(("evaluation",) if several else ()),
        "task",
        "problems",
        "samples",
        "pass@1, % [95%]",
        *(f"@{k}" for k in ks[1:]),
    )
    heads += ("distinct right", "truncated", "no answer", "tokens")
    rows = [
        (*((one.directory.resolve().parent.name,) if several else ()), *row)
        for one in found
        for row in _rows(one, ks)
    ]
    return Grid("What was sampled", heads, tuple(rows), 1 + several)


def _rows(found: Found, ks: Sequence[int]) -> list[tuple[str, ...]]:
    results, outcomes = found.results, found.results.outcomes
    total = sum(outcomes.values())
    ends = (
        f"{outcomes['truncated'] / total:.1%}",
        f"{outcomes['no_answer'] / total:.1%}",
        "–" if results.tokens is None else f"{results.tokens / total:.1f}",
    )
    rows = [_row(results.task, found.problems, ks, ends)]
    for name, part in found.problems.groupby("stratum"):
        title = str(name) if str(name).isprintable() else quoted(name)  # it comes from the data
        rows.append(_row(f"  {title}", part, ks, ("", "", "")))
    if (chance := _guess(found)) is not None:
        curve = [f"{100 * value:.1f}" for value in guessing(chance, ks)]
        rows.append(("  uniform guesses", "", "", *curve, "", "", "", ""))
    for name, rate in results.rates.items():
        blank = [""] * (len(ks) - 1 + len(ends) + 1)
        rows.append((f"  {name.replace('_', ' ')}", "", "", f"{100 * rate:.1f}", *blank))
    return rows


def _guess(found: Found) -> float | None:
    benchmark = BENCHMARKS.get(found.results.benchmarks[0].name)
    return benchmark.guess if benchmark else None


def _row(
    name: str, problems: pd.DataFrame, ks: Sequence[int], ends: tuple[str, ...]
) -> tuple[str, ...]:
    n, c = problems["n"].to_numpy(), problems["c"].to_numpy()
    first = mean_interval((c / n)[:, None])
    known = [k for k in ks if k <= n.min()]
    curve = pass_at_k(n[:, None], c[:, None], known).mean(axis=0)
    cells = [f"{100 * value:.1f}" for value in curve[1:]] + ["–"] * (len(ks) - len(known))
    samples = f"{n.min()}" if n.min() == n.max() else f"{n.min()}–{n.max()}"
    one = f"{100 * first.mean[0]:.1f} [{100 * first.low[0]:.1f}, {100 * first.high[0]:.1f}]"
    distinct = f"{problems['distinct'].mean():.2f}"
    return (name, f"{len(problems)}", samples, one, *cells, distinct, *ends)


def _config(file: Path) -> dict[str, Any] | None:
    """Return an evaluation's configuration, None if the file is of something else."""
    try:
        value = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and value.get("experiment") == "eval" else None


def _problems(directory: Path) -> pd.DataFrame:
    path = directory / "problems.parquet"
    try:
        return pd.read_parquet(path, columns=list(_COLUMNS))
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise fault(path, f"cannot be read ({reason}); run the evaluation again") from None


def _counts(name: str, members: Sequence[Found]) -> Counts:
    table = pd.concat([one.problems for one in members], ignore_index=True)
    table = table.sort_values(["benchmark", "problem_id"], ignore_index=True)
    keys = zip(table["benchmark"], table["problem_id"], strict=True)
    hashes = dict(zip(keys, table["doc_hash"], strict=True))
    paths = tuple(one.directory / "problems.parquet" for one in members)
    return Counts(name, table[["benchmark", "problem_id", "n", "c"]], hashes, paths)
