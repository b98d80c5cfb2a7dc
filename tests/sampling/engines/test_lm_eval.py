"""lm-eval's classes as engines: its dummy, its transformers and server classes, and a scripted one."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lm_eval.models
import numpy as np
import pytest
import torch
from lm_eval.api.model import LM
from lm_eval.api.registry import model_registry, register_model

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.engines.base import Request
from fgrpo_bench.sampling.engines.lm_eval import LMEvalEngine
from fgrpo_bench.sampling.engines.make import make_engine
from tests.sampling.engines import tiny
from tests.sampling.engines.scripted import server


class ScriptedLM(LM):
    """Keeps what it was asked, and answers from the global generators."""

    def __init__(self, model: str, batch_size: int = 1, **extra: Any) -> None:
        super().__init__()
        self.made_with = {"model": model, "batch_size": batch_size, **extra}
        self.asked: list[Any] = []
        self.short = False

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        self.asked += [request.args for request in requests]
        numbers = [(random.random(), np.random.random(), torch.rand(1).item()) for _ in requests]  # noqa: NPY002
        return [json.dumps(number) for number in numbers][self.short :]

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: Any) -> Any:
        raise NotImplementedError

    def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
        return f"chat:{chat_history[0]['content']}"


@pytest.fixture(scope="module", autouse=True)
def scripted() -> None:
    if "scripted-for-tests" not in model_registry:
        register_model("scripted-for-tests")(ScriptedLM)


@pytest.fixture
def engine() -> LMEvalEngine:
    made = make_engine(
        "lm-eval:scripted-for-tests", "some/model", None, {"batch_size": "4", "mode": "x"}
    )
    assert isinstance(made, LMEvalEngine)
    return made


def test_the_class_gets_model_and_arguments(engine: LMEvalEngine) -> None:
    assert engine._lm.made_with == {"model": "some/model", "batch_size": 4, "mode": "x"}
    assert engine.name == "lm-eval:scripted-for-tests"
    assert engine.identity == {"model": "some/model", "revision": None, "mode": "x"}


def test_a_request_becomes_n_instances(engine: LMEvalEngine) -> None:
    requests = [Request("a", 2, 1), Request(tiny.CHAT, 1, 2), Request("c", 0, 3)]
    made = engine.generate(requests, tiny.settings(temperature=0.7, top_p=0.9, stop=("\n",)))
    assert [len(group) for group in made] == [2, 1, 0]
    expected = {
        "do_sample": True,
        "temperature": 0.7,
        "top_p": 0.9,
        "max_gen_toks": 12,
        "until": ["\n"],
    }
    assert engine._lm.asked == [("a", expected), ("a", expected), ("chat:12+30=", expected)]
    assert {(c.tokens, c.finish) for group in made for c in group} == {(None, "stop")}
    assert engine.generate([Request("c", 0, 3)], tiny.settings()) == [[]]


def test_global_generators_are_seeded_and_restored(engine: LMEvalEngine) -> None:
    before = random.getstate(), torch.random.get_rng_state()
    first, again, other = (tiny.sample(engine, 3, seed=seed) for seed in (1, 1, 2))
    assert first == again
    numbers = [number for c in [*first, *other] for number in json.loads(c.text)]
    assert len(set(numbers)) == 2 * 3 * 3  # three generators, and none keeps still
    assert random.getstate() == before[0]
    assert torch.equal(torch.random.get_rng_state(), before[1])


def test_greedy_asks_once(engine: LMEvalEngine) -> None:
    made = tiny.sample(engine, 5, temperature=0.0)
    assert len(set(made)) == 1
    assert [generation["do_sample"] for _, generation in engine._lm.asked] == [False]


def test_what_a_class_does_wrong_is_one_line(
    engine: LMEvalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"no arguments of a chat template \(mood\)"):
        tiny.sample(engine, 1, prompt=tiny.CHAT, template={"mood": "glad"})
    engine._lm.short = True
    with pytest.raises(UserError, match="returned 2 texts for 3"):
        tiny.sample(engine, 3)

    def fails(_: Any) -> None:
        raise RuntimeError("out of\nluck")

    monkeypatch.setattr(engine._lm, "generate_until", fails)
    with pytest.raises(UserError, match=r"scripted-for-tests stopped: out of$"):
        tiny.sample(engine, 1)


def test_length_is_a_text_that_reaches_the_limit(engine: LMEvalEngine) -> None:
    engine._lm.tokenizer = object()
    engine._lm.tok_encode = lambda text, **_: list(range(7))
    ends = {n: tiny.sample(engine, 1, max_tokens=n)[0] for n in (6, 7, 8)}
    assert {c.tokens for c in ends.values()} == {7}
    assert [ends[n].finish for n in (6, 7, 8)] == ["length", "length", "stop"]
    engine._lm.tok_encode = lambda text, **_: [text]  # how lm-eval's clients say that they cannot
    assert tiny.sample(engine, 1)[0].tokens is None


def test_dummy() -> None:
    made = tiny.sample(make_engine("lm-eval:dummy", "anything", None, {}), 4)
    assert [tuple(completion) for completion in made] == [("lol", None, "stop")] * 4


def test_errors_of_creation(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such model: did you mean 'local-completions'"):
        make_engine("lm-eval:local-completion", "m", None, {})
    with pytest.raises(UserError, match="lm-eval:hf cannot load its model: "):
        make_engine("lm-eval:hf", str(tmp_path / "none"), None, {"device": "cpu"})
    with pytest.raises(UserError, match=r"cannot load its model: .*base_url"):
        make_engine("lm-eval:gguf", "m", None, {})


@pytest.fixture(scope="module")
def transformers(llama: Path) -> Iterator[LMEvalEngine]:
    made = make_engine(
        "lm-eval:hf", str(llama), None, {"batch_size": "8", "device": "cpu", "dtype": "float32"}
    )
    assert isinstance(made, LMEvalEngine)
    yield made
    made.close()


def test_greedy_text_is_that_of_our_engine(transformers: LMEvalEngine, llama: Path) -> None:
    ours = make_engine("hf", str(llama), None, {})
    for prompt in ("Q: 7+5=", tiny.CHAT):
        changes: dict[str, Any] = {
            "prompt": prompt,
            "temperature": 0.0,
            "template": {"mood": "glad"},
        }
        theirs = tiny.sample(transformers, 2, **changes)
        texts = [c.text.rstrip("\N{REPLACEMENT CHARACTER}") for c in theirs]
        assert texts == [c.text for c in tiny.sample(ours, 2, **changes)]
    assert transformers.family == "llama"
    assert transformers.identity["sha256"] == ours.identity["sha256"]
    assert transformers.identity["dtype"] == "float32"
    assert "device" not in transformers.identity


def test_sampled_clones_differ_and_tokens_are_counted(transformers: LMEvalEngine) -> None:
    made = tiny.sample(transformers, 16)
    assert made == tiny.sample(transformers, 16)
    assert len({c.text for c in made}) > 12
    for completion in made:
        assert completion.tokens == len(
            transformers._lm.tokenizer(completion.text, add_special_tokens=False).input_ids
        )
        assert (completion.finish == "length") == (completion.tokens >= 12)


def test_settings_of_the_checkpoint_do_not_shape_the_samples(llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "narrow"
    shutil.copytree(llama, folder)
    path = folder / "generation_config.json"
    settings = json.loads(path.read_text()) | {"top_k": 1, "top_p": 0.1, "do_sample": True}
    path.write_text(json.dumps(settings))
    made = make_engine("lm-eval:hf", str(folder), None, {"device": "cpu", "dtype": "float32"})
    firsts = {c.text[:1] for c in tiny.sample(made, 64)}
    made.close()
    assert len(firsts) > 8


def test_a_prompt_that_lm_eval_would_cut_is_refused(transformers: LMEvalEngine) -> None:
    with pytest.raises(UserError, match="do not fit into the model's context of 256"):
        tiny.sample(transformers, 1, max_tokens=255)


def test_servers_get_a_seed_with_every_clone() -> None:
    with server() as script:
        arguments = {"base_url": f"{script.url}/completions", "tokenizer_backend": "none"}
        engine = make_engine("lm-eval:local-completions", "served", None, arguments)
        first, again = (tiny.sample(engine, 6, seed=4) for _ in range(2))
        other = tiny.sample(engine, 6, seed=10)
    assert first == again
    assert len({c.text for c in [*first, *other]}) == 12
    assert len({body["seed"] for _, _, body in script.asked}) == 12
    assert engine.identity == {"model": "served", "revision": None, "tokenizer_backend": "none"}


assert lm_eval.models  # importing it fills the registry
