"""What a grader is measured on: right and wrong answers to real rows, made from their golds."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from fgrpo_bench.grading.measure.breakages import breakages
from fgrpo_bench.grading.measure.gold_rows import MALFORMED, Row
from fgrpo_bench.grading.measure.rewritings import joined, rewritings
from fgrpo_bench.grading.measure.values import same
from fgrpo_bench.grading.outcomes import Outcome

PAIRS: Final = 5000
AS_PRINTED: Final = "gold as printed"
OTHER: Final = "gold of another row"


class Case(NamedTuple):
    """An answer to a row, and whether it is right.

    Attributes:
        row: that is answered.
        right: whether the answer is right.
        kind: how it was made.
        answer: what is in the box.
        clear: False if it could not be decided that the answer is wrong, which it nearly always is.
    """

    row: Row
    right: bool
    kind: str
    answer: str
    clear: bool = True

    @property
    def response(self) -> str:
        """What a model would have said."""
        return rf"So the answer is \boxed{{{self.answer}}}."


Grade: TypeAlias = Callable[[Sequence[Case]], list[Outcome]]


def cases_of(rows: Sequence[Row]) -> list[Case]:
    """Return the cases of one benchmark's rows: rewritings, breakages, golds of other rows."""
    return [*(case for row in rows for case in _own(row)), *other_golds(rows)]


def _own(row: Row) -> Iterable[Case]:
    for name, text in rewritings(row.parts, row.unit):
        yield Case(row, True, name, text)
    if row.gold != joined(row.parts) and (row.benchmark, row.id) not in MALFORMED:
        yield Case(row, True, AS_PRINTED, row.gold)
    for name, text in breakages(row.parts, row.unit):
        yield Case(row, False, name, text)


def other_golds(rows: Sequence[Row], limit: int = PAIRS) -> list[Case]:
    """Answer rows with golds of other rows that have another value, up to so many pairs."""
    pairs = [(left, right) for left in range(len(rows)) for right in range(len(rows))]
    random.Random(0).shuffle(pairs)
    found: list[Case] = []
    for left, right in pairs:
        if len(found) == limit:
            break
        alike = same(rows[left].parts, rows[right].parts)
        if alike is not True:
            text = joined(rows[right].parts)
            found.append(Case(rows[left], False, OTHER, text, clear=alike is False))
    return found


def thinned(cases: Sequence[Case], limit: int) -> list[Case]:
    """Return at most so many cases of each benchmark and kind, evenly spread and in order."""
    kinds: dict[tuple[str, bool, str], list[int]] = {}
    for place, case in enumerate(cases):
        kinds.setdefault((case.row.group, case.right, case.kind), []).append(place)
    kept = []
    for places in kinds.values():
        count = min(limit, len(places))
        kept += [places[index * len(places) // count] for index in range(count)]
    return [cases[place] for place in sorted(kept)]
