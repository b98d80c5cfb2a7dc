"""Plain lm-eval runs the same tasks and comes to the same counts."""

import json
import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256

import datasets
import pytest
import yaml
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from fgrpo_bench.benchmarks.load import load_task
from fgrpo_bench.benchmarks.registry import BENCHMARKS, GROUPS, tasks_folder
from fgrpo_bench.report.lm_eval_samples import read_samples
from tests.benchmarks.layouts import LAYOUTS, write

REPEATS = 4
RIGHT = {
    "math500": lambda doc: f"so \\boxed{{{doc['answer']}}}",
    "arith": lambda doc: f" {doc['high'] // doc['step'] * doc['step']}",
}


def scripted(prompt: str, repeat: int, right: str) -> str:
    """The script's answer: right, wrong or empty by the prompt and the number of the try."""
    draw = sha256(f"{prompt}/{repeat}".encode()).digest()[0] % 3
    return (right, "\\boxed{no} 0", "")[draw]


class Scripted(LM):
    """A model that answers by the script, in the chat's place with messages as JSON."""

    tokenizer_name = "scripted"

    def __init__(self, name):
        super().__init__()
        self.name, self.seen = name, Counter()

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        return json.dumps(chat_history)

    def generate_until(self, requests, disable_tqdm=False):
        texts = []
        for request in requests:
            prompt, settings = request.args
            assert settings["do_sample"]
            assert (settings["temperature"], settings["top_p"]) == (1.0, 1.0)
            assert settings["until"] == (["\n"] if self.name == "arith" else [])
            texts.append(scripted(prompt, self.seen[prompt], RIGHT[self.name](request.doc)))
            self.seen[prompt] += 1
        return texts

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


@pytest.mark.parametrize("name", ["arith", "math500"])
@pytest.mark.filterwarnings("default")  # lm-eval's own
def test_plain_lm_eval_comes_to_the_same_counts(name, tmp_path):
    (file,) = tasks_folder().glob(f"*/{name}.yaml")
    settings = {"task": name, "include": str(file.resolve()), "repeats": REPEATS}
    data = None
    if name == "math500":
        rows = [{**LAYOUTS[name][0], "problem": f"{n}?", "unique_id": str(n)} for n in range(12)]
        data = write(tmp_path, name, rows)
        settings["dataset_path"] = "json"
        files = {"data_files": {"test": str(data)}, "cache_dir": str(tmp_path / "cache")}
        settings["dataset_kwargs"] = files
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "again.yaml").write_text(yaml.safe_dump(settings), "utf-8")
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    results = simple_evaluate(
        model=Scripted(name),
        tasks=[name],
        task_manager=TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False),
        apply_chat_template=name == "math500",
        log_samples=True,
        evaluation_tracker=tracker,
    )
    tracker.save_results_aggregated(results, results["samples"])
    tracker.save_results_samples(name, results["samples"][name])
    (path,) = (tmp_path / "out").rglob(f"samples_{name}_*.jsonl")

    task, ours = load_task(name, data), {}
    for index, problem in enumerate(task.problems):
        prompt = problem.prompt if name == "arith" else json.dumps(list(problem.prompt))
        texts = [scripted(prompt, i, RIGHT[name](problem.doc)) for i in range(REPEATS)]
        verdicts = BENCHMARKS[name].grade([(problem.doc, text, "stop") for text in texts])
        ours[index] = REPEATS, sum(verdict.outcome == "correct" for verdict in verdicts)
    assert read_samples(path, None).counts == ours
    rights = [right for _, right in ours.values()]
    assert 0 < sum(rights) < REPEATS * len(rights)
    shown = results["results"][name]["correct,all"]
    assert shown == pytest.approx(sum(rights) / REPEATS / len(rights))


def test_counts_are_read_where_every_problem_is_all_right_or_all_wrong():
    """A mean over repeats would look like one verdict on several responses here."""
    from fgrpo_bench.benchmarks import lm_eval_hooks

    doc = LAYOUTS["math500"][0]
    verdicts = lm_eval_hooks.math500(doc, [[RIGHT["math500"](doc)] * 3])
    assert verdicts == {"correct": [1, 1, 1]}
    assert lm_eval_hooks.share_right([[1, 1, 1], [0, 0, 1]]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("group", GROUPS)
def test_our_groups_are_lm_evals_too(group, monkeypatch):
    layouts = {each.hub: LAYOUTS[each.name] for each in BENCHMARKS.values() if each.hub}

    def load_dataset(path, name=None, revision=None):
        assert len(revision) == 40
        rows = datasets.Dataset.from_list(layouts[path])
        return {"train": rows, "test": rows}

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    manager = TaskManager(include_path=str(tasks_folder()), include_defaults=False)
    found = manager.load(f"fgrpo_{group}")["tasks"]
    assert tuple(found) == GROUPS[group]
    for task in found.values():
        doc, responses = task.eval_docs[0], ["", "\\boxed{?}"]
        verdicts = task.process_results(doc, [responses])["correct"]
        assert verdicts == [0, 0]


def test_the_command_line_of_lm_eval_runs_our_tasks_from_anywhere(tmp_path):
    words = ["--tasks", "arith", "--model", "dummy", "--limit", "3", "--log_samples"]
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",  # the dummy model asks the hub for a tokenizer
        "HF_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", "run", "--include_path", str(tasks_folder()), *words, "--output_path", "out"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "|correct|" in done.stdout
    (path,) = (tmp_path / "out").rglob("samples_arith_*.jsonl")
    assert read_samples(path, None).counts == {0: (1, 0), 1: (1, 0), 2: (1, 0)}
    for name in ("aime24", "aime25", "ifeval"):  # lm-eval has tasks of these names
        ours = tasks_folder() / name / f"{name}.yaml"
        assert f"Task '{name}' from {ours} overrides existing task" in done.stderr
