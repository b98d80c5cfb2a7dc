"""``fgrpo-bench grade``: a verdict for every line, in order, and one line for every fault."""

import io
import json
import subprocess
import sys

import pytest

from fgrpo_bench.cli import main
from fgrpo_bench.commands import grade as command
from tests.benchmarks.layouts import LAYOUTS


def grade(monkeypatch, capsys, task: str, lines: list, code: int = 0) -> tuple[list[dict], str]:
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    stream = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogatepass")))
    monkeypatch.setattr(sys, "stdin", stream)
    if code:
        with pytest.raises(SystemExit) as caught:
            main(["grade", "--task", task])
        assert caught.value.code == code
    else:
        main(["grade", "--task", task])
    out, err = capsys.readouterr()
    return [json.loads(line) for line in out.splitlines()], err


def test_golds_and_rows_in_order(monkeypatch, capsys):
    doc = LAYOUTS["math500"][0]  # its answer is one half
    lines = [
        {"gold": "025", "response": r"\boxed{25}"},
        {"doc": doc, "response": r"\boxed{0.5}"},
        "\n",
        {"gold": "x^2-1", "response": r"first \boxed{0}, then \boxed{(x-1)(x+1)}"},
        {"doc": doc, "response": r"\boxed{\sqrt{1/3}}"},
        {"gold": 7, "response": "seven"},
        {"gold": "7", "response": "sev", "finish": "length"},
        {"gold": "7", "response": "\ud800 \\boxed{\x00}"},
    ]
    found, err = grade(monkeypatch, capsys, "math500", lines)
    assert [(each["outcome"], each["correct"]) for each in found] == [
        ("correct", True), ("correct", True), ("correct", True), ("wrong", False),
        ("no_answer", False), ("truncated", False), ("wrong", False),
    ]  # fmt: skip
    assert found[0] == {"outcome": "correct", "correct": True, "answer": "25"}
    assert found[2]["answer"] == "(x-1)(x+1)"
    assert "3 correct, 2 wrong, 1 no_answer, 1 truncated" in err


@pytest.mark.parametrize("task", ["math500", "aime24", "gpqa_diamond", "ifeval", "ifeval_qwen3"])
def test_rows_of_every_kind(monkeypatch, capsys, task):
    doc = LAYOUTS[task.partition("_qwen")[0]][0]
    lines = [{"doc": doc, "response": text} for text in (r"\boxed{1/2}", "three words here", "")]
    found, _ = grade(monkeypatch, capsys, task, lines)
    outcomes = [each["outcome"] for each in found]
    expected = {
        "math500": ["correct", "no_answer", "no_answer"],
        "aime24": ["wrong", "no_answer", "no_answer"],
        "gpqa_diamond": ["wrong", "no_answer", "no_answer"],
    }
    assert outcomes == expected.get(task, ["correct", "correct", "no_answer"])


@pytest.mark.parametrize(
    ("task", "line", "message"),
    [
        ("math500", "{oops\n", "line 2: no JSON in UTF-8; mend the line"),
        ("math500", "[1]\n", "line 2: no JSON object"),
        ("math500", "[" * 100_000 + "\n", "line 2: "),
        ("math500", {"gold": "7"}, "line 2: no text as response"),
        ("math500", {"response": "7"}, "line 2: neither a row as doc nor a text as gold"),
        ("math500", {"gold": True, "response": "7"}, "line 2: neither"),
        ("math500", {"doc": 7, "response": "7"}, "line 2: doc is no JSON object"),
        ("math500", {"gold": "7", "response": "7", "finish": "?"}, "line 2: finish is '?'"),
    ],
)
def test_a_line_that_cannot_be_used_ends_with_what_was_before(
    monkeypatch, capsys, task, line, message
):
    first = {"gold": "7", "response": r"\boxed{7}"}
    found, err = grade(monkeypatch, capsys, task, [first, line, first], code=2)
    assert [each["outcome"] for each in found] == ["correct"]
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_ifeval_needs_its_rows(monkeypatch, capsys):
    _, err = grade(monkeypatch, capsys, "ifeval", [{"gold": "7", "response": "7"}], code=2)
    assert "line 1: no doc, by which ifeval is graded" in err


def test_a_misspelt_task_is_named(monkeypatch, capsys):
    _, err = grade(monkeypatch, capsys, "maht500", [], code=2)
    assert "did you mean 'math500'" in err


def test_grader_errors_are_no_verdicts_and_fail_the_command(monkeypatch, capsys):
    lines = [{"doc": {}, "response": r"\boxed{7}"}, {"gold": "7", "response": r"\boxed{7}"}]
    found, err = grade(monkeypatch, capsys, "math500", lines, code=1)
    assert [each["correct"] for each in found] == [None, True]
    assert "the grader failed on 1 of 2 lines" in err


def test_many_lines_stay_in_order_across_chunks(monkeypatch, capsys):
    monkeypatch.setattr(command, "_TOGETHER", 7)
    lines = [{"gold": str(n), "response": rf"\boxed{{{n + n % 3}}}"} for n in range(100)]
    found, _ = grade(monkeypatch, capsys, "aime24", lines)
    assert [each["correct"] for each in found] == [n % 3 == 0 for n in range(100)]


def test_numbers_need_neither_sympy_nor_torch():
    code = (
        "import sys\n"
        "from fgrpo_bench.cli import main\n"
        "main(['grade', '--task', 'aime24'])\n"
        "assert not {'torch', 'sympy', 'lm_eval'} & set(sys.modules)\n"
    )
    line = json.dumps({"gold": "025", "response": "\\boxed{25}"})
    done = subprocess.run([sys.executable, "-c", code], input=line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["correct"] is True
