"""The transformers engine against transformers' own ``generate`` and its logits."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from scipy.stats import chisquare

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.engines import decode, hf
from fgrpo_bench.sampling.engines.base import Request
from fgrpo_bench.sampling.engines.make import make_engine
from tests.sampling.engines import tiny

BROKEN = "\N{REPLACEMENT CHARACTER}"  # of a last character that was cut
PROMPTS = ["Q: 7+5=", "Q", "the quick brown fox jumps over the lazy dog; le café", "Q: 12+30=\nA:"]


def load(folder: Path) -> tuple[Any, Any]:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


def reference(folder: Path, prompt: str, max_tokens: int) -> tuple[str, int, str]:
    """Greedy text of one prompt alone, by transformers."""
    model, words = load(folder)
    ids = words(prompt, return_tensors="pt").input_ids
    made = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=max_tokens,
        pad_token_id=1,
    )[0, ids.shape[1] :]
    ended = int(made[-1]) in (1, 2)
    text = words.decode(made, skip_special_tokens=True).rstrip(BROKEN)
    return text, len(made), "stop" if ended else "length"


@pytest.mark.parametrize("kind", ["llama", "qwen"])
@pytest.mark.parametrize("rows", [1, 3, 64])
def test_greedy_is_generate(kind: str, rows: int, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(kind)
    engine = make_engine("hf", str(folder), None, {"batch_size": str(rows)})
    requests = [Request(prompt, 2, 5) for prompt in PROMPTS]
    made = engine.generate(requests, tiny.settings(temperature=0.0, max_tokens=40))
    for prompt, group in zip(PROMPTS, made, strict=True):
        whole = [(c.text.rstrip(BROKEN), c.tokens, c.finish) for c in group]
        assert whole == [reference(folder, prompt, 40)] * 2


def test_logits_along_samples_are_those_of_one_pass(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Padded, expanded and compacted: every step's logits equal a full pass of its row alone."""
    model, words = load(llama)
    steps: list[tuple[torch.Tensor, torch.Tensor]] = []

    def spy(logits: torch.Tensor, *rest: Any) -> torch.Tensor:
        steps.append((logits, real(logits, *rest)))
        return steps[-1][1]

    real = decode.draw
    monkeypatch.setattr(decode, "draw", spy)
    settings = tiny.settings(max_tokens=30, temperature=1.3)
    samples = [
        decode.Sample(words, words(prompt).input_ids, 3, i, settings)
        for prompt in PROMPTS
        for i in range(6)
    ]
    rows = {id(sample): list(sample.prompt) for sample in samples}
    decode.decode(model, samples, settings, frozenset({1, 2}))
    lengths = {id(sample): sample.completion().tokens for sample in samples}
    assert len({len(logits) for logits, _ in steps}) > 2  # the cache was compacted
    for step, (logits, tokens) in enumerate(steps):
        live = [sample for sample in samples if step < (lengths[id(sample)] or 0)]
        assert len(logits) == len(live)
        for row, sample in enumerate(live):
            with torch.inference_mode():
                alone = model(torch.tensor([rows[id(sample)]])).logits[0, -1]
            assert torch.allclose(logits[row].log_softmax(-1), alone.log_softmax(-1), atol=2e-5)
            rows[id(sample)].append(int(tokens[row]))


def test_first_tokens_follow_the_model(llama: Path) -> None:
    model, words = load(llama)
    engine = make_engine("hf", str(llama), None, {"batch_size": "500"})
    made = tiny.sample(engine, 4000, prompt=PROMPTS[0], max_tokens=1, temperature=0.8, top_p=0.9)
    with torch.inference_mode():
        logits = model(words(PROMPTS[0], return_tensors="pt").input_ids).logits[0, -1]
    probabilities = torch.softmax(logits.double() / 0.8, -1).numpy()
    order = np.argsort(-probabilities)
    inside = order[: np.searchsorted(probabilities[order].cumsum(), 0.9) + 1]
    expected: dict[str, float] = {}
    for token in inside:
        text = words.decode(token, skip_special_tokens=True).rstrip(BROKEN)
        expected[text] = expected.get(text, 0) + probabilities[token] / probabilities[inside].sum()
    counts = dict.fromkeys(expected, 0)
    for completion in made:
        counts[completion.text] += 1  # a token outside the nucleus is a KeyError
    often = [text for text in expected if expected[text] * 4000 >= 5]
    observed = np.array([counts[text] for text in often])
    wanted = np.array([expected[text] for text in often])
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


def test_a_sample_depends_on_its_seed_and_index_alone(llama: Path) -> None:
    engine = make_engine("hf", str(llama), None, {"batch_size": "7"})
    alone = tiny.sample(engine, 5, seed=11, prompt=PROMPTS[0])
    assert tiny.sample(engine, 16, seed=11, prompt=PROMPTS[0])[:5] == alone
    among = [Request(PROMPTS[2], 3, 1), Request(PROMPTS[0], 5, 11), Request(PROMPTS[1], 9, 2)]
    assert engine.generate(among, tiny.settings())[1] == alone
    assert tiny.sample(engine, 5, seed=12, prompt=PROMPTS[0]) != alone
    assert len({completion.text for completion in tiny.sample(engine, 16, seed=11)}) > 12


def test_a_stop_text_is_cut_and_counted(llama: Path) -> None:
    engine = make_engine("hf", str(llama), None, {})
    whole = tiny.sample(engine, 1, temperature=0.0)[0]
    stop = whole.text[3:6]
    cut = tiny.sample(engine, 1, temperature=0.0, stop=(stop,))[0]
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish == "stop"
    assert cut.tokens is not None
    assert whole.tokens is not None
    assert 0 < cut.tokens < whole.tokens


def test_tokens_count_the_end_and_no_more_than_the_limit(llama: Path) -> None:
    engine = make_engine("hf", str(llama), None, {})
    made = tiny.sample(engine, 200, max_tokens=20, temperature=1.5)
    assert {completion.finish for completion in made} == {"stop", "length"}
    for completion in made:
        assert completion.tokens is not None
        assert completion.tokens == 20 if completion.finish == "length" else completion.tokens <= 20


def test_chat_prompts_are_templated_once(llama: Path) -> None:
    engine = make_engine("hf", str(llama), None, {})
    assert isinstance(engine, hf.HFEngine)
    written = "<|user|>12+30=<|end|><|assistant|>"  # the tokenizer puts <s> before a text
    chat = tiny.sample(engine, 3, prompt=tiny.CHAT)
    assert chat == tiny.sample(engine, 3, prompt=written)
    moody = tiny.sample(engine, 3, prompt=tiny.CHAT, template={"mood": "glad"})
    assert moody == tiny.sample(engine, 3, prompt=f"{written}[glad]")
    assert moody != chat


def test_prompts_without_a_template_are_refused(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine("hf", str(llama), None, {})
    monkeypatch.setattr(engine._tokenizer, "chat_template", None)  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="no chat template"):
        tiny.sample(engine, 1, prompt=tiny.CHAT)


def test_a_prompt_too_long_names_the_lengths(llama: Path) -> None:
    engine = make_engine("hf", str(llama), None, {})
    length = len(load(llama)[1](PROMPTS[0]).input_ids)
    assert tiny.sample(engine, 1, prompt=PROMPTS[0], max_tokens=256 - length)
    with pytest.raises(
        UserError,
        match=rf"prompt of {length} tokens .* up to 250 .* of 256: lower --max-tokens to {256 - length}",
    ):
        tiny.sample(engine, 1, prompt=PROMPTS[0], max_tokens=250)


def test_dtype_and_no_samples(llama: Path) -> None:
    engine = make_engine("hf", str(llama), None, {"dtype": "bfloat16"})
    assert engine.identity["dtype"] == "bfloat16"
    assert engine.generate([], tiny.settings()) == []
    assert engine.generate([Request("Q", 0, 1)], tiny.settings(temperature=0.0)) == [[]]
    assert len(tiny.sample(engine, 3)) == 3
    engine.close()


def test_memory_that_runs_out_says_what_to_lower(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError

    engine = make_engine("hf", str(llama), None, {"batch_size": "32"})
    monkeypatch.setattr(decode, "decode", full)
    with pytest.raises(UserError, match="batch_size=16"):
        tiny.sample(engine, 1)
