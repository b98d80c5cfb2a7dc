"""The figure of evaluations side by side: their curves, and their differences from the first."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from fgrpo_bench.report.counts import Counts
from fgrpo_bench.report.evidence import Curves, Pair, benchmarks
from fgrpo_bench.stats.intervals import Interval

_COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: Any = ("-", "--", "-.", ":")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def evidence(
    counts: Sequence[Counts], curves: Curves, pairs: Sequence[Pair], ks: Sequence[int]
) -> Figure:
    """Draw a row a benchmark: curves with bands, and the differences from the first with theirs."""
    names = benchmarks(counts[0])
    columns = 2 if pairs else 1
    figure, grid = plt.subplots(
        len(names),
        columns,
        figsize=(4.2 * columns, 2.9 * len(names) + 0.5),
        layout="constrained",
        squeeze=False,
        sharex=True,
    )
    for row, name in zip(grid, names, strict=True):
        for place, one in enumerate(counts):
            _draw(row[0], ks, curves[name, one.name], place, one.name)
        row[0].set_ylim(0, 1)
        row[0].set_title(f"{name}: pass@k, %")
        for place, pair in enumerate(pairs, 1):
            _draw(row[1], ks, pair.bands[name], place, pair.second)
        if pairs:
            row[1].axhline(0, color=_COLOURS[0], linewidth=0.8)
            row[1].set_title(f"minus {pairs[0].first}, points")
        for axes in row:
            _scales(axes, ks)
    for axes in grid[-1]:
        axes.set_xlabel("k")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    columns = max(1, min(len(labels), 100 // (max(map(len, labels)) + 8)))
    title = "shaded: 95% band of the whole curve, over problems"
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, title=title, title_fontsize=8
    )
    return figure


def _draw(axes: Axes, ks: Sequence[int], band: Interval, place: int, label: str) -> None:
    colour = _COLOURS[place % len(_COLOURS)]
    look: Any = {"linestyle": _DASHES[place % 4], "marker": _MARKS[place % 7], "markersize": 3.5}
    text = f" {label}".replace("$", r"\$")  # a label that begins with _ would be hidden
    axes.plot(ks, band.mean, color=colour, label=text, **look)
    axes.fill_between(ks, band.low, band.high, color=colour, alpha=0.15, linewidth=0)


def _scales(axes: Axes, ks: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(ks[:: max(1, len(ks) // 6)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=""))
    if len(ks) == 1:
        axes.set_xlim(0.5, 2)
    else:
        axes.set_xlim(ks[0], ks[-1])
