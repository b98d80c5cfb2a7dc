"""What the registry says, that it agrees with the lm-eval files, and what its graders say."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fgrpo_bench.benchmarks import gpqa
from fgrpo_bench.benchmarks.registry import BENCHMARKS, GROUPS, resolve, task_names, tasks_folder
from fgrpo_bench.errors import UserError
from fgrpo_bench.grading.grader import Grader
from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.grading.pool import Pool
from tests.benchmarks.layouts import LAYOUTS

ROOT = Path(__file__).resolve().parents[2]
MATH = ["math500", "aime24", "aime25", "amc23", "minerva", "olympiadbench"]
HUB_ROWS = {
    "math500": 500, "aime24": 30, "aime25": 30, "amc23": 40, "minerva": 272,
    "olympiadbench": 674, "gpqa_diamond": 198, "ifeval": 541, "arith": 198,
}  # fmt: skip


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def config(name: str) -> dict:
    """The lm-eval file of a task, without what it includes."""
    (path,) = tasks_folder().glob(f"*/{name}.yaml")
    return yaml.load(path.read_text("utf-8"), _Loader)


def test_rows_groups_and_what_may_be_shown():
    assert {name: each.rows for name, each in BENCHMARKS.items()} == HUB_ROWS
    assert list(GROUPS["math"]) == MATH
    assert GROUPS["ood"] == ("gpqa_diamond", "ifeval")
    assert GROUPS["paper"] == (*GROUPS["math"], *GROUPS["ood"])
    hidden = {name for name, each in BENCHMARKS.items() if not each.redistributable}
    assert hidden == {"gpqa_diamond", "aime24", "aime25", "amc23"}
    assert {name: each.guess for name, each in BENCHMARKS.items() if each.guess} == {
        "gpqa_diamond": 0.25
    }


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_lm_eval_file_reads_the_data_that_the_registry_names(name):
    benchmark, file = BENCHMARKS[name], config(name)
    assert file["task"] == name
    assert file.get("dataset_path") == benchmark.hub
    assert file.get("dataset_kwargs", {}).get("revision") == benchmark.revision
    assert benchmark.revision is None or len(benchmark.revision) == 40
    assert file["process_results"] == f"fgrpo_bench.benchmarks.lm_eval_hooks.{name}"
    style = file.get("metadata", {"style": "chat"})["style"]
    assert style == benchmark.style


def test_every_file_is_a_task_of_its_name_and_groups_name_tasks():
    paths = [path for path in tasks_folder().glob("*/*.yaml") if path.parent.name != "groups"]
    assert sorted(path.stem for path in paths) == sorted(task_names())
    for group, members in GROUPS.items():
        (path,) = tasks_folder().glob(f"groups/fgrpo_{group}.yaml")
        file = yaml.load(path.read_text("utf-8"), _Loader)
        assert file == {"group": f"fgrpo_{group}", "task": list(members)}


def test_names_are_resolved_in_order_and_once():
    assert resolve(["ifeval", "ood", "math", "arith", "ifeval_qwen2.5", "arith"]) == [
        "ifeval", "gpqa_diamond", *MATH, "arith", "ifeval_qwen2.5"
    ]  # fmt: skip
    assert resolve([]) == []


@pytest.mark.parametrize(
    ("name", "near"),
    [("maht500", "math500"), ("papre", "paper"), ("ifeval_qwen25", "ifeval_qwen2.5")],
)
def test_a_misspelt_name_is_answered_with_the_right_one(name, near):
    with pytest.raises(UserError, match=f"no task '{name}': did you mean '{near}'"):
        resolve(["arith", name])


def test_the_registry_is_light():
    code = (
        "import sys, fgrpo_bench.benchmarks.registry\n"
        "heavy = {'torch', 'lm_eval', 'datasets', 'nltk', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "row", "response", "outcome"),
    [
        ("math500", 0, r"so \boxed{ \frac{1}{2} }", "correct"),
        ("math500", 0, r"so \boxed{$\frac{1}{2}$}", "correct"),
        ("math500", 0, r"\boxed{\frac{1}{2}} or rather \boxed{2}", "wrong"),
        ("math500", 0, r"the answer is \frac{1}{2}", "no_answer"),
        ("math500", 0, r"\boxed{}", "no_answer"),
        ("math500", 1, r"\boxed{\$2}", "correct"),
        ("aime24", 0, r"\boxed{25}", "correct"),
        ("aime24", 0, r"\boxed{025}", "correct"),
        ("aime24", 0, r"\boxed{250}", "wrong"),
        ("aime25", 0, r"\boxed{36}", "correct"),
        ("amc23", 0, r"\boxed{27}", "correct"),
        ("amc23", 0, r"\boxed{27.5}", "wrong"),
        ("amc23", 0, "\\boxed{" + "7" * 5000 + "}", "wrong"),
        ("minerva", 0, r"\boxed{3e8}", "correct"),
        ("olympiadbench", 0, r"\boxed{-1,1}", "correct"),
        ("olympiadbench", 0, r"\boxed{1}", "wrong"),
        ("olympiadbench", 1, r"\boxed{1,2}", "correct"),
        ("olympiadbench", 1, r"\boxed{1}", "wrong"),
        ("olympiadbench", 1, r"\boxed{\{2, 1\}}", "correct"),
        ("math500", 0, r"\boxed{0.5}", "correct"),
        ("math500", 0, r"\boxed{\cos(\pi/3)}", "correct"),
        ("math500", 0, r"\boxed{\cos(\pi/4)}", "wrong"),
        ("ifeval", 0, "three words here", "correct"),
        ("ifeval", 0, "two words", "wrong"),
        ("ifeval", 0, "no, three words", "wrong"),
        ("ifeval", 0, " \n", "no_answer"),
    ],
)  # fmt: skip
def test_verdicts(name, row, response, outcome):
    benchmark, doc = BENCHMARKS[name], LAYOUTS[name][row]
    whole, short = benchmark.grade([(doc, response, "stop"), (doc, response, "length")])
    assert whole.outcome == outcome
    cut = {"correct": "correct", "no_answer": "truncated"}
    expected = cut.get(outcome, "truncated" if name == "ifeval" else "wrong")
    assert short.outcome == expected


def test_the_choices_of_a_question_never_move_and_stand_everywhere():
    rows = LAYOUTS["gpqa_diamond"]
    letters = []
    for doc in rows:
        lines = dict(
            line.split(". ", 1) for line in gpqa.prompt(doc).splitlines() if line[1:3] == ". "
        )
        assert sorted(lines.values()) == sorted(doc[name].strip() for name in gpqa.CHOICES)
        (letter,) = (key for key, text in lines.items() if text == doc["Correct Answer"].strip())
        assert gpqa.right_letter(doc) == letter
        assert gpqa.prompt(dict(reversed(doc.items()))) == gpqa.prompt(doc)
        said = [f"({letter})", *(other for other in "ABCD" if other != letter), "A or B"]
        cases = [(doc, f"\\boxed{{{answer}}}", "stop") for answer in said]
        right, *others = BENCHMARKS["gpqa_diamond"].grade(cases)
        assert right == Verdict("correct", letter)
        assert {other.outcome for other in others} == {"wrong"}
        letters.append(letter)
    assert set(letters) == set("ABCD")
    orders = [tuple(gpqa.order(f"question {i}")) for i in range(2400)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 24
    assert min(counts) > 60  # 100 are expected of each of the 24 orders, with a deviation of 10


def test_whatever_goes_wrong_in_a_grader_is_a_grader_error():
    doc = {**LAYOUTS["ifeval"][0], "instruction_id_list": ["no:such", "punctuation:no_comma"]}
    assert BENCHMARKS["ifeval"].grade([(doc, "text", "stop")]) == [Verdict("grader_error", None)]
    math = BENCHMARKS["math500"].grade
    assert math([({}, r"\boxed{1}", "stop")]) == [Verdict("grader_error", None)]


def test_golds_alone_are_enough_where_no_row_is_needed():
    cases = [("025", r"\boxed{25}", "stop"), ("x+1", r"\boxed{1+x}", "stop"), ("2", "", "length")]
    outcomes = [verdict.outcome for verdict in BENCHMARKS["aime24"].grade_texts(cases)]
    assert outcomes == ["correct", "correct", "truncated"]
    cases = [("(b)", r"\boxed{B}", "stop"), ("five", r"\boxed{B}", "stop")]
    outcomes = [verdict.outcome for verdict in BENCHMARKS["gpqa_diamond"].grade_texts(cases)]
    assert outcomes == ["correct", "grader_error"]
    with pytest.raises(UserError, match="ifeval is judged by the row"):
        BENCHMARKS["ifeval"].grade_texts([("", "", "stop")])


def test_the_first_grade_asks_for_no_download():
    code = (
        "import socket\n"
        "def refuse(*_, **__): raise SystemExit('network')\n"
        "socket.getaddrinfo = socket.create_connection = refuse\n"
        "from fgrpo_bench.benchmarks.registry import BENCHMARKS\n"
        "from tests.benchmarks.layouts import LAYOUTS\n"
        "case = LAYOUTS['ifeval'][0], 'three words here', 'stop'\n"
        "print(BENCHMARKS['ifeval'].grade([case])[0].outcome)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("correct\n", "")


def test_a_missing_extra_is_no_verdict():
    pool = Pool(1, graders={"math": "no_such_package.grader:meets"})
    with pool, pytest.raises(ModuleNotFoundError) as caught:
        case = {"answer": "x"}, r"\boxed{y}", "stop"
        BENCHMARKS["math500"].grade([case], Grader(pool, None))
    assert caught.value.name == "no_such_package"
