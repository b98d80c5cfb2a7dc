"""``fgrpo-bench report``: figures, tables and provenance of finished runs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fgrpo_bench.commands.progress import say
from fgrpo_bench.errors import UserError
from fgrpo_bench.report.collect import Comparison, Run, compare, find_runs
from fgrpo_bench.report.figures import save_figures
from fgrpo_bench.report.tables import long_table, markdown, print_tables, title
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.manifest import environment, now, write_manifest


def report(paths: Sequence[Path], out: Path) -> None:
    """Compare the finished runs under ``paths`` and write the report into ``out``.

    Raises:
        UserError: no finished run, or a damaged one.
    """
    runs, unfinished = find_runs(paths)
    comparisons, manifests = compare(runs), [_manifest(run) for run in runs]
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


def _manifest(run: Run) -> dict[str, Any]:
    path = run.directory / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
        manifest["command"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} cannot be read; run it again with --force") from None
    return manifest
