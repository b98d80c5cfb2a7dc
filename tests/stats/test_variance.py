"""The split of variance against analysis of variance in loops and against known components."""

import numpy as np
import pytest

from fgrpo_bench.stats.pass_at_k import pass_at_k, success_variance
from fgrpo_bench.stats.strata import standard_error, stratum_weights
from fgrpo_bench.stats.variance import variance_split


def loop_components(data):
    """Two-way layout without replication, one k, as a textbook writes it."""
    runs, problems = data.shape
    grand = sum(sum(row) for row in data) / (runs * problems)
    by_run = [sum(row) / problems for row in data]
    by_problem = [sum(data[r][p] for r in range(runs)) / runs for p in range(problems)]
    ms_run = problems * sum((x - grand) ** 2 for x in by_run) / (runs - 1)
    ms_problem = runs * sum((x - grand) ** 2 for x in by_problem) / (problems - 1)
    rest = sum(
        (data[r][p] - by_run[r] - by_problem[p] + grand) ** 2
        for r in range(runs)
        for p in range(problems)
    ) / ((runs - 1) * (problems - 1))
    return (ms_run - rest) / problems, (ms_problem - rest) / runs, rest


def test_equals_the_textbook_in_loops():
    rng = np.random.default_rng(0)
    data = rng.normal(0.5, 0.1, (4, 7)) + rng.normal(0, 0.2, 7) + rng.normal(0, 0.2, (4, 1))
    run, problem, rest = loop_components(data)
    split = variance_split(data[:, :, None])
    assert split.runs[0] == pytest.approx(run / 4)
    assert split.problems[0] == pytest.approx(problem / 7)
    assert split.interaction[0] == pytest.approx(rest / 28)
    assert split.sampling[0] == 0
    assert split.total[0] == pytest.approx(run / 4 + problem / 7 + rest / 28)


def test_recovers_known_components():
    rng = np.random.default_rng(1)
    runs, problems, sd = 40, 4000, {"run": 0.03, "problem": 0.2, "mixed": 0.05, "noise": 0.1}
    data = (
        0.5
        + rng.normal(0, sd["run"], (runs, 1, 1))
        + rng.normal(0, sd["problem"], (1, problems, 1))
        + rng.normal(0, sd["mixed"], (runs, problems, 1))
        + rng.normal(0, sd["noise"], (runs, problems, 1))
    )
    split = variance_split(data, np.full(data.shape, sd["noise"] ** 2))
    assert split.problems[0] * problems == pytest.approx(sd["problem"] ** 2, rel=0.1)
    assert split.runs[0] * runs == pytest.approx(sd["run"] ** 2, rel=0.5)
    assert split.interaction[0] * runs * problems == pytest.approx(sd["mixed"] ** 2, rel=0.1)
    assert split.sampling[0] * runs * problems == pytest.approx(sd["noise"] ** 2)


def test_one_run_splits_problems_from_samples():
    rng = np.random.default_rng(2)
    p, n, ks = rng.beta(0.5, 0.5, 20_000), 16, [1, 4]
    c = rng.binomial(n, p)
    values, noise = (f(n, c[:, None], ks) for f in (pass_at_k, success_variance))
    split = variance_split(values[None], noise[None])
    truth = (1 - (1 - p[:, None]) ** np.array(ks)).var(axis=0)
    np.testing.assert_allclose(split.problems * len(p), truth, rtol=0.03)
    np.testing.assert_allclose(split.total, values.var(axis=0, ddof=1) / len(p))
    assert np.isnan(split.runs).all()


def test_degenerate_input_has_answers():
    same = np.full((3, 5, 2), 0.4)
    split = variance_split(same)
    for part in (split.problems, split.runs, split.interaction, split.total):
        np.testing.assert_allclose(part, 0, atol=1e-30)
    alone = variance_split(np.array([[[0.3]]]), np.array([[[0.01]]]))
    assert np.isnan(alone.problems[0])
    assert np.isnan(alone.total[0])
    assert alone.sampling[0] == 0.01
    broken = variance_split(np.array([[[0.1, np.nan], [0.3, 0.2]]]))
    assert np.isfinite(broken.total[0])
    assert np.isnan(broken.total[1])
    with pytest.raises(ValueError, match=r"\[R, P, K\]"):
        variance_split(np.zeros((3, 4)))


def test_negative_components_are_zero():
    data = np.array([[0.0, 1.0], [1.0, 0.0]])[:, :, None]  # run and problem means all alike
    split = variance_split(data)
    assert split.runs[0] == split.problems[0] == 0


def test_strata_weigh_alike_and_their_error_adds():
    labels = ["a"] * 3 + ["b"] * 2
    values = np.array([1.0, 2.0, 6.0, 10.0, 20.0])[:, None]
    weights = stratum_weights(5, labels)
    assert weights @ values[:, 0] == pytest.approx((3 + 15) / 2)
    a, b = np.var([1, 2, 6], ddof=1) / 3, np.var([10, 20], ddof=1) / 2
    assert standard_error(values, labels)[0] == pytest.approx(np.sqrt(a + b) / 2)
    plain = values.std(ddof=1) / np.sqrt(5)
    assert standard_error(values)[0] == pytest.approx(plain)
    assert np.isnan(standard_error(values[:4], labels[:4])[0])
    with pytest.raises(ValueError, match="one stratum a problem"):
        stratum_weights(3, ["a"])
