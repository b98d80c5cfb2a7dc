"""``vllm``: vLLM in this process, several GPUs where ``tensor_parallel_size`` says so."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.engines import checkpoint
from fgrpo_bench.sampling.engines.base import Completion, Request, Settings
from fgrpo_bench.sampling.engines.options import literals
from fgrpo_bench.sampling.engines.prompts import check_room, encode

_BLOCK_ROWS: Final = 8192


class VLLMEngine:
    """The engine for GPUs; its arguments go to ``vllm.LLM`` as they are.

    Every request carries its own seed, and vLLM gives sample i the seed plus i. Only the settings
    shape the distribution, not the checkpoint's ``generation_config``, except for its end tokens.
    """

    name = "vllm"
    block_rows = _BLOCK_ROWS

    def __init__(self, model: str, arguments: Mapping[str, str]) -> None:
        options = literals(arguments)
        self._llm = _load(model, options)
        config = self._llm.llm_engine.model_config
        self._context = config.max_model_len
        self._tokenizer = self._llm.get_tokenizer()
        self.family = checkpoint.family(config.hf_config)
        self.identity = {
            **checkpoint.identify(model, config.hf_config),
            **checkpoint.deciding(options),
            "dtype": str(config.dtype).removeprefix("torch."),
        }

    def generate(self, requests: Sequence[Request], settings: Settings) -> list[list[Completion]]:
        """Return the n completions of every request, in order.

        Raises:
            UserError: a prompt too long for the model.
        """
        from vllm import SamplingParams, TokensPrompt

        asked = [request for request in requests if request.n]
        prompts, parameters = [], []
        for request in asked:
            ids = encode(self._tokenizer, request.prompt, settings.template)
            check_room(len(ids), settings.max_tokens, self._context)
            prompts.append(TokensPrompt(prompt_token_ids=ids))
            parameters.append(
                SamplingParams(
                    n=request.n if settings.temperature else 1,  # vLLM refuses more
                    seed=request.seed,
                    temperature=settings.temperature,
                    top_p=settings.top_p,
                    max_tokens=settings.max_tokens,
                    stop=list(settings.stop),
                )
            )
        outputs = iter(self._llm.generate(prompts, parameters, use_tqdm=False) if asked else ())
        return [_completions(next(outputs), request.n) if request.n else [] for request in requests]

    def close(self) -> None:
        """Stop the engine and free its memory."""
        self._llm.llm_engine.engine_core.shutdown()
        del self._llm


def _completions(output: Any, n: int) -> list[Completion]:
    made = [
        Completion(
            choice.text,
            len(choice.token_ids),
            "length" if choice.finish_reason == "length" else "stop",
        )
        for choice in sorted(output.outputs, key=lambda choice: choice.index)
    ]
    return made * n if len(made) == 1 else made


def _load(model: str, options: dict[str, Any]) -> Any:
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")  # stdout is for results
    try:
        import vllm
    except ModuleNotFoundError:
        raise
    except ImportError as error:  # built for another CUDA, or another torch
        reason = next(iter(str(error).splitlines()), "")
        raise UserError(f"vllm cannot be imported here: {reason}") from None
    source = str(checkpoint.find(model) or model)
    try:
        # vLLM's seed is for requests without one, and ours all have theirs
        return vllm.LLM(model=source, **{"seed": 0, **options})
    except TypeError as error:
        raise UserError(f"--engine-arg: vllm.LLM refuses its arguments: {error}") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise checkpoint.unreadable(model, error) from error
