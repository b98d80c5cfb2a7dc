"""The paper's 162 comparisons again, from published numbers alone.

Every focal method against its baseline, on nine benchmarks at k = 1 and 256. Values per problem
were not published; ``moments`` bounds what they can be. So each answer is ``SURELY`` where it holds
for all they can be, ``MAYBE`` where for some, and ``NOT`` where for none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from fgrpo_bench.report.paper.moments import Floats, Moments, Range, moments
from fgrpo_bench.report.paper.published import (
    CURVES,
    ENDS,
    GROUP_SIZE,
    KS,
    MODELS,
    PAIRS,
    PROBLEMS,
    ROUNDING,
    Cell,
    Published,
    chosen_gamma,
)
from fgrpo_bench.stats.multiplicity import holm
from fgrpo_bench.stats.power import detectable_effect, paired_spread, wording

SURELY, MAYBE, NOT = "surely", "maybe", "not"
LEVEL = 0.05
CORRELATION = 0.8
CORRELATIONS = (0.6, 0.8, 0.9)
# A difference of two values that were rounded to 0.1 points.
_OFF = 2 * ROUNDING

Bounds = Mapping[tuple[str, str, str], Moments]


@dataclass(frozen=True)
class Comparison:
    """A focal method against its baseline on one benchmark at one k; fractions.

    Attributes:
        model: the trained model.
        objective: the baseline, by which the pair is named.
        benchmark: the benchmark.
        k: of pass@k.
        difference: focal minus baseline, as published.
        error: standard error of the difference for new problems, at the assumed correlation.
        noise: standard error that sampling alone gives it, on the same problems.
    """

    model: str
    objective: str
    benchmark: str
    k: int
    difference: float
    error: Range
    noise: Range

    @property
    def effect(self) -> Range:
        """The detectable effect at 80% power and level 0.05."""
        return self.error.scaled(float(detectable_effect(1.0, LEVEL)))

    @property
    def clears(self) -> str:
        """Whether the difference reaches the detectable effect."""
        return verdict(self.difference, self.effect)

    @property
    def significant(self) -> str:
        """Whether p < 0.05 for new problems (Q2), unadjusted, at the assumed correlation."""
        return verdict(self.difference, self.error.scaled(float(norm.ppf(1 - LEVEL / 2))))

    @property
    def word(self) -> str:
        """``higher``, ``lower`` or ``not enough evidence``, taking the larger spread."""
        sure = max(abs(self.difference) - _OFF, 0.0)
        p = float(2 * norm.sf(sure / self.error.high))
        return wording(np.copysign(sure, self.difference), p, self.effect.high, LEVEL)

    @property
    def p(self) -> Range:
        """p of the same problems (Q1); ``high`` takes most noise and the smallest difference."""
        size, tiny = abs(self.difference), np.finfo(float).tiny
        low = 2 * norm.sf((size + _OFF) / max(self.noise.low, tiny))
        high = 2 * norm.sf(max(size - _OFF, 0.0) / max(self.noise.high, tiny))
        return Range(float(low), float(high))


@dataclass
class Tally:
    """How many of some comparisons reach what they are held against.

    Attributes:
        up: surely, and the focal method is higher.
        down: surely, and it is lower.
        maybe: perhaps, in either direction.
        rest: surely not.
    """

    up: int = 0
    down: int = 0
    maybe: int = 0
    rest: int = 0

    @property
    def surely(self) -> int:
        """Those that surely do, in either direction."""
        return self.up + self.down

    @property
    def total(self) -> int:
        """All of them."""
        return self.surely + self.maybe + self.rest


def verdict(difference: float, threshold: Range) -> str:
    """Say whether a published difference reaches a threshold that is known within bounds."""
    size = abs(difference)
    if size - _OFF >= threshold.high:
        return SURELY
    return MAYBE if size + _OFF >= threshold.low else NOT


def bounds(
    published: Published, models: Sequence[str] = MODELS
) -> dict[tuple[str, str, str], Moments]:
    """Return what each published curve leaves open, by model, method and benchmark."""
    return {
        (model, method, benchmark): moments(curve(published, model, method, benchmark))
        for model in models
        for pair in PAIRS
        for method in pair
        for benchmark in PROBLEMS
    }


def curve(published: Published, model: str, method: str, benchmark: str) -> Floats:
    """Return a published curve at the nine k, fractions."""
    gamma = chosen_gamma(published, model, method)
    cells = (Cell(model, method, gamma, GROUP_SIZE, benchmark, k) for k in KS)
    return np.array([published[CURVES[model]][cell] for cell in cells]) / 100


def compare(
    published: Published, known: Bounds, correlation: float = CORRELATION
) -> list[Comparison]:
    """Return the 162 comparisons of table 1.

    Args:
        published: all tables.
        known: what ``bounds`` returned.
        correlation: assumed between the two methods' pass@k over problems.
    """
    return [
        _comparison(published, known, model, pair, benchmark, k, correlation)
        for model in MODELS
        for pair in PAIRS
        for benchmark in PROBLEMS
        for k in ENDS
    ]


def _comparison(
    published: Published,
    known: Bounds,
    model: str,
    pair: tuple[str, str],
    benchmark: str,
    k: int,
    correlation: float,
) -> Comparison:
    problems = PROBLEMS[benchmark]
    base, focal = (known[model, method, benchmark] for method in pair)
    # The sample variance, which an experiment would see, is P / (P - 1) times the population's.
    sides = [side.variance[k].scaled(problems / (problems - 1)).root() for side in (base, focal)]
    noise = Range(
        base.noise[k].low + focal.noise[k].low, base.noise[k].high + focal.noise[k].high
    ).scaled(1 / problems)
    return Comparison(
        model=model,
        objective=pair[0],
        benchmark=benchmark,
        k=k,
        difference=difference(published, model, pair, benchmark, k),
        error=paired_range(*sides, correlation).scaled(problems**-0.5),
        noise=noise.root(),
    )


def difference(
    published: Published, model: str, pair: tuple[str, str], benchmark: str, k: int
) -> float:
    """Return focal minus baseline of table 1, a fraction."""
    base, focal = (
        published["table1"][
            Cell(model, method, chosen_gamma(published, model, method), GROUP_SIZE, benchmark, k)
        ]
        for method in pair
    )
    return round(focal - base, 6) / 100


def paired_range(first: Range, second: Range, correlation: float) -> Range:
    """Return bounds of the spread of paired differences from bounds of both sides' spreads.

    a^2 + b^2 - 2 r a b is convex and smallest at the origin: its largest value on a rectangle is at
    a corner, its smallest on an edge, where the other side is r times as large or at its end.
    """
    ends = [(a, b) for a in (first.low, first.high) for b in (second.low, second.high)]
    edges = [(a, float(np.clip(correlation * a, second.low, second.high))) for a, _ in ends]
    edges += [(float(np.clip(correlation * b, first.low, first.high)), b) for _, b in ends]
    low = min(float(paired_spread(a, b, correlation)) for a, b in edges)
    high = max(float(paired_spread(a, b, correlation)) for a, b in ends)
    return Range(low, high)


def tally(comparisons: Sequence[Comparison], test: str = "clears") -> Tally:
    """Count how many reach the detectable effect (``clears``) or p < 0.05 (``significant``)."""
    out = Tally()
    for item in comparisons:
        _count(out, getattr(item, test), item.difference)
    return out


def _count(out: Tally, answer: str, difference: float) -> None:
    if answer == SURELY:
        out.up += difference > 0
        out.down += difference < 0
    elif answer == MAYBE:
        out.maybe += 1
    else:
        out.rest += 1


def same_problems(comparisons: Sequence[Comparison], adjusted: bool) -> Tally:
    """Count p < 0.05 on the same problems (Q1), raw or after Holm within each pair's family.

    A family is the nine benchmarks at two k of one method and model. The conservative p-values
    decide what is sure, the smallest possible ones what may be.
    """
    out = Tally()
    for family in families(comparisons):
        low, high = (np.array([getattr(item.p, end) for item in family]) for end in ("low", "high"))
        if adjusted:
            low, high = holm(low), holm(high)
        for item, least, most in zip(family, low, high, strict=True):
            answer = SURELY if most < LEVEL else MAYBE if least < LEVEL else NOT
            _count(out, answer, item.difference)
    return out


def families(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Return the comparisons of each method-model pair."""
    out: dict[tuple[str, str], list[Comparison]] = {}
    for item in comparisons:
        out.setdefault((item.model, item.objective), []).append(item)
    return list(out.values())
