"""From questions to verdicts: each is asked once, and what was decided before is not asked."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from fgrpo_bench.grading.cache import VerdictCache, default_path, key
from fgrpo_bench.grading.outcomes import Outcome, Question, Reply, Verdict
from fgrpo_bench.grading.pool import Pool, shared

KEEP_EVERY: Final = 2.0  # seconds of decisions that a kill may lose


class Grader:
    """Settles questions with a pool's workers and a cache; threads may share it."""

    def __init__(self, pool: Pool, cache: VerdictCache | None) -> None:
        """Take what it works with.

        Args:
            pool: where questions are asked.
            cache: where decisions are kept, None for nowhere.
        """
        self._pool, self._cache = pool, cache

    def settle(
        self,
        questions: Sequence[Question],
        version: str,
        on_settled: Callable[[int], None] = lambda count: None,
    ) -> list[Verdict]:
        """Return the verdicts on questions, in their order.

        Args:
            questions: equal ones are asked once.
            version: of the graders; decisions of another version do not count.
            on_settled: called in this thread with how many more questions are settled.

        Raises:
            OSError: the system gives no more processes or files.
            RuntimeError: the pool is closed.
        """
        keys = [key(question, version) for question in questions]
        shares = Counter(keys)
        replies = self._cache.get(list(shares)) if self._cache else {}
        if replies:
            on_settled(sum(shares[name] for name in replies))
        asked = {
            name: question
            for name, question in zip(keys, questions, strict=True)
            if name not in replies
        }
        if asked:
            self._ask(asked, replies, lambda name: on_settled(shares[name]))
        return [
            _verdict(question, replies[name])
            for name, question in zip(keys, questions, strict=True)
        ]

    def _ask(
        self,
        asked: dict[bytes, Question],
        replies: dict[bytes, Reply],
        on_reply: Callable[[bytes], None],
    ) -> None:
        """Add the replies of the pool, and keep them time and again."""
        names = list(asked)
        fresh: dict[bytes, Reply] = {}
        kept_at = time.monotonic()

        def receive(index: int, reply: Reply) -> None:
            nonlocal kept_at
            name = names[index]
            fresh[name] = replies[name] = reply
            if reply.status != "done":
                _log(asked[name], reply)
            if time.monotonic() - kept_at > KEEP_EVERY:
                self._keep(fresh)
                kept_at = time.monotonic()
            on_reply(name)

        try:
            self._pool.ask(list(asked.values()), receive)
        finally:
            self._keep(fresh)

    def _keep(self, fresh: dict[bytes, Reply]) -> None:
        if self._cache and fresh:
            self._cache.put(fresh)
        fresh.clear()


@cache
def shared_grader() -> Grader:
    """Return the grader of this process, with this user's cache."""
    return Grader(shared(), VerdictCache(default_path()))


def _verdict(question: Question, reply: Reply) -> Verdict:
    outcome: Outcome = "grader_error"
    if reply.status == "done":
        outcome = "correct" if reply.right else question.miss
    # What IFEval is asked about is a whole response, not an answer found in one.
    answer = question.answer if question.kind == "math" else None
    return Verdict(outcome, reply.detail or answer)


def _log(question: Question, reply: Reply) -> None:
    logging.getLogger(__name__).debug(
        "grader %s: %s%s", question.kind, reply.status, reply.reason and f", {reply.reason}"
    )
