"""The comparison with lm-eval on a tiny model, where only its form can be tested."""

import json
from pathlib import Path

from fgrpo_bench.sampling.bench_engines import compare_hf
from tests.sampling.engines import tiny


def test_both_are_timed_in_every_round(tmp_path: Path) -> None:
    model = str(tiny.save(tmp_path / "tiny"))
    result = compare_hf(model, ["Q: 7+5=", "Q: 1"], 3, 5, ["\n"], rounds=2)
    assert {name: len(times) for name, times in result["seconds"].items()} == {
        "ours": 2,
        "lm_eval": 2,
    }
    assert all(seconds > 0 for times in result["seconds"].values() for seconds in times)
    assert result["ratio"] > 0
    assert 1 <= result["mean_tokens"]["ours"] <= 5
    assert json.loads(json.dumps(result)) == result
