"""The paper's averages over benchmarks: which of them are more than their benchmarks can tell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from fgrpo_bench.report.paper.moments import Range
from fgrpo_bench.report.paper.published import AVERAGES, ENDS, MODELS, PAIRS, Published
from fgrpo_bench.report.paper.retest import Comparison, difference


@dataclass(frozen=True)
class Signs:
    """How often the focal method's average is the higher one, over the nine pairs.

    Attributes:
        benchmark: ``avg_math`` or ``avg_ood``.
        k: of pass@k.
        positive: pairs where the focal method is higher.
        negative: pairs where it is lower; ties are neither.
        p: two-sided, of an exact sign test that takes the pairs for independent.
        clear: pairs that surely reach their detectable effect.
        maybe: pairs that may.
    """

    benchmark: str
    k: int
    positive: int
    negative: int
    p: float
    clear: int
    maybe: int


def averages(published: Published, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the 36 comparisons of averages: nine pairs, mathematics and the others, two k.

    Benchmarks are taken as independent, so the error of their mean is the root of the sum of
    squares over their number.
    """
    return [
        _average(published, comparisons, model, pair, name, k)
        for model in MODELS
        for pair in PAIRS
        for name in AVERAGES
        for k in ENDS
    ]


def _average(
    published: Published,
    comparisons: Sequence[Comparison],
    model: str,
    pair: tuple[str, str],
    name: str,
    k: int,
) -> Comparison:
    parts = [
        item
        for item in comparisons
        if (item.model, item.objective, item.k) == (model, pair[0], k)
        and item.benchmark in AVERAGES[name]
    ]
    return Comparison(
        model=model,
        objective=pair[0],
        benchmark=name,
        k=k,
        difference=difference(published, model, pair, name, k),
        error=_mean_error([item.error for item in parts]),
        noise=_mean_error([item.noise for item in parts]),
    )


def _mean_error(errors: Sequence[Range]) -> Range:
    low, high = (
        float(np.sqrt(np.sum(np.square(ends))) / len(errors))
        for ends in ([error.low for error in errors], [error.high for error in errors])
    )
    return Range(low, high)


def signs(averaged: Sequence[Comparison]) -> list[Signs]:
    """Count signs per average and k over the nine pairs."""
    out = []
    for name in AVERAGES:
        for k in ENDS:
            items = [item for item in averaged if (item.benchmark, item.k) == (name, k)]
            up = sum(item.difference > 0 for item in items)
            down = sum(item.difference < 0 for item in items)
            p = float(binomtest(up, up + down).pvalue) if up + down else 1.0
            answers = [item.clears for item in items]
            clear, maybe = answers.count("surely"), answers.count("maybe")
            out.append(Signs(name, k, up, down, p, clear, maybe))
    return out
