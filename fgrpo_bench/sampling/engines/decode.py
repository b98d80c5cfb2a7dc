"""The decoding loop of the transformers engine: prompts are read once, ended samples leave."""

from collections.abc import Sequence
from typing import Any

import torch

from fgrpo_bench.sampling.engines.base import Completion, Finish, Settings
from fgrpo_bench.sampling.engines.draw import Uniforms, draw
from fgrpo_bench.sampling.engines.text import Growing


class Sample:
    """One sample while it is decoded.

    Attributes:
        prompt: ids of its prompt's tokens.
        finish: None until it has ended.
    """

    def __init__(
        self, tokenizer: Any, prompt: list[int], seed: int, index: int, settings: Settings
    ) -> None:
        self.prompt = prompt
        self.finish: Finish | None = None
        self.uniforms = Uniforms(seed, index)
        self._text = Growing(tokenizer, prompt, settings.stop)
        self._limit = settings.max_tokens

    def take(self, token: int, ends: frozenset[int]) -> bool:
        """Take the next token; return True where the sample goes on."""
        if self._text.add(token) or token in ends:
            self.finish = "stop"
        elif self._text.tokens == self._limit:
            self.finish = "length"
        return self.finish is None

    def completion(self) -> Completion:
        """Return the ended sample."""
        assert self.finish is not None
        return Completion(self._text.end(), self._text.tokens, self.finish)


@torch.inference_mode()
def decode(model: Any, samples: Sequence[Sample], settings: Settings, ends: frozenset[int]) -> None:
    """Decode samples together until each has ended.

    Every distinct prompt goes through the model once, and its keys and values are then copied to
    its samples. A sample that ends leaves the batch, so that a long one is not paid for by all.

    Args:
        model: a causal language model of transformers.
        samples: of any prompts; they are changed.
        settings: temperature and nucleus.
        ends: ids of the tokens that end a response.
    """
    device, live = model.device, list(samples)
    logits, cache, mask = _prefill(model, live)
    while True:
        numbers = [sample.uniforms.next() for sample in live] if settings.temperature else []
        uniforms = torch.tensor(numbers, dtype=torch.float64, device=device)
        tokens = draw(logits, uniforms, settings.temperature, settings.top_p)
        drawn = zip(live, tokens.tolist(), strict=True)
        going = [row for row, (sample, token) in enumerate(drawn) if sample.take(token, ends)]
        if not going:
            return
        if len(going) < len(live):
            rows = torch.tensor(going, device=device)
            cache.reorder_cache(rows)
            mask, tokens = mask[rows], tokens[rows]
            live = [live[row] for row in going]
        output = model(
            input_ids=tokens[:, None],
            position_ids=mask.sum(-1, keepdim=True),
            attention_mask=(mask := torch.nn.functional.pad(mask, (0, 1), value=1)),
            past_key_values=cache,
            use_cache=True,
        )
        logits, cache = output.logits[:, -1], output.past_key_values


def _prefill(model: Any, samples: Sequence[Sample]) -> tuple[torch.Tensor, Any, torch.Tensor]:
    """Return each sample's first logits, the cache, and which of its places hold a token."""
    numbers: dict[tuple[int, ...], int] = {}
    owners = [numbers.setdefault(tuple(sample.prompt), len(numbers)) for sample in samples]
    width = max(map(len, numbers))
    ids = torch.zeros(len(numbers), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(numbers):  # padded on the left: the last tokens stand together
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    mask = mask.to(model.device)
    output = model(
        input_ids=ids.to(model.device),
        position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
        attention_mask=mask,
        use_cache=True,
        logits_to_keep=1,
    )
    rows = torch.tensor(owners, device=model.device)
    output.past_key_values.reorder_cache(rows)
    return output.logits[rows, -1], output.past_key_values, mask[rows]
