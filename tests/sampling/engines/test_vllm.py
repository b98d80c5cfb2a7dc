"""vLLM on a CPU against transformers: the same tokens, the same log-probabilities."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.engines.base import Completion, Engine, Request
from fgrpo_bench.sampling.engines.make import make_engine
from tests.sampling.engines import tiny

pytestmark = [
    pytest.mark.vllm,
    # of vLLM and what it imports, none of it ours
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
SMALL = {"dtype": "float32", "max_model_len": "256", "enforce_eager": "true"}
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # an engine in another process takes minutes to start
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
PROMPTS = ["Q: 7+5=", "Q", "the quick brown fox jumps over the lazy dog; le café", "Q: 12+30=\nA:"]


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def passed() -> list[dict[str, Any]]:
    """What ``vllm.LLM`` was called with."""
    return []


@pytest.fixture(scope="module")
def engine(llama: Path, passed: list[dict[str, Any]], environment: None) -> Iterator[Engine]:
    import vllm

    real = vllm.LLM

    def spy(**arguments: Any) -> Any:
        passed.append(arguments)
        return real(**arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vllm, "LLM", spy)
        arguments = {**SMALL, "tensor_parallel_size": "1", "gpu_memory_utilization": "0.5"}
        made = make_engine("vllm", str(llama), None, arguments)
    yield made
    made.close()


@pytest.fixture(scope="module")
def reference(llama: Path) -> Engine:
    return make_engine("hf", str(llama), None, {})


def test_arguments_arrive_typed(engine: Engine, passed: list[dict[str, Any]], llama: Path) -> None:
    assert passed == [
        {
            "model": str(llama),
            "seed": 0,
            "dtype": "float32",
            "max_model_len": 256,
            "enforce_eager": True,
            "tensor_parallel_size": 1,
            "gpu_memory_utilization": 0.5,
        }
    ]


def test_identity_is_that_of_the_transformers_engine(engine: Engine, reference: Engine) -> None:
    assert engine.identity == reference.identity
    assert engine.family == "llama"


@pytest.mark.parametrize("prompt", [*PROMPTS, tiny.CHAT])
def test_greedy_is_that_of_the_transformers_engine(
    engine: Engine, reference: Engine, prompt: Any
) -> None:
    changes = {"temperature": 0.0, "max_tokens": 40, "prompt": prompt, "template": {"mood": "glad"}}
    assert tiny.sample(engine, 3, **changes) == tiny.sample(reference, 3, **changes)


def test_log_probabilities_are_those_of_transformers(engine: Any, llama: Path) -> None:
    import torch
    import transformers
    from vllm import SamplingParams, TokensPrompt

    model = transformers.AutoModelForCausalLM.from_pretrained(llama).eval()
    words = transformers.AutoTokenizer.from_pretrained(llama)
    for prompt in PROMPTS:
        ids = words(prompt).input_ids
        parameters = SamplingParams(n=4, seed=3, temperature=1.0, max_tokens=20, logprobs=0)
        (output,) = engine._llm.generate(
            TokensPrompt(prompt_token_ids=ids), parameters, use_tqdm=False
        )
        for choice in output.outputs:
            tokens = list(choice.token_ids)
            with torch.inference_mode():
                logits = model(torch.tensor([ids + tokens])).logits[0, len(ids) - 1 : -1]
            expected = logits.log_softmax(-1)[range(len(tokens)), tokens]
            theirs = [
                step[token].logprob for step, token in zip(choice.logprobs, tokens, strict=True)
            ]
            assert torch.allclose(torch.tensor(theirs), expected, atol=1e-4)


def test_samples_are_distinct_and_reproducible(engine: Engine) -> None:
    first = tiny.sample(engine, 16, seed=11, prompt=PROMPTS[0])
    assert len({completion.text for completion in first}) > 12
    assert tiny.sample(engine, 16, seed=11, prompt=PROMPTS[0]) == first
    among = [Request(PROMPTS[2], 3, 1), Request(PROMPTS[0], 16, 11), Request("Q", 0, 2)]
    groups = engine.generate(among, tiny.settings())
    assert [len(group) for group in groups] == [3, 16, 0]
    assert groups[1] == first
    other = tiny.sample(engine, 16, seed=901, prompt=PROMPTS[0])
    assert len({c.text for c in other} & {c.text for c in first}) < 4


def test_finish_tokens_and_stop(engine: Engine) -> None:
    made = tiny.sample(engine, 100, max_tokens=20, temperature=1.5)
    assert {completion.finish for completion in made} == {"stop", "length"}
    assert all(c.tokens == 20 for c in made if c.finish == "length")
    whole = tiny.sample(engine, 1, temperature=0.0)[0].text
    cut = tiny.sample(engine, 1, temperature=0.0, stop=(whole[3:6],))[0]
    assert (cut.text, cut.finish) == (whole[: whole.index(whole[3:6])], "stop")


def test_a_prompt_too_long_is_refused(engine: Engine) -> None:
    with pytest.raises(UserError, match="do not fit into the model's context of 256"):
        tiny.sample(engine, 1, max_tokens=256)


def test_arguments_that_vllm_does_not_know(llama: Path, environment: None) -> None:
    with pytest.raises(UserError, match=r"vllm.LLM refuses its arguments: .*tensor_paralel_size"):
        make_engine("vllm", str(llama), None, {"tensor_paralel_size": "2"})


@pytest.fixture(scope="module")
def served(llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Our server engine on ``vllm serve``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log"
    command = [
        *(str(Path(sys.executable).with_name("vllm")), "serve", str(llama), "--host", "127.0.0.1"),
        *("--port", str(port), "--served-model-name", "tiny", "--dtype", "float32"),
        *("--max-model-len", "256", "--enforce-eager", "--generation-config", "vllm"),
    ]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, **ENVIRONMENT}
        )
    try:
        for _ in range(300):
            if process.poll() is not None:
                pytest.fail(f"vllm serve ended:\n{log.read_text()[-3000:]}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).close()
                break
            except OSError:
                time.sleep(1)
        else:
            pytest.fail(f"vllm serve does not answer:\n{log.read_text()[-3000:]}")
        yield make_engine("openai", "tiny", f"http://127.0.0.1:{port}/v1", {"n_per_request": "4"})
    finally:
        process.terminate()
        process.wait(60)


def test_served_greedy_is_that_of_the_transformers_engine(
    served: Engine, reference: Engine
) -> None:
    for prompt in (PROMPTS[2], tiny.CHAT):
        changes = {
            "temperature": 0.0,
            "max_tokens": 30,
            "prompt": prompt,
            "template": {"mood": "glad"},
        }
        if isinstance(prompt, str):
            changes["template"] = {}
        ours = tiny.sample(reference, 1, **changes)
        assert tiny.sample(served, 1, **changes) == ours


@pytest.mark.parametrize("prompt", [PROMPTS[0], tiny.CHAT])
def test_served_samples_are_distinct_and_reproducible(served: Engine, prompt: Any) -> None:
    def texts(made: list[Completion]) -> list[str]:
        return [completion.text for completion in made]

    first = texts(tiny.sample(served, 10, seed=3, prompt=prompt))
    assert texts(tiny.sample(served, 10, seed=3, prompt=prompt)) == first
    assert len(set(first)) > 7
    assert len(set(first) & set(texts(tiny.sample(served, 10, seed=400, prompt=prompt)))) < 4


def test_served_errors_are_one_line(served: Engine) -> None:
    with pytest.raises(UserError, match=r"refuses the request \(status 400: .*256") as raised:
        tiny.sample(served, 1, max_tokens=400)
    assert "\n" not in str(raised.value)
    url = served._server.url  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="knows no model 'tinny'"):
        tiny.sample(make_engine("openai", "tinny", url, {}), 1)
