"""Worker processes that grade side by side, and that may hang, burst, crash or be killed."""

import atexit
import itertools
import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Final

from fgrpo_bench.executor import cores
from fgrpo_bench.grading.child import Child, Died
from fgrpo_bench.grading.limits import Limits
from fgrpo_bench.grading.outcomes import Question, Reply
from fgrpo_bench.grading.worker import GRADERS

ATTEMPTS: Final = 2  # at a question whose worker died, since something else may have killed it


class Pool:
    """Worker processes, started when there are questions for them.

    It may be used from several threads, and after a fork, where it starts workers of its own.
    """

    def __init__(
        self,
        workers: int | None = None,
        limits: Limits = Limits(),  # noqa: B008 - it cannot change
        graders: Mapping[str, str] = GRADERS,
    ) -> None:
        """Start nothing yet.

        Args:
            workers: how many at most, None for one per core.
            limits: of each question.
            graders: kinds and their ``module:function``.
        """
        self.workers = cores() if workers is None else workers
        self._limits, self._graders = limits, graders
        self._children: set[Child] = set()
        self._closed = False
        self._begin()
        _pools.add(self)

    def ask(
        self,
        questions: Sequence[Question],
        on_reply: Callable[[int, Reply], None] = lambda index, reply: None,
    ) -> list[Reply]:
        """Return the replies to questions, in their order.

        Args:
            questions: may be asked in any order.
            on_reply: called in this thread with a question's index and its reply, as they come.

        Raises:
            OSError: the system gives no more processes or files.
            RuntimeError: the pool is closed.
            BaseException: what ``on_reply`` or a signal raises; the workers at it are killed.
        """
        turn = _Turn(questions)
        replies: dict[int, Reply] = {}
        try:
            for _ in range(min(self.workers, len(questions))):
                threading.Thread(target=self._serve, args=(turn,), daemon=True).start()
            for _ in questions:
                result = turn.results.get()
                if isinstance(result, BaseException):
                    raise result
                index, reply = result
                replies[index] = reply
                on_reply(index, reply)
        except BaseException:
            turn.stop()
            raise
        return [replies[index] for index in range(len(questions))]

    def close(self) -> None:
        """End the workers and wait for them; who still asks is told so."""
        self._closed = True
        for child in list(self._children):
            child.kill()
        for _ in range(self.workers):
            child_or_none = self._slots.get()
            if child_or_none is not None:
                self._end(child_or_none)
        for _ in range(self.workers):  # for threads that still wait for a worker
            self._slots.put(None)

    def __enter__(self) -> "Pool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self) -> None:
        """Start from nothing, in a fork too: the children there are those of another process."""
        for child in self._children:
            child.disown()
        self._children = set()
        # The worker that was used last is taken first; None stands for one to be started.
        self._slots: queue.LifoQueue[Child | None] = queue.LifoQueue()
        for _ in range(self.workers):
            self._slots.put(None)

    def _serve(self, turn: "_Turn") -> None:
        """Put questions of a turn to one worker after the other, in a thread of their own."""
        try:
            while (item := turn.take()) is not None:
                index, question = item
                turn.results.put((index, self._settle(turn, question)))
        except BaseException as error:
            turn.results.put(error)

    def _settle(self, turn: "_Turn", question: Question) -> Reply:
        child = self._slots.get()
        try:
            for attempt in itertools.count(1):
                if child is None:
                    child = self._start()
                try:
                    return turn.ask(child, question)
                except Died as error:
                    if attempt == ATTEMPTS or turn.stopped:
                        return Reply("failed", reason=str(error))
                finally:
                    if not child.fit:
                        self._end(child)
                        child = None
            raise AssertionError
        finally:
            self._slots.put(child)

    def _start(self) -> Child:
        child = Child(self._limits, self._graders)
        self._children.add(child)
        if self._closed:  # looked at after the child is where close looks for it
            self._end(child)
            raise RuntimeError("the pool is closed")
        return child

    def _end(self, child: Child) -> None:
        child.end()
        self._children.discard(child)


class _Turn:
    """One call of ``ask``: what is to be asked, the workers at it, and what came of it."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.results: queue.SimpleQueue[tuple[int, Reply] | BaseException] = queue.SimpleQueue()
        self._todo = deque(enumerate(questions))
        self._busy: set[Child] = set()
        self.stopped = False

    def take(self) -> tuple[int, Question] | None:
        """Return the next question and its index, None after the last."""
        try:
            return self._todo.popleft()
        except IndexError:
            return None

    def ask(self, child: Child, question: Question) -> Reply:
        """Ask a worker, who is killed if the turn is stopped meanwhile."""
        self._busy.add(child)
        try:
            if self.stopped:  # looked at after the child is where stop looks for it
                return Reply("late")
            return child.ask(question)
        finally:
            self._busy.discard(child)

    def stop(self) -> None:
        """Give up: nobody waits for the replies any more."""
        self._todo.clear()
        self.stopped = True
        for child in list(self._busy):
            child.kill()


_pools: "weakref.WeakSet[Pool]" = weakref.WeakSet()
_shared: list[Pool] = []
_sharing = threading.Lock()


def shared() -> Pool:
    """Return the pool of this process, which ends with it."""
    with _sharing:
        if not _shared:
            _shared.append(Pool())
            atexit.register(_shared[0].close)
        return _shared[0]


def _after_fork() -> None:
    global _sharing
    _sharing = threading.Lock()  # another thread of the parent may have held it
    for pool in _pools:
        pool._begin()


os.register_at_fork(after_in_child=_after_fork)
