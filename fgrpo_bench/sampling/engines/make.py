"""From the names of an engine and a model to something that can be sampled."""

from collections.abc import Mapping
from typing import Final

from fgrpo_bench.errors import UserError, quoted, suggestion
from fgrpo_bench.sampling.engines.base import Engine

_LM_EVAL: Final = "lm-eval:"
ENGINES: Final = ("hf", "vllm", "openai", f"{_LM_EVAL}NAME")


def make_engine(
    name: str, model: str, base_url: str | None, arguments: Mapping[str, str]
) -> Engine:
    """Load a model, or get ready to ask a server for it.

    Args:
        name: ``hf``, ``vllm``, ``openai``, or ``lm-eval:`` and the name of a model of lm-eval.
        model: a folder, a model of the hub, or the name that the server knows.
        base_url: of the server, for ``openai`` alone.
        arguments: engine arguments as they were typed.

    Raises:
        UserError: an engine, model or argument that cannot be used.
    """
    if name != "openai" and base_url is not None:
        raise UserError(f"--base-url is for --engine openai, not for {quoted(name)[1:-1]}")
    if name == "hf":
        from fgrpo_bench.sampling.engines.hf import HFEngine

        return HFEngine(model, arguments)
    if name == "vllm":
        from fgrpo_bench.sampling.engines.vllm import VLLMEngine

        return VLLMEngine(model, arguments)
    if name == "openai":
        from fgrpo_bench.sampling.engines.openai import OpenAIEngine

        if base_url is None:
            raise UserError("--engine openai needs --base-url, such as http://localhost:8000/v1")
        return OpenAIEngine(model, base_url, arguments)
    if name.startswith(_LM_EVAL) and name != _LM_EVAL:
        from fgrpo_bench.sampling.engines.lm_eval import LMEvalEngine

        return LMEvalEngine(name.removeprefix(_LM_EVAL), model, arguments)
    hint = suggestion(name, ENGINES, "choose from")
    raise UserError(f"--engine {quoted(name)[1:-1]}: there is no such engine: {hint}")
