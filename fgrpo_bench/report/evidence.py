"""What the counts of two evaluations say about their difference, and how sure that is."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from fgrpo_bench.report.counts import Counts
from fgrpo_bench.rng import stream
from fgrpo_bench.stats.crossing import Crossing, crossing
from fgrpo_bench.stats.intervals import (
    Interval,
    difference_band,
    difference_interval,
    simultaneous_band,
)
from fgrpo_bench.stats.multiplicity import holm
from fgrpo_bench.stats.pass_at_k import pass_at_k, success_variance
from fgrpo_bench.stats.power import detectable_effect, wording
from fgrpo_bench.stats.significance import new_problems, same_problems
from fgrpo_bench.stats.strata import standard_error, stratum_weights
from fgrpo_bench.stats.subsampling import subsampling_test
from fgrpo_bench.stats.variance import Split, variance_split

Floats = NDArray[np.float64]
Curves = Mapping[tuple[str, str], Interval]  # by benchmark and name of the evaluation
AVERAGE = "average"
_LARGEST = 256


@dataclass(frozen=True)
class Finding:
    """One comparison of a family; differences and bounds in [-1, 1].

    Attributes:
        benchmark: its name, or ``average`` for the mean over benchmarks.
        k: sample count.
        difference: second minus first, the mean over problems, or over benchmarks.
        low: lower end of the 95% interval over problems.
        high: upper end.
        same: p-value of Q1, the same problems.
        new: p-value of Q2, new problems.
        paper: p-value of the F-GRPO paper's m-out-of-n test with m the largest tested k.
        detectable: the difference that Q2 finds with 80% power.
        same_holm: ``same`` adjusted within the family; NaN for the average, which is no member.
        new_holm: ``new`` adjusted likewise.
    """

    benchmark: str
    k: int
    difference: float
    low: float
    high: float
    same: float
    new: float
    paper: float
    detectable: float
    same_holm: float = np.nan
    new_holm: float = np.nan

    @property
    def words(self) -> str:
        """``higher``, ``lower`` or ``not enough evidence``, by Q2 after Holm if in a family."""
        p = self.new if np.isnan(self.new_holm) else self.new_holm
        return wording(self.difference, p, self.detectable)


@dataclass(frozen=True)
class Pair:
    """Everything about a second evaluation against a first one."""

    first: str
    second: str
    findings: list[Finding]
    bands: dict[str, Interval]
    crossings: dict[str, Crossing]


def common_ks(counts: Sequence[Counts]) -> list[int]:
    """Return 1, 2, 4, .. up to the fewest samples that any problem has."""
    fewest = min(int(one.table["n"].min()) for one in counts)
    return [2**power for power in range(fewest.bit_length())]


def chosen_ks(ks: Sequence[int]) -> list[int]:
    """Return 1 and the largest k, at most 256, that has a variance: k of 2k samples or more."""
    largest = max((k for k in ks if 2 * k <= ks[-1] and k <= _LARGEST), default=1)
    return sorted({1, largest})


def curve(counts: Counts, benchmark: str, ks: Sequence[int]) -> Interval:
    """Return pass@k with its simultaneous 95% band over problems, [K]."""
    rng = stream(0, f"report/band/{counts.name}/{benchmark}")
    return simultaneous_band(_values(_rows(counts, benchmark), ks), rng)


def curves(counts: Sequence[Counts], ks: Sequence[int]) -> Curves:
    """Return ``curve`` of every benchmark and evaluation."""
    return {
        (name, one.name): curve(one, name, ks) for name in benchmarks(counts[0]) for one in counts
    }


def split(counts: Counts, benchmark: str, ks: Sequence[int]) -> Split:
    """Return the variance of pass@k by problems and sampling, [K]; sampling is NaN if n < 2k."""
    n, c = _counts(_rows(counts, benchmark))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NaN is the answer
        noise = success_variance(n[:, None], c[:, None], ks)
    return variance_split(_values(_rows(counts, benchmark), ks)[None], noise[None])


def compare(first: Counts, second: Counts, ks: Sequence[int]) -> Pair:
    """Compare two evaluations of the same problems.

    The family within which p-values are adjusted is all benchmarks x the tested k.
    """
    names = benchmarks(first)
    findings = [
        finding
        for name in names
        for finding in _findings(_rows(first, name), _rows(second, name), name, ks)
    ]
    same, new = (
        holm([finding.same for finding in findings]),
        holm([finding.new for finding in findings]),
    )
    findings = [
        replace(finding, same_holm=float(a), new_holm=float(b))
        for finding, a, b in zip(findings, same, new, strict=True)
    ]
    if len(names) > 1:
        findings += _findings(first.table, second.table, AVERAGE, ks)
    bands, crossings = {}, {}
    for name in names:
        difference = _values(_rows(second, name), ks) - _values(_rows(first, name), ks)
        where = f"{first.name}/{second.name}/{name}"
        bands[name] = difference_band(difference, stream(0, f"report/difference/{where}"))
        crossings[name] = crossing(difference, ks, stream(0, f"report/crossing/{where}"))
    return Pair(first.name, second.name, findings, bands, crossings)


def benchmarks(counts: Counts) -> list[str]:
    """Return the names of the benchmarks, in order of appearance."""
    return counts.table["benchmark"].unique().tolist()


def _findings(
    first: pd.DataFrame, second: pd.DataFrame, benchmark: str, ks: Sequence[int]
) -> list[Finding]:
    chosen = chosen_ks(ks)
    differences = _values(second, chosen) - _values(first, chosen)
    strata = first["benchmark"].tolist()
    (n_1, c_1), (n_2, c_2) = _counts(first), _counts(second)
    error = standard_error(differences, strata)
    interval = _interval(differences, strata, error)
    same = same_problems((n_1, n_2), (c_1, c_2), chosen, strata)
    new = new_problems(differences, stream(0, f"report/signs/{benchmark}"), strata)
    detectable = detectable_effect(error)
    return [
        Finding(
            benchmark,
            k,
            float(interval.mean[column]),
            float(interval.low[column]),
            float(interval.high[column]),
            float(same[column]),
            float(new[column]),
            _paper(n_1, c_1, n_2, c_2, k, chosen[-1]) if benchmark != AVERAGE else np.nan,
            float(detectable[column]),
        )
        for column, k in enumerate(chosen)
    ]


def _interval(differences: Floats, strata: list[str], error: Floats) -> Interval:
    if len(set(strata)) == 1:
        return difference_interval(differences)
    mean = stratum_weights(len(differences), strata) @ differences
    half = norm.ppf(0.975) * error
    return Interval(mean, np.maximum(mean - half, -1.0), np.minimum(mean + half, 1.0))


def _paper(
    n_1: NDArray[np.int64],
    c_1: NDArray[np.int64],
    n_2: NDArray[np.int64],
    c_2: NDArray[np.int64],
    k: int,
    m: int,
) -> float:
    """The paper's test, made for one n for all problems and m well below it; NaN otherwise."""
    if np.ptp(n_1) or np.ptp(n_2) or 2 * m > min(n_1[0], n_2[0]):
        return np.nan
    return subsampling_test((int(n_2[0]), int(n_1[0])), (c_2, c_1), k, m).p


def _rows(counts: Counts, benchmark: str) -> pd.DataFrame:
    return counts.table[counts.table["benchmark"] == benchmark]


def _counts(table: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return table["n"].to_numpy(dtype=np.int64), table["c"].to_numpy(dtype=np.int64)


def _values(table: pd.DataFrame, ks: Sequence[int]) -> Floats:
    n, c = _counts(table)
    return pass_at_k(n[:, None], c[:, None], ks)
