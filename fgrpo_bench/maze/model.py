"""A small decoder-only transformer: pre-norm, RMSNorm, SwiGLU, tied embeddings.

With ``positions="rope"`` and ``qkv_bias`` it is the Qwen2 layout that arXiv 2602.02710 uses for
mazes (a test compares it with the Hugging Face model on the same weights). Learned positions
learn faster at the widths of a laptop.
"""

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init


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


@dataclass
class KVCache:
    """Keys and values of what was run, per layer [B, kv_heads, capacity, head width]."""

    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    length: int = 0

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store a layer's new keys and values behind the old ones and return all of them."""
        end = self.length + key.shape[2]
        if layer == len(self.keys):
            self.keys.append(_room(key, 2 * end))
            self.values.append(_room(value, 2 * end))
        if end > self.keys[layer].shape[2]:
            self.keys[layer] = _grown(self.keys[layer], 2 * end)
            self.values[layer] = _grown(self.values[layer], 2 * end)
        self.keys[layer][:, :, self.length : end] = key
        self.values[layer][:, :, self.length : end] = value
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


def _room(like: Tensor, capacity: int) -> Tensor:
    return like.new_empty(*like.shape[:2], capacity, like.shape[3])


def _grown(old: Tensor, capacity: int) -> Tensor:
    new = _room(old, capacity)
    new[:, :, : old.shape[2]] = old
    return new


class RMSNorm(nn.Module):
    """Root-mean-square norm with a learned scale."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Return x scaled to unit root mean square, times the weight."""
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


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
        self.grouped = shape.kv_heads != shape.heads
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
        mask: Tensor | None,
        cache: KVCache | None,
        layer: int,
    ) -> Tensor:
        """Return the residual stream after this block; arguments as in ``Transformer.forward``."""
        y = self.input_layernorm(x)
        query, key, value = (
            proj(y).unflatten(-1, (-1, self.head)).transpose(1, 2)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        if rotation is not None:
            query, key = _rotate(query, *rotation), _rotate(key, *rotation)
        if cache is not None:
            key, value = cache.extend(layer, key, value)
        mixed = F.scaled_dot_product_attention(
            query, key, value, mask, is_causal=mask is None, enable_gqa=self.grouped
        )
        x = x + self.o_proj(mixed.transpose(1, 2).flatten(2))
        y = self.post_attention_layernorm(x)
        out: Tensor = x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))
        return out


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
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the final hidden states, [B, T, width], on the model's device.

        The arguments may lie on any device.

        Args:
            tokens: [B, T] ids.
            positions: [T] or [B, T] position of each token.
            mask: [B, 1, T, S] True where a token may look, S counting the cache; None is causal
                and needs an empty cache.
            cache: keys and values so far, extended in place.
        """
        device = self.embed_tokens.weight.device
        tokens, positions = tokens.to(device), positions.to(device)
        mask = None if mask is None else mask.to(device)
        x = self.embed_tokens(tokens)
        rotation = None
        if self.shape.positions == "learned":
            x = x + self.embed_positions(positions)
        else:
            rotation = self._rotation(positions)
        for index, layer in enumerate(self.layers):
            x = layer(x, rotation, mask, cache, index)
        if cache is not None:
            cache.length += tokens.shape[1]
        out: Tensor = self.norm(x)
        return out

    def _rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of rotary positions (arXiv 2104.09864), [B or 1, 1, T, head]."""
        head = self.shape.width // self.shape.heads
        exponent = torch.arange(0, head, 2, device=positions.device) / head
        angle = positions.unsqueeze(-1) * self.shape.rope_theta**-exponent
        angle = torch.cat((angle, angle), dim=-1).unsqueeze(-3)
        return angle.cos(), angle.sin()

    def log_probs(self, hidden: Tensor) -> Tensor:
        """Return log-probabilities over the vocabulary for hidden states [.., width]."""
        return F.linear(hidden, self.embed_tokens.weight).log_softmax(dim=-1)
