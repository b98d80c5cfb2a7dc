"""One task from samples to results: counts against a plain loop, resume, refusals."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from fgrpo_bench.benchmarks.arith import generate
from fgrpo_bench.benchmarks.benchmark import Benchmark
from fgrpo_bench.benchmarks.problems import Problem, Task
from fgrpo_bench.benchmarks.registry import BENCHMARKS
from fgrpo_bench.errors import Failed, UserError
from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.rundir.directory import locked
from fgrpo_bench.rundir.results import read_evaluation
from fgrpo_bench.sampling.bench import ScriptedEngine
from fgrpo_bench.sampling.engines.base import Completion
from fgrpo_bench.sampling.evaluation import Wanted, evaluate, regrade
from fgrpo_bench.sampling.plan import WHOLE, Shard
from fgrpo_bench.stats.pass_at_k import pass_at_k


def task(count: int = 12, stop=("\n",), prefix: str = "") -> Task:
    arith = BENCHMARKS["arith"]
    docs = list(generate())[:: 198 // count][:count]
    problems = [
        Problem(arith.problem_id(doc, i), prefix + doc["prompt"], doc, arith.stratum(doc))
        for i, doc in enumerate(docs)
    ]
    return Task("arith", "arith", tuple(problems), stop, 8, {}, {"data_set": "arith"})


class Mixed(ScriptedEngine):
    """Small numbers, empty answers and cut ones."""

    block_rows = 256

    def __init__(self) -> None:
        super().__init__()
        numbers = [Completion(f" {n}", 2, "stop") for n in range(60)]
        cut = [Completion(" 1", 8, "length"), Completion("", 0, "stop"), Completion("?", 1, "stop")]
        self._answers = numbers + cut * 5


def wanted(samples=20, shard=WHOLE, **other) -> Wanted:
    settings = {"temperature": 1.0, "top_p": 1.0, "max_tokens": None, "seed": 0} | other
    return Wanted(samples=samples, shard=shard, command="fgrpo-bench eval", **settings)


DEFAULT = wanted()


def run(directory: Path, engine=None, wanted=DEFAULT, of=None, said=None):
    said = [] if said is None else said
    return evaluate(
        of or task(), engine or Mixed(), wanted, directory, lambda *_: None, said.append
    )


def samples(directory: Path) -> pd.DataFrame:
    tables = [pq.read_table(path) for path in sorted((directory / "samples").iterdir())]
    return pd.concat([table.to_pandas() for table in tables], ignore_index=True)


def test_counts_and_curves_against_a_plain_loop(tmp_path):
    results, arith, of = run(tmp_path), BENCHMARKS["arith"], task()
    docs = {problem.problem_id: problem.doc for problem in of.problems}
    found = samples(tmp_path)
    verdicts = arith.grade(
        [(docs[row.problem_id], row.response, row.finish) for row in found.itertuples()]
    )
    outcomes = [verdict.outcome for verdict in verdicts]
    assert results.outcomes == {name: outcomes.count(name) for name in results.outcomes}
    assert {"correct", "wrong", "no_answer", "truncated"} <= set(outcomes)
    assert results.tokens == found["n_tokens"].sum()
    problems = pd.read_parquet(tmp_path / "problems.parquet")
    for row in problems.itertuples():
        mine = [
            v
            for v, name in zip(verdicts, found["problem_id"], strict=True)
            if name == row.problem_id
        ]
        right = [v.answer for v in mine if v.outcome == "correct"]
        assert (row.n, row.c, row.distinct) == (20, len(right), len(set(right)))
    curve = results.benchmarks[0]
    assert list(curve.pass_at_k) == ["1", "2", "4", "8", "16", "20"]
    expected = pass_at_k(
        problems["n"].to_numpy()[:, None], problems["c"].to_numpy()[:, None], [1, 20]
    )
    assert curve.pass_at_k["1"] == pytest.approx(expected[:, 0].mean())
    assert curve.pass_at_k["20"] == pytest.approx(expected[:, 1].mean())
    kinds = problems.groupby("stratum")["c"].mean() / 20
    assert {b.stratum: b.pass_at_k["1"] for b in results.benchmarks[1:]} == pytest.approx(
        dict(kinds)
    )
    assert read_evaluation(tmp_path) == results


def tree(directory: Path) -> dict[str, bytes]:
    """All that an evaluation is, but for its manifest, which has times."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "manifest.json" and not path.name.startswith("lock")
    }


class Stopping(Mixed):
    """Is interrupted at one call."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at

    def generate(self, requests, settings):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().generate(requests, settings)


def test_an_interrupted_evaluation_ends_like_one_that_never_was(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(whole, wanted=wanted(150))
    with pytest.raises(KeyboardInterrupt):
        run(parts, Stopping(4), wanted(150))
    assert len(list((parts / "samples").iterdir())) == 4
    assert not (parts / "results.json").exists()
    (parts / "samples" / ".p0.parquet.1.tmp").write_bytes(b"torn")
    run(parts, wanted=wanted(150))
    assert tree(parts) == tree(whole)
    manifest = json.loads((parts / "manifest.json").read_text())
    assert len(manifest["resumed"]) == 1


def test_a_finished_evaluation_is_left_as_it_is(tmp_path):
    first = run(tmp_path)
    before = tree(tmp_path) | {"m": (tmp_path / "manifest.json").read_bytes()}
    assert run(tmp_path, Stopping(0)) == first
    assert run(tmp_path, Stopping(0), wanted(5)) == first  # more than asked for is there
    assert tree(tmp_path) | {"m": (tmp_path / "manifest.json").read_bytes()} == before


def test_more_samples_are_added_and_until_they_are_there_it_is_not_finished(tmp_path):
    run(tmp_path, wanted=wanted(10))
    few = tree(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Stopping(1), wanted(150))
    assert not (tmp_path / "results.json").exists()
    results = run(tmp_path, wanted=replace(wanted(150), command="more"))
    assert results.benchmarks[0].samples == 150
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["command"] == "more"
    assert manifest["finished"] >= manifest["started"]
    many = tree(tmp_path)
    kept = [name for name in few if name.startswith(("samples/", "grades/"))]
    assert kept
    assert all(many[name] == few[name] for name in kept)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_in_one_folder_make_the_whole_whoever_comes_last(tmp_path, order):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    results = run(whole, wanted=wanted(150))
    ends = [run(parts, wanted=wanted(150, Shard(part, 3))) for part in order]
    assert ends == [None, None, results]
    assert tree(parts) == tree(whole)


def test_the_last_part_sees_what_another_process_did_meanwhile(tmp_path):
    class Slow(Mixed):
        """While it samples, the other part is sampled and finished by somebody else."""

        def generate(self, requests, settings):
            if not (tmp_path / "lock-0-of-2").exists():
                assert run(tmp_path, Mixed(), wanted(150, Shard(0, 2))) is None
            return super().generate(requests, settings)

    results = run(tmp_path, Slow(), wanted(150, Shard(1, 2)))
    assert results is not None
    assert sum(results.outcomes.values()) == 12 * 150


def test_parts_of_several_machines_are_brought_together(tmp_path):
    whole, together = tmp_path / "whole", tmp_path / "together"
    run(whole, wanted=wanted(150))
    for part in range(2):
        run(tmp_path / f"{part}", wanted=wanted(150, Shard(part, 2)))
    (tmp_path / "0").rename(together)
    for path in (tmp_path / "1" / "samples").iterdir():
        path.rename(together / "samples" / path.name)
    run(together, Stopping(0), wanted(150))  # nothing to sample
    assert tree(together) == tree(whole)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"wanted": wanted(temperature=0.6)}, "sampling.temperature"),
        ({"wanted": wanted(top_p=0.9)}, "sampling.top_p"),
        ({"wanted": wanted(max_tokens=9)}, "sampling.max_tokens"),
        ({"wanted": wanted(seed=1)}, "seed"),
        ({"of": task(stop=("\n", "."))}, "sampling.stop"),
        ({"of": task(prefix="Please: ")}, "prompts_sha256"),
        ({"of": task(11)}, "prompts_sha256"),
    ],
)
def test_another_setting_is_refused_by_name(tmp_path, change, named):
    run(tmp_path)
    before = tree(tmp_path)
    with pytest.raises(UserError, match=f"\\({named} differ\\): use another --out"):
        run(tmp_path, **change)
    assert tree(tmp_path) == before


def test_another_model_is_refused_by_name(tmp_path):
    run(tmp_path)
    other = Mixed()
    other.identity = {"name": "scripted", "weights_sha256": "0"}
    with pytest.raises(UserError, match=r"model\.weights_sha256 differ"):
        run(tmp_path, other)


def test_samples_of_another_evaluation_in_the_folder_are_refused_by_name(tmp_path):
    run(tmp_path / "a")
    run(tmp_path / "b", wanted=wanted(temperature=0.5))
    file = next((tmp_path / "b" / "samples").iterdir())
    (tmp_path / "a" / "samples" / file.name).write_bytes(file.read_bytes())
    with pytest.raises(UserError, match=rf"{file.name}: .*\(sampling.temperature differ\)"):
        run(tmp_path / "a")


def test_one_process_at_a_time_but_for_other_parts(tmp_path):
    with locked(tmp_path, "0-of-2"):
        with pytest.raises(UserError, match="another process is working"):
            run(tmp_path, wanted=wanted(shard=Shard(0, 2)))
        with pytest.raises(UserError, match="another process is working"):
            run(tmp_path)
        assert run(tmp_path, wanted=wanted(shard=Shard(1, 2))) is None
    with locked(tmp_path), pytest.raises(UserError, match="another process is working"):
        run(tmp_path, wanted=wanted(shard=Shard(0, 2)))


def test_damaged_and_lost_grades_are_made_again_without_the_model(tmp_path):
    run(tmp_path)
    before = tree(tmp_path)
    one, other = sorted((tmp_path / "grades").iterdir())[:2]
    one.write_bytes(one.read_bytes()[:50])
    other.unlink()
    run(tmp_path, Stopping(0))
    assert tree(tmp_path) == before


def test_grades_of_samples_that_were_replaced_are_made_again(tmp_path):
    first = run(tmp_path)
    next((tmp_path / "samples").iterdir()).unlink()
    silent = Mixed()
    silent._answers = [Completion("", 0, "stop")]
    results = run(tmp_path, silent)
    assert results.outcomes["no_answer"] > first.outcomes["no_answer"] + 20


def test_samples_alone_are_brought_to_an_empty_folder(tmp_path):
    run(tmp_path / "one")
    (tmp_path / "other").mkdir()
    (tmp_path / "one" / "samples").rename(tmp_path / "other" / "samples")
    results = run(tmp_path / "other", Stopping(0))
    assert results is not None
    manifest = json.loads((tmp_path / "other" / "manifest.json").read_text())
    assert manifest["finished"]


def test_what_a_grader_failed_on_is_graded_again(tmp_path, monkeypatch):
    def broken(doc, response, finish):
        raise LookupError

    arith = BENCHMARKS["arith"]
    with monkeypatch.context() as patch:
        patch.setitem(BENCHMARKS, "arith", replace(arith, judge=broken))
        with pytest.raises(Failed, match="arith: the grader failed on 240 of 240 samples"):
            run(tmp_path)
        assert not (tmp_path / "results.json").exists()
    assert run(tmp_path, Stopping(0)).outcomes["grader_error"] == 0


def test_another_version_of_the_grader_grades_again(tmp_path, monkeypatch):
    run(tmp_path)
    strict = replace(BENCHMARKS["arith"], judge=lambda *_: Verdict("wrong", None), grader="arith-0")
    monkeypatch.setitem(BENCHMARKS, "arith", strict)
    results = run(tmp_path, Stopping(0))
    assert results.grader == "arith-0"
    assert results.outcomes["correct"] == 0


def failing(times: int) -> Benchmark:
    """Arith with a grader that fails so many times, then never."""
    arith, left = BENCHMARKS["arith"], list(range(times))

    def judge(doc, response, finish):
        if left:
            left.pop()
            raise ZeroDivisionError
        return arith.judge(doc, response, finish)

    return replace(arith, judge=judge, grader="broken")


def test_a_grader_that_hardly_fails_is_said_and_counts_as_no_success(tmp_path, monkeypatch):
    monkeypatch.setitem(BENCHMARKS, "arith", failing(1))
    said: list[str] = []
    results = run(tmp_path, wanted=wanted(84), said=said)  # 1008 samples
    assert results.outcomes["grader_error"] == 1
    assert any("grader failed on 1 of 1008 samples" in line for line in said)


def test_a_grader_that_fails_on_more_than_a_thousandth_fails_the_run(tmp_path, monkeypatch):
    run(tmp_path)
    before = tree(tmp_path)
    monkeypatch.setitem(BENCHMARKS, "arith", failing(2))
    with pytest.raises(Failed, match="failed on 2 of 1008 samples, more than 0.1%"):
        run(tmp_path, wanted=wanted(84))
    assert not (tmp_path / "results.json").exists()
    assert {name for name in before if name.startswith("samples/")} <= set(tree(tmp_path))
    assert run(tmp_path, Stopping(0), wanted(84)).outcomes["grader_error"] == 0


def test_regrading_takes_no_model_and_changes_nothing_but_the_verdicts(tmp_path, monkeypatch):
    results, before = run(tmp_path), tree(tmp_path)
    assert regrade(task(), tmp_path, "again", lambda *_: None, print) == results
    assert tree(tmp_path) == before
    strict = replace(BENCHMARKS["arith"], judge=lambda *_: Verdict("wrong", None))
    monkeypatch.setitem(BENCHMARKS, "arith", strict)  # of the same version: grades come anew
    again = regrade(task(), tmp_path, "again", lambda *_: None, print)
    assert again.outcomes["wrong"] == 240
    assert {k: v for k, v in before.items() if k[:7] == "samples"} == {
        k: v for k, v in tree(tmp_path).items() if k[:7] == "samples"
    }
    regraded = json.loads((tmp_path / "manifest.json").read_text())["regraded"]
    assert [each["command"] for each in regraded] == ["again", "again"]
    assert "packages" in regraded[0]


def test_what_cannot_be_regraded_is_refused(tmp_path):
    with pytest.raises(UserError, match="is no evaluation"):
        regrade(task(), tmp_path, "again", lambda *_: None, print)
    run(tmp_path)
    with pytest.raises(UserError, match="sampled with other prompts"):
        regrade(task(prefix="x"), tmp_path, "again", lambda *_: None, print)
    (tmp_path / "results.json").unlink()
    with pytest.raises(UserError, match="not finished"):
        regrade(task(), tmp_path, "again", lambda *_: None, print)


def test_a_collapsed_model_is_a_warning(tmp_path):
    engine, said = Mixed(), []
    engine._answers = engine._answers[:1]
    run(tmp_path, engine, wanted(200), said=said)
    assert any("100% of the blocks" in line for line in said)
    quiet: list[str] = []
    run(tmp_path / "other", said=quiet)
    assert quiet == []


def test_the_manifest_tells_what_is_needed_and_no_places(tmp_path):
    run(tmp_path)
    text = (tmp_path / "manifest.json").read_text()
    manifest = json.loads(text)
    assert manifest["data"]["data_set"] == "arith"
    assert manifest["data"]["prompts_sha256"] == manifest["config"]["prompts_sha256"]
    assert manifest["model"] == {"name": "scripted"}
    assert str(tmp_path) not in text
    assert str(Path.home()) not in text
