"""A table as Markdown, as a long CSV, and as LaTeX; labels and values are escaped."""

from collections.abc import Mapping, Sequence

import pandas as pd

from fgrpo_bench.report.grids import markdown_table
from fgrpo_bench.report.paper.layout import Entry, Table, digits
from fgrpo_bench.report.paper.ours import Ours
from fgrpo_bench.report.paper.published import PAIRS, Cell

_OBJECTIVES = {focal: base for base, focal in PAIRS} | {base: base for base, _ in PAIRS}
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "γ": r"$\gamma$",
    "Δ": r"$\Delta$",
    "−": "$-$",
}


def latex_text(text: str) -> str:
    """Escape text for LaTeX.

    >>> latex_text("50% of a_b & c")
    '50\\\\% of a\\\\_b \\\\& c'
    """
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def markdown(table: Table, ours: Mapping[Cell, Ours]) -> str:
    """Return the table as Markdown: behind every published column, ours with its seeds."""
    heads = [*table.heads, *(text for column in table.columns for text in (column, "ours"))]
    return markdown_table(heads, _texts(table, ours), len(table.heads))


def _texts(table: Table, ours: Mapping[Cell, Ours]) -> list[list[str]]:
    return [
        [*line.labels, *(text for entry in line.entries for text in _pair(entry, ours))]
        for line in table.lines
    ]


def _pair(entry: Entry, ours: Mapping[Cell, Ours]) -> tuple[str, str]:
    """Return the published value and ours, blank where there is none."""
    mine = ours.get(entry.cell)
    return (
        "" if entry.published is None else digits(entry.cell, entry.published),
        "" if mine is None else f"{digits(entry.cell, mine.value)} ({mine.seeds})",
    )


def long_table(table: Table, ours: Mapping[Cell, Ours]) -> pd.DataFrame:
    """Return one line a number: the cell, the published value, ours and its seeds."""
    lines = []
    for entry in (entry for line in table.lines for entry in line.entries):
        cell, mine = entry.cell, ours.get(entry.cell)
        lines.append(
            {
                "model": cell.model,
                "method": cell.method,
                "objective": _OBJECTIVES.get(cell.method, "grpo"),
                "gamma": cell.gamma,
                "group_size": cell.group_size,
                "benchmark": cell.benchmark,
                "k": cell.k,
                "published": entry.published,
                "ours": None if mine is None else round(mine.value, 4),
                "seeds": 0 if mine is None else mine.seeds,
                "source": entry.source,
            }
        )
    return pd.DataFrame(lines).astype({"k": "Int64"})


def latex(table: Table, ours: Mapping[Cell, Ours]) -> str:
    """Return the table as LaTeX, for a document with the packages booktabs and adjustbox."""
    labels = len(table.heads)
    columns = [rf"\multicolumn{{2}}{{c}}{{{latex_text(column)}}}" for column in table.columns]
    rules = "".join(
        rf"\cmidrule(lr){{{start}-{start + 1}}}"
        for start in range(labels + 1, labels + 2 * len(columns), 2)
    )
    body, previous = [], None
    for line, texts in zip(table.lines, _texts(table, ours), strict=True):
        if previous not in (None, line.labels[0]) and labels > 1:
            body.append(r"\midrule")
        previous = line.labels[0]
        body.append(_row(map_latex(texts)))
    return "\n".join(
        [
            "% needs \\usepackage{booktabs,adjustbox}",
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{Table {table.number} of arXiv 2602.06717v2 (CC BY 4.0), "
            rf"{latex_text(table.title)}, and ours: mean over seeds (number of seeds), "
            r"blank without a run.}",
            rf"\label{{tab:{table.name}}}",
            r"\begin{adjustbox}{max width=\linewidth}",
            rf"\begin{{tabular}}{{{'l' * labels}{'rr' * len(columns)}}}",
            r"\toprule",
            _row([*map_latex(table.heads), *columns]),
            rules,
            _row([""] * labels + ["paper", "ours"] * len(columns)),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{adjustbox}",
            r"\end{table*}",
            "",
        ]
    )


def map_latex(texts: Sequence[str]) -> list[str]:
    """Escape every text for LaTeX."""
    return [latex_text(text) for text in texts]


def _row(texts: Sequence[str]) -> str:
    return " & ".join(texts) + r" \\"
