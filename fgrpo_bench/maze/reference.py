"""The loop that the token tree is measured against: Hugging Face ``generate`` and a full update.

Written as one would with transformers and no thought of trees: every sample has a row of its own.
It draws from the same distribution and takes the same gradient as ``rollout`` and ``update``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import SmolLM3Config, SmolLM3ForCausalLM, SmolLM3Model

from fgrpo_bench.config.schema import TrainSection
from fgrpo_bench.maze.model import ModelShape, Transformer
from fgrpo_bench.maze.tokens import DONE, EOS, PAD, Tokens
from fgrpo_bench.methods.surrogates import Surrogate

Floats = NDArray[np.float64]


class _LearnedPositions(SmolLM3Model):  # type: ignore[no-untyped-call]
    """SmolLM3 with a learned embedding of each position, which transformers does not have."""

    def __init__(self, config: SmolLM3Config) -> None:
        super().__init__(config)
        self.embed_positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)

    def forward(
        self,
        input_ids: Tensor,
        past_key_values: Any = None,
        inputs_embeds: None = None,
        **kwargs: Any,
    ) -> Any:
        seen = 0 if past_key_values is None else past_key_values.get_seq_length()
        positions = torch.arange(seen, seen + input_ids.shape[1])
        return super().forward(
            inputs_embeds=self.embed_tokens(input_ids) + self.embed_positions(positions),
            past_key_values=past_key_values,
            **kwargs,
        )


def hugging_face(model: Transformer) -> SmolLM3ForCausalLM:
    """Return a Hugging Face model with the weights of ``model``.

    SmolLM3 has the layout of Qwen2 and can do without rotary positions. In Qwen2 they could only
    be made the identity, at a quarter of the whole step's time, which would flatter us.
    """
    shape = model.shape
    config = _config(shape)
    theirs = SmolLM3ForCausalLM(config)  # type: ignore[no-untyped-call]
    if shape.positions == "learned":
        theirs.model = _LearnedPositions(config)
        theirs.tie_weights()
    for layer in theirs.model.layers:  # ``attention_bias`` gives one to the output projection too
        layer.self_attn.o_proj.register_parameter("bias", None)
    weights = {f"model.{_name(name)}": weight for name, weight in model.state_dict().items()}
    theirs.load_state_dict(weights | {"lm_head.weight": model.embed_tokens.weight})
    return theirs


def _config(shape: ModelShape) -> SmolLM3Config:
    return SmolLM3Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.ffn,
        max_position_embeddings=shape.max_positions,
        rms_norm_eps=shape.norm_epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
        no_rope_layers=[int(shape.positions == "rope")] * shape.layers,
        attention_bias=shape.qkv_bias,
        tie_word_embeddings=True,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
    )


def _name(name: str) -> str:
    """Return the Hugging Face name of a weight: attention and feed-forward are modules there."""
    for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
        name = name.replace(part, f"self_attn.{part}")
    for part in ("gate_proj", "up_proj", "down_proj"):
        name = name.replace(part, f"mlp.{part}")
    return name


@dataclass(frozen=True)
class Samples:
    """The samples of G prompts, one row each, those of a group side by side; B = G N rows.

    Attributes:
        prompts: [G, L] token ids.
        tokens: [B, T] answers, padded on the right.
        inside: [B, T] True up to the token that ends the sample.
        logp: [B, T] log-probability of each token under the policy that sampled it, nats.
    """

    prompts: Tensor
    tokens: Tensor
    inside: Tensor
    logp: Tensor

    @property
    def group_size(self) -> int:
        """Samples per prompt N."""
        return len(self.tokens) // len(self.prompts)

    def matches(self, answers: Tokens) -> NDArray[np.bool_]:
        """Return whether each sample equals its prompt's one answer, [G, N].

        Args:
            answers: [G, T] answer tokens, DONE last, padded.
        """
        width = max(answers.shape[1], self.tokens.shape[1])
        ours = nn.functional.pad(self.tokens, (0, width - self.tokens.shape[1]), value=PAD)
        right = nn.functional.pad(
            torch.from_numpy(answers), (0, width - answers.shape[1]), value=PAD
        )
        equal = ours.view(len(answers), -1, width) == right[:, None]
        return equal.all(dim=-1).numpy()


def generate(
    model: SmolLM3ForCausalLM, prompts: Tokens, group_size: int, max_tokens: int, seed: int
) -> Samples:
    """Draw ``group_size`` samples of each prompt at temperature 1, all of them as one batch.

    Args:
        model: the policy.
        prompts: [G, L] ids, all of one length.
        group_size: samples per prompt N.
        max_tokens: answer tokens after which a sample is cut.
        seed: seed of the draws.
    """
    start = torch.from_numpy(prompts)
    rows = start.repeat_interleave(group_size, dim=0)
    with torch.random.fork_rng(devices=[]):  # generate knows no generator but the global one
        torch.manual_seed(seed)
        out: Any = model.generate(  # type: ignore[misc]
            rows,
            attention_mask=torch.ones_like(rows),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=max_tokens,
            eos_token_id=[DONE, EOS],
            pad_token_id=PAD,
            cache_implementation="static",  # a fifth faster here than the default
            return_dict_in_generate=True,
            output_logits=True,
        )
    tokens = out.sequences[:, prompts.shape[1] :]
    log_probs = torch.stack(out.logits, dim=1).log_softmax(dim=-1)
    logp = log_probs.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    ends = ((tokens == DONE) | (tokens == EOS)).long()
    return Samples(start, tokens, ends.cumsum(dim=1) - ends == 0, logp)


def update(
    model: SmolLM3ForCausalLM,
    optimizer: torch.optim.Optimizer,
    samples: Samples,
    advantages: Floats,
    surrogate: Surrogate,
    section: TrainSection,
) -> None:
    """Take one optimiser step per mini-batch, as ``train`` does.

    Args:
        model: the policy.
        optimizer: its optimiser; gradients are zeros and not None.
        samples: those of the whole batch.
        advantages: [G, N].
        surrogate: the clip rule.
        section: mini-batches and the bound of the gradient's norm.
    """
    divisor = int(samples.inside.sum()) / section.minibatches
    for groups in np.split(np.arange(len(advantages)), section.minibatches):
        optimizer.zero_grad(set_to_none=False)
        backward(model, samples, advantages, groups, surrogate, divisor)
        torch.nn.utils.clip_grad_norm_(model.parameters(), section.max_grad_norm)
        optimizer.step()


def backward(
    model: SmolLM3ForCausalLM,
    samples: Samples,
    advantages: Floats,
    groups: NDArray[np.int64],
    surrogate: Surrogate,
    divisor: float,
) -> None:
    """Add the gradient of one mini-batch's loss; groups without signal are not run.

    Args:
        model: the policy.
        samples: those of the whole batch.
        advantages: [G, N].
        groups: [B] groups of the mini-batch.
        surrogate: the clip rule.
        divisor: answer tokens per mini-batch, those of dropped groups included.
    """
    active = torch.from_numpy(groups[(advantages[groups] != 0).any(axis=1)])
    if not len(active):
        return
    size = samples.group_size
    rows = (active[:, None] * size + torch.arange(size)).flatten()
    inside = samples.inside[rows]
    width = int(inside.sum(dim=1).max())
    inside, tokens = inside[:, :width], samples.tokens[rows, :width]
    prompts = samples.prompts[active].repeat_interleave(size, dim=0)
    # Padding is on the right, behind everything that is scored: causal attention needs no mask.
    ids = torch.cat((prompts, tokens[:, :-1]), dim=1)
    log_probs = model(input_ids=ids, use_cache=False, logits_to_keep=width).logits.log_softmax(-1)
    logp = log_probs.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)[inside]
    old = samples.logp[rows, :width][inside]
    advantage = torch.from_numpy(advantages.reshape(-1)).to(logp.dtype)[rows]
    advantage = advantage.unsqueeze(-1).expand(-1, width)[inside]
    (-surrogate.objective(logp, old, advantage).sum() / divisor).backward()  # type: ignore[no-untyped-call]
