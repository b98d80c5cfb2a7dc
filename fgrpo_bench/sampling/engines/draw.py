"""Draw tokens from logits: temperature, nucleus, and uniform numbers that belong to a sample.

A sample's numbers come from its request's seed and its own index, so that it does not depend on
how many samples are asked for, nor on which others it is decoded with, nor on the device.
"""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from fgrpo_bench.rng import stream

_AHEAD: Final = 64  # numbers drawn at once: a call each would cost as much as a small model
_BLOCK: Final = 256
_CANDIDATES: Final = 256


class Uniforms:
    """The uniform numbers of one sample, one a token."""

    def __init__(self, seed: int, index: int) -> None:
        self._generator = stream(seed, "sample", index)
        self._numbers: NDArray[np.float64] = np.empty(0)
        self._next = 0

    def next(self) -> float:
        """Return the number of the next token."""
        if self._next == len(self._numbers):
            self._numbers, self._next = self._generator.random(_AHEAD), 0
        self._next += 1
        return float(self._numbers[self._next - 1])


def draw(
    logits: torch.Tensor, uniforms: torch.Tensor, temperature: float, top_p: float
) -> torch.Tensor:
    """Return a token for each row: the most probable at temperature 0, else by its number.

    Args:
        logits: [rows, vocabulary].
        uniforms: [rows] in [0, 1), float64; unused at temperature 0.
        temperature: logits are divided by it.
        top_p: mass of the nucleus, 1 for all.
    """
    if temperature == 0:
        return logits.argmax(-1)
    logits = logits.float() / temperature
    weights = torch.exp(logits - logits.amax(-1, keepdim=True))
    if top_p >= 1:
        return _invert(weights, uniforms)
    kept, tokens = nucleus(weights, top_p)
    return tokens.gather(1, _invert(kept, uniforms)[:, None])[:, 0]


def nucleus(weights: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the fewest largest weights of each row that hold ``top_p`` of its mass, and whose.

    The token that crosses the bound is in. A nucleus is small, so a few candidates are tried
    before the whole vocabulary is sorted.

    Args:
        weights: [rows, vocabulary], not normalised.
        top_p: share of the mass.
    """
    bound = top_p * weights.sum(-1, keepdim=True, dtype=torch.float64)
    size = min(_CANDIDATES, weights.shape[-1])
    while True:
        largest, tokens = weights.topk(size, -1)
        through = largest.double().cumsum(-1)
        if size == weights.shape[-1] or bool((through[:, -1:] >= bound).all()):
            return largest * (through - largest < bound), tokens
        size = min(16 * size, weights.shape[-1])


def _invert(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Invert the distribution function: first among the sums of blocks, then inside one.

    Sums are in float64: in float32 their error over a large vocabulary would be seen.
    """
    rows, size = weights.shape
    blocks = torch.nn.functional.pad(weights, (0, -size % _BLOCK)).view(rows, -1, _BLOCK)
    through = blocks.sum(-1, dtype=torch.float64).cumsum(-1)
    wanted = uniforms[:, None] * through[:, -1:]
    block = (through <= wanted).sum(-1).clamp(max=through.shape[1] - 1)
    inside = blocks[torch.arange(rows, device=block.device), block].double()
    before = through.gather(1, block[:, None]) - inside.sum(-1, keepdim=True)
    token = ((before + inside.cumsum(-1)) <= wanted).sum(-1)
    last = _BLOCK - 1 - (inside > 0).flip(-1).int().argmax(-1)  # rounding must not pass the end
    return block * _BLOCK + torch.minimum(token, last)
