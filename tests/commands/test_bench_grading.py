"""``fgrpo-bench bench grading``: what it reads, prints and writes."""

import json

import pytest

from fgrpo_bench.cli import main
from fgrpo_bench.commands import bench_grading
from fgrpo_bench.grading.grader import Grader
from fgrpo_bench.grading.measure.cases import OTHER, Case
from fgrpo_bench.grading.measure.gold_rows import Row
from fgrpo_bench.grading.pool import Pool

ROWS = [{"unique_id": f"{key}", "answer": answer} for key, answer in enumerate(["7", r"\pi", "x"])]


@pytest.fixture
def scripted(monkeypatch):
    """A grader that takes what is right and golds of other rows, and nothing beside it."""

    def grade(cases):
        return ["correct" if case.right or case.kind == OTHER else "wrong" for case in cases]

    found = {
        "measure_speed": {"ratio": 12.0, "misgraded": 0},
        "measure_hostile": {"share_of_bound": 0.5, "alive": True},
        "measure_leaks": {"zombies": 0, "growth": 0.2},
    }
    for name, value in found.items():
        monkeypatch.setattr(bench_grading, name, lambda *_, value=value: value)
    monkeypatch.setattr(bench_grading, "grading_by", lambda grader: grade)
    monkeypatch.setattr(bench_grading, "baseline", lambda name: grade)


def test_accuracy_is_printed_and_written(scripted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "math500.jsonl").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    main(["bench", "grading", "--data", ".", "--json", "found.json"])
    captured = capsys.readouterr()
    result = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert result["bench"] == "grading"
    counts = result["accuracy"]["ours"]["counts"]["math500"]
    assert counts["gold"] == {"right": True, "cases": 3, "failed": 0, "errors": 0}
    assert counts[OTHER] == {"right": False, "cases": 6, "failed": 6, "errors": 0}
    assert set(result["accuracy"]) == {"ours", *bench_grading.BASELINES}
    met = {name: one["met"] for name, one in result["targets"].items()}
    assert met["math500: gold rejected"]
    assert not met["math500: false accepts"]
    assert met["times one math-verify call per sample"]
    assert met["hostile answers, pool alive afterwards"]
    assert not met["10,000 answers, growth of memory"]
    assert "minerva is left out: minerva_math.jsonl or minerva.jsonl is not in ." in captured.err
    assert "math500: false accepts" in captured.out
    report = (tmp_path / "found.md").read_text("utf-8")
    assert report.count(r"| math500 | 1 | gold of another row | \\pi | 7 | correct |") == 1


def test_without_rows_it_measures_integers_made_here(scripted, monkeypatch, capsys):
    monkeypatch.setattr(bench_grading, "BASELINES", {})
    main(["bench", "grading"])
    captured = capsys.readouterr()
    assert "name their folder, --data DIR" in captured.err
    assert "aime (notation): gold rejected" in captured.out
    assert "math500" not in captured.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["grading", "--data", "nowhere"], "--data nowhere: no such folder"),
        (["grading", "--data", "."], "none of math500.jsonl, minerva_math.jsonl, olymp"),
        (["stats", "--data", "."], "bench stats takes no --data"),
        (["grading", "--preset", "x"], "bench grading takes no --preset"),
    ],
)
def test_what_cannot_be_measured_is_told(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["bench", *words])
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_it_grades_as_eval_does_and_asks_its_own_pool():
    pytest.importorskip("math_verify")
    rows = [Row("math500", answer, {"answer": answer}, answer, (answer,)) for answer in ("7", "2x")]
    cases = [
        Case(rows[0], True, "zero padding", "7.0"),
        Case(rows[1], True, "order", "x+x"),
        Case(rows[1], False, "sign", "-2x"),
        Case(rows[1], False, "nothing", ""),
    ]
    with Pool(1) as pool:
        found = bench_grading.grading_by(Grader(pool, None))(cases)
    assert found == ["correct", "correct", "wrong", "no_answer"]
