"""Our column: a finished run fills exactly its cells, and nothing else does."""

import json
from pathlib import Path

import pytest

from fgrpo_bench.errors import UserError
from fgrpo_bench.report.collect import search
from fgrpo_bench.report.paper.layout import layout
from fgrpo_bench.report.paper.ours import Ours, ours
from fgrpo_bench.report.paper.published import MATH, OOD, Cell
from tests.report.paper.runs import make_run

MAZE = {"maze-17x17": {"1": 0.5, "16": 0.6, "128": 0.7, "256": 0.8, "2048": 0.9}}
LLM = {name: {"1": 0.1 + i / 100, "256": 0.5} for i, name in enumerate((*MATH, *OOD))}


def filled(folder: Path, published) -> dict[tuple[str, Cell], Ours]:
    """The places of the tables that the runs in a folder fill."""
    mine = ours(search([folder])[0])
    return {
        (table.name, entry.cell): mine[entry.cell]
        for table in layout(published)
        for line in table.lines
        for entry in line.entries
        if entry.cell in mine
    }


def test_a_maze_run_fills_its_three_cells(tmp_path, published):
    make_run(tmp_path / "a", benchmarks=MAZE)
    cells = {k: Cell("maze-transformer-3m", "fgrpo", 0.5, 8, "maze17", k) for k in (1, 128, 256)}
    assert filled(tmp_path, published) == {
        ("table4", cells[1]): Ours(50.0, 1),
        ("table4", cells[128]): Ours(70.0, 1),
        ("table4", cells[256]): Ours(80.0, 1),
    }


@pytest.mark.parametrize(
    "change",
    [
        {"gamma": 2.0},
        {"group_size": 6},
        {"method": "fdapo"},
        {"method": "grpo"},
        {"preset": "maze-medium"},
        {"overrides": {"train.steps": 10}},
        {"overrides": {"evaluation.samples": 64}},
        {"benchmarks": {"maze-17x17-tuning": MAZE["maze-17x17"]}},
        {"benchmarks": {"maze17": MAZE["maze-17x17"]}},
        {"benchmarks": {"maze-17x17": {"2": 0.5, "255": 0.5}}},
        {"stage": "base"},
        {"stratum": "detour"},
    ],
    ids=str,
)
def test_a_run_that_is_not_the_papers_fills_none(change, tmp_path, published):
    make_run(tmp_path / "a", **{"benchmarks": MAZE, **change})
    assert filled(tmp_path, published) == {}


def test_the_mean_over_seeds_and_their_number(tmp_path, published):
    for seed, value in enumerate((0.2, 0.3, 0.7)):
        make_run(tmp_path / str(seed), seed=seed, benchmarks={"maze-17x17": {"1": value}})
    ((_, mine),) = filled(tmp_path, published).items()
    assert mine.value == pytest.approx(40.0)
    assert mine.seeds == 3


def test_an_unfinished_run_fills_none(tmp_path, published):
    make_run(tmp_path / "a", benchmarks=MAZE)
    (tmp_path / "a" / "results.json").unlink()
    assert filled(tmp_path, published) == {}


def test_a_language_model_fills_its_tables_and_averages(tmp_path, published):
    make_run(tmp_path / "a", preset="qwen2.5-7b", benchmarks=LLM)
    found = filled(tmp_path, published)
    places = {}
    for table, _ in found:
        places[table] = places.get(table, 0) + 1
    assert places == {"table1": 22, "table2": 4, "table3": 4, "table6": 4, "table12": 18}
    cell = Cell("Qwen2.5-7B", "fgrpo", 0.5, 8, "avg_math", 1)
    assert found["table1", cell].value == pytest.approx(12.5)
    assert found["table1", cell._replace(benchmark="avg_ood")].value == pytest.approx(17.0)


def test_an_average_needs_all_its_benchmarks_in_one_run(tmp_path, published):
    make_run(tmp_path / "a", preset="qwen3-4b-base", benchmarks={k: LLM[k] for k in MATH[:5]})
    rest = {k: LLM[k] for k in (*MATH[5:], *OOD)}
    make_run(tmp_path / "b", preset="qwen3-4b-base", seed=1, benchmarks=rest)
    benchmarks = {cell.benchmark for _, cell in filled(tmp_path, published)}
    assert benchmarks == {*MATH, *OOD, "avg_ood"}


def test_our_best_gamma_needs_the_whole_sweep(tmp_path, published):
    best = Cell("Qwen2.5-7B", "fgrpo", None, 8, "gamma", None)
    for gamma, value in ((0.5, 0.3), (1.0, 0.4), (2.0, 0.2)):
        assert ("table7", best) not in filled_or_empty(tmp_path, published)
        benchmarks = {name: {"1": value, "256": 0.5} for name in MATH}
        make_run(tmp_path / f"{gamma}", preset="qwen2.5-7b", gamma=gamma, benchmarks=benchmarks)
    assert filled(tmp_path, published)["table7", best] == Ours(1.0, 1)


def filled_or_empty(folder: Path, published) -> dict[tuple[str, Cell], Ours]:
    return filled(folder, published) if any(folder.iterdir()) else {}


def test_two_runs_of_a_seed_that_disagree_are_named(tmp_path):
    make_run(tmp_path / "a", benchmarks=MAZE)
    make_run(tmp_path / "b", benchmarks={"maze-17x17": {"1": 0.4}})
    config = json.loads((tmp_path / "b" / "config.json").read_text())
    config["config"]["train"]["steps"] = 1
    (tmp_path / "b" / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="name only one of them"):
        ours(search([tmp_path])[0])
