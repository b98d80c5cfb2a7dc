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
from typing import Final, NamedTuple

from fgrpo_bench.errors import UserError, quoted

FALSE_ALARM: Final = 1e-9
"""The chance that an evaluation of independent samples is refused is about this, in all."""


class Trace(NamedTuple):
    """Hash of some samples, how many these are, and the log-probability to draw them again."""

    digest: str
    samples: int
    log_probability: float


def trace(texts: Sequence[str]) -> Trace:
    """Return what is kept of some samples of a problem, few enough to come again by chance alone.

    The log-probability, in nats, is that of drawing the same samples in the same order again.

    >>> trace(["a", "b"])[1:]
    (2, -1.386)
    >>> trace(["a", "a"])[1:]
    (2, 0.0)
    """
    counts = Counter(texts)
    # one logarithm of whole numbers: there are a million samples
    log_counts = math.log(math.prod(map(counts.__getitem__, texts)))
    log_probability = log_counts - len(texts) * math.log(len(texts))
    joined = f"{[*map(len, texts)]}{''.join(texts)}".encode("utf-8", "replace")
    digest = hashlib.blake2b(joined, digest_size=8).hexdigest()
    return Trace(digest, len(texts), round(log_probability, 3) + 0.0)


class Repeats:
    """The hashes of all blocks of a task: some hundred bytes for sixteen samples of a problem."""

    def __init__(self) -> None:
        self._first: dict[int, dict[int, int]] = {}  # of each problem and hash, where it was seen
        self._blocks: Counter[int] = Counter()  # of each problem
        self._pairs = 0
        self._equal = 0

    def add(self, problems: Iterable[int], start: int, traces: Sequence[Trace]) -> None:
        """Take note of one block: of each problem the trace of its samples from ``start`` on.

        Raises:
            UserError: it repeats an earlier block, and chance cannot have done that.
        """
        matches: dict[int, list[float]] = {}
        for problem, (digest, samples, log_probability) in zip(problems, traces, strict=True):
            first = self._first.setdefault(problem, {}).setdefault(int(digest, 16), start)
            if first != start:
                matches.setdefault(first, []).append(log_probability)
            self._pairs += self._blocks[problem]
            self._blocks[problem] += 1
            self._equal += samples > 1 and log_probability == 0
        limit = math.log(FALSE_ALARM / max(self._pairs, 1))
        for other, log_probabilities in matches.items():
            whole = len(log_probabilities) == len(traces)
            if min(log_probabilities) < limit or (whole and sum(log_probabilities) < limit):
                raise UserError(
                    f"samples from number {start} on repeat those from number {other}, text by "
                    f"text, in {len(log_probabilities)} of {len(traces)} problems of a block: "
                    "the engine ignores the seed; with a server try --engine-arg n_per_request=1, "
                    "or take another engine"
                )

    @property
    def equal_share(self) -> float:
        """Share of problems and blocks in which all samples were the same text; NaN of none."""
        blocks = self._blocks.total()
        return self._equal / blocks if blocks else math.nan


def collapse_warning(task: str, share: float, temperature: float) -> str | None:
    """Return what to say where at a temperature above 0 most samples of a problem are equal."""
    if temperature == 0 or not share > 0.5:
        return None
    return (
        f"warning: {quoted(task)}: in {share:.0%} of the blocks all samples of a problem are the "
        "same text; either the model has collapsed or the engine gives every sample one seed"
    )
