"""``fgrpo-bench report --paper``: the paper's tables beside our values, and its numbers tested."""

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from fgrpo_bench.commands.progress import say
from fgrpo_bench.report.collect import Run, search
from fgrpo_bench.report.grids import Grid, print_grid
from fgrpo_bench.report.paper.curves import save_curves
from fgrpo_bench.report.paper.document import long_comparisons, report, results
from fgrpo_bench.report.paper.layout import Entry, Table, layout
from fgrpo_bench.report.paper.ours import Ours, fits, ours
from fgrpo_bench.report.paper.published import MODELS, Cell, Published, load
from fgrpo_bench.report.paper.render import latex, long_table, markdown
from fgrpo_bench.report.paper.retest import bounds
from fgrpo_bench.report.paper.summary import Retest, answer, answer_grid, retest
from fgrpo_bench.rundir.atomic import write_bytes, write_json
from fgrpo_bench.rundir.manifest import environment, now, read_manifest, write_manifest


def report_paper(paths: Sequence[Path], out: Path) -> None:
    """Write the paper's tables beside our values, and what its numbers can tell, into ``out``.

    Source: arXiv 2602.06717v2, tables 1-4, 6, 7 and 10-14. Equal runs give equal bytes, but for
    the time in ``manifest.json``.

    Args:
        paths: folders with runs of ours, which may hold none; empty for none. What is named has to
            exist: leave a default away where it does not.
        out: folder of the report, made if need be.

    Raises:
        UserError: a path that is no directory, a damaged run, or the same run twice.
    """
    runs, unfinished = search(paths)
    mine, published = ours(runs), load()
    used = [run for run in runs if fits(run)]
    manifests = [read_manifest(run.directory) for run in used]
    found = _retest(published)
    tables = layout(published)
    notes = _notes(runs, used, unfinished, sum(e.cell in mine for e in _entries(tables)))
    (out / "tables").mkdir(parents=True, exist_ok=True)
    say("figures and tables")
    figures = save_curves(published, out)
    _write_tables(tables, mine, out / "tables")
    comparisons = long_comparisons(found).to_csv(index=False)
    write_bytes(out / "tables" / "comparisons.csv", comparisons.encode())
    write_bytes(out / "report.md", report(found, tables, mine, figures, notes).encode())
    write_json(out / "results.json", results(found))
    write_manifest(out, {"created": now(), **environment(), "runs": manifests})
    _print(answer_grid(found), [*answer(found), *notes])
    say(f"report: {out / 'report.md'}")


def _retest(published: Published) -> Retest:
    known = {}
    for place, model in enumerate(MODELS, 1):
        say(f"what the curves of {model} leave open ({place} of {len(MODELS)})")
        known.update(bounds(published, [model]))
    return retest(published, known)


def _entries(tables: Sequence[Table]) -> list[Entry]:
    return [entry for table in tables for line in table.lines for entry in line.entries]


def _notes(
    runs: Sequence[Run], used: Sequence[Run], unfinished: Sequence[Path], filled: int
) -> list[str]:
    """Say what our column holds, or why it is blank."""
    if not used:
        why = "no finished run was given" if not runs else "none of the runs is one of the paper's"
        notes = [f"Our column is blank: {why}."]
    else:
        notes = [
            f"Our column: mean over seeds (their number in parentheses) of {_runs(len(used))}; "
            f"they fill {filled} places, and it is blank without a run."
        ]
    if other := len(runs) - len(used):
        notes.append(f"Left out: {_runs(other)} of another preset or with overridden settings.")
    if unfinished:
        notes.append(f"Left out: {_runs(len(unfinished), 'unfinished ')}.")
    return notes


def _runs(count: int, kind: str = "") -> str:
    return f"{count} {kind}run" + ("s" if count != 1 else "")


def _write_tables(tables: Sequence[Table], mine: dict[Cell, Ours], folder: Path) -> None:
    for table in tables:
        parts = {
            "md": markdown(table, mine),
            "csv": long_table(table, mine).to_csv(index=False),
            "tex": latex(table, mine),
        }
        for kind, text in parts.items():
            write_bytes(folder / f"{table.name}.{kind}", text.encode())


def _print(grid: Grid, lines: Sequence[str]) -> None:
    print_grid(grid)
    fitting = Console(file=sys.stdout, markup=False, highlight=False)
    for line in lines:
        fitting.print(line)
