"""``fgrpo-bench eval`` and the report of what it made, with an engine that needs no model."""

import json

import pandas as pd
import pytest

from fgrpo_bench.benchmarks.arith import generate
from fgrpo_bench.cli import main
from fgrpo_bench.sampling.bench import ScriptedEngine
from fgrpo_bench.sampling.engines.base import Completion
from tests.benchmarks.layouts import LAYOUTS


class Small(ScriptedEngine):
    """Small numbers; a larger ``skill`` means fewer wrong ones."""

    block_rows = 1024

    def __init__(self, skill: int = 0) -> None:
        super().__init__()
        self.identity = {"name": "scripted", "skill": skill}
        self._answers = [Completion(f" {n}", 2, "stop") for n in range(60 - skill)]


@pytest.fixture(autouse=True)
def engine(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    made = []

    def make(name, model, base_url, arguments):
        made.append((name, model, base_url, dict(arguments)))
        return Small(40 if "better" in model else 0)

    monkeypatch.setattr("fgrpo_bench.sampling.engines.make.make_engine", make)
    return made


def ends(*words: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["eval", "--model", "some/base", "--task", "arith", *words])
    return exit_.value.code


def test_an_evaluation_from_nothing_and_again(tmp_path, capsys, engine):
    main(["eval", "--model", "some/base", "--task", "arith", "--samples", "8"])
    first = capsys.readouterr()
    assert "What was sampled" in first.out
    assert "arith" in first.out
    assert "arith  sample 1584/1584" in first.err
    problems = pd.read_parquet(tmp_path / "evals" / "base" / "arith" / "problems.parquet")
    assert (problems["n"] == 8).all()
    assert engine == [("hf", "some/base", None, {})]
    main(["eval", "--model", "some/base", "--task", "arith", "--samples", "8"])
    again = capsys.readouterr()
    assert again.out == first.out
    assert "sample" not in again.err


def test_two_evaluations_are_compared(tmp_path, capsys):
    for model in ("base", "better"):
        main(["eval", "--model", model, "--task", "arith", "--samples", "32"])
    capsys.readouterr()
    main(["report", "evals/base", "evals/better", "--out", "out"])
    out = capsys.readouterr().out
    assert "better against base" in out
    assert "What was sampled" in out
    text = (tmp_path / "out" / "report.md").read_text()
    assert "better" in text
    assert "What was sampled" in text
    assert "fgrpo-bench eval --model better --task arith --samples 32 --engine hf" in text
    curves = pd.read_csv(tmp_path / "out" / "curves.csv")
    for name in ("base", "better"):
        results = json.loads((tmp_path / "evals" / name / "arith" / "results.json").read_text())
        ours = curves[(curves["evaluation"] == name) & (curves["k"] == 8)]["pass_at_k"].item()
        assert ours == pytest.approx(results["benchmarks"][0]["pass_at_k"]["8"])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [one["model"]["skill"] for one in manifest["evaluations"]] == [0, 40]


def test_a_report_says_what_differs_beside_the_model(tmp_path):
    for folder, words in (("a", []), ("b", ["--temperature", "0.5"]), ("c", ["--seed", "1"])):
        words = [*words, "--samples", "4", "--out", f"evals/{folder}"]
        main(["eval", "--model", "base", "--task", "arith", *words])
    main(["report", "evals/a", "evals/b", "--out", "two"])
    text = (tmp_path / "two" / "report.md").read_text()
    assert "the evaluations differ in sampling.temperature." in text
    main(["report", "evals/a", "evals/c", "--out", "one"])
    assert "evaluations differ in" not in (tmp_path / "one" / "report.md").read_text()


def test_one_evaluation_has_a_report_too(tmp_path, capsys):
    main(["eval", "--model", "base", "--task", "arith", "--samples", "4"])
    main(["report", "evals/base"])
    assert (tmp_path / "reports" / "latest" / "report.md").exists()


def test_parts_are_announced_until_all_are_there(capsys):
    main(["eval", "--model", "base", "--task", "arith", "--samples", "8", "--shard", "0/2"])
    first = capsys.readouterr()
    assert "part 0/2 is done; arith: other parts are missing" in first.err
    assert first.out == ""
    main(["eval", "--model", "base", "--task", "arith", "--samples", "8", "--shard", "1/2"])
    last = capsys.readouterr()
    assert "What was sampled" in last.out
    assert "missing" not in last.err


def test_an_unfinished_evaluation_is_left_out_of_a_report(tmp_path, capsys):
    main(["eval", "--model", "base", "--task", "arith", "--samples", "4"])
    main(["eval", "--model", "better", "--task", "arith", "--samples", "32", "--shard", "0/2"])
    main(["report", "evals"])
    assert "left out, since not finished: evals/better/arith" in capsys.readouterr().err
    with pytest.raises(SystemExit) as exit_:
        main(["report", "evals/better"])
    assert exit_.value.code == 2
    assert "no evaluation is finished" in capsys.readouterr().err


def test_evaluations_of_other_problems_are_not_compared(tmp_path, capsys):
    main(["eval", "--model", "base", "--task", "arith", "--samples", "4"])
    main(["eval", "--model", "better", "--task", "arith", "--samples", "4"])
    path = tmp_path / "evals" / "better" / "arith" / "problems.parquet"
    problems = pd.read_parquet(path)
    problems.loc[3, "doc_hash"] = "other"
    problems.to_parquet(path, index=False)
    with pytest.raises(SystemExit) as exit_:
        main(["report", "evals"])
    assert exit_.value.code == 2
    assert "1 documents of 'base' and 'better' differ" in capsys.readouterr().err


def test_two_evaluations_of_one_name_are_not_told_apart_and_refused(capsys):
    for folder in ("first", "second"):
        words = ["--model", folder, "--samples", "4", "--out", f"{folder}/same"]
        main(["eval", "--task", "arith", *words])
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        main(["report", "first/same", "second/same"])
    assert exit_.value.code == 2
    assert "are both called 'same': rename one" in capsys.readouterr().err


def test_options_reach_the_engine(engine):
    words = ["--engine", "vllm", "--engine-arg", "tensor_parallel_size=4", "--engine-arg", "a=b=c"]
    main(["eval", "--model", "base", "--task", "arith", "--samples", "1", *words])
    assert engine == [("vllm", "base", None, {"tensor_parallel_size": "4", "a": "b=c"})]


def test_no_file_holds_a_secret_or_a_place(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    words = ["--engine-arg", "api_key=sk-typed", "--engine-arg", f"tokenizer={tmp_path}/words"]
    words += ["--engine-arg", "hf_token=hf-typed", "--engine-arg", "batch_size=8"]
    draft = json.dumps({"model": f"{tmp_path}/draft", "token": "hf-typed", "n": 2})
    words += ["--engine-arg", f"speculative_config={draft}"]
    rows = tmp_path / "fol=der" / "rows.jsonl"
    rows.parent.mkdir()
    rows.write_text("".join(json.dumps(row) + "\n" for row in generate()), "utf-8")
    words += ["--data", f"arith={rows}"]
    words += ["--base-url", "http://me:password@here:1/v1?token=xyzzy", "--engine", "openai"]
    model = str(tmp_path / "secret-folder" / "mine")
    main(["eval", "--model", model, "--task", "arith", "--samples", "1", *words])
    everything = [path for path in (tmp_path / "evals").rglob("*") if path.is_file()]
    text = b"".join(path.read_bytes() for path in everything)
    for secret in (
        "sk-",
        "hf-typed",
        "password",
        "xyzzy",
        "here:1",
        "secret-folder",
        str(tmp_path),
    ):
        assert secret.encode() not in text, secret
    manifest = json.loads((tmp_path / "evals" / "mine" / "arith" / "manifest.json").read_text())
    assert "--engine-arg tokenizer=words:" in manifest["command"]
    assert "--engine-arg batch_size=8" in manifest["command"]
    assert '{"model": "draft:' in manifest["command"]
    assert "--data arith=rows.jsonl" in manifest["command"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--samples", "0"], "--samples 0: give a number from 1 to 100000"),
        (["--samples", "100001"], "--samples 100001: give a number from 1 to 100000"),
        (["--temperature", "-1"], "--temperature -1.0: give a number 0 or more"),
        (["--temperature", "nan"], "--temperature nan: give a number 0 or more"),
        (["--top-p", "0"], "--top-p 0.0: give a number above 0 and at most 1"),
        (["--top-p", "1.5"], "--top-p 1.5"),
        (["--max-tokens", "0"], "--max-tokens 0: give a number 1 or more"),
        (["--seed", "-1"], "--seed -1"),
        (["--shard", "2/2"], "--shard '2/2': write i/n with i from 0 to n - 1, such as 0/4"),
        (["--shard", "1"], "--shard '1'"),
        (["--shard", "0/0"], "--shard '0/0'"),
        (["--engine-arg", "x"], "--engine-arg 'x' is not KEY=VALUE"),
        (["--engine-arg", "x=1", "--engine-arg", "x=2"], "--engine-arg x is given twice"),
        (["--data", __file__, "--data", f"arith={__file__}"], "--data gives arith two files"),
        (["--data", "a.jsonl"], "--data a.jsonl: there is no such file"),
        (["--sample", "3"], "did you mean '--samples'?"),
    ],
)
def test_wrong_use_is_one_line(words, named, capsys, engine):
    assert ends(*words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert named in line
    assert engine == []  # found before a model is loaded


def test_a_misspelt_task_is_one_line(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["eval", "--model", "base", "--task", "math50"])
    assert exit_.value.code == 2
    assert "did you mean 'math500'?" in capsys.readouterr().err


def test_several_tasks_need_to_say_whose_file_it_is(capsys):
    words = ["--task", "math500", "minerva", "--data", "a.jsonl"]
    with pytest.raises(SystemExit):
        main(["eval", "--model", "base", *words])
    assert "write TASK=FILE, TASK one of math500, minerva" in capsys.readouterr().err


def test_another_setting_in_the_same_place_is_refused(capsys):
    main(["eval", "--model", "base", "--task", "arith", "--samples", "1"])
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        main(["eval", "--model", "base", "--task", "arith", "--samples", "1", "--top-p", "0.9"])
    assert exit_.value.code == 2
    assert "(sampling.top_p differ): use another --out" in capsys.readouterr().err


def test_samples_are_graded_anew_without_a_model(tmp_path, capsys, engine):
    main(["eval", "--model", "some/base", "--task", "arith", "--samples", "8"])
    first, made = capsys.readouterr(), len(engine)
    place = tmp_path / "evals" / "base" / "arith"
    before = (place / "results.json").read_bytes()
    (place / "problems.parquet").unlink()
    for words in (["--out", "evals/base"], ["--model", "some/base", "--task", "arith"]):
        main(["eval", "--regrade", *words])
        assert capsys.readouterr().out == first.out
        assert (place / "results.json").read_bytes() == before
    assert len(engine) == made
    regraded = json.loads((place / "manifest.json").read_text())["regraded"]
    assert [each["command"] for each in regraded] == ["fgrpo-bench eval --regrade"] * 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--regrade needs the place of an evaluation"),
        (["--out", "nowhere"], "nowhere holds no finished evaluation"),
        (["--out", "evals/base", "--task", "math500"], "evals/base has no finished math500; it has arith"),
        (["--out", "evals/base", "--samples", "9"], "--regrade samples nothing and takes no --samples"),
        (["--out", "evals/base", "--max-tokens", "9"], "takes no --max-tokens"),
    ],
)  # fmt: skip
def test_what_cannot_be_graded_anew_is_named(capsys, words, message):
    main(["eval", "--model", "base", "--task", "arith", "--samples", "4"])
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        main(["eval", "--regrade", *words])
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_a_model_and_a_task_are_needed(capsys):
    for words, missing in ((["--task", "arith"], "--model"), (["--model", "m"], "--task")):
        with pytest.raises(SystemExit) as exit_:
            main(["eval", *words])
        assert exit_.value.code == 2
        assert f"eval needs {missing}" in capsys.readouterr().err


def test_guesses_and_further_accuracies_have_rows(monkeypatch, tmp_path, capsys):
    """The letters of GPQA can be guessed; IFEval has four accuracies."""
    rows = {name: tmp_path / f"{name}.jsonl" for name in ("gpqa_diamond", "ifeval")}
    for name, path in rows.items():
        path.write_text("".join(json.dumps(doc) + "\n" for doc in LAYOUTS[name]), "utf-8")

    class Answers(Small):
        def __init__(self) -> None:
            super().__init__()
            self._answers = [
                Completion(text, 2, "stop") for text in ("\\boxed{A}", "three words", "")
            ]

    monkeypatch.setattr("fgrpo_bench.sampling.engines.make.make_engine", lambda *_: Answers())
    words = [f"{name}={path}" for name, path in rows.items()]
    main(
        [
            "eval",
            "--model",
            "m",
            "--task",
            "ood",
            "--samples",
            "16",
            "--data",
            words[0],
            "--data",
            words[1],
        ]
    )
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "uniform guesses 25.0 68.4 99.0" in lines
    results = json.loads((tmp_path / "evals" / "m" / "ifeval" / "results.json").read_text())
    counts = pd.read_parquet(tmp_path / "evals" / "m" / "ifeval" / "problems.parquet")
    strict = counts["c"].sum() / counts["n"].sum()
    assert results["rates"]["prompt_level_strict"] == pytest.approx(strict)
    assert results["benchmarks"][0]["pass_at_k"]["1"] == pytest.approx(strict)
    assert any(line.startswith("inst level loose") for line in lines)
    main(["report", "evals/m", "--out", "out"])
    text = (tmp_path / "out" / "report.md").read_text()
    assert "uniform guesses" in text
    assert "saturated" in text
