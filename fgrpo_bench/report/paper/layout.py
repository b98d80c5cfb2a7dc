"""The paper's tables 1, 2, 3, 4, 6, 7, 10, 11 and 12-14: which number stands where."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fgrpo_bench.methods.registry import METHODS
from fgrpo_bench.report.paper.published import (
    AVERAGES,
    CURVES,
    ENDS,
    GROUP_SIZE,
    KS,
    MODELS,
    PAIRS,
    PROBLEMS,
    SWEEP,
    Cell,
    Published,
    chosen_gamma,
)

COLUMNS = tuple(column for name, parts in AVERAGES.items() for column in (name, *parts))
NAMES = {
    "avg_math": "Avg. math",
    "avg_ood": "Avg. OOD",
    "aime24": "AIME24",
    "aime25": "AIME25",
    "amc23": "AMC23",
    "math500": "MATH500",
    "minerva": "Minerva",
    "olympiadbench": "OlympiadBench",
    "ifeval": "IFEval",
    "synlogic": "SynLogic",
    "gpqa_diamond": "GPQA Diamond",
    "delta_nll_rare": "Δ NLL rare, nats",
}
_CONTROLS = {
    "grpo-low-lr": "GRPO, low LR",
    "grpo-entropy": "GRPO, entropy bonus",
    "grpo-kl": "GRPO, KL penalty",
    "ds-grpo": "DS-GRPO",
}
_QWEN = MODELS[0]
_MAZE = "maze-transformer-3m"


@dataclass(frozen=True)
class Entry:
    """A place in a table.

    Attributes:
        cell: what the number is about.
        published: as printed, in percent, nats or as a gamma; None where nothing was.
        source: the published table it comes from.
    """

    cell: Cell
    published: float | None
    source: str


@dataclass(frozen=True)
class Line:
    """A row: its labels, and an entry for each column."""

    labels: tuple[str, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """A table to print; ``heads`` name the labels, ``columns`` the entries."""

    name: str
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def number(self) -> str:
        """The table's number in the paper."""
        return self.name.removeprefix("table")


def title(method: str) -> str:
    """Return a method's name as printed."""
    return METHODS[method].title if method in METHODS else _CONTROLS.get(method, method)


def layout(published: Published) -> list[Table]:
    """Return all tables in the paper's order."""
    return [
        _main(published),
        _group_size_averages(published),
        _control_averages(published),
        _maze(published),
        _sweep(published),
        _gammas(published),
        _group_sizes(published),
        _controls(published),
        *(_curves(published, model) for model in MODELS),
    ]


def digits(cell: Cell, value: float) -> str:
    """Write a number with the digits that the paper gives it."""
    if cell.benchmark == "gamma":
        return f"{value:g}"
    text = f"{value:.{2 if cell.benchmark == 'delta_nll_rare' else 1}f}"
    return text if float(text) else text.removeprefix("-")


def _entries(
    published: Published, cells: Iterable[Cell], tables: Sequence[str]
) -> tuple[Entry, ...]:
    """Take each number from the first of the tables that has it."""
    out = []
    for cell in cells:
        table = next((name for name in tables if cell in published[name]), "")
        out.append(Entry(cell, published[table][cell] if table else None, table))
    return tuple(out)


def _main(published: Published) -> Table:
    lines = []
    for model, method in _trained():
        gamma = chosen_gamma(published, model, method)
        for k in ENDS:
            cells = [Cell(model, method, gamma, GROUP_SIZE, name, k) for name in COLUMNS]
            labels = (model, title(method), f"{gamma:g}", str(k))
            lines.append(Line(labels, _entries(published, cells, ["table1"])))
    names = tuple(NAMES[name] for name in COLUMNS)
    heads = ("Model", "Method", "γ", "k")
    return Table("table1", "main results, pass@k in %", heads, names, tuple(lines))


def _trained() -> list[tuple[str, str]]:
    return [(model, method) for model in MODELS for pair in PAIRS for method in pair]


_AVERAGED = tuple((name, k) for name in AVERAGES for k in ENDS)
_AVERAGED_NAMES = tuple(f"{NAMES[name]} @{k}" for name, k in _AVERAGED)


def _group_size_averages(published: Published) -> Table:
    rows = [("grpo", 0.0, size) for size in _sizes(published)] + [("fgrpo", 0.5, GROUP_SIZE)]
    lines = []
    for method, gamma, size in rows:
        cells = [Cell(_QWEN, method, gamma, size, name, k) for name, k in _AVERAGED]
        cells.append(Cell(_QWEN, method, gamma, size, "delta_nll_rare", None))
        sources = ["table10", "table1", "table2"]
        lines.append(Line((title(method), str(size)), _entries(published, cells, sources)))
    caption = f"group size of GRPO on {_QWEN}, pass@k in %"
    columns = (*_AVERAGED_NAMES, NAMES["delta_nll_rare"])
    return Table("table2", caption, ("Method", "N"), columns, tuple(lines))


def _sizes(published: Published) -> list[int]:
    return sorted({cell.group_size for cell in published["table10"]})


def _control_averages(published: Published) -> Table:
    lines = []
    for method in ("grpo", *_CONTROLS, "fgrpo"):
        gamma = 0.5 if method == "fgrpo" else 0.0
        cells = [Cell(_QWEN, method, gamma, GROUP_SIZE, name, k) for name, k in _AVERAGED]
        lines.append(Line((title(method),), _entries(published, cells, ["table11", "table1"])))
    caption = f"other ways to keep diversity, {_QWEN}, pass@k in %"
    return Table("table3", caption, ("Method",), _AVERAGED_NAMES, tuple(lines))


def _maze(published: Published) -> Table:
    table, lines = published["table4"], []
    for size in sorted({cell.group_size for cell in table}):
        for method, gamma in (("grpo", 0.0), ("fgrpo", 0.5), ("fgrpo", 1.0)):
            cells = [Cell(_MAZE, method, gamma, size, "maze17", k) for k in (1, 128, 256)]
            labels = (str(size), title(method), f"{gamma:g}")
            lines.append(Line(labels, _entries(published, cells, ["table4"])))
    columns = ("@1", "@128", "@256")
    caption = "mazes of 17x17, pass@k in %"
    return Table("table4", caption, ("N", "Method", "γ"), columns, tuple(lines))


def _sweep(published: Published) -> Table:
    lines = []
    for model, method in _trained():
        for gamma in SWEEP if method.startswith("f") else (0.0,):
            cells = [Cell(model, method, gamma, GROUP_SIZE, name, k) for name, k in _AVERAGED]
            labels = (model, title(method), f"{gamma:g}")
            lines.append(Line(labels, _entries(published, cells, ["table6"])))
    heads = ("Model", "Method", "γ")
    caption = "sweep of γ, pass@k in %"
    return Table("table6", caption, heads, _AVERAGED_NAMES, tuple(lines))


def _gammas(published: Published) -> Table:
    lines = []
    for _, method in PAIRS:
        entries = [
            Entry(
                Cell(model, method, None, GROUP_SIZE, "gamma", None),
                chosen_gamma(published, model, method),
                "table1",
            )
            for model in MODELS
        ]
        lines.append(Line((title(method),), tuple(entries)))
    caption = "the γ of best average mathematics pass@1"
    return Table("table7", caption, ("Method",), MODELS, tuple(lines))


def _group_sizes(published: Published) -> Table:
    lines = []
    for size in _sizes(published):
        for k in ENDS:
            cells = [Cell(_QWEN, "grpo", 0.0, size, name, k) for name in COLUMNS]
            lines.append(Line((str(size), str(k)), _entries(published, cells, ["table10"])))
    names = tuple(NAMES[name] for name in COLUMNS)
    caption = f"group size of GRPO on {_QWEN}, pass@k in %"
    return Table("table10", caption, ("N", "k"), names, tuple(lines))


def _controls(published: Published) -> Table:
    lines = []
    for method in _CONTROLS:
        for k in ENDS:
            cells = [Cell(_QWEN, method, 0.0, GROUP_SIZE, name, k) for name in COLUMNS]
            labels = (title(method), str(k))
            lines.append(Line(labels, _entries(published, cells, ["table11"])))
    names = tuple(NAMES[name] for name in COLUMNS)
    caption = f"other ways to keep diversity, {_QWEN}, pass@k in %"
    return Table("table11", caption, ("Method", "k"), names, tuple(lines))


def _curves(published: Published, model: str) -> Table:
    table, lines = CURVES[model], []
    for benchmark in PROBLEMS:
        for method in (method for pair in PAIRS for method in pair):
            gamma = chosen_gamma(published, model, method)
            cells = [Cell(model, method, gamma, GROUP_SIZE, benchmark, k) for k in KS]
            labels = (NAMES[benchmark], title(method), f"{gamma:g}")
            lines.append(Line(labels, _entries(published, cells, [table])))
    caption = f"curves of {model}, pass@k in %"
    columns = tuple(f"@{k}" for k in KS)
    return Table(table, caption, ("Benchmark", "Method", "γ"), columns, tuple(lines))
