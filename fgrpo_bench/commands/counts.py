"""``fgrpo-bench report --counts``: which of some evaluations is better, at which k, is it real?"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from fgrpo_bench.commands.progress import say
from fgrpo_bench.report.counts import Counts, paired
from fgrpo_bench.report.evidence import Curves, Pair, common_ks, compare, curves
from fgrpo_bench.report.evidence_figures import evidence
from fgrpo_bench.report.evidence_tables import (
    answer,
    curves_grid,
    curves_table,
    differences_table,
    findings_grid,
    findings_table,
    notes,
    split_grid,
)
from fgrpo_bench.report.figures import STYLE, save_figure
from fgrpo_bench.report.grids import Grid, markdown_table, markdown_text, print_grid
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.manifest import environment, now, write_manifest


def report_counts(
    read: Sequence[Counts],
    out: Path,
    first: Sequence[Grid] = (),
    remarks: Sequence[str] = (),
    about: Sequence[dict[str, Any]] = (),
) -> None:
    """Compare evaluations by their counts, all with the first, and write the report into ``out``.

    Args:
        read: the evaluations.
        out: folder of the report, made if need be.
        first: tables to show before the others.
        remarks: what a reader must know of those.
        about: manifests of the evaluations, where there are any.

    Raises:
        UserError: evaluations that are not about the same problems.
    """
    paired(read)
    ks = common_ks(read)
    pairs = []
    for other in read[1:]:
        say(f"{other.name} against {read[0].name}")
        pairs.append(compare(read[0], other, ks))
    bands = curves(read, ks)
    out.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure = save_figure(evidence(read, bands, pairs, ks), out, "pass_at_k")
    grids = [*first, curves_grid(read, bands, ks), *map(findings_grid, pairs), split_grid(read, ks)]
    answers = [line for pair in pairs for line in answer(pair)]
    remarks = [*remarks, *notes(read, ks)]
    again = [str(manifest["command"]) for manifest in about]
    write_bytes(out / "report.md", _report(answers, grids, figure, remarks, again).encode())
    _write_tables(read, bands, pairs, ks, out)
    sources = {"counts": _sources(read), "evaluations": list(about)}
    write_manifest(out, {"created": now(), **environment(), **sources})
    for line in answers:
        print(line)
    for grid in grids:
        print_grid(grid)
    say(f"report: {out / 'report.md'}")


def _report(
    answers: Sequence[str],
    grids: Sequence[Grid],
    figure: str,
    remarks: Sequence[str],
    commands: Sequence[str],
) -> str:
    parts = ["# Report\n", *(f"{markdown_text(line)}\n" for line in answers)]
    parts.append(f"![pass@k and differences]({figure})\n")
    for grid in grids:
        table = markdown_table(grid.heads, grid.rows, grid.left)
        parts.append(f"## {markdown_text(grid.title)}\n\n{table}")
    parts += [f"{markdown_text(line)}\n" for line in remarks]
    if commands:
        lines = "\n".join(" ".join(command.replace("`", "'").split()) for command in commands)
        parts.append(f"## How to make these evaluations again\n\n```\n{lines}\n```\n")
    return "\n".join(parts)


def _write_tables(
    read: Sequence[Counts], bands: Curves, pairs: Sequence[Pair], ks: list[int], out: Path
) -> None:
    tables = {"curves": curves_table(read, bands, ks)}
    if pairs:
        tables |= {"findings": findings_table(pairs), "differences": differences_table(pairs, ks)}
    for name, table in tables.items():
        write_bytes(out / f"{name}.csv", table.to_csv(index=False).encode())


def _sources(read: Sequence[Counts]) -> dict[str, list[dict[str, str]]]:
    """Name and hash every file, without the folders it lies in."""
    return {one.name: [_source(path) for path in one.files] for one in read}


def _source(path: Path) -> dict[str, str]:
    with open(path, "rb") as file:
        return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
