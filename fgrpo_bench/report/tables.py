"""The table of pass@k: on a terminal, as Markdown, and as a long CSV for further work."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fgrpo_bench.methods.registry import METHODS
from fgrpo_bench.report.collect import Comparison, Floats

HARD = "detour"


@dataclass(frozen=True)
class Row:
    """A line of the table; fractions, NaN where a spread or change is undefined.

    Attributes:
        label: what the row is about.
        stratum: None for all problems.
        seeds: runs behind the means, 0 for guesser and base.
        mean: [K] pass@k, the mean over seeds.
        spread: [K] sample standard deviation over seeds.
        change: [K] mean minus the base's.
    """

    label: str
    stratum: str | None
    seeds: int
    mean: Floats
    spread: Floats
    change: Floats


def rows(comparison: Comparison) -> list[Row]:
    """Return guesser, base and methods over all problems, then over the hard stratum."""
    strata = {r.stratum for r in comparison.reference.results.benchmarks}
    return [
        row for stratum in (None, HARD) if stratum in strata for row in _rows(comparison, stratum)
    ]


def _rows(comparison: Comparison, stratum: str | None) -> Iterator[Row]:
    base = comparison.values("base", stratum)
    undefined = np.full(len(base), np.nan)
    guesser = comparison.values("guesser", stratum)
    yield Row("guesser", stratum, 0, guesser, undefined, undefined)
    yield Row("base", stratum, 0, base, undefined, undefined)
    for group in comparison.groups:
        values = group.values(comparison.ks, stratum)
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else undefined
        mean = values.mean(axis=0)
        yield Row(group.label, stratum, len(values), mean, spread, mean - base)


def long_table(comparisons: list[Comparison]) -> pd.DataFrame:
    """Return one line per row and k, fractions in [0, 1]."""
    lines = [
        {
            "preset": comparison.preset,
            "benchmark": comparison.benchmark,
            "label": row.label,
            "stratum": row.stratum or "all",
            "seeds": row.seeds,
            "k": k,
            "saturated": saturated,
            "pass_at_k": mean,
            "sd_over_seeds": spread,
            "change_vs_base": change,
        }
        for comparison in comparisons
        for row in rows(comparison)
        for k, saturated, mean, spread, change in zip(
            comparison.ks, comparison.saturated, row.mean, row.spread, row.change, strict=True
        )
    ]
    return pd.DataFrame(lines)


def header(comparison: Comparison) -> list[str]:
    """Return the column titles; a star marks a saturated k."""
    ks = zip(comparison.ks, comparison.saturated, strict=True)
    titles = [f"@{k}{'*' * bad}" for k, bad in ks]
    return ["pass@k, %", *titles, f"@{comparison.headline}/@1"]


def printed(comparison: Comparison, row: Row) -> list[list[str]]:
    """Return a row's printed lines in percent: values with spread, then the change."""
    first, largest = row.mean[0], row.mean[comparison.ks.index(comparison.headline)]
    ratio = f"{largest / first:.2f}" if first > 0 else "-"
    lines = [[row.label, *map(_value, row.mean, row.spread), ratio]]
    if row.seeds:
        lines.append(["  change vs base", *map(_change, row.change), ""])
    return lines


def _value(mean: float, spread: float) -> str:
    return f"{100 * mean:.1f}" + (f"±{100 * spread:.1f}" if np.isfinite(spread) else "")


def _change(change: float) -> str:
    return f"{round(100 * change, 1) + 0.0:+.1f}"  # + 0.0 turns -0.0 into 0.0


def title(comparison: Comparison) -> str:
    """Return what the table is about."""
    final = comparison.reference.curve("final")
    changed = ", ".join(f"{key}={value}" for key, value in comparison.overrides.items())
    preset = comparison.preset + (f" with {changed}" if changed else "")
    how = "exact pass@k" if final.exact else "pass@k"
    each = "" if final.exact else f", {final.samples} samples each"
    return f"{preset}: {how} on {final.problems} mazes of {comparison.benchmark}{each}"


def stratum_title(comparison: Comparison) -> str:
    """Return the heading of the hard stratum."""
    hard, every = (comparison.reference.curve("final", s).problems for s in (HARD, None))
    return f"detour: {hard} of {every}"


def notes(comparison: Comparison) -> list[str]:
    """Return what a reader must know to read the table right."""
    out = []
    strata = {result.stratum for result in comparison.reference.results.benchmarks}
    counts = {len(group.runs) for group in comparison.groups}
    if len(counts) > 1:
        each = ", ".join(f"{g.label}: {len(g.runs)}" for g in comparison.groups)
        out.append(f"Mean ± sample standard deviation over seeds ({each}).")
    elif counts == {1}:
        out.append("One seed each: how far another run would land is not known.")
    else:
        out.append(f"Mean ± sample standard deviation over {counts.pop()} seeds.")
    if not comparison.reference.curve("final").exact:
        error = 100 * comparison.reference.sampling_error("base")
        out.append(
            "Base and methods: unbiased estimates from samples; every walk to the goal counts. "
            f"Sampling alone gives pass@1 of the base a standard error of {error:.2f}."
        )
    if HARD in strata:
        out.append("detour: the mazes whose path also goes up or left, hard to guess.")
    out.append("guesser: draws paths by their frequency in training, without seeing the maze.")
    if any(group.method == "ds_grpo" for group in comparison.groups):
        out.append("DS-GRPO: coefficients of a reimplementation, not known to be its paper's.")
    if any(comparison.saturated):
        out.append(
            "* saturated: the guesser exceeds 50% at this k, so it measures diversity, not skill; "
            f"the largest k below that is {comparison.headline}."
        )
    unclipped = [
        group.label
        for group in comparison.groups
        if METHODS[group.method].surrogate == METHODS["grpo"].surrogate
        and not any(run.results.training.clip_fraction for run in group.runs)
    ]
    if unclipped:
        out.append(
            f"No token was ever clipped in {', '.join(unclipped)}: there GRPO, DAPO and CISPO are "
            "the same update. More train.minibatches or a higher rate would tell them apart."
        )
    return out


def print_tables(comparisons: list[Comparison]) -> None:
    """Print the tables and their notes to standard output.

    A table wider than the terminal is left to the terminal to wrap: no figure is ever cut.
    """
    wide = Console(file=sys.stdout, width=1000, markup=False, highlight=False)
    fitting = Console(file=sys.stdout, markup=False, highlight=False)
    for comparison in comparisons:
        wide.print(title(comparison), style="bold")
        wide.print(_table(comparison))
        for note in notes(comparison):
            fitting.print(note, style="dim")


def _table(comparison: Comparison) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for index, text in enumerate(header(comparison)):
        table.add_column(text, justify="right" if index else "left", no_wrap=True)
    stratum = None
    for row in rows(comparison):
        if row.stratum != stratum:
            stratum = row.stratum
            table.add_section()
            table.add_row(stratum_title(comparison), style="bold")
        for line in printed(comparison, row):
            table.add_row(*line)
    return table


def markdown(comparison: Comparison) -> str:
    """Return the table and its notes as Markdown."""
    head = header(comparison)
    lines = [_line(head), _line(["---"] + ["---:"] * (len(head) - 1))]
    stratum = None
    for row in rows(comparison):
        if row.stratum != stratum:
            stratum = row.stratum
            lines.append(_line([f"*{stratum_title(comparison)}*"] + [""] * (len(head) - 1)))
        lines += [_line(cell) for cell in printed(comparison, row)]
    text = "\n".join(lines) + "\n"
    return text + "".join(f"\n{note.replace('*', chr(92) + '*')}\n" for note in notes(comparison))


def _line(texts: list[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
