"""The re-test: by hand for single comparisons, its totals, and disagreements that were planted."""

from math import sqrt

import numpy as np
import pytest
from scipy.stats import norm

from fgrpo_bench.report.paper.averages import averages
from fgrpo_bench.report.paper.consistency import checks
from fgrpo_bench.report.paper.moments import Moments, Range
from fgrpo_bench.report.paper.published import AVERAGES, ENDS, Cell
from fgrpo_bench.report.paper.retest import (
    MAYBE,
    NOT,
    SURELY,
    Comparison,
    compare,
    paired_range,
    same_problems,
    tally,
    verdict,
)
from fgrpo_bench.report.paper.summary import answer, answer_grid
from fgrpo_bench.rng import stream
from fgrpo_bench.stats.multiplicity import holm
from fgrpo_bench.stats.power import UNCLEAR

Z80 = 1.959963984540054 + 0.8416212335729143


def only(items: list[Comparison], **wanted: object) -> Comparison:
    (item,) = [i for i in items if all(getattr(i, k) == v for k, v in wanted.items())]
    return item


def test_there_are_162_in_nine_families(found):
    assert len(found.comparisons) == 162
    assert len({(c.model, c.objective, c.benchmark, c.k) for c in found.comparisons}) == 162
    assert len(found.averaged) == 36


@pytest.mark.parametrize(
    ("benchmark", "k", "difference", "problems"),
    [("aime24", 256, 0.085, 30), ("math500", 256, 0.023, 500), ("synlogic", 1, 0.008, 270)],
)
def test_a_comparison_by_hand(found, benchmark, k, difference, problems):
    """Differences are F-GRPO's row of table 1 minus GRPO's, on Qwen2.5-7B."""
    item = only(found.comparisons, model="Qwen2.5-7B", objective="grpo", benchmark=benchmark, k=k)
    assert item.difference == pytest.approx(difference)
    base, focal = (found.known["Qwen2.5-7B", m, benchmark] for m in ("grpo", "fgrpo"))
    factor = problems / (problems - 1)
    spreads = [
        sqrt(factor * (a + b - 2 * 0.8 * sqrt(a * b)))
        for a in np.linspace(base.variance[k].low, base.variance[k].high, 60)
        for b in np.linspace(focal.variance[k].low, focal.variance[k].high, 60)
    ]
    low, high = min(spreads) / sqrt(problems), max(spreads) / sqrt(problems)
    assert item.effect.low == pytest.approx(Z80 * low, rel=1e-3)
    assert item.effect.high == pytest.approx(Z80 * high, rel=1e-6)
    noise = sqrt((base.noise[k].high + focal.noise[k].high) / problems)
    assert item.noise.high == pytest.approx(noise)
    assert item.p.high == pytest.approx(2 * norm.sf((difference - 0.001) / noise))
    least = sqrt((base.noise[k].low + focal.noise[k].low) / problems)
    assert item.p.low == pytest.approx(2 * norm.sf((difference + 0.001) / least))


def test_detectable_effects_are_of_the_size_of_a_coins(found):
    """At pass@256 near a half, AIME's 30 problems give 2.80 sqrt(0.4 / 4 / 29) = 16.5 points."""
    for benchmark, problems in (("aime24", 30), ("gpqa_diamond", 198)):
        largest = max(c.effect.high for c in found.comparisons if c.benchmark == benchmark)
        assert largest <= Z80 * sqrt(0.4 * 0.25 / (problems - 1)) + 1e-3
        assert largest > 0.85 * Z80 * sqrt(0.4 * 0.25 / (problems - 1))


def test_totals(found):
    totals = {
        r: (effect.up, effect.down, effect.maybe, effect.rest, p.up, p.down, p.maybe)
        for r, (effect, p) in found.sensitivity.items()
    }
    assert totals == {
        0.6: (14, 0, 5, 143, 28, 0, 8),
        0.8: (27, 0, 8, 127, 45, 0, 10),
        0.9: (42, 0, 11, 109, 59, 3, 7),
    }
    raw, adjusted = found.sampling
    assert (raw.up, raw.down, raw.maybe, raw.rest) == (99, 24, 32, 7)
    assert (adjusted.up, adjusted.down, adjusted.maybe, adjusted.rest) == (85, 20, 50, 7)
    mean = tally(found.averaged)
    assert (mean.up, mean.down, mean.maybe, mean.rest) == (14, 0, 4, 18)
    signs = [(s.positive, s.negative, s.clear) for s in found.signs]
    assert signs == [(7, 0, 0), (9, 0, 3), (7, 2, 5), (9, 0, 6)]
    assert found.signs[1].p == pytest.approx(2 / 2**9)
    assert found.signs[2].p == pytest.approx(2 * (1 + 9 + 36) / 2**9)


def test_the_grid_adds_up(found):
    *rows, total = answer_grid(found).rows
    for column in range(4, 8):
        assert sum(int(row[column]) for row in rows) == int(total[column])
    assert sum(map(int, total[4:])) == 162


def test_words(found):
    text = " ".join(answer(found))
    assert "8.1 of 162" in text
    assert "not enough evidence" in text
    assert "no difference" not in text
    for item in found.comparisons:
        assert (item.word == UNCLEAR) == (item.clears != SURELY)
        if item.word != UNCLEAR:
            assert (item.word == "higher") == (item.difference > 0)


def test_a_threshold_within_bounds_and_rounding():
    assert verdict(0.031, Range(0.02, 0.03)) == SURELY
    assert verdict(-0.031, Range(0.02, 0.03)) == SURELY
    assert verdict(0.0309, Range(0.02, 0.03)) == MAYBE
    assert verdict(0.0191, Range(0.02, 0.03)) == MAYBE
    assert verdict(0.0189, Range(0.02, 0.03)) == NOT


def test_the_paired_spread_over_a_rectangle_against_a_fine_grid():
    rng = stream(0, "rectangles")
    for _ in range(200):
        ends = np.sort(rng.random((2, 2)) + 0.01, axis=1)
        correlation = float(rng.uniform(-1, 1))
        a, b = np.meshgrid(np.linspace(*ends[0], 201), np.linspace(*ends[1], 201))
        spread = np.sqrt(np.maximum(a**2 + b**2 - 2 * correlation * a * b, 0))
        found = paired_range(Range(*ends[0]), Range(*ends[1]), correlation)
        assert found.low <= spread.min() + 1e-12
        assert found.low == pytest.approx(spread.min(), abs=6e-3)
        assert found.high == pytest.approx(spread.max())


def test_averages_take_benchmarks_as_independent(found, published):
    for name, parts in AVERAGES.items():
        for k in ENDS:
            where = {"model": "Qwen3-4B-Base", "objective": "dapo", "k": k}
            items = [only(found.comparisons, **where, benchmark=part) for part in parts]
            mean = only(averages(published, found.comparisons), **where, benchmark=name)
            variance = sum(item.error.high**2 for item in items) / len(parts) ** 2
            assert mean.error.high == pytest.approx(sqrt(variance))
            assert mean.difference == pytest.approx(
                np.mean([item.difference for item in items]), abs=2e-3
            )


def test_holm_is_within_each_pair(found):
    family = [c for c in found.comparisons if (c.model, c.objective) == ("Qwen2.5-7B", "cispo")]
    adjusted = holm([c.p.high for c in family])
    assert len(family) == 18
    assert same_problems(family, True).surely == int((adjusted < 0.05).sum())


def test_equal_methods_are_never_sure(published, known):
    same = {
        (model, method, benchmark): known[model, "grpo", benchmark]
        for model, method, benchmark in known
    }
    table = dict(published["table1"])
    for cell in table:
        base = cell._replace(method="grpo", gamma=0.0)
        table[cell] = published["table1"][base]
    items = compare({**published, "table1": table}, same)
    assert {item.difference for item in items} == {0.0}
    assert tally(items).surely == tally(items).maybe == 0
    assert same_problems(items, False).surely == 0


def test_the_tables_agree_but_for_nine_curves(found):
    result = {check.name: (check.compared, len(check.disagreements)) for check in found.checks}
    assert list(result.values()) == [
        (324, 0),
        (72, 0),
        (22, 0),
        (72, 0),
        (20, 0),
        (16, 0),
        (162, 0),
        (162, 9),
        (9, 0),
    ]


@pytest.mark.parametrize(
    ("table", "cell", "off", "failing"),
    [
        ("table1", Cell("Qwen2.5-7B", "dapo", 0.0, 8, "minerva", 1), 0.1, {0}),
        ("table1", Cell("Qwen2.5-7B", "dapo", 0.0, 8, "avg_ood", 1), 0.2, {1, 3}),
        ("table1", Cell("Qwen2.5-7B", "grpo", 0.0, 8, "aime25", 256), 0.1, {0, 2}),
        ("table6", Cell("Llama-3.2-3B-Instruct", "fdapo", 2.0, 8, "avg_math", 1), 5.0, {8}),
        ("table10", Cell("Qwen2.5-7B", "grpo", 0.0, 32, "avg_math", 256), -0.2, {4}),
        ("table11", Cell("Qwen2.5-7B", "ds-grpo", 0.0, 8, "aime24", 1), 2.0, {5}),
        ("table13", Cell("Qwen3-4B-Base", "grpo", 0.0, 8, "ifeval", 32), 9.0, {6}),
    ],
)
def test_a_planted_disagreement_is_found_and_named(published, known, table, cell, off, failing):
    changed = {**published, table: {**published[table], cell: published[table][cell] + off}}
    before, after = checks(published, known), checks(changed, known)
    found = {i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b}
    assert found == failing
    for index in failing:
        (wrong,) = after[index].disagreements
        assert cell.model in wrong.where
        assert wrong.off > 0.05


def test_a_tie_for_the_best_gamma_is_no_disagreement(published, known):
    scores = dict(published["table6"])
    chosen = Cell("Qwen2.5-7B", "fgrpo", 0.5, 8, "avg_math", 1)
    scores[chosen._replace(gamma=2.0)] = scores[chosen]
    assert not checks({**published, "table6": scores}, known)[-1].disagreements


def test_an_impossible_curve_is_listed_first(published, known):
    key = ("Qwen2.5-7B", "grpo", "math500")
    planted = Moments(0.02, known[key].variance, known[key].noise)
    check = checks(published, {**known, key: planted})[-2]
    assert len(check.disagreements) == 10
    assert check.disagreements[0].where == ", ".join(key)
    assert check.largest == pytest.approx(2.0)
