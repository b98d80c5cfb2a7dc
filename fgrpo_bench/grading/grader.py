"""From questions to verdicts: each asked once, and only if nobody has decided it before."""

import atexit
import logging
import os
import threading
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from fgrpo_bench.grading.cache import VerdictCache, default_path, key_of
from fgrpo_bench.grading.outcomes import Question, Reply, Verdict
from fgrpo_bench.grading.pool import Pool, shared

_EVERY: Final = 200  # decisions after which they are put down: a kill loses few
# whose versions decide a verdict beside our own
_DECIDING: Final[dict[str, tuple[str, ...]]] = {
    "math": ("math-verify", "latex2sympy2-extended", "sympy"),
    "ifeval": ("lm-eval", "langdetect", "nltk"),
}


class Grader:
    """Settles questions with a pool of workers and a cache of verdicts; any thread may use it."""

    def __init__(self, pool: Pool, cache: VerdictCache | None) -> None:
        self._pool, self._cache = pool, cache
        self._told: set[str] = set()

    def settle(self, questions: Sequence[Question], grader: str) -> list[Verdict]:
        """Return the verdicts, in the order of the questions.

        Args:
            questions: equal ones, but for the outcome of a miss, are asked once.
            grader: name and version of the grader, part of what decides a verdict.

        Raises:
            ModuleNotFoundError: a grader needs a package that is not installed.
        """
        keys = [key_of(each, f"{grader} {_versions(each.kind)}") for each in questions]
        once = dict(zip(keys, questions, strict=True))
        known = self._cache.get(list(once)) if self._cache else {}
        asked = [key for key in once if key not in known]
        fresh: list[tuple[bytes, Reply]] = []

        def keep(place: int, reply: Reply) -> None:
            fresh.append((asked[place], reply))
            if len(fresh) >= _EVERY:
                self._put(fresh)

        try:
            replies = self._pool.ask([once[key] for key in asked], keep)
        finally:
            self._put(fresh)
        known |= zip(asked, replies, strict=True)
        return [
            self._verdict(known[key], each, grader)
            for key, each in zip(keys, questions, strict=True)
        ]

    def _put(self, fresh: list[tuple[bytes, Reply]]) -> None:
        if self._cache:
            self._cache.put(fresh)
        fresh.clear()

    def _verdict(self, reply: Reply, question: Question, grader: str) -> Verdict:
        # a whole response is no answer that one could count
        own = question.answer if question.kind == "math" else None
        answer = own if reply.detail is None else reply.detail
        if reply.status == "done":
            return Verdict("correct" if reply.right else question.miss, answer)
        reason = reply.reason or "an answer used up its time or memory"
        if reason not in self._told:
            self._told.add(reason)
            logging.getLogger(__name__).warning("%s: %s", grader, reason)
        return Verdict("grader_error", answer)


@cache
def _versions(kind: str) -> str:
    found = []
    for name in _DECIDING[kind]:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # the worker will say so
            continue
    return ", ".join(found)


_grader: tuple[int, Grader] | None = None
_making = threading.Lock()


def shared_grader() -> Grader:
    """Return the grader of this process, with the verdicts of all sessions."""
    global _grader
    with _making:
        if _grader is None or _grader[0] != os.getpid():
            cache = VerdictCache(default_path())
            atexit.register(cache.close)
            _grader = os.getpid(), Grader(shared(), cache)
        return _grader[1]
