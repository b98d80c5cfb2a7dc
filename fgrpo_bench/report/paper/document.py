"""``report.md`` and ``results.json`` of the paper's report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from fgrpo_bench.report.grids import Grid, markdown_table
from fgrpo_bench.report.paper.layout import Table
from fgrpo_bench.report.paper.ours import Ours
from fgrpo_bench.report.paper.published import Cell
from fgrpo_bench.report.paper.render import markdown
from fgrpo_bench.report.paper.retest import CORRELATION, Comparison, Tally
from fgrpo_bench.report.paper.summary import (
    Retest,
    answer,
    answer_grid,
    average_grid,
    check_grid,
    disagreement_grid,
    pair_grid,
    sensitivity_grid,
    sign_grid,
)

_SOURCE = (
    "Published numbers: D. Plyusov, A. Gorbatovski, B. Shaposhnikov, V. Sinii, A. Malakhov, "
    "D. Korotyshova, D. Gavrilov, *F-GRPO: Don't Let Your Policy Learn the Obvious and Forget the "
    "Rare*, [arXiv 2602.06717v2](https://arxiv.org/abs/2602.06717v2), "
    "[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/); copied unchanged, put into these "
    "tables by fgrpo-bench."
)
_NEW_PROBLEMS = """\
A difference is that of table 1, focal method minus baseline. What it is held against is the effect
that a paired test on new problems of the same kind finds with 80% power at level 0.05: 2.80
standard errors. Whether it is that large is *surely* known, *maybe* or not, as values per problem
were not published: of each benchmark there are only the nine points of a curve (tables 12-14). With
1,024 samples a problem such a curve is the mean over problems of 1 − C(1024−c, k)/C(1024, k) for
some distribution of the correct count c. The smallest and the largest spread over all distributions
that round to the curve come from linear programs. They may use any weights where P problems have
multiples of 1/P, so the true spread lies within the bounds, and tighter ones may exist.

*Surely*: at the largest spread, and with 0.1 points of rounding against it. *Maybe*: at the
smallest, and with the rounding for it. What is below is *not enough evidence*, which is not the
same as no difference.

Assumed, as the paper does not say: a correlation of {correlation:g} between the two methods' pass@k
over problems; SynLogic's easy validation split of 270 problems; 674 problems of OlympiadBench.
"""
_PAIRS = """\
On the same problems only sampling is noise. Its variance is bounded by the same linear programs;
*surely* takes the most noise, and Holm's correction is over the pair's 18 comparisons. With 1,024
samples a problem this noise is small, so most differences are real for these two checkpoints and
these problems. That says nothing about other problems, nor about another training run.
"""
_AVERAGES = """\
Benchmarks are taken as independent: the standard error of an average is the root of the sum of
their squares, over their number. The sign test takes the nine pairs for independent, and they are
not: they share three models, the training data and all benchmarks. So its p is too small.
"""
_CHECKS = """\
A curve is possible if some distribution of correct counts of 1,024 samples gives it within rounding
(±0.05 points); one that is not cannot come from more samples either, as those could be
thinned to 1,024. Values at different k that come from different samples or random subsamples would
look like that, and so would a misprint. For such curves the bounds above let every value be off by
what the curve needs and by 0.05 points more.
"""


def report(
    found: Retest,
    tables: Sequence[Table],
    ours: Mapping[Cell, Ours],
    figures: Sequence[str],
    notes: Sequence[str],
) -> str:
    """Return ``report.md``: the answer, the re-test, the tables with our column, the figures.

    Args:
        found: the re-test.
        tables: the paper's tables.
        ours: our values.
        figures: names of the PNG files.
        notes: what is to be said about our runs.
    """
    parts = [
        "# The paper's tables, and what its numbers can tell\n",
        *(f"{line}\n" for line in answer(found)),
        "## Do the published differences exceed what their benchmarks can detect?\n",
        _NEW_PROBLEMS.format(correlation=CORRELATION),
        _grid(answer_grid(found)),
        _grid(sensitivity_grid(found)),
        _PAIRS,
        _grid(pair_grid(found)),
        _AVERAGES,
        _grid(average_grid(found)),
        _grid(sign_grid(found)),
        "## Do the tables agree?\n",
        _CHECKS,
        _grid(check_grid(found)),
    ]
    wrong = disagreement_grid(found)
    parts += [_grid(wrong)] if wrong else []
    parts += ["## The published tables and our values\n", *(f"{note}\n" for note in notes)]
    for table in tables:
        parts.append(f"### Table {table.number}: {table.title}\n\n{markdown(table, ours)}")
    parts += ["## The published curves\n", *(f"![{name[:-4]}]({name})\n" for name in figures)]
    return "\n".join([*parts, _SOURCE + "\n"])


def _grid(grid: Grid) -> str:
    return f"**{grid.title}**\n\n{markdown_table(grid.heads, grid.rows, grid.left)}"


def long_comparisons(found: Retest) -> pd.DataFrame:
    """Return every comparison on a line, averages last; fractions, six decimals."""
    return pd.DataFrame(list(map(_record, [*found.comparisons, *found.averaged])))


def _record(item: Comparison) -> dict[str, Any]:
    p = item.p
    return {
        "model": item.model,
        "objective": item.objective,
        "benchmark": item.benchmark,
        "k": item.k,
        "difference": _rounded(item.difference),
        "detectable_low": _rounded(item.effect.low),
        "detectable_high": _rounded(item.effect.high),
        "reaches_detectable": item.clears,
        "significant_new_problems": item.significant,
        "wording": item.word,
        "sampling_error_low": _rounded(item.noise.low),
        "sampling_error_high": _rounded(item.noise.high),
        "p_same_problems_low": _rounded(p.low),
        "p_same_problems_high": _rounded(p.high),
    }


def results(found: Retest) -> dict[str, Any]:
    """Return ``results.json``: the re-test's numbers, fractions rounded to six decimals."""
    raw, adjusted = found.sampling
    return {
        "schema": 1,
        "source": "arXiv 2602.06717v2, tables 1, 6 and 10-14",
        "assumed": {"correlation": CORRELATION, "samples": 1024},
        "answer": answer(found),
        "totals": {
            str(correlation): {"detectable": _tally(effect), "p<0.05": _tally(significant)}
            for correlation, (effect, significant) in found.sensitivity.items()
        },
        "same_problems": {"raw": _tally(raw), "holm": _tally(adjusted)},
        "signs": [{**asdict(item), "p": _rounded(item.p)} for item in found.signs],
        "checks": [
            {
                "name": check.name,
                "compared": check.compared,
                "largest_points": _rounded(check.largest),
                "disagreements": [{"where": d.where, "what": d.text} for d in check.disagreements],
            }
            for check in found.checks
        ],
        "comparisons": list(map(_record, found.comparisons)),
        "averages": list(map(_record, found.averaged)),
        "curves": [_curve(key, found) for key in found.known],
    }


def _tally(item: Tally) -> dict[str, int]:
    return {"up": item.up, "down": item.down, "maybe": item.maybe, "not": item.rest}


def _curve(key: tuple[str, str, str], found: Retest) -> dict[str, Any]:
    known = found.known[key]
    spreads = {k: known.variance[k].root() for k in known.variance}
    noises = {k: known.noise[k].root() for k in known.noise}
    return {
        **dict(zip(("model", "method", "benchmark"), key, strict=True)),
        "beyond_rounding": _rounded(known.beyond),
        **{f"spread@{k}": [_rounded(r.low), _rounded(r.high)] for k, r in spreads.items()},
        **{f"noise@{k}": [_rounded(r.low), _rounded(r.high)] for k, r in noises.items()},
    }


def _rounded(value: float) -> float:
    """Round away the solver's last digits, which may differ between machines."""
    return round(value, 6) + 0.0
