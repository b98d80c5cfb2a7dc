"""What two sets of counts say: wiring of the tests, families, strata, words and notes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fgrpo_bench.report.counts import Counts
from fgrpo_bench.report.evidence import (
    AVERAGE,
    Finding,
    chosen_ks,
    common_ks,
    compare,
    curve,
    curves,
    split,
)
from fgrpo_bench.report.evidence_tables import (
    answer,
    curves_grid,
    curves_table,
    differences_table,
    findings_grid,
    findings_table,
    notes,
)
from fgrpo_bench.stats.multiplicity import holm
from fgrpo_bench.stats.pass_at_k import pass_at_k
from fgrpo_bench.stats.significance import same_problems
from fgrpo_bench.stats.subsampling import subsampling_test

SIZES = {"easy": 60, "hard": 20}


def counts(name, n=64, seed=0, lift=0.0, sizes=SIZES):
    rng = np.random.default_rng(seed)
    rows = [
        (benchmark, f"{i:03d}", n, min(n, rng.binomial(n, rate) + round(lift * n)))
        for benchmark, problems in sizes.items()
        for i, rate in enumerate(np.random.default_rng(9).beta(0.5, 1, problems))
    ]
    return Counts(name, pd.DataFrame(rows, columns=["benchmark", "problem_id", "n", "c"]))


def test_ks_reach_the_fewest_samples():
    few = counts("few")
    few.table.loc[3, ["n", "c"]] = 20, 5
    assert common_ks([counts("all")]) == [1, 2, 4, 8, 16, 32, 64]
    assert common_ks([counts("all"), few]) == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    ("most", "tested"), [(1, [1]), (2, [1]), (4, [1, 2]), (64, [1, 32]), (1024, [1, 256])]
)
def test_tested_k_have_a_variance(most, tested):
    assert chosen_ks([2**i for i in range(most.bit_length())]) == tested


def test_numbers_are_those_of_the_statistics_second_minus_first():
    first, second = counts("first"), counts("second", seed=1, lift=0.1)
    pair = compare(first, second, common_ks([first, second]))
    by = {(test.benchmark, test.k): test for test in pair.findings}
    assert set(by) == {(b, k) for b in ("easy", "hard", AVERAGE) for k in (1, 32)}
    for name in SIZES:
        sides = [one.table[one.table["benchmark"] == name] for one in (first, second)]
        n, c = ([side[column].to_numpy() for side in sides] for column in ("n", "c"))
        values = [pass_at_k(64, side[:, None], [1, 32]).mean(axis=0) for side in c]
        p = same_problems((n[0], n[1]), (c[0], c[1]), [1, 32])
        for column, k in enumerate((1, 32)):
            test = by[name, k]
            assert test.difference == pytest.approx(values[1][column] - values[0][column])
            assert test.low < test.difference < test.high
            assert test.same == pytest.approx(p[column])
            assert test.paper == subsampling_test((64, 64), (c[1], c[0]), k, 32).p
    mean = (by["easy", 1].difference + by["hard", 1].difference) / 2
    assert by[AVERAGE, 1].difference == pytest.approx(mean)
    assert by["easy", 1].difference > 0.05


def test_the_family_is_benchmarks_times_k_without_the_average():
    first, second = counts("first"), counts("second", seed=1, lift=0.02)
    tests = compare(first, second, common_ks([first])).findings
    family = [test for test in tests if test.benchmark != AVERAGE]
    assert len(family) == 4
    np.testing.assert_allclose([t.new_holm for t in family], holm([t.new for t in family]))
    np.testing.assert_allclose([t.same_holm for t in family], holm([t.same for t in family]))
    assert all(np.isnan(t.new_holm) for t in tests if t.benchmark == AVERAGE)


def test_words_go_by_the_adjusted_p_and_the_detectable_effect():
    first, better = counts("first"), counts("better", seed=0, lift=0.2)
    pair = compare(first, better, common_ks([first]))
    assert {test.words for test in pair.findings if test.k == 1} == {"higher"}
    back = compare(better, first, common_ks([first]))
    assert {test.words for test in back.findings if test.k == 1} == {"lower"}
    text = " ".join(answer(back))
    assert "lower at pass@1" in text
    assert answer(back)[0].startswith("On average over the benchmarks, first against better")


def test_words_take_the_adjusted_p_of_a_family_and_the_raw_one_outside():
    raw = Finding("b", 1, 0.2, 0.1, 0.3, 0.01, 0.03, 0.01, 0.1)
    assert raw.words == "higher"
    assert replace(raw, new_holm=0.06).words == "not enough evidence"
    assert replace(raw, new=0.5, new_holm=0.01).words == "higher"


def test_the_average_has_the_detectable_effect_of_its_strata():
    first, second = counts("first"), counts("second", seed=1)
    tests = {(t.benchmark, t.k): t for t in compare(first, second, common_ks([first])).findings}
    parts = [tests[name, 1].detectable for name in SIZES]
    assert tests[AVERAGE, 1].detectable == pytest.approx(np.hypot(*parts) / 2)


def test_alike_is_not_enough_evidence_and_never_no_difference():
    first = counts("first")
    pair = compare(first, counts("copy"), common_ks([first]))
    assert {test.words for test in pair.findings} == {"not enough evidence"}
    assert all((test.new, test.same, test.difference) == (1, 1, 0) for test in pair.findings)
    everything = " ".join(
        [*answer(pair), *(text for row in findings_grid(pair).rows for text in row)]
    )
    assert "no difference" not in everything
    assert "The curves do not cross." in everything


def test_one_benchmark_has_no_average():
    first = counts("first", sizes={"easy": 12})
    assert {t.benchmark for t in compare(first, first, common_ks([first])).findings} == {"easy"}


def test_unequal_samples_are_told_and_stop_the_papers_test():
    first, second = counts("first"), counts("second", seed=2)
    second.table.loc[[0, 1], "n"] = 128
    ks = common_ks([first, second])
    pair = compare(first, second, ks)
    papers = {test.benchmark: test.paper for test in pair.findings}
    assert np.isnan(papers["easy"])
    assert np.isfinite(papers["hard"])
    text = " ".join(notes([first, second], ks))
    assert "second: 78 of 80 problems have fewer than 128 samples" in text
    assert "first:" not in text


def test_one_sample_each_has_no_variance_and_no_paper_test():
    first, second = (counts(name, n=1, seed=s) for name, s in (("a", 0), ("b", 1)))
    ks = common_ks([first, second])
    test = compare(first, second, ks).findings[0]
    assert np.isnan([test.same, test.paper]).all()
    assert 0 < test.new <= 1
    assert np.isnan(split(first, "easy", ks).sampling).all()
    assert "only k = 1" in " ".join(notes([first, second], ks))


def test_long_tables_are_fractions_of_every_k():
    first, second = counts("first"), counts("second", seed=1)
    ks = common_ks([first])
    pairs = [compare(first, second, ks)]
    bands = curves([first, second], ks)
    long = curves_table([first, second], bands, ks)
    assert len(long) == 2 * 2 * len(ks)
    assert long["pass_at_k"].between(0, 1).all()
    assert (long["band_low"] <= long["pass_at_k"]).all()
    assert len(differences_table(pairs, ks)) == 2 * len(ks)
    table = findings_table(pairs)
    assert set(table["says"]) <= {"higher", "lower", "not enough evidence"}
    assert len(table) == 6
    printed = curves_grid([first, second], bands, ks)
    assert [head for head in printed.heads if head[0] == "@"] == ["@1", "@4", "@16", "@64"]


def test_equal_input_gives_equal_bands():
    first = counts("first")
    one, two = (curve(first, "hard", [1, 8]) for _ in range(2))
    np.testing.assert_array_equal(one.low, two.low)
