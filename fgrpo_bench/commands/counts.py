"""``fgrpo-bench report --counts``: which of some evaluations is better, at which k, is it real?"""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from fgrpo_bench.commands.progress import say
from fgrpo_bench.report.counts import Counts, paired, read_counts
from fgrpo_bench.report.evidence import Pair, common_ks, compare
from fgrpo_bench.report.evidence_figures import evidence
from fgrpo_bench.report.evidence_tables import (
    answer,
    curves_grid,
    curves_table,
    differences_table,
    notes,
    split_grid,
    tests_grid,
    tests_table,
)
from fgrpo_bench.report.figures import STYLE, save_figure
from fgrpo_bench.report.paper.render import markdown_table, markdown_text
from fgrpo_bench.report.paper.summary import Grid
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.manifest import environment, now, write_manifest


def counts(arguments: Sequence[str], out: Path) -> None:
    """Compare evaluations by their counts, all with the first, and write the report into ``out``.

    Args:
        arguments: ``NAME=FILE`` each, as in ``read_counts``.
        out: folder of the report, made if need be.

    Raises:
        UserError: files that cannot be used, or that are not about the same problems.
    """
    read = read_counts(arguments)
    paired(read)
    ks = common_ks(read)
    pairs = []
    for other in read[1:]:
        say(f"{other.name} against {read[0].name}")
        pairs.append(compare(read[0], other, ks))
    out.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure = save_figure(evidence(read, pairs, ks), out, "pass_at_k")
    grids = [curves_grid(read, ks), *map(tests_grid, pairs), split_grid(read, ks)]
    answers = [line for pair in pairs for line in answer(pair)]
    remarks = notes(read, ks)
    write_bytes(out / "report.md", _report(answers, grids, figure, remarks).encode())
    _write_tables(read, pairs, ks, out)
    write_manifest(out, {"created": now(), **environment(), "counts": list(arguments)})
    print_grids(grids)
    say(f"report: {out / 'report.md'}")
