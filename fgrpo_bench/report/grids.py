"""A table of texts, as Markdown and on a terminal."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Grid:
    """A table of texts; the first ``left`` columns are words."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1


def markdown_text(text: str) -> str:
    """Escape text for Markdown, also for a cell of a table.

    >>> markdown_text("a_b | <c>")
    'a\\\\_b \\\\| &lt;c&gt;'
    """
    entities = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|\[\]$~])", r"\\\1", " ".join(entities.split()))


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table whose first ``left`` columns are text and the others numbers."""
    rule = ["---"] * left + ["---:"] * (len(heads) - left)
    lines = [map(markdown_text, heads), rule, *(map(markdown_text, row) for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def print_grid(grid: Grid) -> None:
    """Print a table to standard output.

    One wider than the terminal is left to the terminal to wrap: no figure is ever cut.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(grid.heads):
        table.add_column(head, justify="right" if place >= grid.left else "left", no_wrap=True)
    for row in grid.rows:
        table.add_row(*row)
    wide = Console(file=sys.stdout, width=1000, markup=False, highlight=False)
    wide.print(grid.title, style="bold")
    wide.print(table)
