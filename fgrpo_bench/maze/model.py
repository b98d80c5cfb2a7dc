"""A small decoder-only transformer: pre-norm, RMSNorm, SwiGLU, tied embeddings.

With ``positions="rope"`` and ``qkv_bias`` it is the Qwen2 layout that arXiv 2602.02710 uses for
mazes (a test compares it with the Hugging Face model on the same weights). Learned positions
learn faster at the widths of a laptop.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init

from fgrpo_bench.maze.attention import Attention, causal


@dataclass(frozen=True)
class ModelShape:
    """Sizes of the transformer; ``max_positions`` bounds prompt and answer together."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    positions: Literal["learned", "rope"]
    max_positions: int
    qkv_bias: bool = False
    rope_theta: float = 1e6
    norm_epsilon: float = 1e-6


_ALL = slice(None)


class RMSNorm(nn.Module):
    """Weights of a root-mean-square norm with a learned scale."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon


# Functions of modules and not their calls, whose machinery is a tenth of a short level's time.
def _normed(norm: RMSNorm, x: Tensor) -> Tensor:
    return F.rms_norm(x, norm.weight.shape, norm.weight, norm.epsilon)


def _projected(linear: nn.Linear, x: Tensor) -> Tensor:
    return F.linear(x, linear.weight, linear.bias)


def _linear(inputs: int, outputs: int, bias: bool) -> nn.Linear:
    layer: nn.Linear = skip_init(nn.Linear, inputs, outputs, bias)  # type: ignore[no-untyped-call]
    return layer


def _embedding(entries: int, width: int) -> nn.Embedding:
    table: nn.Embedding = skip_init(nn.Embedding, entries, width)  # type: ignore[no-untyped-call]
    return table


class Block(nn.Module):
    """Attention and SwiGLU, each behind a norm and around a residual."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        width, head = shape.width, shape.width // shape.heads
        self.head = head
        self.q_proj = _linear(width, shape.heads * head, shape.qkv_bias)
        self.k_proj = _linear(width, shape.kv_heads * head, shape.qkv_bias)
        self.v_proj = _linear(width, shape.kv_heads * head, shape.qkv_bias)
        self.o_proj = _linear(shape.heads * head, width, False)
        self.gate_proj = _linear(width, shape.ffn, False)
        self.up_proj = _linear(width, shape.ffn, False)
        self.down_proj = _linear(shape.ffn, width, False)
        self.input_layernorm = RMSNorm(width, shape.norm_epsilon)
        self.post_attention_layernorm = RMSNorm(width, shape.norm_epsilon)

    def forward(
        self,
        x: Tensor,
        rotation: tuple[Tensor, Tensor] | None,
        attention: Attention,
        layer: int,
        wanted: Tensor | slice,
    ) -> Tensor:
        """Return the residual stream of the wanted places after this block.

        Keys and values are of all places; the other arguments as in ``Transformer.forward``.
        """
        y = _normed(self.input_layernorm, x)
        query, key, value = (
            flat.view(*flat.shape[:2], -1, self.head)
            for flat in (
                _projected(self.q_proj, y[:, wanted]),
                _projected(self.k_proj, y),
                _projected(self.v_proj, y),
            )
        )
        if rotation is not None:
            cos, sin = rotation
            query = _rotate(query, cos[:, wanted], sin[:, wanted])
            key = _rotate(key, cos, sin)
        mixed = attention(layer, query, key, value).flatten(2)
        x = x[:, wanted] + _projected(self.o_proj, mixed)
        y = _normed(self.post_attention_layernorm, x)
        gated = F.silu(_projected(self.gate_proj, y)) * _projected(self.up_proj, y)
        return x + _projected(self.down_proj, gated)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


class Transformer(nn.Module):
    """Decoder-only language model over the maze vocabulary.

    Its weights are undefined until ``initialise`` or loading: torch's own initialisation would
    draw from the global generator.
    """

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = _embedding(shape.vocabulary, shape.width)
        if shape.positions == "learned":
            self.embed_positions = _embedding(shape.max_positions, shape.width)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.width, shape.norm_epsilon)

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.embed_tokens.weight.device

    def initialise(self, generator: torch.Generator) -> None:
        """Draw weights with standard deviation .02, output projections scaled by 1/sqrt(2 L)."""
        with torch.no_grad():
            for name, weight in self.named_parameters():
                if name.endswith("norm.weight"):
                    continue
                if name.endswith("bias"):
                    weight.zero_()
                    continue
                deep = name.endswith(("o_proj.weight", "down_proj.weight"))
                std = 0.02 / (2 * self.shape.layers) ** 0.5 if deep else 0.02
                weight.normal_(0.0, std, generator=generator)

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        attention: Attention = causal,
        wanted: Tensor | slice = _ALL,
    ) -> Tensor:
        """Return the final hidden states of the Q wanted places, [B, Q, width].

        Args:
            tokens: [B, T] ids, on any device.
            positions: [T] or [B, T] position of each token, on any device.
            attention: which places look at which.
            wanted: the places that are asked for; the last layer computes no other.
        """
        tokens, positions = tokens.to(self.device), positions.to(self.device)
        x = self.embed_tokens(tokens)
        rotation = None
        if self.shape.positions == "learned":
            x = x + self.embed_positions(positions)
        else:
            rotation = self._rotation(positions)
        last = len(self.layers) - 1
        for index, layer in enumerate(self.layers):
            x = layer(x, rotation, attention, index, wanted if index == last else _ALL)
        return _normed(self.norm, x)

    def _rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of rotary positions (arXiv 2104.09864), [B or 1, T, 1, head]."""
        head = self.shape.width // self.shape.heads
        exponent = torch.arange(0, head, 2, device=positions.device) / head
        angle = positions.unsqueeze(-1) * self.shape.rope_theta**-exponent
        angle = torch.cat((angle, angle), dim=-1).unsqueeze(-2)
        if angle.ndim == 3:  # positions that all rows share
            angle = angle.unsqueeze(0)
        return angle.cos(), angle.sin()

    def log_probs(self, hidden: Tensor) -> Tensor:
        """Return log-probabilities over the vocabulary for hidden states [.., width]."""
        return F.linear(hidden, self.embed_tokens.weight).log_softmax(dim=-1)
