"""``hf``: any causal language model of transformers, on a CPU or a GPU of this machine."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.engines import checkpoint
from fgrpo_bench.sampling.engines.base import Completion, Request, Settings
from fgrpo_bench.sampling.engines.options import Options, read_options
from fgrpo_bench.sampling.engines.prompts import check_room, encode


class HFOptions(Options):
    """Engine arguments of ``hf``.

    Attributes:
        batch_size: samples decoded together; the memory they take grows with it.
        dtype: precision of the weights, ``auto`` for that of the checkpoint.
        device: as torch names it, ``auto`` for the first GPU or else the CPU.
    """

    batch_size: int = Field(64, gt=0)
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str = "auto"


class HFEngine:
    """The engine that needs nothing but transformers.

    Only the settings shape the distribution: a penalty or a top-k that the checkpoint's
    ``generation_config`` brings is not applied. A response ends at any end token of that file or
    of the tokenizer. Sample i of a request depends on the request's seed and on i alone, up to
    rounding, whatever is decoded beside it.
    """

    name = "hf"

    def __init__(self, model: str, arguments: Mapping[str, str]) -> None:
        options = read_options(HFOptions, self.name, arguments)
        self.block_rows = self._batch_size = options.batch_size
        self._model, self._tokenizer = _load(model, options)
        config = self._model.config
        self.family = checkpoint.family(config)
        precision = str(self._model.dtype).removeprefix("torch.")
        self.identity = {**checkpoint.identify(model, config), "dtype": precision}
        self._ends = end_tokens(self._model.generation_config, self._tokenizer)
        self._context = getattr(config.get_text_config(), "max_position_embeddings", None)

    def generate(self, requests: Sequence[Request], settings: Settings) -> list[list[Completion]]:
        """Return the n completions of every request, in order.

        Raises:
            UserError: a prompt too long for the model, or too little memory.
        """
        import torch

        from fgrpo_bench.sampling.engines.decode import Sample, decode

        groups = []
        for request in requests:
            prompt = encode(self._tokenizer, request.prompt, settings.template)
            if self._context is not None:
                check_room(len(prompt), settings.max_tokens, self._context)
            drawn = request.n if settings.temperature else min(request.n, 1)
            groups.append(
                [Sample(self._tokenizer, prompt, request.seed, i, settings) for i in range(drawn)]
            )
        # prompts of one length need no padding, and the longest first: memory ends now or never
        rows = sorted(
            (sample for group in groups for sample in group), key=lambda s: -len(s.prompt)
        )
        for start in range(0, len(rows), self._batch_size):
            try:
                decode(self._model, rows[start : start + self._batch_size], settings, self._ends)
            except torch.OutOfMemoryError:
                raise UserError(
                    f"too little GPU memory for {self._batch_size} samples at once: "
                    f"--engine-arg batch_size={max(self._batch_size // 2, 1)}"
                ) from None
        return [
            [sample.completion() for sample in group] * (request.n // max(len(group), 1))
            for request, group in zip(requests, groups, strict=True)
        ]

    def close(self) -> None:
        """Free the model."""
        del self._model


def end_tokens(generation_config: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end a response: the checkpoint's list and the tokenizer's own."""
    listed = generation_config.eos_token_id
    ends = listed if isinstance(listed, list) else [listed]
    return frozenset(end for end in [*ends, tokenizer.eos_token_id] if end is not None)


def _load(model: str, options: HFOptions) -> tuple[Any, Any]:
    import torch
    import transformers

    logs: Any = transformers.utils.logging
    logs.set_verbosity_error()  # its advice is for those who call it
    if not sys.stderr.isatty():
        logs.disable_progress_bar()
    source = str(checkpoint.find(model) or model)
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source)
        loaded: Any = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=options.dtype, use_safetensors=True
        )
    except Exception as error:  # loaders raise whatever a file of theirs makes them raise
        raise checkpoint.unreadable(model, error) from None
    try:
        return loaded.to(device).eval(), tokenizer
    except RuntimeError as error:
        first = str(error).splitlines()[0]
        raise UserError(f"--engine-arg device={device}: {first}") from None
