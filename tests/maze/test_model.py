"""The transformer against Hugging Face's Qwen2, and its cache against one full pass."""

import math

import numpy as np
import pytest
import torch

from fgrpo_bench.maze.attention import KVCache, _mix, additive, causal
from fgrpo_bench.maze.model import ModelShape, Transformer
from tests.maze.tiny import noisy_model


def model(positions: str, kv_heads: int) -> Transformer:
    return noisy_model(positions, kv_heads, bias=positions == "rope")


def test_rope_variant_equals_hugging_face():
    transformers = pytest.importorskip("transformers")
    ours = model("rope", 2)
    config = transformers.Qwen2Config(
        vocab_size=32, hidden_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=64, rms_norm_eps=1e-6, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6}, max_position_embeddings=64,
    )  # fmt: skip
    theirs = transformers.Qwen2ForCausalLM(config).eval()
    assert config.rope_parameters["rope_theta"] == ours.shape.rope_theta
    theirs.load_state_dict(
        {"model." + _hugging_face_name(name): weight for name, weight in ours.state_dict().items()}
        | {"lm_head.weight": ours.embed_tokens.weight}
    )
    tokens = torch.randint(0, 32, (3, 40), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = theirs(tokens).logits.log_softmax(-1)
        got = ours.log_probs(ours(tokens, torch.arange(40)))
    assert expected.std() > 0.5
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def _hugging_face_name(name: str) -> str:
    for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
        name = name.replace(part, f"self_attn.{part}")
    for part in ("gate_proj", "up_proj", "down_proj"):
        name = name.replace(part, f"mlp.{part}")
    return name


@pytest.mark.parametrize(("positions", "kv_heads"), [("learned", 4), ("rope", 2)])
def test_cache_gives_the_same_hidden_states_in_pieces(positions, kv_heads):
    net = model(positions, kv_heads)
    tokens = torch.randint(0, 32, (2, 30), generator=torch.Generator().manual_seed(3))
    whole = net(tokens, torch.arange(30))
    cache, pieces = KVCache(), []
    with torch.no_grad():
        for start, end in ((0, 5), (5, 6), (6, 22), (22, 30)):
            if not start:
                pieces.append(net(tokens[:, :end], torch.arange(end), cache))
                continue
            seen = np.tri(30, dtype=np.bool_)[start:end, :end]
            slots = np.tile(np.arange(start, end), 2)
            cache.look(np.repeat([0, 1], end - start), slots, np.concatenate((seen, seen)))
            flat = tokens[:, start:end].reshape(1, -1)
            pieces.append(net(flat, torch.from_numpy(slots), cache).reshape(2, end - start, -1))
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, rtol=1e-5, atol=1e-5)


def test_causal_takes_all_queries_or_the_last():
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 7, 4, 8, generator=generator) for _ in range(3))
    whole = causal(0, query, key, value)
    torch.testing.assert_close(causal(0, query[:, -1:], key, value), whole[:, -1:])
    scores = torch.einsum("bqhd,bkhd->bhqk", query, key) / 8**0.5
    scores = scores.masked_fill(~torch.ones(7, 7, dtype=torch.bool).tril(), -torch.inf)
    torch.testing.assert_close(whole, torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), value))
    with pytest.raises(ValueError, match="3 queries of 7 places"):
        causal(0, query[:, -3:], key, value)


def test_what_is_not_seen_counts_for_nothing():
    """Exactly nothing: the result is the same to the bit, whatever stands there."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 7, 4, 8, generator=generator) for _ in range(3))
    seen = np.random.default_rng(0).random((2, 1, 7, 7)) < 0.5
    seen[..., 0], seen[..., 5] = True, False
    mask = additive(seen, query)
    assert (mask[torch.from_numpy(seen)] == 0).all()
    one = _mix(query, key, value, mask)
    key[:, 5], value[:, 5] = 1e3 * key[:, 5], 1e6
    assert torch.equal(_mix(query, key, value, mask), one)


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_wanted_places_are_those_of_the_whole(positions):
    net = model(positions, 4 if positions == "learned" else 2)
    tokens = torch.randint(0, 32, (3, 12), generator=torch.Generator().manual_seed(4))
    whole = net(tokens, torch.arange(12))
    last = net(tokens, torch.arange(12), wanted=slice(11, None))
    torch.testing.assert_close(last, whole[:, 11:], rtol=1e-5, atol=1e-5)


def test_causal_without_a_mask():
    net = model("learned", 4)
    tokens = torch.randint(0, 32, (1, 20), generator=torch.Generator().manual_seed(4))
    other = tokens.clone()
    other[0, 12:] = (other[0, 12:] + 1) % 32
    a, b = (net(x, torch.arange(20)) for x in (tokens, other))
    torch.testing.assert_close(a[:, :12], b[:, :12])
    assert not torch.allclose(a[:, 12:], b[:, 12:])


def test_initial_weights_have_the_stated_spread():
    net = Transformer(ModelShape(32, 64, 3, 4, 4, 128, "learned", 192))
    net.initialise(torch.Generator().manual_seed(0))
    block = net.layers[0]
    assert block.q_proj.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert block.o_proj.weight.std().item() == pytest.approx(0.02 / math.sqrt(6), rel=0.05)
    assert (net.norm.weight == 1).all()
