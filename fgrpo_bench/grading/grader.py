"""From questions to verdicts: each is asked once, and what was decided before is not asked."""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from fgrpo_bench.grading.cache import VerdictCache, default_path, key
from fgrpo_bench.grading.outcomes import Outcome, Question, Reply, Verdict
from fgrpo_bench.grading.pool import Pool, shared

KEEP_EVERY: Final = 2.0  # seconds of decisions that a kill may lose
# whose versions decide a verdict beside the grader's own
DECIDING: Final[dict[str, tuple[str, ...]]] = {
    "math": ("math-verify", "latex2sympy2-extended", "sympy"),
    "ifeval": ("lm-eval", "langdetect", "nltk"),
}


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
        grader: str,
        on_settled: Callable[[int], None] = lambda count: None,
    ) -> list[Verdict]:
        """Return the verdicts on questions, in their order.

        Args:
            questions: equal ones are asked once.
            grader: name and version; decisions of another one do not count, nor those that were
                made with other versions of the libraries behind it.
            on_settled: called in this thread with how many more questions are settled.

        Raises:
            ModuleNotFoundError: a grader needs a package that is not installed.
            OSError: the system gives no more processes or files.
            RuntimeError: the pool is closed.
        """
        keys = [key(question, f"{grader}; {_libraries(question.kind)}") for question in questions]
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
                _tell(asked[name].kind, reply)
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


def _tell(kind: str, reply: Reply) -> None:
    """Warn of a failure; a package that is missing is no matter of one question."""
    if found := re.match(r"ModuleNotFoundError: .*?No module named \W*([\w.]+)", reply.reason):
        raise ModuleNotFoundError(reply.reason, name=found[1])
    reasons = {"exhausted": "an answer used up its time or memory", "late": "no reply in time"}
    _warn(kind, reply.reason or reasons[reply.status])


@cache
def _warn(kind: str, reason: str) -> None:
    """Say once what may come with every question."""
    logging.getLogger(__name__).warning("grader %s: %s", kind, reason)


@cache
def _libraries(kind: str) -> str:
    found = []
    for name in DECIDING[kind]:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # the worker will tell
            continue
    return ", ".join(found)
