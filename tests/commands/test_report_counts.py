"""``report --counts`` as a user meets it."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fgrpo_bench.cli import main


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rate = rng.beta(0.5, 0.5, 40)
    for name, lift in (("a", 0.0), ("b", 0.1)):
        c = rng.binomial(32, np.clip(rate + lift, 0, 1))
        table = pd.DataFrame({"problem_id": [f"{i:03d}" for i in range(40)], "n": 32, "c": c})
        table.to_csv(f"{name}.csv", index=False)
    lines = [
        {
            "doc_id": i,
            "doc_hash": str(i),
            "filter": "none",
            "resps": [["x"]],
            "filtered_resps": ["x"],
            "metrics": ["exact_match"],
            "exact_match": float(i % 3 == 0),
        }
        for i in range(9)
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    Path("samples_aime_2026-01-31T12-00-00.123456.jsonl").write_text(text)
    return tmp_path


def refused(words, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["report", *words])
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_two_csv_files(files, capsys):
    main(["report", "--counts", "old=a.csv", "--counts", "new=b.csv", "--out", "out"])
    captured = capsys.readouterr()
    assert "On all, new against old: higher at pass@1" in captured.out
    assert "report: out/report.md" in captured.err
    names = {path.name for path in Path("out").iterdir()}
    assert names == {
        *("report.md", "manifest.json", "curves.csv", "findings.csv", "differences.csv"),
        *("pass_at_k.png", "pass_at_k.svg"),
    }
    report = Path("out/report.md").read_text()
    assert report.startswith("# Report\n\nOn all, new against old: higher at pass@1")
    assert "| all | 1 |" in report
    assert "Q3, whether another training run would" in report
    manifest = json.loads(Path("out/manifest.json").read_text())
    expected = {"file": "b.csv", "sha256": hashlib.sha256(Path("b.csv").read_bytes()).hexdigest()}
    assert manifest["counts"]["new"] == [expected]


def test_equal_input_gives_equal_bytes(files):
    for out in ("one", "two"):
        main(["report", "--counts", "old=a.csv", "new=b.csv", "--out", out])
    for path in Path("one").iterdir():
        if path.name != "manifest.json":
            assert path.read_bytes() == (Path("two") / path.name).read_bytes(), path.name


def test_samples_of_lm_eval(files, capsys):
    name = next(Path().glob("samples_*.jsonl"))
    main(["report", "--counts", f"mine={name}", "--out", "out"])
    captured = capsys.readouterr()
    assert "aime" in captured.out
    assert "33.3" in captured.out
    assert not Path("out/findings.csv").exists()


def test_hostile_names_stay_text(files):
    names = ["$\\frac{", "_<script>alert(1)</script>|"]
    words = [f"{name}={file}.csv" for name, file in zip(names, "ab", strict=True)]
    main(["report", "--counts", *words, "--out", "out"])
    report = Path("out/report.md").read_text()
    assert "<script>" not in report
    assert all(
        line.count("|") - line.count("\\|") in (0, 9, 11, 7, 10, 12)
        for line in report.splitlines()
        if line.startswith("|")
    )
    assert "<script>" not in Path("out/pass_at_k.svg").read_text()


def test_wrong_use_is_one_line(files, capsys):
    assert "leave out the runs and --paper" in refused(["runs", "--counts", "a=a.csv"], capsys)
    assert "leave out the runs and --paper" in refused(["--paper", "--counts", "a=a.csv"], capsys)
    assert "did you mean '--counts'?" in refused(["--count", "a=a.csv"], capsys)
    assert "none.csv" in refused(["--counts", "a=none.csv"], capsys)
    Path("short.csv").write_text("".join(Path("a.csv").read_text().splitlines(True)[:31]))
    assert "'s' lacks 10 of the 40" in refused(["--counts", "a=a.csv", "s=short.csv"], capsys)
    assert not Path("reports").exists(), "nothing is written for refused input"
