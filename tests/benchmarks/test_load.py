"""Rows from files and from the hub become problems, or one line that says why not."""

import hashlib
import json
import os
import socket
import subprocess
import sys

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fgrpo_bench.benchmarks.load import load_task
from fgrpo_bench.benchmarks.registry import BENCHMARKS
from fgrpo_bench.errors import UserError
from tests.benchmarks.layouts import LAYOUTS, SYSTEM, write


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("something asked for the network")

    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)


def system(content):
    return {"role": "system", "content": content}


def user(content):
    return {"role": "user", "content": content}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_becomes_problems(name, tmp_path):
    path, rows, benchmark = write(tmp_path, name), LAYOUTS[name], BENCHMARKS[name]
    task = load_task(name, path)
    assert (task.name, task.benchmark, task.stop, task.max_tokens) == (name, name, (), 8192)
    assert len(task.problems) == len(rows)
    column = benchmark.texts[0]
    for index, (problem, row) in enumerate(zip(task.problems, rows, strict=True)):
        assert problem.problem_id == str(row[benchmark.key] if benchmark.key else index)
        *before, last = problem.prompt
        assert before == ([] if name == "ifeval" else [system(SYSTEM)])
        assert last["role"] == "user"
        if name == "gpqa_diamond":
            assert last["content"].startswith(row["Question"].strip() + "\n\nA. ")
        else:
            assert last["content"] == row[column]  # to the letter, templates and all
        assert problem.stratum == (f"level {row['level']}" if name == "math500" else None)
    assert task.source == {
        "file": f"{name}.jsonl",
        "file_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rows": len(rows),
        "expected_rows": benchmark.rows,
        "rows_sha256": task.source["rows_sha256"],
    }
    json.dumps(task.source)
    assert str(tmp_path) not in repr(task.source)


def test_arith_needs_no_data_and_is_text_to_continue():
    task = load_task("arith")
    assert (task.stop, task.max_tokens, len(task.problems)) == (("\n",), 12, 198)
    for problem in task.problems:
        assert problem.prompt == problem.doc["prompt"]
        assert problem.stratum == problem.doc["kind"]
    assert task.source["data_set"] == "arith"
    assert task.source["rows"] == task.source["expected_rows"] == 198


def test_a_family_takes_its_variant_and_others_the_task_itself(tmp_path):
    path = write(tmp_path, "ifeval")
    plain, qwen3 = load_task("ifeval", path), load_task("ifeval", path, family="qwen3")
    qwen25 = load_task("ifeval", path, family="qwen2.5")
    assert plain == load_task("ifeval", path, family="llama")
    assert plain.template == {}
    assert qwen3.template == {"enable_thinking": False}
    assert qwen3.problems == plain.problems
    prompt = user(LAYOUTS["ifeval"][0]["prompt"])
    assert plain.problems[0].prompt == (prompt,)
    assert qwen25.name == "ifeval_qwen2.5"
    assert qwen25.benchmark == "ifeval"
    assert qwen25.problems[0].prompt == (system("You are a helpful assistant."), prompt)
    assert qwen25 == load_task("ifeval_qwen2.5", path)
    assert load_task("math500", write(tmp_path, "math500"), family="qwen2.5").name == "math500"
    assert load_task("math500", write(tmp_path, "math500")).template == {}


@pytest.mark.parametrize("name", LAYOUTS)
def test_parquet_gives_the_same_problems_as_jsonl(name, tmp_path):
    jsonl = write(tmp_path, name)
    parquet = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(LAYOUTS[name]), parquet)
    one, other = load_task(name, jsonl), load_task(name, parquet)
    assert one.problems == other.problems
    assert one.source["rows_sha256"] == other.source["rows_sha256"]
    assert one.source["file_sha256"] != other.source["file_sha256"]


def test_the_hash_of_the_rows_follows_what_prompts_and_grades_depend_on(tmp_path):
    def digest(**changes):
        rows = [{**LAYOUTS["math500"][0], **changes}]
        return load_task("math500", write(tmp_path, "math500", rows)).source["rows_sha256"]

    assert digest() == digest(solution="longer", subject="other")
    assert len({digest(), digest(answer="1"), digest(problem="?"), digest(unique_id="x")}) == 4


def test_keys_written_as_null_hash_like_keys_left_out(tmp_path):
    full = [
        {**row, "kwargs": [{"end_phrase": None, **kwargs} for kwargs in row["kwargs"]]}
        for row in LAYOUTS["ifeval"]
    ]
    hashes = {
        load_task("ifeval", write(tmp_path, "ifeval", rows)).source["rows_sha256"]
        for rows in (full, LAYOUTS["ifeval"])
    }
    assert len(hashes) == 1


def test_missing_keys_of_nested_records_become_none_as_on_the_hub(tmp_path):
    task = load_task("ifeval", write(tmp_path, "ifeval"))
    assert task.problems[0].doc["kwargs"] == [
        {"relation": None, "num_words": None},
        {"relation": "at least", "num_words": 3},
    ]
    grade = BENCHMARKS["ifeval"].grade
    responses = ("three words here", "lower case")
    cases = [(each.doc, said, "stop") for each, said in zip(task.problems, responses, strict=True)]
    assert [verdict.outcome for verdict in grade(cases)] == ["correct"] * 2


ROW = LAYOUTS["math500"][0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows.csv", "a,b\n", r"rows.csv: rows are read from .jsonl or .parquet"),
        ("rows.jsonl", None, "rows.jsonl: cannot be read .No such file"),
        ("rows.jsonl", "", "rows.jsonl: no rows"),
        ("rows.jsonl", "\n\n", "rows.jsonl: no rows"),
        ("rows.jsonl", json.dumps(ROW) + "\n{oops\n", "rows.jsonl line 2: damaged JSON"),
        ("rows.jsonl", json.dumps(ROW) + '\n\n"text"\n', "rows.jsonl line 3: no JSON object"),
        ("rows.jsonl", b"\xff\xfe\n", "rows.jsonl line 1: damaged JSON"),
        ("rows.jsonl", "[" * 100_000, "rows.jsonl line 1: damaged JSON"),
        ("rows.jsonl", [{"problem": "?", "answer": "1"}], "needs the column 'unique_id', 'level'; found 'problem', 'answer'"),
        ("rows.jsonl", [ROW, ROW], "rows 1 and 2 have the same unique_id 'test/a/1.json'"),
        ("rows.jsonl", [ROW, {**ROW, "unique_id": "b", "answer": None}], "row 2 has no 'answer'"),
        ("rows.jsonl", [{**ROW, "problem": 5}], "row 1: 'problem' is no text but 5"),
        ("rows.jsonl", [ROW, {**ROW, "answer": 5}], "column 'answer' has mixed types"),
        ("rows.jsonl", [{**ROW, "level": 10**30}], "column 'level' has mixed types"),
        ("rows.parquet", "PAR?", "rows.parquet: cannot be read as a table"),
        ("rows.parquet", None, "rows.parquet: cannot be read .No such file"),
    ],
)  # fmt: skip
def test_bad_files_are_one_line(name, text, message, tmp_path):
    path = tmp_path / name
    if isinstance(text, list):
        text = "".join(json.dumps(row) + "\n" for row in text)
    if text is not None:
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(UserError, match=message) as caught:
        load_task("math500", path)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "rows.jsonl").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        load_task("math500", tmp_path / "rows.jsonl")


def test_an_unknown_task_is_answered_with_the_right_one():
    with pytest.raises(UserError, match="no task 'aritj': did you mean 'arith'"):
        load_task("aritj")


def test_the_hub_is_asked_for_the_pinned_revision(monkeypatch):
    asked = []

    def load_dataset(*words, **more):
        asked.append((words, more))
        return datasets.Dataset.from_list(LAYOUTS["olympiadbench"])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    task = load_task("olympiadbench")
    revision = BENCHMARKS["olympiadbench"].revision
    where = ("Hothan/OlympiadBench", "OE_TO_maths_en_COMP")
    assert asked == [(where, {"split": "train", "revision": revision})]
    assert [problem.problem_id for problem in task.problems] == ["1", "2"]
    assert task.source == {
        "data_set": where[0], "config": where[1], "split": "train", "revision": revision,
        "rows": 2, "expected_rows": 674, "rows_sha256": task.source["rows_sha256"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionError("Couldn't reach it\nat all"), "gpqa_diamond: no rows of Idavidrein/gpqa .the hub cannot be reached, and they were not downloaded before.: give the rows by --data FILE"),
        (datasets.exceptions.DatasetNotFoundError("Dataset 'x' is a gated dataset on the Hub."), "is gated: accept its terms at huggingface.co/datasets/Idavidrein/gpqa and hf auth login, or give the rows by --data FILE"),
        (RuntimeError("two\nlines"), "RuntimeError: 'two lines'"),
    ],
)  # fmt: skip
def test_a_hub_that_gives_nothing_is_one_line(error, message, monkeypatch):
    def load_dataset(*_, **__):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(UserError, match=message) as caught:
        load_task("gpqa_diamond")
    assert "\n" not in str(caught.value)
    assert datasets.is_progress_bar_enabled()


def test_loading_is_silent_leaves_nothing_behind_and_works_from_anywhere(tmp_path):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    write(elsewhere, "ifeval")
    code = (
        "import socket\n"
        "from pathlib import Path\n"
        "def refuse(*_, **__): raise SystemExit('network')\n"
        "socket.getaddrinfo = socket.create_connection = refuse\n"
        "from fgrpo_bench.benchmarks.load import load_task\n"
        "print(len(load_task('ifeval', Path('ifeval.jsonl')).problems), load_task('arith').name)\n"
    )
    environment = {"HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=elsewhere, env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("2 arith\n", "")
    assert [path for path in home.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("name", "file", "rows"),
    [
        ("math500", "math500", 500),
        ("minerva", "minerva_math", 272),
        ("olympiadbench", "olympiadbench", 675),
        ("ifeval", "ifeval", 541),
    ],
)
def test_reference_data(reference_data, name, file, rows):
    path = reference_data / "data" / f"{file}.jsonl"
    task, benchmark = load_task(name, path), BENCHMARKS[name]
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(task.problems) == rows
    assert [problem.prompt[-1]["content"] for problem in task.problems] == [
        line[benchmark.texts[0]] for line in lines
    ]
    assert len({problem.problem_id for problem in task.problems}) == rows
    if name != "ifeval":
        cases = [
            (problem.doc, f"\\boxed{{{gold}}}", "stop")
            for problem, line in zip(task.problems, lines, strict=True)
            for gold in [line["answer"] if "answer" in line else line["final_answer"][0]]
        ]
        grades = [verdict.outcome for verdict in benchmark.grade(cases)]
        assert grades == ["correct"] * rows
