"""``fgrpo-bench bench``: what it prints and writes, and how it judges its targets."""

import json

import pytest

from fgrpo_bench.cli import main
from fgrpo_bench.commands import bench_maze as bench
from fgrpo_bench.maze.grid import cells

pytest.importorskip("transformers")


def test_bench_maze_prints_and_writes_its_result(micro_preset, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["bench", "maze", "--preset", str(micro_preset), "--n", "4", "--json", "out.json"])
    captured = capsys.readouterr()
    result = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert (result["schema"], result["bench"], result["preset"]) == (1, "maze", "micro")
    assert (result["prompts"], result["group_size"], result["minibatches"]) == (8, 4, 2)
    assert (result["threads"], result["pairs"]) == (1, 5)
    rows = result["ours"], result["reference"], *(result["scaling"][x] for x in ("small", "large"))
    for row in rows:
        assert row["seconds"] > 0 < row["tokens_per_s"]
        assert sum(row["split"].values()) == pytest.approx(1.0)
    assert [row.get("group_size") for row in rows] == [None, None, 8, 512]
    for ratio in (result["speedup"], result["scaling"]["cost"]):
        assert 0 < ratio["min"] <= ratio["median"] <= ratio["max"]
    assert result["share_of_peak"] == pytest.approx(
        result["gflops_per_s"] / result["peak_matmul_gflops_per_s"]
    )
    assert {target["met"] for target in result["targets"].values()} == {None}
    assert {"torch", "transformers"} <= set(result["packages"])
    assert result["git"] is None or set(result["git"]) == {"commit", "dirty"}
    assert "8 prompts x N = 4" in captured.out
    assert captured.out.count("not judged, it is set for 32 prompts") == 2
    assert captured.err.count("pair 5 of 5") == 2, "progress goes to standard error"
    assert [path.name for path in (tmp_path / "runs" / "micro").iterdir()] == [
        path.name for path in (tmp_path / "runs" / "micro").glob("base-*")
    ], "the base lies where run looks for it"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--json", "."], "no file can be written there"),
        (["--json", "none/x.json"], "there is no folder none"),
        (["--preset", "other.toml"], "bench maze knows only maze.reward=exact"),
    ],
)
def test_what_cannot_be_measured_or_written_is_told_first(
    micro_preset, tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    text = micro_preset.read_text().replace("[method]", "kl = 0.1\n\n[method]")
    (tmp_path / "other.toml").write_text(text)
    with pytest.raises(SystemExit) as exit_:
        main(["bench", "maze", *words])
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("speedup", "cost", "words"),
    [(10.0, 5.0, ("met", "met")), (9.9, 5.1, ("missed", "missed")), (20.0, 9.0, ("met", "missed"))],
)
def test_targets_at_their_setting(speedup, cost, words):
    (cell,) = cells("maze-small", ["grpo"], [16])
    targets = bench._targets(cell, speedup, cost)
    assert bench._verdict(targets["speedup"]) == f"target at least 10x: {words[0]}"
    assert bench._verdict(targets["scaling_cost"]) == f"target at most 5x: {words[1]}"


def test_the_speed_up_is_judged_at_its_group_size_alone():
    (cell,) = cells("maze-small", ["grpo"], [64])
    targets = bench._targets(cell, 50.0, 4.0)
    assert (targets["speedup"]["met"], targets["scaling_cost"]["met"]) == (None, True)
    assert bench._verdict(targets["speedup"]).endswith("it is set for 32 prompts x N = 16")
