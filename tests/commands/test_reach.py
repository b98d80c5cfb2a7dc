"""Reward reach, which has no exact success: trained, sampled, resumed and reported."""

import numpy as np
import pandas as pd
import pytest

from fgrpo_bench.cli import main
from fgrpo_bench.maze import experiment
from fgrpo_bench.maze.grid import cells
from fgrpo_bench.rundir.directory import read_metrics
from fgrpo_bench.rundir.results import read_results
from fgrpo_bench.stats.pass_at_k import pass_at_k
from tests.commands.test_run import Crash
from tests.maze.test_verdict import walk

KS = [1, 4, 16, 64]
SETS = ["maze.reward=reach", "evaluation.samples=64", "train.steps=8"]
WORDS = [word for text in SETS for word in ("--set", text)]
WALK = {"UP": 13, "DOWN": 14, "LEFT": 15, "RIGHT": 16}


@pytest.fixture(scope="module")
def reached(micro_preset, tmp_path_factory):
    out = tmp_path_factory.mktemp("reach")
    words = ["--method", "grpo", "fgrpo", "--n", "8", "--seed", "0", "1", "--out", str(out)]
    main(["run", "--preset", str(micro_preset), *words, *WORDS])
    return out


def runs(out):
    return [path.parent for path in sorted(out.rglob("results.json"))]


def test_success_is_counted_and_never_called_exact(reached):
    for run in runs(reached):
        problems, results = pd.read_parquet(run / "problems.parquet"), read_results(run)
        guesser = problems["stage"] == "guesser"
        assert problems.loc[guesser, "p_exact"].notna().all()
        assert problems.loc[~guesser, "p_exact"].isna().all()
        assert (problems.loc[~guesser, "n"] == 64).all()
        assert {(r.stage, r.exact, r.samples) for r in results.benchmarks} == {
            ("guesser", True, 0), ("base", False, 64), ("final", False, 64)
        }  # fmt: skip
        for result in results.benchmarks:
            rows = problems[problems["stage"] == result.stage]
            if result.stratum:
                rows = rows[rows["stratum"] == result.stratum]
            if not result.exact:
                curve = pass_at_k(64, rows["c"].to_numpy()[:, None], KS).mean(axis=0)
                assert list(result.pass_at_k.values()) == pytest.approx(curve.tolist())
        assert sum(results.outcomes.values()) == results.training.rollouts == 8 * 8 * 8
        (final,) = (r for r in results.benchmarks if (r.stage, r.stratum) == ("final", None))
        assert read_metrics(run)[-1]["pass_at_k"] == final.pass_at_k


def test_runs_of_all_seeds_share_the_base_and_differ_at_the_end(reached):
    problems = [pd.read_parquet(run / "problems.parquet") for run in runs(reached)]
    counts = {s: {tuple(p[p["stage"] == s]["c"]) for p in problems} for s in ("base", "final")}
    assert len(counts["base"]) == 1
    assert len(counts["final"]) == 4


def test_report_tells_samples_from_exact_figures(reached, tmp_path, capsys):
    main(["report", str(reached), "--out", str(tmp_path)])
    printed = " ".join(capsys.readouterr().out.split())
    assert "maze.reward=reach" in printed
    assert "pass@k on 24 mazes of maze-9x9, 64 samples each" in printed
    assert "exact pass@k" not in printed
    assert "over 2 seeds" in printed
    assert "every walk to the goal counts" in printed
    problems = pd.read_parquet(runs(reached)[0] / "problems.parquet")
    right = problems.loc[problems["stage"] == "base", "c"].to_numpy()
    verdicts = np.arange(64) < right[:, None]  # [P, n]
    error = (verdicts.var(axis=1, ddof=1) / 64).sum() ** 0.5 / 24
    assert f"a standard error of {100 * error:.2f}." in printed
    table = pd.read_csv(tmp_path / "table.csv")
    row = table.query("label == 'GRPO N=8' and stratum == 'all' and k == 16").iloc[0]
    finals = [
        result.pass_at_k["16"]
        for run in runs(reached)
        if run.name.startswith("grpo")
        for result in read_results(run).benchmarks
        if (result.stage, result.stratum) == ("final", None)
    ]
    assert row["pass_at_k"] == pytest.approx(sum(finals) / 2)
    for name in ("pass_at_k", "dynamics", "mazes"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_kept_samples_have_the_verdict_of_a_plain_walk(reached):
    for run in runs(reached):
        for stage in ("base", "final"):
            samples = pd.read_parquet(run / "samples" / f"{stage}.parquet")
            grades = pd.read_parquet(run / "grades" / f"{stage}.parquet")
            assert list(samples) == [
                "problem_id", "sample", "response", "n_tokens", "finish", "seed", "prompt"
            ]  # fmt: skip
            assert list(grades) == ["problem_id", "sample", "outcome", "answer", "grader"]
            assert samples.groupby("problem_id").size().tolist() == [64] * 3
            assert set(grades["grader"]) == {"maze-reach"}
            for sample, grade in zip(samples.itertuples(), grades.itertuples(), strict=True):
                assert (sample.problem_id, sample.sample) == (grade.problem_id, grade.sample)
                walls = [[c == "#" for c in line] for line in sample.prompt.splitlines()]
                words = sample.response.split()
                right = walk(walls, [WALK.get(word, 0) for word in words])
                cut = words[-1] not in ("DONE", "<eos>")
                assert sample.n_tokens == len(words)
                assert sample.finish == ("length" if cut else "stop")
                expected = "correct" if right else "truncated" if cut else "wrong"
                assert grade.outcome == expected
    base = [(run / "samples" / "base.parquet").read_bytes() for run in runs(reached)]
    assert len(set(base)) == 1, "what the base answers belongs to the preset"


def test_a_resume_gives_the_same_files(reached, micro_preset):
    (cell,) = cells(str(micro_preset), ["fgrpo"], [8], overrides=SETS)
    whole, stopped = reached / "micro" / cell.name, reached / "micro" / "stopped"

    def stop_after_four(line):
        if line.get("step") == 4:
            raise Crash

    with pytest.raises(Crash):
        experiment.run(cell, stopped, stop_after_four)
    experiment.run(cell, stopped, lambda _: None)
    for file in whole.rglob("*"):
        if file.suffix in (".parquet", ".safetensors", ".jsonl") or file.name == "results.json":
            assert (stopped / file.relative_to(whole)).read_bytes() == file.read_bytes()
