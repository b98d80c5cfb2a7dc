"""The whole report: files, answer first, same bytes again, and what our runs change."""

import json
import re
from pathlib import Path

import pytest

from fgrpo_bench.commands.paper import report_paper
from fgrpo_bench.errors import UserError
from fgrpo_bench.report.paper.published import Published
from fgrpo_bench.report.paper.retest import Bounds
from tests.report.paper import golden
from tests.report.paper.runs import make_run

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def blank(tmp_path_factory) -> Path:
    """A report without runs, all of it computed here."""
    out = tmp_path_factory.mktemp("paper") / "new" / "report"
    report_paper((), out)
    return out


@pytest.fixture
def fast(monkeypatch, known):
    """The bounds from the session: what is tested beside them does not need them again."""

    def bounds(published: Published, models: list[str]) -> Bounds:
        return {key: value for key, value in known.items() if key[0] in models}

    monkeypatch.setattr("fgrpo_bench.commands.paper.bounds", bounds)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_all_files_are_there(blank):
    tables = {f"tables/{name}.{kind}" for name in golden.SIZES for kind in ("md", "csv", "tex")}
    figures = {f"curves-table{n}.{kind}" for n in (12, 13, 14) for kind in ("png", "svg")}
    rest = {"report.md", "results.json", "manifest.json", "tables/comparisons.csv"}
    assert set(files(blank)) == tables | figures | rest


def test_the_same_again_is_the_same_bytes(blank, fast, tmp_path):
    """With bounds computed in another order and place."""
    report_paper((), tmp_path / "again")
    first, second = files(blank), files(tmp_path / "again")
    manifests = [json.loads(each.pop("manifest.json")) for each in (first, second)]
    assert first == second
    for manifest in manifests:
        manifest.pop("created")
    assert manifests[0] == manifests[1]


def test_the_answer_comes_first_and_sources_are_named(blank):
    text = (blank / "report.md").read_text()
    assert text.split("\n\n")[1].startswith("Of the 162 published comparisons, 27 surely reach")
    assert "Our column is blank: no finished run was given." in text
    assert text.count("CC BY 4.0") >= 1
    images = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(images) == 3
    assert all((blank / name).stat().st_size > 50_000 for name in images)
    for name in golden.SIZES:
        assert f"### Table {name.removeprefix('table')}: " in text
        assert (blank / "tables" / f"{name}.md").read_text() in text


def test_the_numbers_of_the_re_test(blank):
    results = json.loads((blank / "results.json").read_text())
    assert results["totals"]["0.8"]["detectable"] == {"up": 27, "down": 0, "maybe": 8, "not": 127}
    assert len(results["comparisons"]) == 162
    assert len(results["averages"]) == 36
    assert len(results["curves"]) == 162
    assert sum(curve["beyond_rounding"] > 0 for curve in results["curves"]) == 9
    lines = (blank / "tables" / "comparisons.csv").read_text().splitlines()
    assert len(lines) == 1 + 162 + 36


def test_nothing_of_this_machine_is_written(blank):
    words = [str(blank), str(ROOT), str(Path.home()) + "/"]
    for name, data in files(blank).items():
        assert not any(word.encode() in data for word in words), name


def test_results_go_to_stdout_and_progress_to_stderr(fast, tmp_path, capsys):
    report_paper([], tmp_path / "out")
    captured = capsys.readouterr()
    assert re.search(r"All +27 +0 +8 +127", captured.out)
    assert "Of the 162 published comparisons" in captured.out
    assert captured.err.splitlines()[0].startswith("what the curves of Qwen2.5-7B leave open")
    assert captured.err.splitlines()[-1] == f"report: {tmp_path / 'out' / 'report.md'}"


def test_runs_of_ours_fill_the_tables_and_are_in_the_manifest(fast, tmp_path, capsys):
    runs = tmp_path / "runs"
    make_run(runs / "a", benchmarks={"maze-17x17": {"1": 0.5, "256": 0.6}})
    make_run(runs / "b", benchmarks={"maze-11x11": {"1": 0.5}}, preset="maze-small")
    make_run(runs / "c", benchmarks={}, seed=5)
    (runs / "c" / "results.json").unlink()
    report_paper([runs], tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| 8 | F-GRPO | 0.5 | 83.4 | 50.0 (1) |" in text
    assert "of 1 run; they fill 2 places, and it is blank without a run." in text
    assert "Left out: 1 run of another preset or with overridden settings." in text
    assert "Left out: 1 unfinished run." in text
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [run["command"] for run in manifest["runs"]] == ["none"]


def test_a_folder_without_runs_is_a_blank_column_and_a_missing_one_a_mistake(fast, tmp_path):
    (tmp_path / "empty").mkdir()
    report_paper([tmp_path / "empty"], tmp_path / "out")
    assert "Our column is blank" in (tmp_path / "out" / "report.md").read_text()
    with pytest.raises(UserError, match="nowhere is no directory"):
        report_paper([tmp_path / "nowhere"], tmp_path / "other")
    assert not (tmp_path / "other").exists()
