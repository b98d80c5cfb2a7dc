"""The main job from end to end on a tiny preset: run, stop, resume, compare, report."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from fgrpo_bench.cli import main
from fgrpo_bench.config.load import digest, load_preset
from fgrpo_bench.maze import experiment
from fgrpo_bench.maze.data import content_hash, load_mazes
from fgrpo_bench.maze.grid import cells
from fgrpo_bench.methods.registry import METHODS
from fgrpo_bench.rundir.directory import begin, inspect, locked, read_metrics
from fgrpo_bench.rundir.results import read_results
from fgrpo_bench.stats.pass_at_k import exact_pass_at_k, pass_at_k

KEPT = (
    "results.json", "problems.parquet", "metrics.jsonl", "checkpoints/final.safetensors",
    "samples/base.parquet", "samples/final.parquet", "grades/base.parquet", "grades/final.parquet",
)  # fmt: skip


def arguments(preset: Path, out: Path, *more: str) -> list[str]:
    return ["run", "--preset", str(preset), "--n", "8", "--out", str(out), *more]


def contents(root: Path) -> dict[str, bytes]:
    """Every file of every run that must not depend on how often it was interrupted."""
    runs = [p.parent for p in sorted(root.rglob("results.json"))]
    return {f"{run.name}/{name}": (run / name).read_bytes() for run in runs for name in KEPT}


SECRET = "hf_aTokenThatMustNeverBeWritten"


@pytest.fixture(scope="module")
def finished(micro_preset, tmp_path_factory) -> Path:
    """Four finished runs: GRPO and F-GRPO, two seeds."""
    out = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", SECRET)
        main(arguments(micro_preset, out, "--method", "grpo", "fgrpo", "--seed", "0", "1"))
    return out


@pytest.fixture
def with_base(finished, tmp_path) -> Path:
    """A folder for runs that has the trained base already."""
    (base,) = (finished / "micro").glob("base-*")
    shutil.copytree(base, tmp_path / "micro" / base.name)
    return tmp_path


def test_run_writes_what_the_contract_says(finished):
    runs = sorted(p.name for p in (finished / "micro").iterdir() if not p.name.startswith("base"))
    assert runs == ["fgrpo-n8-g1-s0", "fgrpo-n8-g1-s1", "grpo-n8-g0-s0", "grpo-n8-g0-s1"]
    run = finished / "micro" / "fgrpo-n8-g1-s0"
    assert sorted(p.name for p in run.iterdir() if p.name != "lock") == [
        "checkpoints", "config.json", "grades", "manifest.json", "metrics.jsonl",
        "problems.parquet", "results.json", "samples",
    ]  # fmt: skip
    assert [p.name for p in (run / "checkpoints").iterdir()] == ["final.safetensors"]

    problems = pd.read_parquet(run / "problems.parquet")
    assert list(problems) == ["benchmark", "problem_id", "stratum", "stage", "n", "c", "p_exact"]
    assert problems.groupby("stage").size().to_dict() == {"base": 24, "final": 24, "guesser": 24}
    assert set(problems["stratum"]) == {"monotone", "detour"}

    results = read_results(run)
    assert (results.method, results.group_size, results.gamma) == ("fgrpo", 8, 1.0)
    for result in results.benchmarks:
        rows = problems[problems["stage"] == result.stage]
        if result.stratum:
            rows = rows[rows["stratum"] == result.stratum]
        curve = exact_pass_at_k(rows["p_exact"].to_numpy(), [1, 4, 16, 64])
        assert list(result.pass_at_k.values()) == pytest.approx(curve.tolist())
        assert (result.problems, result.exact) == (len(rows), True)
    assert results.training.rollouts == 24 * 8 * 8 == sum(results.outcomes.values())
    lines = read_metrics(run)
    assert [line["step"] for line in lines] == list(range(25))
    assert sum(line.get("tokens", 0) for line in lines) == results.training.tokens
    assert [line["step"] for line in lines if "pass_at_k" in line] == list(range(0, 25, 4))
    final = next(r for r in results.benchmarks if (r.stage, r.stratum) == ("final", None))
    assert lines[-1]["pass_at_k"] == final.pass_at_k
    assert any(line.get("focal") and line["focal"] < 1 for line in lines)
    drifts = [line["distance_to_base"] for line in lines if "kl_to_base" in line]
    assert len(drifts) == 6
    assert drifts == sorted(drifts)


def test_results_json_has_the_contracts_keys(finished):
    value = json.loads((finished / "micro" / "fgrpo-n8-g1-s0" / "results.json").read_text())
    assert set(value) == {
        "schema", "preset", "method", "group_size", "gamma", "seed", "overrides", "benchmarks",
        "training", "outcomes",
    }  # fmt: skip
    keys = {"name", "stratum", "stage", "problems", "samples", "exact", "pass_at_k"}
    assert all(set(benchmark) == keys for benchmark in value["benchmarks"])
    assert set(value["training"]) == {"steps", "rollouts", "tokens", "clip_fraction"}
    assert set(value["outcomes"]) == {"correct", "wrong", "truncated"}
    for benchmark in value["benchmarks"]:
        assert list(benchmark["pass_at_k"]) == ["1", "4", "16", "64"]
        assert all(0 <= share <= 1 for share in benchmark["pass_at_k"].values())


def test_manifest_tells_what_made_the_run_and_nothing_private(finished, micro_preset):
    run = finished / "micro" / "fgrpo-n8-g1-s0"
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["schema"] == 1
    assert manifest["command"].endswith("--method fgrpo --n 8 --gamma 1 --seed 0")
    assert manifest["config"] == json.loads((run / "config.json").read_text())
    assert manifest["config_hash"] == digest(manifest["config"])
    assert manifest["packages"]["torch"] == version("torch")
    assert manifest["platform"].startswith(os.uname().sysname)
    assert set(manifest["git"] or {"commit": 0, "dirty": 0}) == {"commit", "dirty"}
    (base,) = (finished / "micro").glob("base-*")
    weights = hashlib.sha256((base / "base.safetensors").read_bytes()).hexdigest()
    assert manifest["model"] == {
        "id": "maze base", "revision": base.name.removeprefix("base-"), "weights_sha256": weights
    }  # fmt: skip
    data = load_mazes(load_preset(str(micro_preset))[1])
    assert manifest["data"]["id"] == "maze-9x9"
    assert manifest["data"]["revision"] == "data_seed=3"
    assert manifest["data"]["evaluation_sha256"] == content_hash(data.heldout)
    assert manifest["data"]["training_sha256"] == content_hash(data.training)
    assert len(manifest["data"]["prompts_sha256"]) == 64
    assert manifest["seeds"] == {"run": 0, "data": 3, "base": 0}
    started, ended = (datetime.fromisoformat(manifest[k]) for k in ("started", "finished"))
    assert started <= ended
    text = (run / "manifest.json").read_text()
    for private in (os.path.expanduser("~"), str(finished), os.uname().nodename, SECRET):
        assert private not in text


def test_problems_belong_to_the_preset_and_never_to_the_seed(finished):
    """Whatever the seed: the same mazes, guesser and base, problem by problem, so that runs pair."""
    runs = [path.parent for path in finished.rglob("results.json")]
    manifests = [json.loads((run / "manifest.json").read_text()) for run in runs]
    assert {manifest["seeds"]["run"] for manifest in manifests} == {0, 1}
    assert len({json.dumps(manifest["data"]) for manifest in manifests}) == 1
    for stage, alike in (("guesser", True), ("base", True), ("final", False)):
        tables = []
        for run in runs:
            problems = pd.read_parquet(run / "problems.parquet")
            tables.append(problems[problems["stage"] == stage].to_json())
        assert (len(set(tables)) == 1) == alike


def test_a_run_leaves_the_global_generators_alone(finished, micro_preset, with_base):
    """Every draw comes from a stream of its own: neither reads nor moves a global state."""
    (cell,) = cells(str(micro_preset), ["shuffled-focal"], [8], overrides=["train.steps=4"])
    directories = [with_base / "micro" / name for name in ("one", "two")]
    for seed, directory in enumerate(directories):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 (the very state that must not matter)
        torch.manual_seed(seed)
        before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # noqa: NPY002
        experiment.run(cell, directory, lambda _: None)
        after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # noqa: NPY002
        assert before[:2] == after[:2]
        assert torch.equal(before[2], after[2])
    for name in KEPT:
        assert (directories[0] / name).read_bytes() == (directories[1] / name).read_bytes()


def test_runs_differ_by_method_and_seed_but_share_base_and_problems(finished):
    runs = [read_results(p.parent) for p in sorted(finished.rglob("results.json"))]
    stages = [{r.stage: r.pass_at_k for r in run.benchmarks if not r.stratum} for run in runs]
    assert all(s["base"] == stages[0]["base"] for s in stages)
    assert all(s["guesser"] == stages[0]["guesser"] for s in stages)
    assert len({tuple(s["final"].values()) for s in stages}) == 4


def test_the_same_command_does_nothing_and_prints_the_table(finished, micro_preset, capsys):
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("*") if p.is_file()}
    main(arguments(micro_preset, finished, "--method", "grpo", "fgrpo", "--seed", "0", "1"))
    assert before == {p: p.stat().st_mtime_ns for p in finished.rglob("*") if p.is_file()}
    out = capsys.readouterr().out
    for text in ("guesser", "base", "GRPO N=8", "F-GRPO N=8 γ=1", "change vs base"):
        assert text in out
    assert "±" in out
    assert "saturated" in out


def test_dry_run_shows_everything_and_writes_nothing(finished, micro_preset, tmp_path, capsys):
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("*") if p.is_file()}
    begun = finished / "micro" / "dapo-n8-g0-s0"
    (cell,) = cells(str(micro_preset), ["dapo"], [8])
    with locked(begun):
        begin(begun, cell.to_json())
    (begun / "checkpoints" / "step-000008.safetensors").write_text("")
    words = ["--method", "grpo", "dapo", "cispo", "--dry-run"]
    main(arguments(micro_preset, finished, *words))
    out, error = capsys.readouterr()
    shutil.rmtree(begun)
    assert "train.learning_rate = 0.0005\n" in out
    assert "base.train = true\n" in out
    assert "  grpo-n8-g0-s0   finished\n" in out
    assert "  dapo-n8-g0-s0   begun, step 8 of 24\n" in out
    assert "  cispo-n8-g0-s0  to do\n" in out
    assert ", trained\n" in out
    assert "2 of 3 runs to do; nothing was written" in error
    assert before == {p: p.stat().st_mtime_ns for p in finished.rglob("*") if p.is_file()}
    main(arguments(micro_preset, tmp_path / "new", *words))
    assert "to be trained first" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()
    main(["run", "--method", "grpo", "--dry-run", "--out", str(tmp_path / "new")])
    assert "base: maze-small, shipped" in capsys.readouterr().out


def test_another_configuration_in_the_same_place_is_refused(
    finished, micro_preset, tmp_path, capsys
):
    changed = tmp_path / "micro.toml"
    changed.write_text(micro_preset.read_text().replace("prompts = 8", "prompts = 6"))
    before = contents(finished)
    with pytest.raises(SystemExit) as exit_:
        main(arguments(changed, finished, "--method", "grpo"))
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert "config.train.prompts differ" in error
    assert error.count("\n") == 1
    assert contents(finished) == before


def test_a_run_older_than_a_key_is_the_same_run(finished, micro_preset, tmp_path, capsys):
    """The key's default is what the run was made with: nothing to do again, nothing to tell apart."""
    copy = tmp_path / "runs"
    shutil.copytree(finished, copy)
    for run in (copy / "micro").glob("grpo*"):
        config = json.loads((run / "config.json").read_text())
        del config["config"]["train"]["device"], config["config"]["base"]["schedule"]
        (run / "config.json").write_text(json.dumps(config))
    before = contents(copy)
    main(arguments(micro_preset, copy, "--method", "grpo", "fgrpo", "--seed", "0", "1"))
    assert contents(copy) == before
    printed = capsys.readouterr().out
    assert "GRPO N=8 " in printed
    assert "device" not in printed
    one, two = (copy / "micro" / "grpo-n8-g0-s0", finished / "micro" / "grpo-n8-g0-s0")
    with pytest.raises(SystemExit):
        main(["report", str(one), str(two), "--out", str(tmp_path / "r")])
    assert "are the same run" in capsys.readouterr().err


def test_force_removes_nothing_when_something_else_is_wrong(finished, micro_preset, capsys):
    before = contents(finished)
    foreign = finished / "micro" / "dapo-n8-g0-s0"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("precious")
    with pytest.raises(SystemExit):
        main(arguments(micro_preset, finished, "--method", "grpo", "dapo", "--force"))
    assert "not a run" in capsys.readouterr().err
    shutil.rmtree(foreign)
    with locked(finished / "micro" / "fgrpo-n8-g1-s0"), pytest.raises(SystemExit):
        main(arguments(micro_preset, finished, "--method", "grpo", "fgrpo", "--force"))
    assert "another process is working in" in capsys.readouterr().err
    assert contents(finished) == before


def test_a_second_command_gets_one_line_and_the_first_goes_on(finished, micro_preset, with_base):
    first = start(micro_preset, with_base, "--method", "fgrpo")
    wait_for(lambda: any(with_base.rglob("fgrpo*/checkpoints/step-*")))
    second = start(micro_preset, with_base, "--method", "fgrpo")
    _, error = second.communicate(timeout=60)
    assert first.communicate(timeout=60) and first.returncode == 0  # noqa: PT018
    if second.returncode != 0:  # it came while the first was still at work
        assert second.returncode == 2
        assert "another process is working in" in error.splitlines()[-1]
    theirs = contents(finished)
    assert all(theirs[name] == data for name, data in contents(with_base).items())


def test_a_run_finished_in_the_meantime_is_left_alone(finished, micro_preset):
    (cell,) = cells(str(micro_preset), ["grpo"], [8])
    before = contents(finished)
    experiment.run(cell, finished / "micro" / cell.name, lambda _: None)
    assert contents(finished) == before


@pytest.mark.parametrize("rate", ["1e38", "1e30", "1e5"])
def test_training_that_diverges_is_named(micro_preset, with_base, capsys, rate):
    more = ["--method", "grpo", "--set", f"train.learning_rate={rate}"]
    with pytest.raises(SystemExit) as exit_:
        main(arguments(micro_preset, with_base, *more))
    assert exit_.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("fgrpo-bench: grpo-n8-g0-s0-")
    assert "training diverged at step" in last
    assert not list(with_base.rglob("grpo*/checkpoints/step-*"))


@pytest.mark.parametrize("success", ["smoothed", "running"])
def test_success_estimators_run_resume_and_differ(finished, micro_preset, with_base, success):
    texts = [f"method.success={success}", "train.pool=40"]
    (cell,) = cells(str(micro_preset), ["fgrpo"], [8], overrides=texts)
    (plain,) = cells(str(micro_preset), ["fgrpo"], [8], overrides=["train.pool=40"])
    root = with_base / "micro"

    def stop_after_twelve(line):
        if line["step"] == 12:
            raise Crash

    with pytest.raises(Crash):
        experiment.run(cell, root / "stopped", stop_after_twelve)
    for directory, what in (("stopped", cell), ("whole", cell), ("plain", plain)):
        experiment.run(what, root / directory, lambda _: None)
    for name in KEPT:
        assert (root / "stopped" / name).read_bytes() == (root / "whole" / name).read_bytes()
    first = [read_metrics(root / d)[5] for d in ("whole", "plain")]
    assert (first[0] == first[1]) == (success == "running"), "the first visit has no history"
    last = [read_metrics(root / d)[-1]["focal"] for d in ("whole", "plain")]
    assert last[0] != last[1]


def test_regularisers_hold_the_policy_near_the_base(micro_preset, with_base):
    """A strong KL penalty shortens the way; an entropy bonus keeps more entropy, so another way."""
    last = {}
    for texts in ([], ["train.kl=5"], ["train.entropy=0.5"]):
        (cell,) = cells(str(micro_preset), ["grpo"], [8], overrides=texts)
        directory = with_base / "micro" / cell.name
        experiment.run(cell, directory, lambda _: None)
        last["".join(texts)] = read_metrics(directory)[-1]
    assert last["train.kl=5"]["kl_to_base"] < 0.7 * last[""]["kl_to_base"]
    assert last["train.entropy=0.5"]["kl_to_base"] != last[""]["kl_to_base"]


def test_every_method_runs(micro_preset, with_base):
    names = [name for name in METHODS if name not in ("grpo", "fgrpo")]
    more = ["--set", "train.steps=8", "--set", "train.learning_rate=3e-3", "--method", *names]
    main(arguments(micro_preset, with_base, *more))
    runs = [read_results(p.parent) for p in sorted(with_base.rglob("results.json"))]
    finals = {r.method: [b for b in r.benchmarks if b.stage == "final"][0] for r in runs}  # noqa: RUF015
    assert sorted(finals) == sorted(names)
    assert len({tuple(final.pass_at_k.values()) for final in finals.values()}) == len(names)
    assert all(r.training.clip_fraction > 0 for r in runs if "cispo" not in r.method)


def test_force_starts_over_and_gets_the_same_results(finished, micro_preset):
    before = contents(finished)
    manifest = finished / "micro" / "grpo-n8-g0-s0" / "manifest.json"
    stamp = manifest.stat().st_mtime_ns
    main(arguments(micro_preset, finished, "--method", "grpo", "--force"))
    assert manifest.stat().st_mtime_ns != stamp
    assert contents(finished) == before


def test_gamma_zero_trains_bit_identically_to_the_base_method(finished, micro_preset, with_base):
    """Weights, metrics and results of F-GRPO at gamma 0 equal GRPO's, but for the name."""
    main(arguments(micro_preset, with_base, "--method", "fgrpo", "--gamma", "0"))
    ours, base = with_base / "micro" / "fgrpo-n8-g0-s0", finished / "micro" / "grpo-n8-g0-s0"
    for name in ("metrics.jsonl", "problems.parquet", "checkpoints/final.safetensors"):
        assert (ours / name).read_bytes() == (base / name).read_bytes(), name
    assert read_results(ours).benchmarks == read_results(base).benchmarks


def test_sampled_counts_agree_with_the_exact_figures(micro_preset, with_base):
    more = ["--method", "grpo", "--set", "evaluation.samples=400", "--set", "train.steps=4"]
    main(arguments(micro_preset, with_base, *more))
    (run,) = [p.parent for p in with_base.rglob("results.json")]
    problems = pd.read_parquet(run / "problems.parquet")
    drawn = problems[problems["n"] == 400]
    assert set(drawn["stage"]) == {"base", "final"}
    p, c = drawn["p_exact"], drawn["c"]
    z = (c - 400 * p) / (400 * p * (1 - p)).clip(lower=1e-9) ** 0.5
    assert (z[p > 0.01].abs() < 5).all()
    results = read_results(run)
    sampled = [r for r in results.benchmarks if not r.exact]
    parts = (None, "detour", "monotone")
    assert [(r.stage, r.stratum) for r in sampled] == [
        (stage, part) for stage in ("base", "final") for part in parts
    ]
    for result in sampled:
        rows = drawn[drawn["stage"] == result.stage]
        counts = rows.loc[rows["stratum"] == (result.stratum or rows["stratum"]), "c"].to_numpy()
        unbiased = pass_at_k(400, counts[:, None], [1, 4, 16, 64]).mean(axis=0)
        assert list(result.pass_at_k.values()) == pytest.approx(unbiased.tolist())
        assert result.samples == 400


def test_one_minibatch_makes_the_methods_coincide_and_says_so(micro_preset, with_base, capsys):
    more = ["--set", "train.minibatches=1", "train.steps=8", "--method", "grpo", "dapo", "cispo"]
    main(arguments(micro_preset, with_base, *more))
    printed = capsys.readouterr().out.replace("\n", " ")
    assert "No token was ever clipped in GRPO N=8: there GRPO, DAPO and CISPO" in printed
    weights = {p.read_bytes() for p in with_base.rglob("results.json")}
    assert len(weights) == 3
    finals = [
        next(r.pass_at_k["1"] for r in read_results(p.parent).benchmarks if r.stage == "final")
        for p in with_base.rglob("results.json")
    ]
    assert finals == pytest.approx([finals[0]] * 3, rel=1e-3)


def test_a_base_outside_its_gate_is_named(micro_preset, with_base, capsys):
    more = ["--method", "grpo", "--set", "base.gate=[0.9,1.0]", "--set", "train.steps=1"]
    main(arguments(micro_preset, with_base, *more))
    assert "warning: the base's pass@1 on the tuning mazes is 0." in capsys.readouterr().err


def start(preset: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fgrpo_bench.cli", *arguments(preset, out, *more)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


@pytest.mark.parametrize("wanted", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_sigkill_at_random_times_and_resume_give_the_same_files(
    finished, micro_preset, tmp_path, wanted
):
    """Kill the command and its workers at uniformly random times, writes included, then resume.

    Each kill has a run of its own, base training included, and hits it alive: the times are
    uniform over the length of an uninterrupted run, and one that comes too late is drawn anew.
    """
    theirs, begun = contents(finished), time.monotonic()
    whole = start(micro_preset, tmp_path / "whole", "--method", "fgrpo")
    whole.communicate()
    length, clock, kills = time.monotonic() - begun, random.Random(wanted), 0
    assert whole.returncode == 0
    while kills < wanted:
        out = tmp_path / str(kills)
        process = start(micro_preset, out, "--method", "fgrpo")
        time.sleep(clock.uniform(0, length))
        alive = process.poll() is None
        for pid in children(process.pid) if alive else ():
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()
        if not alive:
            shutil.rmtree(out)
            continue
        kills += 1
        main(arguments(micro_preset, out, "--method", "fgrpo"))
        ours = contents(out)
        assert len(ours) == len(KEPT)
        assert all(theirs[name] == data for name, data in ours.items())


class Crash(BaseException):
    """Stands for a power cut: nothing catches it."""


REACH = ["maze.reward=reach", "evaluation.samples=64"]


@pytest.mark.parametrize(("after", "reward"), [(False, []), (True, REACH)])
def test_a_crash_at_every_write_and_resume_give_the_same_files(
    micro_preset, with_base, monkeypatch, after, reward
):
    """Crash before and after the n-th file is put in place, for every n, then resume."""
    texts = ["train.steps=6", "evaluation.every=2", *reward]
    (cell,) = cells(str(micro_preset), ["fgrpo"], [8], overrides=texts)
    replace, root = os.replace, with_base / "micro"

    def attempt(directory: Path, writes: int) -> bool:
        """Run the cell; return whether it crashed at the write of that number."""
        done = 0

        def counted(*arguments):
            nonlocal done
            done += 1
            if done == writes and not after:
                raise Crash
            replace(*arguments)
            if done == writes and after:
                raise Crash

        monkeypatch.setattr(os, "replace", counted)
        try:
            experiment.run(cell, directory, lambda _: None)
        except Crash:
            return True
        finally:
            monkeypatch.setattr(os, "replace", replace)
        return False

    assert not attempt(root / "whole", 0)
    expected = {name: (root / "whole" / name).read_bytes() for name in KEPT}
    crashes = 0
    while attempt(root / f"crashed-{crashes}", crashes + 1):
        directory = root / f"crashed-{crashes}"
        finished_early = (directory / "results.json").exists()
        assert not attempt(directory, 0)
        assert finished_early <= after
        assert {name: (directory / name).read_bytes() for name in KEPT} == expected
        crashes += 1
    # config, metrics, three checkpoints, manifest twice, weights, two of samples, two of grades,
    # problems, results
    assert crashes == 14


def test_a_resume_goes_on_from_the_last_checkpoint(micro_preset, with_base):
    """Starting over would give the same results too, only later."""
    (cell,) = cells(str(micro_preset), ["fgrpo"], [8])
    directory = with_base / "micro" / cell.name

    def stop_after_twelve(line):
        if line["step"] == 12:
            raise Crash

    with pytest.raises(Crash):
        experiment.run(cell, directory, stop_after_twelve)
    steps = []
    experiment.run(cell, directory, lambda line: steps.append(line["step"]))
    assert steps == [16, 20, 24]
    manifest = json.loads((directory / "manifest.json").read_text())
    assert len(manifest["resumed"]) == 1
    assert {"started", "packages", "git", "device", "threads"} <= set(manifest["resumed"][0])


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_ctrl_c_keeps_the_work_and_exits_3(finished, micro_preset, with_base):
    process = start(micro_preset, with_base, "--method", "fgrpo")
    wait_for(lambda: any(with_base.rglob("fgrpo*/checkpoints/step-*")))
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 3
    assert error.splitlines()[-1].startswith("fgrpo-bench: interrupted; the work is kept")
    main(arguments(micro_preset, with_base, "--method", "fgrpo"))
    assert not list(with_base.rglob("worker-*")), "no litter of the worker that was stopped"
    theirs = contents(finished)
    assert all(theirs[name] == data for name, data in contents(with_base).items())


def test_a_killed_worker_is_reported_and_resumable(micro_preset, with_base):
    process = start(micro_preset, with_base, "--method", "fgrpo")
    wait_for(lambda: any(with_base.rglob("fgrpo*/checkpoints/step-*")))
    for pid in children(process.pid):
        os.kill(pid, signal.SIGKILL)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "fgrpo-n8-g1-s0: the worker ended with signal 9" in error.splitlines()[-1]


def test_no_worker_outlives_its_command(micro_preset, with_base):
    process = start(micro_preset, with_base, "--method", "fgrpo")
    wait_for(lambda: any(with_base.rglob("fgrpo*/checkpoints/step-*")))
    workers = children(process.pid)
    assert workers
    process.kill()
    process.communicate()
    wait_for(lambda: not any(Path(f"/proc/{pid}/cwd").exists() for pid in workers))


def test_a_damaged_checkpoint_is_named_and_kept(micro_preset, with_base, capsys):
    process = start(micro_preset, with_base, "--method", "fgrpo")
    wait_for(lambda: any(with_base.rglob("fgrpo*/checkpoints/step-*")))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    checkpoint = max(with_base.rglob("fgrpo*/checkpoints/step-*.safetensors"))
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    with pytest.raises(SystemExit) as exit_:
        main(arguments(micro_preset, with_base, "--method", "fgrpo"))
    assert exit_.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert checkpoint.name in last
    assert "delete it to start over" in last
    assert checkpoint.stat().st_size == 1000


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one mebibyte, mounted for the test."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_one_line_and_nothing_is_lost(finished, micro_preset, small_disk, capsys):
    (base,) = (finished / "micro").glob("base-*")
    shutil.copytree(base, small_disk / "micro" / base.name)
    filler = small_disk / "filler"
    for room in (0, 30_000, 60_000, 120_000):
        free = shutil.disk_usage(small_disk).free
        filler.write_bytes(b"0" * max(0, free - room))
        with pytest.raises(SystemExit) as exit_:
            main(arguments(micro_preset, small_disk, "--method", "fgrpo"))
        assert exit_.value.code == 2
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("fgrpo-bench: ")
        assert "No space left on device" in last
        filler.unlink()
    main(arguments(micro_preset, small_disk, "--method", "fgrpo"))
    theirs, ours = contents(finished), contents(small_disk)
    assert len(ours) == len(KEPT)
    assert all(theirs[name] == data for name, data in ours.items())


def test_a_read_only_directory_is_one_line(micro_preset, small_disk, capsys):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(SystemExit) as exit_:
        main(arguments(micro_preset, small_disk, "--method", "fgrpo"))
    assert exit_.value.code == 2
    assert "Read-only file system" in capsys.readouterr().err.splitlines()[-1]


def test_report_draws_and_tabulates(finished, tmp_path, capsys):
    out = tmp_path / "report"
    main(["report", str(finished), "--out", str(out)])
    assert sorted(p.name for p in out.iterdir()) == [
        "dynamics.png", "dynamics.svg", "manifest.json", "mazes.png", "mazes.svg",
        "pass_at_k.png", "pass_at_k.svg", "report.md", "table.csv", "table.md",
    ]  # fmt: skip
    text = (out / "report.md").read_text()
    assert "![pass_at_k](pass_at_k.png)" in text
    assert "fgrpo-bench run --preset micro.toml --method fgrpo --n 8 --gamma 1 --seed 1" in text
    assert (out / "table.md").read_text() in text
    table = pd.read_csv(out / "table.csv")
    row = table.query("label == 'F-GRPO N=8 γ=1' and stratum == 'all' and k == 4").iloc[0]
    finals = []
    for seed in (0, 1):
        results = read_results(finished / "micro" / f"fgrpo-n8-g1-s{seed}")
        curves = {r.stage: r.pass_at_k for r in results.benchmarks if not r.stratum}
        finals.append(curves["final"]["4"])
    assert row["pass_at_k"] == pytest.approx(sum(finals) / 2)
    assert row["sd_over_seeds"] == pytest.approx(abs(finals[0] - finals[1]) / 2**0.5)
    assert row["change_vs_base"] == pytest.approx(sum(finals) / 2 - curves["base"]["4"])
    assert "guesser" in capsys.readouterr().out
    assert len(json.loads((out / "manifest.json").read_text())["runs"]) == 4


def test_report_keeps_configurations_apart_and_refuses_the_same_run_twice(
    finished, micro_preset, with_base, capsys
):
    """A preset of the same name with another rate is another group, not another seed."""
    changed = with_base / "micro.toml"
    changed.write_text(micro_preset.read_text().replace("rate = 5e-4", "rate = 5e-3"))
    main(arguments(changed, with_base, "--method", "grpo"))
    capsys.readouterr()
    one = finished / "micro" / "grpo-n8-g0-s0"
    main(["report", str(one), str(with_base), "--out", str(with_base / "r")])
    printed = capsys.readouterr().out
    assert "GRPO N=8 learning_rate=0.0005" in printed
    assert "GRPO N=8 learning_rate=0.005" in printed
    assert "One seed each" in printed
    main(["report", str(one), str(one.resolve()), "--out", str(with_base / "r")])
    assert "One seed each" in capsys.readouterr().out
    shutil.copytree(one, with_base / "copy")
    with pytest.raises(SystemExit):
        main(["report", str(one), str(with_base / "copy"), "--out", str(with_base / "r")])
    assert "are the same run" in capsys.readouterr().err


def test_the_same_training_evaluated_otherwise_is_no_second_seed(
    finished, micro_preset, with_base, capsys
):
    for text in ("evaluation.samples=16", "evaluation.every=3"):
        main(arguments(micro_preset, with_base, "--method", "grpo", "--set", text))
    capsys.readouterr()
    one = finished / "micro" / "grpo-n8-g0-s0"
    two = finished / "micro" / "grpo-n8-g0-s1"
    main(["report", str(one), str(two), str(with_base), "--out", str(with_base / "r")])
    assert "over 2 seeds" in capsys.readouterr().out
    main(["report", str(one), str(with_base), "--out", str(with_base / "r")])
    assert "One seed each" in capsys.readouterr().out


def test_gamma_by_option_or_override_is_the_same_run(finished, micro_preset, with_base):
    """GRPO has no gamma to differ by, and both ways of naming F-GRPO's name one run."""
    (grpo,) = cells(str(micro_preset), ["grpo"], [8], overrides=["method.gamma=0.5"])
    assert inspect(finished / "micro" / grpo.name, grpo.to_json()) == "finished"
    (a,) = cells(str(micro_preset), ["fgrpo"], [8], [0.5])
    (b,) = cells(str(micro_preset), ["fgrpo"], [8], overrides=["method.gamma=0.5"])
    assert a == b


def test_report_has_a_section_per_comparison(finished, micro_preset, with_base, capsys):
    """Other problems are another table and other figures, never another row."""
    more = ["--method", "grpo", "--set", "evaluation.split=tuning", "--set", "train.steps=4"]
    main(arguments(micro_preset, with_base, *more))
    main(["report", str(finished), str(with_base), "--out", str(with_base / "r")])
    assert "maze-9x9-tuning" in capsys.readouterr().out
    text = (with_base / "r" / "report.md").read_text()
    assert text.count("## micro") == 2
    for number in (1, 2):
        assert f"![pass_at_k-{number}](pass_at_k-{number}.png)" in text
        assert (with_base / "r" / f"dynamics-{number}.svg").exists()


def test_base_writes_a_checkpoint_with_its_manifest(finished, micro_preset, tmp_path, capsys):
    """The command makes the very base that a run with base.train=true makes."""
    main(["base", "--preset", str(micro_preset), "--out", str(tmp_path)])
    (trained,) = (finished / "micro").glob("base-*")
    weights = (tmp_path / "micro.safetensors").read_bytes()
    assert weights == (trained / "base.safetensors").read_bytes()
    manifest = json.loads((tmp_path / "micro.json").read_text())
    assert manifest["command"] == "fgrpo-bench base --preset micro.toml"
    assert manifest["weights_sha256"] == hashlib.sha256(weights).hexdigest()
    assert "pass on the tuning mazes @1 0." in capsys.readouterr().out
    stamp = (tmp_path / "micro-work").stat().st_mtime_ns
    main(["base", "--preset", str(micro_preset), "--out", str(tmp_path)])
    assert (tmp_path / "micro-work").stat().st_mtime_ns == stamp
    capsys.readouterr()
    words = ["--preset", str(micro_preset), "--set", "base.steps=3", "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as exit_:
        main(["base", *words])
    assert exit_.value.code == 2
    assert "another recipe" in capsys.readouterr().err.splitlines()[-1]
    assert (tmp_path / "micro.safetensors").read_bytes() == weights


def test_report_names_unfinished_runs_and_refuses_damaged_ones(finished, tmp_path, capsys):
    copy = tmp_path / "runs"
    shutil.copytree(finished, copy)
    (copy / "micro" / "grpo-n8-g0-s1" / "results.json").unlink()
    main(["report", str(copy), "--out", str(tmp_path / "r")])
    assert "not finished: grpo-n8-g0-s1" in capsys.readouterr().err
    run = copy / "micro" / "grpo-n8-g0-s0"
    for name in ("problems.parquet", "samples/final.parquet", "grades/final.parquet"):
        whole = (run / name).read_bytes()
        (run / name).write_bytes(b"PAR1 torn")
        with pytest.raises(SystemExit) as exit_:
            main(["report", str(copy), "--out", str(tmp_path / "r")])
        assert exit_.value.code == 2
        assert f"{name} cannot be read" in capsys.readouterr().err.splitlines()[-1]
        (run / name).write_bytes(whole)
    grades = pd.read_parquet(run / "grades" / "final.parquet")
    grades.assign(problem_id="tuning-00007").to_parquet(run / "grades" / "final.parquet")
    with pytest.raises(SystemExit) as exit_:
        main(["report", str(copy), "--out", str(tmp_path / "r")])
    assert exit_.value.code == 2
    assert "samples/final.parquet and its grades are not of" in capsys.readouterr().err


def test_report_draws_no_mazes_of_runs_that_keep_no_samples(finished, tmp_path, capsys):
    copy = tmp_path / "runs"
    shutil.copytree(finished, copy)
    for folder in copy.rglob("samples"):
        shutil.rmtree(folder)
    main(["report", str(copy), "--out", str(tmp_path / "r")])
    assert not (tmp_path / "r" / "mazes.png").exists()
    assert "mazes.png" not in (tmp_path / "r" / "report.md").read_text()


def test_the_help_names_every_method(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    words = set(capsys.readouterr().out.replace(",", " ").replace(".", " ").split())
    assert set(METHODS) <= words


def test_k_beyond_the_group_size_is_one_line(micro_preset, with_base, capsys):
    more = ["--method", "pkpo", "--set", "method.k=9"]
    with pytest.raises(SystemExit) as stop:
        main(arguments(micro_preset, with_base, *more))
    assert stop.value.code == 2
    assert "pkpo needs k from 2 to the group size" in capsys.readouterr().err
    assert not list(with_base.rglob("pkpo*"))


def test_a_table_says_whose_coefficients_differential_smoothing_has(
    micro_preset, with_base, capsys
):
    main(arguments(micro_preset, with_base, "--method", "ds_grpo", "--set", "train.steps=1"))
    assert "not known to be its paper's" in " ".join(capsys.readouterr().out.split())
