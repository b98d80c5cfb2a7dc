"""Atomic writes, the states of a run directory, locks and metrics."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fgrpo_bench.errors import UserError
from fgrpo_bench.rundir.atomic import write_bytes, write_json
from fgrpo_bench.rundir.directory import Metrics, begin, clear, inspect, locked, read_metrics
from fgrpo_bench.rundir.manifest import environment
from fgrpo_bench.rundir.results import Results, TrainingTotals, read_results, write_results


def results(**changes) -> Results:
    fields = {
        "preset": "p", "method": "grpo", "group_size": 8, "gamma": 0.0, "seed": 0,
        "overrides": {}, "benchmarks": [], "outcomes": {},
        "training": TrainingTotals(steps=1, rollouts=2, tokens=3, clip_fraction=0.0),
    }  # fmt: skip
    return Results(**fields | changes)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_json(path, {"old": 1})
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        write_bytes(path, b"new")
    assert json.loads(path.read_text()) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_results_round_trip_and_start_with_their_schema(tmp_path):
    write_results(tmp_path, results(overrides={"train.steps": 3}))
    assert (tmp_path / "results.json").read_text().startswith('{\n  "schema": 1,')
    assert read_results(tmp_path) == results(overrides={"train.steps": 3})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"schema": 99}', "has schema 99"),
        ('{"schema": 1}', "damaged"),
    ],
)
def test_damaged_results_are_named(tmp_path, text, message):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(UserError, match=rf"results\.json .*{message}"):
        read_results(tmp_path)


def test_missing_results_are_named(tmp_path):
    with pytest.raises(UserError, match=r"results\.json is missing"):
        read_results(tmp_path)


def test_states_of_a_directory(tmp_path):
    run, config = tmp_path / "run", {"seed": 0, "config": {"train": {"steps": 3}}}
    assert inspect(run, config) == "new"
    with locked(run):
        begin(run, config)
    assert inspect(run, config) == "started"
    write_results(run, results())
    assert inspect(run, config) == "finished"


def test_a_run_killed_before_its_configuration_is_new(tmp_path):
    for name in ("lock", "worker-7.log", ".config.json.12.tmp"):
        (tmp_path / name).write_text("")
    assert inspect(tmp_path, {"seed": 0}) == "new"
    with locked(tmp_path):
        begin(tmp_path, {"seed": 0})
    assert not list(tmp_path.glob(".*.tmp"))


def test_another_configuration_is_refused_and_named(tmp_path):
    with locked(tmp_path):
        begin(tmp_path, {"seed": 0, "config": {"train": {"steps": 3}}})
    with pytest.raises(UserError, match=r"config\.train\.steps differ.*--force"):
        inspect(tmp_path, {"seed": 0, "config": {"train": {"steps": 4}}})


def test_foreign_places_are_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="not a run"):
        inspect(tmp_path, {})
    for place in (tmp_path / "thesis.tex", tmp_path / "thesis.tex" / "micro" / "run"):
        with pytest.raises(UserError, match="a file is in the way"):
            inspect(place, {})


def test_clear_removes_the_run_but_not_its_place(tmp_path):
    with locked(tmp_path):
        begin(tmp_path, {"seed": 0})
    write_results(tmp_path, results())
    clear([tmp_path])
    assert [p.name for p in tmp_path.iterdir()] == ["lock"]
    assert inspect(tmp_path, {"seed": 1}) == "new"
    clear([tmp_path])  # a place just cleared may be cleared again


def test_clear_removes_all_or_none(tmp_path):
    run, other = tmp_path / "a", tmp_path / "b"
    with locked(run):
        begin(run, {"seed": 0})
    write_results(run, results())
    other.mkdir()
    (other / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="not a run"):
        clear([run, other])
    assert read_results(run) == results()
    (other / "thesis.tex").unlink()
    with locked(other), pytest.raises(UserError, match="another process"):
        clear([run, other])
    assert read_results(run) == results()


def only(removals, monkeypatch):
    """Let so many removals succeed and the next one be cut short."""
    left = iter(range(removals))

    def limited(remove):
        def removing(*arguments, **options):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return remove(*arguments, **options)

        return removing

    monkeypatch.setattr(shutil, "rmtree", limited(shutil.rmtree))
    monkeypatch.setattr(Path, "unlink", limited(Path.unlink))


@pytest.mark.parametrize("removals", range(6))
def test_a_clear_cut_short_never_looks_better_than_it_is(tmp_path, monkeypatch, removals):
    """Whichever removal is cut short, results are gone first and the place is known as a run."""
    with locked(tmp_path):
        begin(tmp_path, {"seed": 0})
    write_results(tmp_path, results())
    for name in ("metrics.jsonl", "manifest.json", "problems.parquet"):
        (tmp_path / name).write_text("{}")
    only(removals, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        clear([tmp_path])
    monkeypatch.undo()
    there = {p.name for p in tmp_path.iterdir()}
    assert "config.json" in there
    assert ("results.json" in there) == (removals == 0)
    if "checkpoints" in there:
        assert {"metrics.jsonl", "manifest.json"} <= there
    clear([tmp_path])
    assert inspect(tmp_path, {"seed": 1}) == "new"


def test_a_lock_keeps_a_second_process_out_and_falls_with_the_first(tmp_path):
    hold = (
        "import sys, pathlib; from fgrpo_bench.rundir.directory import locked\n"
        "with locked(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(UserError, match="another process"), locked(tmp_path):
        pass
    process.kill()
    process.communicate()
    with locked(tmp_path):
        pass


def test_metrics_are_cut_back_to_the_checkpoint(tmp_path):
    metrics = Metrics(tmp_path, -1)
    for step in range(5):
        metrics.append({"step": step})
    metrics.close()
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 5, "rew')  # a torn line
    assert [line["step"] for line in read_metrics(tmp_path)] == [0, 1, 2, 3, 4]
    metrics = Metrics(tmp_path, 2)
    metrics.append({"step": 3})
    metrics.close()
    assert (tmp_path / "metrics.jsonl").read_text().splitlines() == [
        f'{{"step": {step}}}' for step in range(4)
    ]


def test_environment_tells_versions_but_no_host_or_home():
    text = json.dumps(environment())
    assert "torch" in text
    assert os.path.expanduser("~") not in text
    assert os.uname().nodename not in text
