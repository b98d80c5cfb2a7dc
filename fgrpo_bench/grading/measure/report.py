"""What was measured about graders of mathematics: tables, and every failure of ours by row."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fgrpo_bench.grading.measure.accuracy import Accuracy, Failure, Side
from fgrpo_bench.report.grids import Grid, markdown_table

LONGEST: Final = 300


def summary(results: Mapping[str, Accuracy]) -> Grid:
    """Return the table of false rejects and false accepts, a line per benchmark and grader."""
    benchmarks = dict.fromkeys(name for found in results.values() for name in found.counts)
    rows = []
    for benchmark in benchmarks:
        for grader, found in results.items():
            cells = [_rate(*found.rate(benchmark, side)) for side in _sides()]
            rows.append((benchmark, grader, *(text for cell in cells for text in cell)))
    heads = ("benchmark", "grader", "false rejects", "right", "false accepts", "wrong")
    return Grid("right answers rejected, wrong ones accepted", heads, tuple(rows), left=2)


def by_kind(results: Mapping[str, Accuracy], benchmark: str) -> Grid:
    """Return failures and cases of each kind on one benchmark, a column per grader."""
    kinds: dict[str, bool] = {}
    for found in results.values():
        kinds |= {kind: count.right for kind, count in found.counts.get(benchmark, {}).items()}
    rows = []
    for kind, right in sorted(kinds.items(), key=lambda item: not item[1]):
        counts = [found.counts.get(benchmark, {}).get(kind) for found in results.values()]
        cells = [f"{count.failed:,} of {count.cases:,}" if count else "" for count in counts]
        rows.append((kind, "right" if right else "wrong", *cells))
    return Grid(f"failures on {benchmark}", ("kind", "answers are", *results), tuple(rows), left=2)


def render(results: Mapping[str, Accuracy], ours: str, notes: Sequence[str]) -> str:
    """Return the report as Markdown.

    Args:
        results: of every grader, by its name.
        ours: the grader whose failures are listed.
        notes: lines about what was measured.
    """
    grids = [summary(results), *(by_kind(results, name) for name in results[ours].counts)]
    parts = [
        "# Accuracy of the mathematics grader",
        "\n".join(f"- {note}" for note in notes),
        *(f"## {grid.title.capitalize()}\n\n{_table(grid)}" for grid in grids),
        *_failures(results[ours]),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _failures(found: Accuracy) -> Iterator[str]:
    for title, right in (("Right answers we reject", True), ("Wrong answers we accept", False)):
        rows = [_line(one) for one in found.failures if one.right == right]
        heads = ("benchmark", "row", "kind", "gold", "answer", "outcome")
        table = markdown_table(heads, rows, len(heads)) if rows else "None.\n"
        yield f"## {title}\n\n{table}"


def _line(one: Failure) -> tuple[str, ...]:
    kind = one.kind if one.clear else f"{one.kind} (to be judged by a person)"
    return one.benchmark, one.row, kind, _short(one.gold), _short(one.answer), one.outcome


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _rate(failed: int, cases: int) -> tuple[str, str]:
    return (f"{failed / cases:.2%}" if cases else ""), f"{cases:,}"


def _sides() -> tuple[Side, Side]:
    return "rejects", "accepts"


def _table(grid: Grid) -> str:
    return markdown_table(grid.heads, grid.rows, grid.left)
