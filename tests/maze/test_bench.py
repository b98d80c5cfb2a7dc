"""What the benchmark counts and compares; no test here asserts a time."""

import pytest
import torch
from torch.nn import functional as F

from fgrpo_bench.maze import train
from fgrpo_bench.maze.data import load_mazes
from fgrpo_bench.maze.grid import cells
from fgrpo_bench.maze.sft import fresh_model

bench = pytest.importorskip("fgrpo_bench.maze.bench", exc_type=ModuleNotFoundError)


def timing(seconds, clock=None, tokens=100, **parts):
    return bench.Timing(seconds, clock or seconds, tokens, parts)


@pytest.fixture
def setting(micro_preset):
    (cell,) = cells(str(micro_preset), ["grpo"], [4])
    return cell, fresh_model(cell.config), load_mazes(cell.config).training


@pytest.mark.parametrize("masked", [False, True])
def test_attention_and_products_are_counted_with_and_without_gradient(masked):
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(shape, generator=generator) for shape in ((3, 2, 10, 8), (5, 8)))
    x.requires_grad_()
    mask = torch.ones(3, 1, 10, 10, dtype=torch.bool) if masked else None

    def forward():
        y = F.scaled_dot_product_attention(x, x, x, mask, is_causal=not masked)
        return F.linear(y, weight)

    attention, linear = 2 * (2 * 3 * 2 * 10 * 10 * 8), 2 * 3 * 2 * 10 * 8 * 5
    with torch.inference_mode():
        assert bench.count_flops(forward) == attention + linear
    # Backward: five products instead of two, since the scores are computed again.
    whole = bench.count_flops(lambda: forward().sum().backward())
    assert whole == attention + linear + 5 * attention / 2 + linear


def test_a_step_starts_from_the_base_on_the_prompts_of_its_index(setting):
    cell, base, mazes = setting
    before = {name: weight.clone() for name, weight in base.state_dict().items()}
    one, again, other = (bench.time_step(cell, base, mazes, index) for index in (0, 0, 1))
    assert one.tokens == again.tokens != other.tokens
    bench.time_reference(cell, base, mazes, 0)
    assert all(torch.equal(weight, before[name]) for name, weight in base.state_dict().items())


def test_the_reference_gets_the_same_prompts(setting, monkeypatch):
    cell, base, mazes = setting
    seen = {"sample": [], "generate": []}
    for owner, name in ((train, "sample"), (bench.reference, "generate")):
        original = getattr(owner, name)

        def spy(model, prompts, *rest, original=original, name=name):
            seen[name].append(prompts)
            return original(model, prompts, *rest)

        monkeypatch.setattr(owner, name, spy)
    for index in (0, 3):
        bench.time_step(cell, base, mazes, index)
        bench.time_reference(cell, base, mazes, index)
    for ours, theirs in zip(seen["sample"], seen["generate"], strict=True):
        assert (ours == theirs).all()
    assert (seen["sample"][0] != seen["sample"][1]).any()


def test_parts_add_up_and_nothing_stays_watched(setting, monkeypatch):
    cell, base, mazes = setting
    originals = train.sample, train.backward
    one = bench.time_step(cell, base, mazes, 0)
    assert list(one.parts) == ["rollout", "forward and backward", "optimiser", "the rest"]
    assert all(seconds > 0 for seconds in one.parts.values())
    assert sum(one.parts.values()) == pytest.approx(one.seconds)
    assert (train.sample, train.backward) == originals
    monkeypatch.setattr(train, "check_finite", lambda training: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bench.time_step(cell, base, mazes, 0)
    assert (train.sample, train.backward) == originals


def test_steps_are_interleaved_behind_a_warm_up():
    calls, lines = [], []

    def step(name):
        return lambda index: calls.append((name, index)) or timing(1.0 + index)

    first, second = bench.interleave(step("a"), step("b"), lines.append)
    assert calls[:6] == [("a", 0), ("b", 0), ("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert len(first) == len(second) == len(lines) == bench.PAIRS == 5
    assert first[2].seconds == 3.0


def test_ratios_are_taken_within_pairs_and_medians_over_steps():
    slow = [timing(x) for x in (10.0, 30.0, 80.0)]
    fast = [timing(x) for x in (5.0, 10.0, 10.0)]
    assert bench._ratios(slow, fast) == {"median": 3.0, "min": 2.0, "max": 8.0}
    rows = [timing(1.0, clock=2.0, tokens=60, a=0.25, b=0.75), timing(3.0, tokens=60, a=2.0, b=1.0)]
    assert bench._summary([*rows, timing(2.0, clock=3.0, tokens=60, a=0.75, b=1.25)]) == {
        "seconds": 2.0,
        "steps_per_s": 0.5,
        "tokens_per_s": 30.0,
        "processor_share": pytest.approx(6 / 8),
        "split": {"a": pytest.approx(0.5), "b": pytest.approx(0.5)},
    }


def test_the_peak_is_a_rate_of_this_machine():
    assert 1e8 < bench.peak_matmul() < 1e14
