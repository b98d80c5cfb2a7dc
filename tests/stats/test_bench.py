"""What ``bench stats`` measures and how it judges; no test here asserts a time."""

import json
from pathlib import Path

import numpy as np
import pytest

from fgrpo_bench.cli import main
from fgrpo_bench.commands.bench_stats import targets
from fgrpo_bench.stats import bench
from fgrpo_bench.stats.pass_at_k import pass_at_k


@pytest.fixture
def small(monkeypatch):
    for name, value in {"PROBLEMS": 12, "TESTED": 9, "RESAMPLES": 50, "FEW": 5}.items():
        monkeypatch.setattr(bench, name, value)


def test_the_loop_beside_it_gives_the_same_numbers():
    c, ks = np.array([0, 1, 500, 1023, 1024]), np.array([1, 7, 256])
    np.testing.assert_allclose(bench._loop(c, ks), pass_at_k(1024, c[:, None], ks), rtol=1e-9)


def test_the_relative_error_sees_a_wrong_estimate(monkeypatch):
    c = np.array([0, 1, 2, 700, 1023, 1024])
    assert bench.relative_error(c) <= 1e-14
    monkeypatch.setattr(bench, "pass_at_k", lambda n, c, k: pass_at_k(n, c, k) * (1 + 1e-12))
    assert bench.relative_error(c) > 5e-13


def test_it_prints_and_writes_everything(small, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["bench", "stats", "--json", "out.json"])
    captured = capsys.readouterr()
    result = json.loads(Path("out.json").read_text("utf-8"))
    assert (result["schema"], result["bench"]) == (1, "stats")
    assert result["pass_at_k"]["problems"] == 12
    assert result["subsampling"]["at_k_256"]["standard_errors_apart"] < 5
    assert result["bootstrap"]["share_of_peak"] > 0
    assert {"numpy", "scipy"} <= set(result["packages"])
    for name, target in result["targets"].items():
        assert name in captured.out
        assert target["met"] in (True, False)
    assert captured.err.count("pair 3 of 3") == 4


def test_targets_are_judged_by_the_worse_of_both_k():
    good = {"seconds": 0.01, "speedup": {"median": 200.0}, "relative_error": 1e-15}
    fast = {"seconds": 0.1, "speedup": {"median": 90.0}, "standard_errors_apart": 1.0}
    slow = {"seconds": 1.2, "speedup": {"median": 4.0}, "standard_errors_apart": 0.5}
    far = {**fast, "standard_errors_apart": 4.5}
    judged = targets(good, {"a": fast, "b": slow}, {"seconds": 1.6})
    assert [name for name, target in judged.items() if not target["met"]] == [
        "m-out-of-n, s",
        "m-out-of-n, times the draws",
        "bootstrap, s",
    ]
    assert not targets(good, {"a": far, "b": slow}, {"seconds": 1})[
        "m-out-of-n, standard errors from the draws"
    ]["met"]
    bad = {"seconds": 0.021, "speedup": {"median": 99.0}, "relative_error": 2e-14}
    missed = [target["met"] for target in targets(bad, {"a": fast}, {"seconds": 1}).values()]
    assert missed == [False, False, False, True, True, True, True]


def test_options_of_the_other_benchmark_are_refused(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["bench", "stats", "--n", "8"])
    assert exit_.value.code == 2
    assert "bench stats takes no --n: leave it out" in capsys.readouterr().err
