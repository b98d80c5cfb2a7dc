"""``lm-eval:NAME``: any model class that lm-eval 0.4.13 knows, through its ``generate_until``."""

import inspect
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from fgrpo_bench.benchmarks.problems import Prompt
from fgrpo_bench.errors import UserError, suggestion
from fgrpo_bench.sampling.engines import checkpoint
from fgrpo_bench.sampling.engines.base import Completion, Request, Settings
from fgrpo_bench.sampling.engines.options import literals
from fgrpo_bench.sampling.engines.prompts import chat, check_room

_BLOCK_ROWS: Final = 128
# Of the classes that are no HTTP client, these hand generation arguments on to a sampler of vLLM.
_SEEDED: Final = frozenset({"vllm", "vllm-vlm"})
_UNSEEDED: Final = frozenset({"sglang-generate"})


class LMEvalEngine:
    """The engine for whatever lm-eval can load.

    lm-eval knows neither n nor seeds: a request becomes n equal instances, each with a seed of
    its own where the class hands it on (vLLM and servers of OpenAI's protocol; servers are then
    asked one request after another, so prefer ``openai``). All other classes draw from the global
    generators, which the first request's seed sets for the call: their samples depend on which
    requests are in it. Only text comes back: tokens are counted by encoding it again, and
    ``length`` means that they reach the limit. Without a tokenizer both are unknown, and every
    sample counts as ended.
    """

    block_rows = _BLOCK_ROWS

    def __init__(self, kind: str, model: str, arguments: Mapping[str, str]) -> None:
        self.name = f"lm-eval:{kind}"
        self._kind = kind
        options = literals(arguments)
        self._lm = _create(kind, model, options)
        config = getattr(self._lm, "_config", None)
        self.family = checkpoint.family(config)
        self.identity = _identity(model, config) | checkpoint.deciding(options)
        dtype = getattr(getattr(self._lm, "_model", None), "dtype", None)
        if dtype is not None:
            self.identity["dtype"] = str(dtype).removeprefix("torch.")
        self._seeded = _takes_seeds(kind, self._lm)

    def generate(self, requests: Sequence[Request], settings: Settings) -> list[list[Completion]]:
        """Return the n completions of every request, in order.

        Raises:
            UserError: a prompt too long for the model, or whatever lm-eval's class stops at.
        """
        from lm_eval.api.instance import Instance

        instances = []
        for request in requests:
            context = self._context(request.prompt, settings)
            for index in range(request.n if settings.temperature else min(request.n, 1)):
                generation = self._generation(settings, request.seed, index)
                instances.append(Instance("generate_until", {}, (context, generation), index))
        if not instances:
            return [[] for _ in requests]
        with _global_seeds(requests[0].seed):
            try:
                texts = self._lm.generate_until(instances)
            except Exception as error:  # classes of lm-eval raise anything
                raise UserError(f"--engine {self.name} stopped: {_first_line(error)}") from error
        if len(texts) != len(instances):
            raise UserError(
                f"--engine {self.name} returned {len(texts)} texts for {len(instances)} requests: "
                "its class does not do what lm-eval asks of it"
            )
        made = iter(self._completion(text, settings) for text in texts)
        return [_take(made, request.n, settings) for request in requests]

    def close(self) -> None:
        """Free the model."""
        del self._lm

    def _context(self, prompt: Prompt, settings: Settings) -> Any:
        """Return a prompt as the class wants it: lm-eval would cut one that is too long."""
        if isinstance(prompt, str):
            context: Any = prompt
        elif not settings.template:
            context = self._lm.apply_chat_template(list(prompt))
        elif hasattr(self._words(), "apply_chat_template"):
            context = chat(self._words(), prompt, settings.template)
        else:
            keys = ", ".join(settings.template)
            raise UserError(f"--engine {self.name} takes no arguments of a chat template ({keys})")
        length = self._length(context) if isinstance(context, str) else None
        most = getattr(self._lm, "max_length", None)
        if length is not None and isinstance(most, int):
            check_room(length, settings.max_tokens, most)
        return context

    def _generation(self, settings: Settings, seed: int, index: int) -> dict[str, Any]:
        generation: dict[str, Any] = {
            "do_sample": settings.temperature > 0,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_gen_toks": settings.max_tokens,
            "until": list(settings.stop),
        }
        if hasattr(getattr(self._lm, "_model", None), "generation_config"):
            # without these transformers takes the checkpoint's own, or the 50 likeliest tokens
            generation |= {"top_k": 0, "repetition_penalty": 1.0}
        if self._seeded:
            generation["seed"] = seed + index
        return generation

    def _completion(self, text: str, settings: Settings) -> Completion:
        tokens = self._length(text)
        full = tokens is not None and tokens >= settings.max_tokens
        return Completion(text, tokens, "length" if full else "stop")

    def _length(self, text: str) -> int | None:
        """Count tokens, or return None where the class has no tokenizer of its own."""
        if self._words() is None or not hasattr(self._lm, "tok_encode"):
            return None
        ids = self._lm.tok_encode(text, add_special_tokens=False)
        countable = isinstance(ids, list) and all(isinstance(token, int) for token in ids)
        return len(ids) if countable else None

    def _words(self) -> Any:
        # a property may load a tokenizer from the hub: only one that is there counts
        return vars(self._lm).get("tokenizer")


def _create(kind: str, model: str, options: dict[str, Any]) -> Any:
    import lm_eval.models  # noqa: F401  fills the registry
    from lm_eval.api.registry import get_model, model_registry

    if kind not in model_registry:
        hint = suggestion(kind, sorted(model_registry.keys()))
        raise UserError(f"--engine lm-eval:{kind}: lm-eval has no such model: {hint}")
    try:
        made = get_model(kind)
        return made(**{_model_key(made): model, **options})
    except Exception as error:  # a missing package or file of theirs may raise anything
        reason = _first_line(error)
        raise UserError(f"--engine lm-eval:{kind} cannot load its model: {reason}") from error


def _first_line(error: Exception) -> str:
    """Return what a library says, without what a terminal obeys and without credentials."""
    line = next(iter(str(error).splitlines()), "") or type(error).__name__
    return re.sub(r"//[^/@\s]+@", "//***@", "".join(filter(str.isprintable, line)))[:200]


def _model_key(made: type) -> str:
    """Return what a class calls the name of its model, here or in a class that it extends."""
    takes: set[str] = set()
    for base in made.__mro__:
        takes |= set(inspect.signature(base.__init__).parameters)  # type: ignore[misc]
    return next((key for key in ("pretrained", "model") if key in takes), "pretrained")


def _identity(model: str, config: Any) -> dict[str, Any]:
    if checkpoint.folder_of(model).is_dir():
        return checkpoint.identify(model, config)
    return {"model": checkpoint.nameless(model), "revision": getattr(config, "_commit_hash", None)}


def _takes_seeds(kind: str, lm: Any) -> bool:
    payload = getattr(lm, "_create_payload", None)
    if payload is None or kind in _UNSEEDED:
        return kind in _SEEDED
    return "seed" in inspect.signature(payload).parameters


@contextmanager
def _global_seeds(seed: int) -> Iterator[None]:
    """Set the global generators, the only ones that lm-eval's classes know, and restore them."""
    import numpy as np
    import torch

    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng():
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


def _take(made: Iterator[Completion], n: int, settings: Settings) -> list[Completion]:
    if settings.temperature:
        return [next(made) for _ in range(n)]
    return [next(made)] * n if n else []
