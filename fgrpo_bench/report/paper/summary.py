"""What the re-test found: tables of it, and the answer in plain sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from fgrpo_bench.report.grids import Grid
from fgrpo_bench.report.paper.averages import Signs, averages, signs
from fgrpo_bench.report.paper.consistency import Check, checks
from fgrpo_bench.report.paper.layout import NAMES, title
from fgrpo_bench.report.paper.published import AVERAGES, ENDS, PAIRS, PROBLEMS, Published
from fgrpo_bench.report.paper.retest import (
    CORRELATION,
    CORRELATIONS,
    LEVEL,
    NOT,
    Bounds,
    Comparison,
    Tally,
    compare,
    families,
    same_problems,
    tally,
)
from fgrpo_bench.stats.multiplicity import expected_false_positives

_FOCAL = dict(PAIRS)


@dataclass(frozen=True)
class Retest:
    """Everything the re-test found.

    Attributes:
        comparisons: the 162, at the assumed correlation.
        averaged: the 36 of averages.
        signs: their signs.
        sensitivity: tallies of detectable effect and p < 0.05 by assumed correlation.
        sampling: tallies for the same problems, raw and after Holm.
        checks: consistency of the tables.
        known: what the curves leave open.
    """

    comparisons: list[Comparison]
    averaged: list[Comparison]
    signs: list[Signs]
    sensitivity: dict[float, tuple[Tally, Tally]]
    sampling: tuple[Tally, Tally]
    checks: list[Check]
    known: Bounds


def retest(published: Published, known: Bounds) -> Retest:
    """Make all comparisons and checks from the published numbers and ``retest.bounds`` of them."""
    comparisons = compare(published, known)
    sensitivity = {}
    for correlation in CORRELATIONS:
        again = compare(published, known, correlation)
        sensitivity[correlation] = tally(again), tally(again, "significant")
    averaged = averages(published, comparisons)
    return Retest(
        comparisons=comparisons,
        averaged=averaged,
        signs=signs(averaged),
        sensitivity=sensitivity,
        sampling=(same_problems(comparisons, False), same_problems(comparisons, True)),
        checks=checks(published, known),
        known=known,
    )


def answer(found: Retest) -> list[str]:
    """Return the answer in a few sentences, the most wanted first."""
    (effect, significant), total = found.sensitivity[CORRELATION], len(found.comparisons)
    least, most = (found.sensitivity[r][0] for r in (min(CORRELATIONS), max(CORRELATIONS)))
    mean, (raw, adjusted) = tally(found.averaged), found.sampling
    chance = expected_false_positives(total, LEVEL)
    lines = [
        f"Of the {total} published comparisons, {effect.surely} surely reach the effect that their "
        f"benchmark can detect for new problems ({effect.up} for the focal method, {effect.down} "
        f"against it) and {effect.maybe} may; for the other {effect.rest} there is not enough "
        f"evidence. This assumes a correlation of {CORRELATION:g} between the two methods over "
        f"problems; with {min(CORRELATIONS):g} it is {least.surely}, with {max(CORRELATIONS):g} it "
        f"is {most.surely}.",
        f"Of the {mean.total} averages, {mean.surely} surely reach theirs and {mean.maybe} may. "
        + _signs_sentence(found.signs),
        f"By chance alone, {chance:.1f} of {total} tests come out below {LEVEL:g}; here "
        f"{significant.surely} surely do for new problems and {significant.maybe} more may. γ and "
        "the checkpoints were chosen on the test benchmarks themselves, which favours what was "
        "chosen.",
        f"On these very problems, where only sampling is noise, {raw.surely} surely differ "
        f"({raw.up} up, {raw.down} down), {adjusted.surely} of them after Holm's correction. "
        "Whether another training run would show the same cannot be told: no spread over runs was "
        "published.",
    ]
    lines.append(_consistency_sentence(found.checks))
    return lines


def _signs_sentence(found: Sequence[Signs]) -> str:
    names = _listed([f"{NAMES[item.benchmark]} @{item.k}" for item in found])
    higher = _listed([str(item.positive) for item in found])
    clear = _listed([str(item.clear) for item in found])
    return (
        f"By {names}, the focal method is higher in {higher} of the nine pairs, and surely by "
        f"more than is detectable in {clear}."
    )


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}"


def _consistency_sentence(found: Sequence[Check]) -> str:
    wrong = [check for check in found if check.disagreements]
    if not wrong:
        return f"All {len(found)} checks of the tables against each other hold."
    failing = "; ".join(
        f"“{check.name}” fails for {len(check.disagreements)} of {check.compared}, by "
        f"{check.largest:.2f} points at most"
        for check in wrong
    )
    return f"{len(found) - len(wrong)} of {len(found)} checks of the tables hold; {failing}."


def answer_grid(found: Retest) -> Grid:
    """Return the comparisons by benchmark and k against the detectable effect."""
    rows = []
    for benchmark in PROBLEMS:
        for k in ENDS:
            items = [c for c in found.comparisons if (c.benchmark, c.k) == (benchmark, k)]
            low, high = (min(c.effect.low for c in items), max(c.effect.high for c in items))
            size = _span(low, high)
            labels = (NAMES[benchmark], str(k), str(PROBLEMS[benchmark]), size)
            rows.append((*labels, *_counts(tally(items))))
    rows.append(("All", "", "", "", *_counts(tally(found.comparisons))))
    heads = ("benchmark", "k", "P", "detectable, points", *_COUNTS)
    caption = "Differences against the detectable effect, from the least to the most of nine pairs"
    return Grid(caption, heads, tuple(rows))


_COUNTS = ("surely up", "surely down", "maybe", "not enough evidence")


def _counts(found: Tally) -> tuple[str, ...]:
    return str(found.up), str(found.down), str(found.maybe), str(found.rest)


def _span(low: float, high: float) -> str:
    first, last = f"{100 * low:.1f}", f"{100 * high:.1f}"
    return first if first == last else f"{first} to {last}"


def sensitivity_grid(found: Retest) -> Grid:
    """Return the totals by assumed correlation."""
    rows = [
        (f"{correlation:g}", name, *_counts(counted))
        for correlation, both in found.sensitivity.items()
        for name, counted in zip(("detectable effect", "p < 0.05"), both, strict=True)
    ]
    heads = ("correlation", "reach", *_COUNTS)
    return Grid("The same for other correlations between the methods", heads, tuple(rows), 2)


def pair_grid(found: Retest) -> Grid:
    """Return the comparisons by method and model: new problems, and the same problems."""
    rows = []
    for items in families(found.comparisons):
        counts = tally(items), same_problems(items, False), same_problems(items, True)
        cells = [f"{c.up}↑ {c.down}↓, {c.maybe} maybe" for c in counts]
        rows.append((items[0].model, title(_FOCAL[items[0].objective]), *cells))
    heads = ("model", "method", "detectable effect", "same problems p < 0.05", "after Holm")
    return Grid("Each pair: its 18 comparisons", heads, tuple(rows), 2)


def average_grid(found: Retest) -> Grid:
    """Return the differences of averages with their detectable effects."""
    keys = [(name, k) for name in AVERAGES for k in ENDS]
    rows = []
    for items in families(found.averaged):
        by_key = {(item.benchmark, item.k): item for item in items}
        cells = [_difference(by_key[key]) for key in keys]
        rows.append((items[0].model, title(_FOCAL[items[0].objective]), *cells))
    heads = ("model", "method", *(f"{NAMES[name]} @{k}" for name, k in keys))
    caption = "Averages: difference (detectable effect), points; no word: not enough evidence"
    return Grid(caption, heads, tuple(rows), 2)


def _difference(item: Comparison) -> str:
    text = f"{100 * item.difference:+.1f} ({_span(item.effect.low, item.effect.high)})"
    return text if item.clears == NOT else f"{text} {item.clears}"


def sign_grid(found: Retest) -> Grid:
    """Return how often the focal method's average is higher."""
    rows = [
        (NAMES[s.benchmark], str(s.k), str(s.positive), str(s.negative), f"{s.p:.3f}")
        for s in found.signs
    ]
    heads = ("average", "k", "higher", "lower", "sign test p")
    return Grid("Signs of the differences of averages over nine pairs", heads, tuple(rows))


def check_grid(found: Retest) -> Grid:
    """Return the consistency checks."""
    rows = [
        (c.name, str(c.compared), str(len(c.disagreements)), f"{c.largest:.2f}")
        for c in found.checks
    ]
    return Grid("Checks", ("check", "compared", "disagree", "largest, points"), tuple(rows))


def disagreement_grid(found: Retest) -> Grid | None:
    """Return every disagreement, None without any."""
    rows = [(c.name, d.where, d.text) for c in found.checks for d in c.disagreements]
    return Grid("Disagreements", ("check", "where", "what"), tuple(rows), 3) if rows else None
