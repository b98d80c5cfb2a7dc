"""The server engine against a server that does all that servers do."""

import json
import logging
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import openai._base_client
import pytest

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.engines import openai as ours
from fgrpo_bench.sampling.engines.base import Engine, Request
from fgrpo_bench.sampling.engines.make import make_engine
from tests.sampling.engines import tiny
from tests.sampling.engines.scripted import Scripted, answer, drop, error, fixed, send, server

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(openai._base_client, "INITIAL_RETRY_DELAY", 0.002)
    monkeypatch.setattr(openai._base_client, "MAX_RETRY_DELAY", 0.002)
    monkeypatch.setattr(ours, "_BACK_OFF", 0.002)
    with server() as made:
        yield made


def engine(script: Scripted, **arguments: Any) -> Engine:
    words = {key: str(value) for key, value in arguments.items()}
    return make_engine("openai", "some-model", script.url, words)


def refused(script: Scripted, message: str, **arguments: Any) -> str:
    """Sampling ends with one line that has the message and no secret."""
    with pytest.raises(UserError, match=message) as raised:
        tiny.sample(engine(script, **arguments), 4)
    text = str(raised.value)
    assert "\n" not in text
    assert KEY not in text
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    return text


def test_samples_are_split_over_http_requests_with_own_seeds(script: Scripted) -> None:
    requests = [Request("a", 7, 5), Request("b", 3, 6), Request("c", 0, 7)]
    made = engine(script, n_per_request=3).generate(
        requests, tiny.settings(stop=("\n",), top_p=0.9)
    )
    assert [len(group) for group in made] == [7, 3, 0]
    bodies = {(body["prompt"], body["n"], body["seed"]): body for _, _, body in script.asked}
    assert sorted((prompt, n) for prompt, n, _ in bodies) == [
        ("a", 1),
        ("a", 3),
        ("a", 3),
        ("b", 3),
    ]
    seeds = {seed for _, _, seed in bodies}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert len({completion.text for group in made for completion in group}) == 10
    for path, headers, body in script.asked:
        assert path == "/v1/completions"
        assert headers["authorization"] == f"Bearer {KEY}"
        assert {key: body[key] for key in ("model", "temperature", "top_p", "max_tokens", "stop")} == {
            "model": "some-model", "temperature": 1.0, "top_p": 0.9, "max_tokens": 12, "stop": ["\n"]
        }  # fmt: skip


def test_equal_calls_are_equal_and_seeds_matter(script: Scripted) -> None:
    made = [tiny.sample(engine(script), 20, seed=seed) for seed in (1, 1, 2)]
    assert made[0] == made[1]
    assert not {c.text for c in made[0]} & {c.text for c in made[2]}


def test_messages_go_to_chat_with_the_template(script: Scripted) -> None:
    made = tiny.sample(engine(script), 2, prompt=tiny.CHAT, template={"enable_thinking": False})
    assert len(made) == 2
    path, _, body = script.asked[0]
    assert path == "/v1/chat/completions"
    assert body["messages"] == [{"role": "user", "content": "12+30="}]
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "stop" not in body
    tiny.sample(engine(script), 1, prompt=tiny.CHAT)
    assert "chat_template_kwargs" not in script.asked[1][2]


def test_order_finish_and_tokens(script: Scripted) -> None:
    script.replies = [lambda handler, body: send(handler, 200, answer(body, finish="length"))]
    made = tiny.sample(engine(script), 3)
    assert [completion.text[-2:] for completion in made] == ["/0", "/1", "/2"]
    assert {completion.finish for completion in made} == {"length"}
    assert {completion.tokens for completion in made} == {None}  # 21 for all three says little
    assert [(c.tokens, c.finish) for c in tiny.sample(engine(script), 1)] == [(7, "stop")]


def test_greedy_asks_once(script: Scripted) -> None:
    made = tiny.sample(engine(script), 40, temperature=0.0)
    assert len(made) == 40
    assert [body["n"] for _, _, body in script.asked] == [1]


def test_thoughts_that_a_server_keeps_leave_an_empty_text(script: Scripted) -> None:
    script.replies = [
        fixed(
            200,
            json.dumps({"choices": [{"finish_reason": "length", "message": {"content": None}}]}),
        )
    ]
    made = tiny.sample(engine(script), 1, prompt=tiny.CHAT)
    assert [(c.text, c.tokens) for c in made] == [("", None)]


@pytest.mark.parametrize(
    "trouble",
    [
        error(500, "oops"),
        error(429, "slow down"),
        error(503, "loading"),
        fixed(200, '{"choices": [{'),
        fixed(200, "[]"),
        fixed(200, '{"choices": []}'),
        fixed(200, '{"choices": [{"text": "cut off", "finish_reason": "abort"}]}'),
        drop,
        lambda handler, _: time.sleep(0.6),
    ],
    ids="500 429 503 torn list empty abort dropped stalled".split(),
)
def test_passing_trouble_is_tried_again_with_the_same_seed(script: Scripted, trouble: Any) -> None:
    script.replies = [trouble] * 2
    made = tiny.sample(engine(script, timeout=0.3), 4)
    assert [completion.text[-2:] for completion in made] == ["/0", "/1", "/2", "/3"]
    assert len(script.asked) == 3
    assert len({body["seed"] for _, _, body in script.asked}) == 1


def test_retry_after_is_obeyed(script: Scripted) -> None:
    script.replies = [error(429, "slow down", Retry_After="0.4")]
    start = time.perf_counter()
    tiny.sample(engine(script), 1)
    assert time.perf_counter() - start >= 0.4


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (
            error(500, f"bad\nkey {KEY}"),
            r"fails: see the server's log \(status 500: bad key \*\*\*\)",
        ),
        (error(429, "slow"), "asked too much: lower --engine-arg concurrency"),
        (fixed(200, f"<html>{KEY}\n</html>"), r"holds no choices \('<html>\*\*\*.*--base-url"),
        (drop, "cannot be reached in 3 tries .*running"),
        (lambda handler, _: time.sleep(0.3), "no answer within 0.1 s in 3 tries: .*timeout"),
    ],
)
def test_lasting_trouble_is_one_line(script: Scripted, trouble: Any, message: str) -> None:
    script.always = trouble
    refused(script, message, retries=2, timeout=0.1)
    assert len(script.asked) == 3


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "does not let us in: set OPENAI_API_KEY"),
        (403, "does not let us in"),
        (404, "knows no model 'some-model'"),
        (400, r"refuses the request \(status 400: too long \*\*\* x+\.\.\."),
    ],
)
def test_refusals_are_final(script: Scripted, status: int, message: str) -> None:
    script.always = error(status, f"too long {KEY} " + "x" * 500)
    assert len(refused(script, message)) < 300
    assert len(script.asked) == 1


@pytest.mark.parametrize("returned", [1, 5])
def test_a_server_that_ignores_n(script: Scripted, returned: int) -> None:
    script.always = lambda handler, body: send(handler, 200, answer(body, returned))
    refused(script, f"returned {returned} of 4 samples: .*--engine-arg n_per_request=1")
    script.always = lambda handler, body: send(handler, 200, answer(body, 1))
    assert len({c.text for c in tiny.sample(engine(script, n_per_request=1), 4)}) == 4


def test_one_failure_ends_the_others_at_once(script: Scripted) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if body["prompt"] == "bad":
            error(400, "bad")(handler, body)
        else:
            time.sleep(3)

    script.always = reply
    start = time.perf_counter()
    with pytest.raises(UserError, match="refuses"):
        engine(script).generate([Request("good", 4, 1), Request("bad", 1, 2)], tiny.settings())
    assert time.perf_counter() - start < 2


def test_no_more_than_the_asked_concurrency(script: Scripted) -> None:
    now, most = [0], [0]

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        now[0] += 1
        most[0] = max(most[0], now[0])
        time.sleep(0.05)
        now[0] -= 1
        send(handler, 200, answer(body))

    script.always = reply
    tiny.sample(engine(script, n_per_request=1, concurrency=3), 9)
    assert most[0] == 3


def test_credentials_of_the_address_are_used_and_never_shown(
    script: Scripted, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    address = script.url.replace("http://", "http://anna:pass%20word9@") + "?token=tok-4242"
    made = make_engine("openai", "some-model", address, {"retries": "0"})
    tiny.sample(made, 1)
    path, headers, _ = script.asked[0]
    assert path == "/v1/completions?token=tok-4242"
    assert headers["authorization"] == "Basic YW5uYTpwYXNzIHdvcmQ5"
    script.always = error(500, "seen: anna:pass%20word9@ pass word9 YW5uYTpwYXNzIHdvcmQ5 tok-4242")
    with pytest.raises(UserError, match=r"seen: \*\*\*@ \*\*\* \*\*\* \*\*\*") as raised:
        tiny.sample(made, 1)
    seen = f"{raised.value} {made!r} {made.__dict__} {made.identity}"
    for secret in ("word9", "YW5uYTp", "tok-4242"):
        assert secret not in seen
        assert secret not in caplog.text


def test_the_key_is_in_no_log(script: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    tiny.sample(engine(script), 1)
    assert caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000",
        "ftp://x/v1",
        "http://",
        "http://x:port/v1",
        "",
        "http://u:secretpw@[bad/v1",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UserError, match="write it like http://localhost:8000/v1") as raised:
        make_engine("openai", "m", address, {})
    assert "secretpw" not in str(raised.value)


def test_identity_is_the_served_name(script: Scripted) -> None:
    assert engine(script).identity == {"model": "some-model"}
    assert make_engine("openai", "org/name", script.url, {}).identity == {"model": "org/name"}
    one, other = (
        make_engine("openai", f"/home/{name}/final", script.url, {}).identity["model"]
        for name in ("anna", "bert")
    )
    assert one != other
    assert one.startswith("final:")
    assert "anna" not in one
