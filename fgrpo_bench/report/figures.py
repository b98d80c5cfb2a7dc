"""The figures of a comparison: pass@k curves, training dynamics, and mazes with samples."""

from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from fgrpo_bench.report.collect import SATURATED, Comparison, Floats, Group
from fgrpo_bench.report.mazes import mazes
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.directory import read_metrics

# Okabe and Ito's palette, safe for colour-blind readers.
_COLOURS = {
    "grpo": "#0072B2",
    "fgrpo": "#D55E00",
    "dapo": "#56B4E9",
    "fdapo": "#E69F00",
    "cispo": "#009E73",
    "fcispo": "#CC79A7",
    "shuffled-focal": "#7F7F7F",
    "rloo": "#882255",
    "dr_grpo": "#117733",
    "maxrl": "#332288",
    "pkpo": "#AA4499",
    "passk": "#999933",
    "w_reinforce": "#661100",
    "unlikeliness": "#6699CC",
    "ds_grpo": "#44AA99",
}
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "savefig.dpi": 200,
    "svg.hashsalt": "fgrpo-bench",
}


def save_figures(comparison: Comparison, folder: Path, suffix: str = "") -> list[str]:
    """Write the figures as PNG and SVG and return their PNG names."""
    names = []
    with plt.rc_context(STYLE):
        for name, draw in (("pass_at_k", pass_at_k), ("dynamics", dynamics), ("mazes", mazes)):
            figure = draw(comparison)
            if figure is None:
                continue
            names.append(save_figure(figure, folder, f"{name}{suffix}"))
    return names


def save_figure(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure as PNG and SVG, the same bytes for the same figure; return the PNG's name."""
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        data = BytesIO()
        figure.savefig(data, format=kind, metadata=metadata)
        write_bytes(folder / f"{name}.{kind}", data.getvalue())
    plt.close(figure)
    return f"{name}.png"


def _looks(groups: list[Group]) -> list[dict[str, Any]]:
    """A colour per method; further groups of the same method are lighter and dashed otherwise."""
    methods = [group.method for group in groups]
    seen: Counter[str] = Counter()
    out = []
    for method in methods:
        colour = np.array(to_rgb(_COLOURS.get(method, "#333333")))
        lightness = 0.7 * seen[method] / methods.count(method)
        style = ("-", "--", ":", "-.")[seen[method] % 4]
        out.append({"color": tuple(colour + lightness * (1 - colour)), "linestyle": style})
        seen[method] += 1
    return out


def pass_at_k(comparison: Comparison) -> Figure:
    """Draw pass@k against k: guesser, base and methods with the range over seeds.

    The curves are computed from the problems, so they have a point at every k; the part where the
    guesser exceeds one half is shaded.
    """
    ks = np.unique(np.geomspace(1, max(comparison.ks), 60).round().astype(int))
    points = ks.tolist()
    figure, axes = plt.subplots(figsize=(6.0, 3.7), layout="constrained")
    guesser = comparison.reference.pass_at_k("guesser", points)
    axes.plot(ks, guesser, color="#999999", linestyle=":", label="guesser (maze unseen)")
    base = comparison.reference.pass_at_k("base", points)
    axes.plot(ks, base, color="black", linewidth=1.2, label="base")
    for group, look in zip(comparison.groups, _looks(comparison.groups), strict=True):
        values = np.stack([run.pass_at_k("final", points) for run in group.runs])
        axes.plot(ks, values.mean(axis=0), linewidth=1.8, label=group.label, **look)
        axes.fill_between(
            ks, values.min(axis=0), values.max(axis=0), color=look["color"], alpha=0.2, linewidth=0
        )
    beyond = ks[guesser > SATURATED]
    if len(beyond):
        axes.axvspan(beyond[0], ks[-1], color="#999999", alpha=0.12, linewidth=0)
        note: dict[str, Any] = {"rotation": 90, "va": "bottom", "color": "#666666", "fontsize": 8}
        narrow = 1.5 * beyond[0] > ks[-1]
        at, side = (0.95, "right") if narrow else (1.05, "left")
        axes.text(at * beyond[0], 0.02, " guessing suffices", ha=side, **note)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=""))
    axes.set(xlim=(1, ks[-1]), ylim=(0, 1), xlabel="k", ylabel="pass@k, %")
    seeds = max(len(group.runs) for group in comparison.groups)
    band = "; bands: range over seeds" if seeds > 1 else ""
    axes.set_title(f"{comparison.preset}, {comparison.benchmark}{band}")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def dynamics(comparison: Comparison) -> Figure:
    """Draw what happened in training: pass@k, reward, activity, focal weight and clipping."""
    k = str(comparison.headline)
    panels: list[tuple[str, Callable[[dict[str, Any]], Any], bool]] = [
        ("pass@1, %", lambda line: line["pass_at_k"]["1"], True),
        (f"pass@{k}, %", lambda line: line["pass_at_k"][k], True),
        ("reward", lambda line: line["reward"], False),
        ("active groups, %", lambda line: line["active"], False),
        ("mean focal weight", lambda line: line["focal"], False),
        ("clipped tokens, %", lambda line: line["clip_fraction"], False),
    ]
    figure, grid = plt.subplots(2, 3, figsize=(8.0, 4.2), layout="constrained", sharex=True)
    for axes, (name, value, evaluated) in zip(grid.flat, panels, strict=True):
        for group, look in zip(comparison.groups, _looks(comparison.groups), strict=True):
            _dynamics_lines(axes, group, look, value, evaluated)
        axes.set_title(name)
        axes.set_ylim(bottom=0)
        if name.endswith("%"):
            digits = 2 if name.startswith("clipped") else 0
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=digits, symbol=""))
    for axes in grid[1]:
        axes.set_xlabel("step")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    columns = max(1, min(len(labels), 110 // (max(map(len, labels)) + 8)))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    return figure


def _dynamics_lines(
    axes: Axes,
    group: Group,
    look: dict[str, Any],
    value: Callable[[dict[str, Any]], Any],
    evaluated: bool,
) -> None:
    """One thin line per seed and the mean over seeds; values of each step are smoothed."""
    series: list[dict[int, float]] = []
    for run in group.runs:
        lines = read_metrics(run.directory)
        lines = [x for x in lines if ("pass_at_k" in x if evaluated else "reward" in x)]
        values = np.array([value(line) for line in lines], dtype=np.float64)
        steps = np.array([line["step"] for line in lines])
        if not evaluated:
            stride = max(1, len(steps) // 150)  # more points than pixels only swell the file
            values, steps = _smooth(values)[::stride], steps[::stride]
        series.append(dict(zip(steps.tolist(), values.tolist(), strict=True)))
        axes.plot(steps, values, linewidth=0.6, alpha=0.5, **look)
    common = sorted(set.intersection(*map(set, series)))
    mean = [np.mean([values[step] for values in series]) for step in common]
    axes.plot(common, mean, linewidth=1.6, label=group.label, **look)


def _smooth(values: Floats, window: int = 20) -> Floats:
    """Trailing mean over a window; NaN (no active group) is left out."""
    defined = np.isfinite(values)
    sums = np.cumsum(np.where(defined, values, 0.0))
    counts = np.cumsum(defined)
    sums[window:] -= sums[:-window].copy()
    counts[window:] -= counts[:-window].copy()
    return np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)
