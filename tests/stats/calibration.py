"""Size, power and coverage of everything in ``stats``, by simulation.

``python tests/stats/calibration.py`` prints the tables of docs/statistics.md, in some minutes; the
slow tests hold them to their bounds and compare the page with them.

Problems are drawn from a beta law of their success rates; a set is 30 hard problems (as AIME) or
500 mostly easy ones (as MATH500), each sampled n = 1,024 times. Two runs are alike on these
problems ("same policy"), or alike but for a jitter of the log odds of each problem, the same law
for both ("as good on average"), or one is better by a shift of all log odds.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logit

from fgrpo_bench.rng import stream
from fgrpo_bench.stats.crossing import crossing, first_crossing
from fgrpo_bench.stats.intervals import (
    bootstrap_interval,
    difference_band,
    mean_interval,
    simultaneous_band,
)
from fgrpo_bench.stats.multiplicity import holm
from fgrpo_bench.stats.pass_at_k import exact_success_at_k, pass_at_k, success_variance
from fgrpo_bench.stats.power import detectable_effect
from fgrpo_bench.stats.significance import new_problems, new_runs, same_problems
from fgrpo_bench.stats.subsampling import subsampling_test

N, KS, CURVE = 1024, (1, 256), [1, 2, 4, 8, 16, 32, 64, 128, 256]
JITTER, LEVEL = 0.5, 0.05
REPETITIONS = 4000


@dataclass(frozen=True)
class Problems:
    """So many problems with success rates from Beta(a, b)."""

    count: int
    a: float
    b: float

    def draw(self, rng, count=None):
        rates = rng.beta(self.a, self.b, count or self.count)
        return np.clip(rates, 1e-9, 1 - 1e-9)


SETS = {"30 hard": Problems(30, 0.25, 0.9), "500 easy": Problems(500, 0.35, 0.13)}


def moved(rates, rng, shift=0.0):
    """The same problems for another run: log odds shifted, and jittered by a law of mean 0."""
    return expit(logit(rates) + shift + rng.normal(0, JITTER, len(rates)))


def pair(problems, rng, kind, shift=0.0):
    rates = problems.draw(rng)
    if kind == "same policy":
        return rates, rates
    if kind == "shifted":
        return rates, expit(logit(rates) + shift)
    return moved(rates, rng), moved(rates, rng, shift)


def sampled(rates, rng):
    return tuple(rng.binomial(N, rate) for rate in rates)


def values(counts, ks=KS):
    return [pass_at_k(N, c[:, None], ks) for c in counts]


def q1(counts, rng):
    return same_problems((N, N), counts, KS)


def q2(counts, rng):
    first, second = values(counts)
    return new_problems(first - second, rng, draws=2000)


def paired_t(counts, rng):
    first, second = values(counts)
    still = (first == second).all(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(still, 1.0, stats.ttest_rel(first, second).pvalue)


def paper(counts, rng):
    return np.array([subsampling_test((N, N), counts, k).p for k in KS])


def rejections(test, problems, kind, shifts=(0.0, 0.0), repetitions=REPETITIONS) -> list[float]:
    """Share of p < .05 at each k; ``shifts`` are the log odds that separate the runs at each k."""
    hits = {shift: np.zeros(len(KS)) for shift in shifts}
    for shift, count in hits.items():
        for index in range(repetitions):
            rng = stream(0, f"{test.__name__}/{kind}/{problems.count}/{shift}", index)
            counts = sampled(pair(problems, rng, kind, shift), rng)
            count += test(counts, rng) < LEVEL
    return [float(hits[shift][column]) / repetitions for column, shift in enumerate(shifts)]


@cache
def shift_to_detect(problems, k) -> float:
    """The shift of log odds whose mean difference is the detectable effect at that k."""
    rng = stream(0, "detectable", k)
    rates = problems.draw(rng, 200_000)
    first, noise = moved(rates, rng), rng.normal(0, JITTER, len(rates))

    def excess(shift):
        sides = first, expit(logit(rates) + shift + noise)
        counts = sampled(sides, stream(1, "detectable", k))
        one, two = (pass_at_k(N, c[:, None], [k])[:, 0] for c in counts)
        error = (two - one).std() / np.sqrt(problems.count)
        return (two - one).mean() - detectable_effect(error)

    return float(brentq(excess, 0.0, 8.0, xtol=1e-3))


@cache
def shift_beyond_noise(problems, k) -> float:
    """The shift of log odds, without jitter, that Q1 detects with 80% power at that k."""
    rates = problems.draw(stream(0, "detectable", k), 200_000)

    def excess(shift):
        sides = rates, expit(logit(rates) + shift)
        counts = sampled(sides, stream(1, "detectable", k))
        one, two = (pass_at_k(N, c[:, None], [k])[:, 0] for c in counts)
        noise = sum(success_variance(N, c[:, None], [k]).mean() for c in counts)
        return (two - one).mean() - detectable_effect(np.sqrt(noise / problems.count))

    return float(brentq(excess, 0.0, 8.0, xtol=1e-4))


def runs_rejections(seeds, gap, repetitions=REPETITIONS) -> float:
    """Share of p < .05 of Q3, with a spread of 1 between runs and a gap in units of it."""
    hits = 0
    for index in range(repetitions):
        rng = stream(seeds, f"runs/{gap}", index)
        first, second = rng.normal(0, 1, (seeds, 1)), rng.normal(gap, 1, (seeds, 1))
        hits += new_runs(first, second)[0] < LEVEL
    return hits / repetitions


def family_error(repetitions=REPETITIONS) -> tuple[float, float]:
    """Share of families of 18 true null hypotheses with a p < .05, raw and after Holm."""
    p = stream(0, "family").random((repetitions, 18))
    return (p < LEVEL).any(axis=1).mean(), np.mean([(holm(row) < LEVEL).any() for row in p])


def coverage(problems, repetitions=1000) -> dict[str, float]:
    """Share of 95% intervals that hold the truth: single ones averaged over k, bands whole."""
    population = problems.draw(stream(0, "population"), 400_000)
    truth = exact_success_at_k(population, CURVE).mean(axis=0)
    noise = stream(0, "population noise").normal(0, JITTER, (2, len(population)))
    both = [exact_success_at_k(expit(logit(population) + x), CURVE) for x in noise]
    gap = (both[0] - both[1]).mean(axis=0)
    held = dict.fromkeys(("interval", "bootstrap", "band", "difference band"), 0.0)
    for index in range(repetitions):
        rng = stream(1, f"coverage/{problems.count}", index)
        rates = problems.draw(rng)
        (curve,) = values((rng.binomial(N, rates),), CURVE)
        first, second = values(sampled((moved(rates, rng), moved(rates, rng)), rng), CURVE)
        found = {
            "interval": (mean_interval(curve), truth),
            "bootstrap": (bootstrap_interval(curve, rng, draws=2000), truth),
            "band": (simultaneous_band(curve, rng, draws=2000), truth),
            "difference band": (difference_band(first - second, rng, draws=2000), gap),
        }
        for name, (interval, true) in found.items():
            inside = (interval.low <= true) & (true <= interval.high)
            held[name] += inside.all() if "band" in name else inside.mean()
    return {name: count / repetitions for name, count in held.items()}


def crossing_coverage(problems, repetitions=500) -> float:
    """A sharper but narrower policy against a broader one; the truth from a large population."""

    def curves(rates):
        sharp, broad = expit(1.8 * logit(rates) + 1.0), rates
        return exact_success_at_k(sharp, CURVE) - exact_success_at_k(broad, CURVE)

    population = problems.draw(stream(0, "population"), 400_000)
    truth = first_crossing(curves(population).mean(axis=0)[None], CURVE)[0]
    held = 0
    for index in range(repetitions):
        rng = stream(2, f"crossing/{problems.count}", index)
        found = crossing(curves(problems.draw(rng)), CURVE, rng, draws=2000)
        held += found.low <= truth <= found.high
    return held / repetitions


Row = tuple[str, list[float]]


def rows_of_tests() -> Iterator[Row]:
    kinds: list[tuple[str, Callable, str]] = [
        ("Q1, same policy", q1, "same policy"),
        ("Q1, as good on average", q1, "as good on average"),
        ("Q2, as good on average", q2, "as good on average"),
        ("paired t, as good on average", paired_t, "as good on average"),
        ("the paper's test, same policy", paper, "same policy"),
        ("the paper's test, as good on average", paper, "as good on average"),
    ]
    for title, test, kind in kinds:
        repetitions = {q1: 10_000, paper: 500}.get(test, REPETITIONS)
        cells = [rejections(test, s, kind, repetitions=repetitions) for s in SETS.values()]
        yield title, [value for pair_ in cells for value in pair_]
    detectable: list[tuple[str, Callable, str, Callable]] = [
        ("Q1, better by its detectable effect", q1, "shifted", shift_beyond_noise),
        ("the paper's test, likewise", paper, "shifted", shift_beyond_noise),
        ("Q2, better by the detectable effect", q2, "better", shift_to_detect),
        ("paired t, better by the detectable effect", paired_t, "better", shift_to_detect),
    ]
    for title, test, kind, effect in detectable:
        repetitions = 500 if test is paper else 1000
        shifts = {name: tuple(effect(s, k) for k in KS) for name, s in SETS.items()}
        cells = [rejections(test, s, kind, shifts[name], repetitions) for name, s in SETS.items()]
        yield title, [value for pair_ in cells for value in pair_]


def rows_of_runs() -> Iterator[Row]:
    for gap in (0.0, 2.0, 4.0):
        title = "no difference" if not gap else f"{gap:g} spreads apart"
        yield title, [runs_rejections(seeds, gap) for seeds in (3, 5, 10)]


def rows_of_coverage() -> Iterator[Row]:
    parts = [coverage(problems) for problems in SETS.values()]
    for name in parts[0]:
        yield name, [part[name] for part in parts]
    yield "crossing k", [crossing_coverage(problems) for problems in SETS.values()]


def table(head: list[str], rows: list[Row]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += [f"| {name} | " + " | ".join(f"{x:.3f}" for x in cells) + " |" for name, cells in rows]
    return "\n".join(lines) + "\n"


HEADS = {
    "tests": ["rejects at .05", *(f"{name} @{k}" for name in SETS for k in KS)],
    "runs": ["Q3 rejects at .05", "3 + 3 runs", "5 + 5", "10 + 10"],
    "coverage": ["covers at 95%", *SETS],
}
ROWS = {"tests": rows_of_tests, "runs": rows_of_runs, "coverage": rows_of_coverage}


if __name__ == "__main__":
    for part, head in HEADS.items():
        rows = []
        for row in ROWS[part]():
            print(*row, file=sys.stderr)
            rows.append(row)
        print(table(head, rows), flush=True)
    raw, adjusted = family_error()
    print(f"family of 18: {raw:.3f} raw, {adjusted:.3f} after Holm")
