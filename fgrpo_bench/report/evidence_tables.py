"""Evaluations and their differences in sentences, in tables to read, and in long tables."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fgrpo_bench.report.counts import Counts
from fgrpo_bench.report.evidence import AVERAGE, Curves, Finding, Pair, benchmarks, chosen_ks, split
from fgrpo_bench.report.grids import Grid
from fgrpo_bench.stats.crossing import Crossing
from fgrpo_bench.stats.power import UNCLEAR


def answer(pair: Pair) -> list[str]:
    """Say in a sentence a benchmark which is better, at which k, and how sure that is."""
    lines = []
    names = dict.fromkeys(finding.benchmark for finding in pair.findings)
    for name in sorted(names, key=lambda name: name != AVERAGE):
        findings = [finding for finding in pair.findings if finding.benchmark == name]
        subject = "On average over the benchmarks" if name == AVERAGE else f"On {name}"
        said = "; ".join(_said(finding) for finding in findings)
        line = f"{subject}, {pair.second} against {pair.first}: {said}."
        if name in pair.crossings:
            line += _crossed(pair.crossings[name])
        lines.append(line)
    return lines


def curves_grid(counts: Sequence[Counts], curves: Curves, ks: Sequence[int]) -> Grid:
    """Return pass@k of every evaluation with its simultaneous 95% band, for some of the k."""
    shown = [k for place, k in enumerate(ks) if place % 2 == 0 or k == ks[-1]]
    rows = []
    for name in benchmarks(counts[0]):
        for one in counts:
            table, band = one.table[one.table["benchmark"] == name], curves[name, one.name]
            texts = [
                f"{_percent(band.mean[i])} [{_percent(band.low[i])}, {_percent(band.high[i])}]"
                for i in map(list(ks).index, shown)
            ]
            n = f"{table['n'].min():,}"
            n += "" if table["n"].min() == table["n"].max() else f"–{table['n'].max():,}"
            rows.append((name, one.name, f"{len(table)}", n, *texts))
    heads = ("benchmark", "evaluation", "problems", "samples", *(f"@{k}" for k in shown))
    title = "pass@k, %, with a 95% band for the whole curve over problems"
    return Grid(title, heads, tuple(rows), 2)


def findings_grid(pair: Pair) -> Grid:
    """Return every comparison of a pair: difference, three p-values, detectable effect, words."""
    rows = [
        (
            finding.benchmark,
            str(finding.k),
            f"{_points(finding.difference)} [{_points(finding.low)}, {_points(finding.high)}]",
            _adjusted(finding.same, finding.same_holm),
            _adjusted(finding.new, finding.new_holm),
            _p(finding.paper),
            _percent(finding.detectable),
            finding.words,
        )
        for finding in pair.findings
    ]
    heads = (
        *("benchmark", "k", "difference, points [95%]", "Q1 p (Holm)", "Q2 p (Holm)"),
        *("m-out-of-n p", "detectable", "says"),
    )
    return Grid(f"{pair.second} against {pair.first}", heads, tuple(rows))


def split_grid(counts: Sequence[Counts], ks: Sequence[int]) -> Grid:
    """Return the standard error of pass@k at the tested k by what it comes from."""
    chosen, rows = chosen_ks(ks), []
    for name in benchmarks(counts[0]):
        for one in counts:
            parts = split(one, name, chosen)
            for column, k in enumerate(chosen):
                errors = np.sqrt(
                    [parts.problems[column], parts.sampling[column], parts.total[column]]
                )
                rows.append((name, one.name, f"{k}", *(_percent(error, 2) for error in errors)))
    heads = ("benchmark", "evaluation", "k", "problems", "samples", "together")
    return Grid("Standard error of pass@k by source, points", heads, tuple(rows), 2)


def notes(counts: Sequence[Counts], ks: Sequence[int]) -> list[str]:
    """Return what a reader must know to read the tables right."""
    family = len(benchmarks(counts[0])) * len(chosen_ks(ks))
    m = chosen_ks(ks)[-1]
    out = [
        "Q1: would other samples of these models on these problems say the same? Q2: would other "
        "problems of this kind? Q3, whether another training run would, takes three runs or more "
        "of each method; here there is one evaluation each.",
        f"Holm: adjusted within the {family} comparisons (benchmarks x k) of a pair. Detectable: "
        "the difference, in points, that Q2 finds with 80% power; below it, or with an adjusted "
        "Q2 p of .05 or more, the answer is 'not enough evidence', which is not 'no difference'.",
        f"m-out-of-n: the F-GRPO paper's subsampling test with m = {m}. Its spread is that of {m} "
        "samples, wider than Q1's, and it varies neither problems nor runs: it answers neither "
        "question, and is there for comparison.",
    ]
    if len(chosen_ks(ks)) == 1:
        out.append("With fewer than 4 samples a problem only k = 1 can be tested.")
    for one in counts:
        n = one.table["n"]
        if (short := int((n < n.max()).sum())) > 0:
            out.append(
                f"{one.name}: {short} of {len(n)} problems have fewer than {n.max():,} samples; "
                f"every k here is within the fewest, {n.min():,}."
            )
    return out


def curves_table(counts: Sequence[Counts], curves: Curves, ks: Sequence[int]) -> pd.DataFrame:
    """Return one line per evaluation, benchmark and k; fractions in [0, 1]."""
    parts = []
    for name in benchmarks(counts[0]):
        for one in counts:
            band, sources = curves[name, one.name], split(one, name, ks)
            columns = {
                "benchmark": name,
                "evaluation": one.name,
                "k": list(ks),
                "pass_at_k": band.mean,
                "band_low": band.low,
                "band_high": band.high,
                "variance_problems": sources.problems,
                "variance_samples": sources.sampling,
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def findings_table(pairs: Sequence[Pair]) -> pd.DataFrame:
    """Return one line per comparison; fractions in [0, 1]."""
    return pd.DataFrame(
        {"first": pair.first, "second": pair.second, **vars(finding), "says": finding.words}
        for pair in pairs
        for finding in pair.findings
    )


def differences_table(pairs: Sequence[Pair], ks: Sequence[int]) -> pd.DataFrame:
    """Return the difference at every k with its band, one line per pair, benchmark and k."""
    parts = [
        pd.DataFrame(
            {
                "benchmark": name,
                "first": pair.first,
                "second": pair.second,
                "k": list(ks),
                "difference": band.mean,
                "band_low": band.low,
                "band_high": band.high,
            }
        )
        for pair in pairs
        for name, band in pair.bands.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _said(finding: Finding) -> str:
    change = f"{_points(finding.difference)} points, Q2 p {_equal(finding.new)}"
    if not np.isnan(finding.new_holm):
        change += f", {_p(finding.new_holm)} after Holm"
    if finding.words == UNCLEAR and finding.detectable > 0:
        change += f"; {_percent(finding.detectable)} is what could have been found reliably"
    return f"{finding.words} at pass@{finding.k} ({change})"


def _crossed(found: Crossing) -> str:
    if np.isnan(found.k):
        return " The curves do not cross."
    high = "beyond" if np.isinf(found.high) else f"{found.high:.3g}"
    return (
        f" The curves cross at k = {found.k:.3g} (95% over problems: {found.low:.3g} to {high}; "
        f"{found.share:.0%} of resampled sets cross)."
    )


def _adjusted(raw: float, adjusted: float) -> str:
    return _p(raw) + ("" if np.isnan(adjusted) else f" ({_p(adjusted)})")


def _p(value: float) -> str:
    if np.isnan(value):
        return "–"
    return "<.001" if value < 0.001 else f"{value:.3f}"[1:] if value < 0.9995 else "1"


def _equal(value: float) -> str:
    text = _p(value)
    return text.replace("<", "< ") if text[0] == "<" else f"= {text}"


def _percent(value: float, places: int = 1) -> str:
    return "–" if np.isnan(value) else f"{round(100 * value, places) + 0.0:.{places}f}"


def _points(value: float) -> str:
    return "–" if np.isnan(value) else f"{round(100 * value, 1) + 0.0:+.1f}"
