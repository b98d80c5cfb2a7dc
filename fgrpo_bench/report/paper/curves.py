"""The paper's curves of tables 12-14: pass@k against k on every benchmark, a figure a model."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from fgrpo_bench.report.figures import STYLE, save_figure
from fgrpo_bench.report.paper.layout import NAMES, title
from fgrpo_bench.report.paper.published import CURVES, KS, MODELS, PAIRS, PROBLEMS, Published
from fgrpo_bench.report.paper.retest import curve

# A marker and a colour (Okabe and Ito) per objective, so that colour is not the only sign.
_LOOKS = {"grpo": ("o", "#0072B2"), "dapo": ("s", "#D55E00"), "cispo": ("^", "#009E73")}
_TICKS = (1, 4, 16, 64, 256)


def save_curves(published: Published, folder: Path) -> list[str]:
    """Write a figure for each model as PNG and SVG and return the PNG names."""
    names = []
    with plt.rc_context(STYLE):
        for model in MODELS:
            names.append(save_figure(curves(published, model), folder, f"curves-{CURVES[model]}"))
    return names


def curves(published: Published, model: str) -> Figure:
    """Draw a model's published curves: baselines solid and filled, focal dashed and hollow."""
    figure, grid = plt.subplots(3, 3, figsize=(7.2, 6.6), layout="constrained")
    for axes, benchmark in zip(grid.flat, PROBLEMS, strict=True):
        _panel(axes, published, model, benchmark)
        axes.set_title(f"{NAMES[benchmark]}, P = {PROBLEMS[benchmark]}")
    for axes in grid[:, 0]:
        axes.set_ylabel("pass@k, %")
    for axes in grid[-1]:
        axes.set_xlabel("k")
    figure.suptitle(
        f"{model}, published (table {CURVES[model].removeprefix('table')}); P problems", fontsize=10
    )
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, handlelength=3.5)
    return figure


def _panel(axes: Axes, published: Published, model: str, benchmark: str) -> None:
    for base, focal in PAIRS:
        marker, colour = _LOOKS[base]
        for method in (base, focal):
            look: dict[str, Any] = {"linestyle": "-", "markerfacecolor": colour}
            if method == focal:
                look = {"linestyle": (0, (3.5, 1.5)), "markerfacecolor": "white"}
            axes.plot(
                KS,
                100 * curve(published, model, method, benchmark),
                color=colour,
                marker=marker,
                markersize=3.5,
                linewidth=1.2,
                label=title(method),
                **look,
            )
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
