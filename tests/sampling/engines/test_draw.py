"""Draws against naive nucleus sampling and against the distribution itself."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from fgrpo_bench.sampling.engines.draw import Uniforms, draw, nucleus


def naive(logits: torch.Tensor, temperature: float, top_p: float) -> torch.Tensor:
    """Probabilities by the textbook: sort, keep while the mass before is below the bound."""
    probabilities = torch.softmax(logits.double() / temperature, -1)
    kept = torch.zeros_like(probabilities)
    for row, values in enumerate(probabilities):
        mass = 0.0
        for token in sorted(range(len(values)), key=lambda t: -float(values[t])):
            if mass >= top_p:
                break
            kept[row, token] = values[token]
            mass += float(values[token])
    return kept / kept.sum(-1, keepdim=True)


def some_logits(rows: int, size: int, scale: float = 2.0) -> torch.Tensor:
    return scale * torch.randn(rows, size, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("top_p", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("size", [7, 700])
def test_nucleus_is_the_naive_one(top_p: float, size: int) -> None:
    logits = some_logits(5, size, scale=0.5)
    kept, tokens = nucleus(torch.softmax(logits, -1), top_p)
    whole = torch.zeros(5, size, dtype=torch.float64).scatter_(1, tokens, kept.double())
    expected = naive(logits, 1.0, top_p)
    assert ((whole > 0) == (expected > 0)).all()
    assert torch.allclose(whole / whole.sum(-1, keepdim=True), expected, atol=1e-6)


def test_token_that_crosses_the_bound_is_in() -> None:
    weights = torch.tensor([[0.5, 0.25, 0.25]])
    assert (nucleus(weights, 0.5)[0] > 0).sum() == 1
    assert (nucleus(weights, 0.51)[0] > 0).sum() == 2
    assert (nucleus(weights, 1e-9)[0] > 0).sum() == 1


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.6, 0.95), (1.7, 0.5)])
@pytest.mark.parametrize("size", [11, 300])
def test_frequencies_follow_the_distribution(temperature: float, top_p: float, size: int) -> None:
    logits = some_logits(1, size)
    uniforms = torch.from_numpy(np.random.default_rng(5).random(40_000))
    drawn = draw(logits.expand(len(uniforms), -1), uniforms, temperature, top_p)
    expected = naive(logits, temperature, top_p)[0].numpy() * len(uniforms)
    counts = np.bincount(drawn.numpy(), minlength=size)
    assert counts[expected == 0].sum() == 0
    often = expected >= 5
    rest = [counts[~often].sum()], [expected[~often].sum()]
    observed = np.concatenate([counts[often], rest[0] if rest[1][0] > 1 else []])
    wanted = np.concatenate([expected[often], rest[1] if rest[1][0] > 1 else []])
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


def test_inverts_the_distribution_function_over_many_blocks() -> None:
    logits = some_logits(64, 1000)
    uniforms = torch.rand(64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    through = torch.softmax(logits.double(), -1).cumsum(-1)
    expected = torch.searchsorted(through, uniforms[:, None])[:, 0]
    assert draw(logits, uniforms, 1.0, 1.0).tolist() == expected.tolist()


def test_extreme_numbers_pick_possible_tokens() -> None:
    logits = torch.full((2, 600), -1e4)
    logits[:, 300:303] = 0.0
    edges = torch.tensor([0.0, np.nextafter(1.0, 0.0)], dtype=torch.float64)
    assert draw(logits, edges, 1.0, 1.0).tolist() == [300, 302]


def test_rounding_of_sums_never_passes_the_last_possible_token() -> None:
    logits = 4 * torch.rand(200_000, 40, generator=torch.Generator().manual_seed(0)).log()
    logits = torch.nn.functional.pad(logits, (0, 40), value=-torch.inf)
    last = torch.full((len(logits),), np.nextafter(1.0, 0.0), dtype=torch.float64)
    assert draw(logits, last, 1.0, 1.0).max() < 40


def test_temperature_zero_is_the_most_probable() -> None:
    logits = some_logits(9, 50)
    assert draw(logits, torch.empty(0), 0.0, 0.5).tolist() == logits.argmax(-1).tolist()


def test_uniforms_are_a_function_of_seed_and_index() -> None:
    def first(seed: int, index: int, count: int = 200) -> list[float]:
        uniforms = Uniforms(seed, index)
        return [uniforms.next() for _ in range(count)]

    assert first(1, 2) == first(1, 2)
    streams = [first(1, 2), first(1, 3), first(2, 2)]
    assert len({number for numbers in streams for number in numbers}) == 600
    assert all(0 <= number < 1 for number in streams[0])
