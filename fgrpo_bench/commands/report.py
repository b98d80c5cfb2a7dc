"""``fgrpo-bench report``: figures, tables and provenance of finished runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fgrpo_bench.commands.progress import say
from fgrpo_bench.errors import UserError, shown
from fgrpo_bench.report.collect import Comparison, compare, find_runs, search
from fgrpo_bench.report.counts import read_counts
from fgrpo_bench.report.evaluations import (
    counts_of,
    find_evaluations,
    remarks,
    summary_grid,
)
from fgrpo_bench.report.figures import save_figures
from fgrpo_bench.report.tables import long_table, markdown, print_tables, title
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.manifest import environment, now, read_manifest, write_manifest

_RUNS = Path("runs")


def report(paths: Sequence[Path], counts: Sequence[str], paper: bool, out: Path) -> None:
    """Write the report of runs, of counts, or of the paper's tables into ``out``.

    Args:
        paths: run directories or folders of them; none means everything under ``runs``.
        counts: evaluations as ``NAME=FILE``, which are compared with the first of them.
        paper: whether to set the paper's tables beside the runs.
        out: folder of the report, made if need be.

    Raises:
        UserError: two kinds of report at once, or input that cannot be used.
    """
    if counts and (paths or paper):
        raise UserError("--counts is a report of its own: leave out the runs and --paper")
    if counts:
        from fgrpo_bench.commands.counts import report_counts

        report_counts(read_counts(counts), out)
    elif paper:
        from fgrpo_bench.commands.paper import report_paper

        report_paper(paths or ([_RUNS] if _RUNS.is_dir() else []), out)
    elif not _report_evaluations(paths, out):
        _report_runs(paths or [_RUNS], out)


def _report_evaluations(paths: Sequence[Path], out: Path) -> bool:
    """Report what evaluations there are at these paths; say whether there were any.

    Raises:
        UserError: evaluations beside runs, or none that is finished.
    """
    found, unfinished = find_evaluations(path for path in paths if path.is_dir())
    if not found and not unfinished:
        return False
    runs, going_on = search(paths)
    if runs or going_on:
        raise UserError("runs and evaluations in one report: name only the one or the other kind")
    for directory in unfinished:
        say(f"left out, since not finished: {shown(directory)}")
    if not found:
        raise UserError("no evaluation is finished: run the same fgrpo-bench eval again")
    from fgrpo_bench.commands.counts import report_counts

    manifests = [read_manifest(one.directory, "run the same eval again") for one in found]
    report_counts(counts_of(found), out, [summary_grid(found)], remarks(found), manifests)
    return True


def _report_runs(paths: Sequence[Path], out: Path) -> None:
    runs, unfinished = find_runs(paths)
    comparisons, manifests = compare(runs), [read_manifest(run.directory) for run in runs]
    out.mkdir(parents=True, exist_ok=True)
    sections = []
    for index, comparison in enumerate(comparisons):
        suffix = f"-{index + 1}" if len(comparisons) > 1 else ""
        sections.append(_section(comparison, save_figures(comparison, out, suffix)))
    print_tables(comparisons)
    if unfinished:
        names = ", ".join(directory.name for directory in unfinished)
        sections.append(f"Left out, since not finished: {names}.\n")
        say(f"left out, since not finished: {names}")
    sections.append(_provenance(manifests))
    write_bytes(out / "report.md", "\n".join(["# Report\n", *sections]).encode())
    write_bytes(out / "table.md", "\n".join(map(markdown, comparisons)).encode())
    write_bytes(out / "table.csv", long_table(comparisons).to_csv(index=False).encode())
    write_manifest(out, {"created": now(), **environment(), "runs": manifests})
    say(f"report: {out / 'report.md'}")


def _section(comparison: Comparison, figures: list[str]) -> str:
    images = "\n\n".join(f"![{Path(name).stem}]({name})" for name in figures)
    return f"## {title(comparison)}\n\n{markdown(comparison)}\n{images}\n"


def _provenance(manifests: list[dict[str, Any]]) -> str:
    lines = "\n".join(manifest["command"] for manifest in manifests)
    return (
        "## How to make these runs again\n\n"
        f"```\n{lines}\n```\n\n"
        "`manifest.json` has each run's configuration, versions and hashes.\n"
    )
