"""The paper's tables in Markdown, CSV and LaTeX: its own numbers, every place, escaped."""

import doctest
import io
import re

import pandas as pd
import pytest

from fgrpo_bench.report.paper import render
from fgrpo_bench.report.paper.layout import NAMES, Entry, Line, Table, layout
from fgrpo_bench.report.paper.ours import Ours
from fgrpo_bench.report.paper.published import Cell
from fgrpo_bench.report.paper.render import latex, latex_text, long_table, markdown
from tests.report.paper import golden

HOSTILE = r"a|b & 50% _x_ $y$ #1 {z} ~ ^ \end{document} <img src=x> [l](u) `c`"


@pytest.fixture(scope="module")
def tables(published):
    return {table.name: table for table in layout(published)}


def markdown_rows(text: str) -> list[list[str]]:
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines()]


def latex_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    return [re.split(r"(?<!\\)&", line.removesuffix(r"\\")) for line in lines]


def test_all_tables_are_there_in_the_papers_order(tables):
    found = {
        name: (len(table.lines), sum(len(line.entries) for line in table.lines))
        for name, table in tables.items()
    }
    assert found == golden.SIZES
    assert list(found) == list(golden.SIZES)
    entries = [e for table in tables.values() for line in table.lines for e in line.entries]
    assert all(entry.published is not None and entry.source for entry in entries)


def test_every_published_number_stands_in_some_table(published, tables):
    placed = {
        (entry.source, entry.cell)
        for table in tables.values()
        for line in table.lines
        for entry in line.entries
    }
    every = {(table, cell) for table, numbers in published.items() for cell in numbers}
    assert every <= placed


@pytest.mark.parametrize(
    ("name", "labels", "column", "value"),
    [(name, *cell) for name, cells in golden.CELLS.items() for cell in cells],
)
def test_the_papers_numbers_in_every_form(tables, name, labels, column, value):
    table = tables[name]
    place = len(table.heads) + 2 * table.columns.index(column)
    (row,) = [line for line in table.lines if line.labels == labels]
    entry = row.entries[table.columns.index(column)]

    head, _, *rows = markdown_rows(markdown(table, {}))
    assert [head[place].strip(), head[place + 1].strip()] == [column, "ours"]
    (cells,) = [r for r in rows if tuple(x.strip() for x in r[: len(labels)]) == labels]
    assert [cells[place].strip(), cells[place + 1].strip()] == [value, ""]

    (cells,) = [
        r
        for r in latex_rows(latex(table, {}))
        if tuple(x.strip() for x in r[: len(labels)]) == labels
    ]
    assert [cells[place].strip(), cells[place + 1].strip()] == [value, ""]

    data = pd.read_csv(io.StringIO(long_table(table, {}).to_csv(index=False)))
    cell = entry.cell
    found = data[(data.model == cell.model) & (data.method == cell.method)]
    found = found[(found.benchmark == cell.benchmark) & (found.group_size == cell.group_size)]
    if cell.k is not None:
        found = found[found.k == cell.k]
    if cell.gamma is not None:
        found = found[found.gamma == cell.gamma]
    (line,) = found.to_dict("records")
    assert (line["published"], line["seeds"]) == (float(value), 0)
    assert pd.isna(line["ours"])


def test_our_values_stand_beside_the_published_ones_with_their_seeds(tables):
    cell = Cell("maze-transformer-3m", "fgrpo", 0.5, 8, "maze17", 128)
    ours = {cell: Ours(45.26, 3)}
    assert markdown(tables["table4"], ours).count("| 45.3 (3) |") == 1
    assert latex(tables["table4"], ours).count("& 45.3 (3) &") == 1
    data = long_table(tables["table4"], ours)
    (line,) = data[data.seeds > 0].to_dict("records")
    assert (line["ours"], line["seeds"], line["k"], line["gamma"]) == (45.26, 3, 128, 0.5)


@pytest.mark.parametrize("name", golden.SIZES)
def test_latex_is_balanced_and_every_row_has_as_many_cells_as_columns(tables, name):
    check_latex(latex(tables[name], {}))


def check_latex(text: str) -> None:
    bare = re.sub(r"\\[&%$#_{}]", "", re.sub(r"(?m)^%.*$", "", text))
    assert bare.isascii()
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not set("%#^~_") & set(bare)
    opened = re.findall(r"\\begin\{(\w+\*?)\}", bare)
    assert opened == re.findall(r"\\end\{(\w+\*?)\}", bare)[::-1]
    (columns,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", bare)
    for row in latex_rows(text):
        spans = [int(n) for n in re.findall(r"\\multicolumn\{(\d+)\}", "&".join(row))]
        assert len(row) + sum(spans) - len(spans) == len(columns)
    ends = [int(end) for end in re.findall(r"\\cmidrule\(lr\)\{\d+-(\d+)\}", bare)]
    assert max(ends) == len(columns)


def test_hostile_text_is_escaped():
    cell = Cell(HOSTILE, HOSTILE, 0.5, 8, HOSTILE, 1)
    line = Line((HOSTILE,), (Entry(cell, 1.0, "table1"),))
    table = Table("table1", HOSTILE, (HOSTILE,), (HOSTILE,), (line,))
    check_latex(latex(table, {}))
    assert r"\textbackslash{}end\{document\}" in latex(table, {})
    rows = markdown_rows(markdown(table, {}))
    assert {len(row) for row in rows} == {3}
    text = markdown(table, {})
    assert "<img" not in text
    assert not re.search(r"(?<!\\)[`*_$\[\]~]", text)
    assert long_table(table, {}).model.tolist() == [HOSTILE]
    assert "\n" not in latex_text("a\nb")


def test_examples_of_the_escapes():
    result = doctest.testmod(render)
    assert result.attempted == 1
    assert result.failed == 0


def test_every_benchmark_has_a_printed_name():
    assert set(golden.PROBLEMS) < set(NAMES)
