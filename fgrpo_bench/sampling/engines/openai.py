"""``openai``: a server that speaks OpenAI's protocol, such as ``vllm serve`` or SGLang."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from fgrpo_bench.errors import UserError, quoted
from fgrpo_bench.sampling.engines.base import Completion, Request, Settings
from fgrpo_bench.sampling.engines.checkpoint import nameless
from fgrpo_bench.sampling.engines.options import Options, read_options
from fgrpo_bench.sampling.engines.server import parse, quiet

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

_BLOCK_ROWS = 2048
_BACK_OFF, _MOST_BACK_OFF = 0.5, 8.0  # seconds, the openai package's own


class OpenAIOptions(Options):
    """Engine arguments of ``openai``.

    Attributes:
        n_per_request: samples asked for in one HTTP request, 1 for a server that ignores ``n``.
        concurrency: HTTP requests in flight.
        retries: of one HTTP request, with back-off.
        timeout: seconds to wait for an answer.
    """

    n_per_request: int = Field(16, gt=0)
    concurrency: int = Field(32, gt=0)
    retries: int = Field(6, ge=0)
    timeout: float = Field(600, gt=0)


class Part(NamedTuple):
    """What one HTTP request asks for: ``n`` of the samples of request ``owner``."""

    owner: int
    n: int
    seed: int


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    index: int = 0
    text: str | None = None
    message: _Message | None = None
    finish_reason: Literal["stop", "length", "content_filter", "tool_calls"]


class _Usage(BaseModel):
    completion_tokens: int


class _Answer(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class OpenAIEngine:
    """The engine whose model is elsewhere; text goes to completions, messages to chat.

    A server may apply defaults of its own that no request can name in OpenAI's protocol: vLLM
    takes top-k and penalties from the checkpoint's ``generation_config`` unless it is started with
    ``--generation-config vllm``. The number of tokens is known where an answer has one choice.
    """

    name = "openai"
    family: str | None = None
    block_rows = _BLOCK_ROWS

    def __init__(self, model: str, base_url: str, arguments: Mapping[str, str]) -> None:
        self._options = read_options(OpenAIOptions, self.name, arguments)
        self._server = parse(base_url)
        self._model = model
        # vllm serve calls a model by its path unless told otherwise
        self.identity: dict[str, Any] = {"model": nameless(model)}

    def generate(self, requests: Sequence[Request], settings: Settings) -> list[list[Completion]]:
        """Return the n completions of every request, in order.

        Raises:
            UserError: a server that cannot be used.
        """
        with quiet(self._server):
            return asyncio.run(self._generate(requests, settings))

    def close(self) -> None:
        """Connections are closed with each call: there is nothing to free."""

    async def _generate(
        self, requests: Sequence[Request], settings: Settings
    ) -> list[list[Completion]]:
        from openai import AsyncOpenAI

        parts = list(split(requests, settings, self._options.n_per_request))
        gate = asyncio.Semaphore(self._options.concurrency)
        try:
            async with (
                AsyncOpenAI(
                    api_key=self._server.key,
                    base_url=self._server.url,
                    default_headers=self._server.headers,
                    default_query=self._server.query,
                    max_retries=self._options.retries,
                    timeout=self._options.timeout,
                ) as client,
                asyncio.TaskGroup() as group,
            ):
                asked = [
                    group.create_task(self._ask(client, gate, requests[part.owner], part, settings))
                    for part in parts
                ]
        except ExceptionGroup as failures:  # the first one has cancelled the others
            raise failures.exceptions[0] from None
        answers: list[list[Completion]] = [[] for _ in requests]
        for part, task in zip(parts, asked, strict=True):
            answers[part.owner] += task.result()
        return [
            answer * (request.n // max(len(answer), 1))
            for request, answer in zip(requests, answers, strict=True)
        ]

    async def _ask(
        self,
        client: "AsyncOpenAI",
        gate: asyncio.Semaphore,
        request: Request,
        part: Part,
        settings: Settings,
    ) -> list[Completion]:
        """Send one HTTP request; an answer that makes no sense is asked for again."""
        from openai import APIError

        create, body = self._call(client, request, part, settings)
        async with gate:
            for attempt in range(self._options.retries + 1):
                if attempt:
                    await asyncio.sleep(min(_BACK_OFF * 2 ** (attempt - 1), _MOST_BACK_OFF))
                try:
                    text = (await create(**body)).http_response.text
                except APIError as error:
                    raise self._refusal(error) from None
                try:
                    return self._read(text, part.n)
                except ValidationError:
                    continue
        raise UserError(
            f"{self._server.url} answers with something that holds no choices "
            f"({quoted(self._server.line(text))}): is it an OpenAI-compatible server, and does "
            "--base-url end as it should, mostly in /v1?"
        )

    def _call(
        self, client: "AsyncOpenAI", request: Request, part: Part, settings: Settings
    ) -> tuple[Any, dict[str, Any]]:
        body: dict[str, Any] = {
            "model": self._model,
            "n": part.n,
            "seed": part.seed,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
        }
        if settings.stop:
            body["stop"] = list(settings.stop)
        if isinstance(request.prompt, str):
            return client.completions.with_raw_response.create, body | {"prompt": request.prompt}
        body["messages"] = list(request.prompt)
        if settings.template:
            body["extra_body"] = {"chat_template_kwargs": settings.template}
        return client.chat.completions.with_raw_response.create, body

    def _read(self, text: str, n: int) -> list[Completion]:
        answer = _Answer.model_validate_json(text)
        if len(answer.choices) != n:
            raise UserError(
                f"{self._server.url} returned {len(answer.choices)} of {n} samples: it does not "
                "know n; --engine-arg n_per_request=1"
            )
        tokens = answer.usage.completion_tokens if answer.usage and n == 1 else None
        return [
            Completion(
                (choice.message.content if choice.message else choice.text) or "",
                tokens,
                "length" if choice.finish_reason == "length" else "stop",
            )
            for choice in sorted(answer.choices, key=lambda choice: choice.index)
        ]

    def _refusal(self, error: "APIError") -> UserError:
        """Say in one line what became of a request that the package has given up."""
        from openai import APIConnectionError, APITimeoutError

        tries = f"{self._options.retries + 1} tries"
        if isinstance(error, APITimeoutError):
            mend = "lower --engine-arg concurrency or raise --engine-arg timeout"
            problem = f"gave no answer within {self._options.timeout:g} s in {tries}: {mend}"
        elif isinstance(error, APIConnectionError):
            problem = f"cannot be reached in {tries} ({error.__cause__}): is the server running?"
        else:
            status = getattr(error, "status_code", 0)
            problem = f"{_meaning(status, self._model)} (status {status}: {_words(error)})"
        return UserError(f"{self._server.url} {self._server.line(problem)}")


def split(requests: Sequence[Request], settings: Settings, size: int) -> Iterator[Part]:
    """Cut requests into HTTP requests of ``size`` samples, each with a seed of its own.

    vLLM gives the samples of a request its seed, counted up: so are those of the next one.
    At temperature 0 one sample of each is enough, and vLLM refuses to make more.
    """
    for owner, request in enumerate(requests):
        n = request.n if settings.temperature else min(request.n, 1)
        for start in range(0, n, size):
            yield Part(owner, min(size, n - start), request.seed + start)


def _meaning(status: int, model: str) -> str:
    if status in (401, 403):
        return "does not let us in: set OPENAI_API_KEY"
    if status == 404:
        return f"knows no model {quoted(model)}, or --base-url does not end as it should (/v1)"
    if status == 429:
        return "is asked too much: lower --engine-arg concurrency or wait"
    if status >= 500:
        return "fails: see the server's log"
    return "refuses the request"


def _words(error: "APIError") -> str:
    """Return a server's own message, or the whole body where it has none."""
    body = error.body
    if isinstance(body, dict):
        return str(body.get("message") or body.get("detail") or body)
    return str(body or error.message)
