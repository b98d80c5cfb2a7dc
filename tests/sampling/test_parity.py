"""One scripted model of lm-eval, through plain lm-eval and through eval: the same counts."""

import json
from collections import Counter
from hashlib import sha256

import pandas as pd
import pytest
import yaml
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from lm_eval.tasks import TaskManager

from fgrpo_bench.benchmarks.load import load_task
from fgrpo_bench.benchmarks.registry import tasks_folder
from fgrpo_bench.sampling.engines.make import make_engine
from fgrpo_bench.sampling.evaluation import Wanted, evaluate
from fgrpo_bench.sampling.plan import WHOLE
from tests.benchmarks.layouts import LAYOUTS, write

REPEATS = 6
RIGHT: dict[str, str] = {}


@register_model("parity-script")
class Scripted(LM):
    """Right, wrong or nothing, by the prompt and the number of times it was asked."""

    tokenizer_name = "script"

    def __init__(self, pretrained="script"):
        super().__init__()
        self.asked = Counter()

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        return json.dumps(chat_history)

    def generate_until(self, requests, disable_tqdm=False):
        return [self.answer(request.args[0]) for request in requests]

    def answer(self, prompt: str) -> str:
        self.asked[prompt] += 1
        draw = sha256(f"{prompt}/{self.asked[prompt]}".encode()).digest()[0] % 3
        return (RIGHT[prompt], "\\boxed{no} 0", "")[draw]

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


@pytest.mark.parametrize("name", ["arith", "math500"])
@pytest.mark.filterwarnings("default")  # lm-eval's own
def test_both_paths_count_the_same(name, tmp_path):
    data, extra = None, {}
    if name == "math500":
        rows = [{**LAYOUTS[name][0], "problem": f"{n}?", "unique_id": str(n)} for n in range(12)]
        data = write(tmp_path, name, rows)
        files = {"data_files": {"test": str(data)}, "cache_dir": str(tmp_path / "cache")}
        extra = {"dataset_path": "json", "dataset_kwargs": files}
    task = load_task(name, data)
    for problem in task.problems:
        prompt = problem.prompt if name == "arith" else json.dumps(list(problem.prompt))
        right = (
            problem.doc.get("answer")
            or problem.doc["high"] // problem.doc["step"] * problem.doc["step"]
        )
        RIGHT[prompt] = f" {right}" if name == "arith" else f"\\boxed{{{right}}}"

    engine = make_engine("lm-eval:parity-script", "script", None, {})
    wanted = Wanted(REPEATS, 1.0, 1.0, None, 0, WHOLE, "eval")
    results = evaluate(task, engine, wanted, tmp_path / "ours", lambda *_: None, print)
    ours = pd.read_parquet(tmp_path / "ours" / "problems.parquet")

    (file,) = tasks_folder().glob(f"*/{name}.yaml")
    again = {"task": name, "include": str(file.resolve()), "repeats": REPEATS, **extra}
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "again.yaml").write_text(yaml.safe_dump(again), "utf-8")
    plain = simple_evaluate(
        model=Scripted(),
        tasks=[name],
        task_manager=TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False),
        apply_chat_template=name == "math500",
        log_samples=True,
    )
    theirs = sorted(plain["samples"][name], key=lambda sample: sample["doc_id"])
    assert ours["c"].tolist() == [sum(sample["correct"]) for sample in theirs]
    assert (ours["n"] == [len(sample["correct"]) for sample in theirs]).all()
    mean = plain["results"][name]["correct,all"]
    assert results.benchmarks[0].pass_at_k["1"] == pytest.approx(mean)
    assert 0.2 < mean < 0.5
