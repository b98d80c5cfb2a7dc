"""``fgrpo-bench tasks``: what can be evaluated, how it is graded, and whose data it is."""

from fgrpo_bench.benchmarks.registry import BENCHMARKS, GROUPS, task_names, tasks_folder
from fgrpo_bench.report.grids import Grid, print_grid

REVISION = 8


def tasks() -> None:
    """Print the benchmarks, their data, the groups, and where the lm-eval files are."""
    print_grid(_graded())
    print_grid(_data())
    for group, members in GROUPS.items():
        print(f"group {group}: {' '.join(members)}")
    variants = [name for name, benchmark in task_names().items() if name != benchmark]
    print(f"variants, taken by themselves for their family of models: {' '.join(variants)}")
    print(f"files for lm_eval run --include_path: {tasks_folder()}")


def _graded() -> Grid:
    rows = [
        (
            each.name,
            each.title,
            each.style,
            each.grader,
            f"{each.guess:.0%}" if each.guess else "",
            str(each.rows),
        )
        for each in BENCHMARKS.values()
    ]
    heads = ("task", "title", "prompt", "grader", "guess", "rows")
    return Grid("Benchmarks", heads, tuple(rows), left=4)


def _data() -> Grid:
    rows = [
        (
            each.name,
            each.hub or "made here, no download",
            each.revision[:REVISION] if each.revision else "",
            each.licence,
            "yes" if each.redistributable else "no",
        )
        for each in BENCHMARKS.values()
    ]
    heads = ("task", "rows from the hub's", "revision", "licence", "texts may be shown")
    return Grid("Data", heads, tuple(rows), left=5)
