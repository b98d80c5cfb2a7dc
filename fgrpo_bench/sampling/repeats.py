"""Whether samples that should be independent repeat: a broken seed, or a collapsed model?

Engines and servers that ignore the seed, or fix their own, return the same samples again in
another block, and pass@k then counts each of them twice. A model that nearly always says the same
also repeats, and that is a finding. They are told apart by how improbable the repeat is: when the
samples of a problem are drawn anew, the same ones come in the same order with the product of their
probabilities, here taken from their own frequencies.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from fgrpo_bench.errors import UserError, quoted

COMPARED: Final = 16
FALSE_ALARM: Final = 1e-9
"""The chance that an evaluation of independent samples is refused is about this, in all."""


def trace(texts: Sequence[str]) -> list[Any]:
    """Return what is kept of one problem's samples: hash of the first ones, count, log-probability.

    The log-probability, in nats, is that of drawing the same samples in the same order again.

    >>> trace(["a", "b"])[1:]
    [2, -1.386]
    >>> trace(["a", "a"])[1:]
    [2, 0.0]
    """
    head, counts = texts[:COMPARED], Counter(texts)
    joined = "".join(f"{len(text)}:{text}" for text in head).encode("utf-8", "replace")
    log_probability = sum(math.log(counts[text] / len(texts)) for text in head)
    digest = hashlib.blake2b(joined, digest_size=8).hexdigest()
    return [digest, len(head), round(log_probability, 3) + 0.0]


class Repeats:
    """The traces of all blocks of a task; it grows with the blocks, not with their samples."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, str, int], list[int]] = {}
        self._units = 0
        self._equal = 0

    def add(self, problems: Iterable[int], start: int, traces: Sequence[Sequence[Any]]) -> None:
        """Take note of one block: of each problem the trace of its samples from ``start`` on.

        Raises:
            UserError: it repeats an earlier block, and chance cannot have done that.
        """
        matches: dict[int, list[float]] = {}
        problems = list(problems)
        for problem, (digest, count, log_probability) in zip(problems, traces, strict=True):
            earlier = self._seen.setdefault((problem, digest, count), [])
            for other in earlier:
                matches.setdefault(other, []).append(log_probability)
            earlier.append(start)
            self._units += 1
            self._equal += count > 1 and log_probability == 0
        # Pairs of blocks of a problem that could have matched, in the task so far.
        limit = math.log(FALSE_ALARM) - 2 * math.log(self._units)
        for other, log_probabilities in matches.items():
            whole = len(log_probabilities) == len(problems)
            if min(log_probabilities) < limit or (whole and sum(log_probabilities) < limit):
                raise UserError(
                    f"samples from number {start} on repeat those from number {other}, text by "
                    f"text, in {len(log_probabilities)} of {len(problems)} problems of a block: "
                    "the engine ignores the seed; with a server try --engine-arg n_per_request=1, "
                    "or take another engine"
                )

    @property
    def equal_share(self) -> float:
        """Share of problems and blocks in which all samples were the same text; NaN of none."""
        return self._equal / self._units if self._units else math.nan


def collapse_warning(task: str, share: float, temperature: float) -> str | None:
    """Return what to say where at a temperature above 0 most samples of a problem are equal."""
    if temperature == 0 or not share > 0.5:
        return None
    return (
        f"warning: {quoted(task)}: in {share:.0%} of the blocks all samples of a problem are the "
        "same text; either the model has collapsed or the engine gives every sample one seed"
    )
