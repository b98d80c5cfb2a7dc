"""Worker processes that answer questions, and are replaced when they hang, die or grow.

What they compute with cannot be stopped from within by any certain means, and may bring down its
process. So it runs in processes that can be killed, and which know nothing that would be lost.
"""

import atexit
import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from fgrpo_bench.executor import cores
from fgrpo_bench.grading.limits import Limits
from fgrpo_bench.grading.outcomes import Question, Reply

GRADERS: Final[dict[str, str]] = {
    "math": "fgrpo_bench.grading.mathematics.compare:meets",
    "ifeval": "fgrpo_bench.grading.ifeval:meets",
}
GROWTH: Final = 512 << 20  # bytes that a worker may grow by before it is replaced


class _Late(Exception):
    """The clock ran out."""


class _Died(Exception):
    """The worker ended by itself, or was ended."""

    def __init__(self, code: int) -> None:
        self.code = code


class _Worker:
    """One process, one question at a time."""

    def __init__(self, limits: Limits, graders: Mapping[str, str]) -> None:
        self._limits, self._loaded, self._first_memory = limits, set[str](), 0
        self.grown = False
        settings = {"graders": dict(graders), "cpu": limits.cpu, "memory": limits.memory}
        self.process = subprocess.Popen(
            (sys.executable, "-m", "fgrpo_bench.grading.worker", json.dumps(settings)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
            start_new_session=True,  # Ctrl-C reaches the parent alone, which stops the workers
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._write, self._read = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._write, False)
        os.set_blocking(self._read, False)

    def ask(self, question: Question) -> Reply:
        """Return the reply.

        Raises:
            _Late: not in time; the worker must be stopped.
            _Died: it ended; it must be stopped too, which reaps it.
            ModuleNotFoundError: the grader needs a package that is not installed.
        """
        kind = question.kind
        if kind not in self._loaded:
            loaded = self._exchange({"load": kind}, self._limits.loading)
            if loaded.get("status") != "loaded":
                return Reply("failed", reason=str(loaded.get("reason")))
            self._loaded.add(kind)
        job = {"kind": kind, "gold": question.gold, "answer": question.answer}
        found = self._exchange(job, self._limits.deadline)
        memory = found.pop("memory", 0)
        self._first_memory = self._first_memory or memory
        self.grown = memory - self._first_memory > GROWTH
        return Reply(**found)

    def stop(self) -> int:
        """End the process, whatever it does, and return how it ended."""
        self.process.kill()
        with self.process:  # closes both pipes and waits
            return self.process.wait()

    def _exchange(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Write a line and read one, with neither waiting for longer than this."""
        left, got = memoryview((json.dumps(job) + "\n").encode()), bytearray()
        end, waiting = time.monotonic() + seconds, select.poll()
        waiting.register(self._read, select.POLLIN)
        if left:
            waiting.register(self._write, select.POLLOUT)
        while not got.endswith(b"\n"):
            remaining = end - time.monotonic()
            if remaining <= 0:
                raise _Late
            for descriptor, _ in waiting.poll(remaining * 1000):
                if descriptor == self._read:
                    got += self._received()
                elif left := left[self._sent(left) :]:
                    continue
                else:
                    waiting.unregister(self._write)
        reply: dict[str, Any] = json.loads(got)
        if "missing" in reply:
            name = reply["missing"]
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return reply

    def _received(self) -> bytes:
        try:
            data = os.read(self._read, 1 << 16)
        except BlockingIOError:
            return b""
        if not data:
            raise _Died(self.process.wait())
        return data

    def _sent(self, data: memoryview) -> int:
        try:
            return os.write(self._write, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise _Died(self.process.wait()) from None


class _Slot:
    """A place for a worker, which starts when it is needed."""

    worker: _Worker | None = None

    def empty(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.stop()


class Pool:
    """Workers that answer questions side by side; any thread may ask, several at once."""

    def __init__(
        self,
        workers: int | None = None,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        graders: Mapping[str, str] = GRADERS,
    ) -> None:
        """Start nothing yet.

        Args:
            workers: how many at most, None for one per core.
            limits: what a question may cost.
            graders: for each kind of question ``module:function``, a function of gold and answer.
        """
        self.workers = workers or cores()
        self._limits, self._graders = limits, graders
        self._slots = [_Slot() for _ in range(self.workers)]
        self._free: queue.LifoQueue[_Slot] = queue.LifoQueue()
        for slot in self._slots:
            self._free.put(slot)

    def ask(
        self, questions: Sequence[Question], on_reply: Callable[[int, Reply], None] | None = None
    ) -> list[Reply]:
        """Return the replies, in the order of the questions.

        Args:
            questions: of any kinds; equal ones are asked as often as they come.
            on_reply: receives the place of a question and its reply as soon as that is there, from
                any thread but never from two at once.

        Raises:
            ModuleNotFoundError: a grader needs a package that is not installed.
        """
        asking = _Asking(questions, on_reply)
        count = min(self.workers, len(questions))
        threads = [
            threading.Thread(target=self._work, args=(asking,), daemon=True)
            for _ in range(count - 1)
        ]
        for thread in threads:
            thread.start()
        try:
            if questions:
                self._work(asking)
            for thread in threads:
                thread.join()
        except BaseException:  # Ctrl-C: what runs is not wanted any more
            asking.stop()
            self.close()
            for thread in threads:
                thread.join()
            raise
        return asking.result()

    def close(self) -> None:
        """Stop all workers; asking again starts new ones."""
        for slot in self._slots:
            slot.empty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _work(self, asking: "_Asking") -> None:
        slot = self._free.get()
        try:
            while (place := asking.next()) is not None:
                asking.put(place, self._reply(slot, place, asking))
        except Exception as error:
            asking.fail(error)
        finally:
            self._free.put(slot)

    def _reply(self, slot: _Slot, place: int, asking: "_Asking") -> Reply:
        """Ask until there is a reply: of a worker that ended unasked a second one is tried."""
        code = 0
        for _ in range(2):
            if asking.stopped:
                break
            worker = slot.worker = slot.worker or _Worker(self._limits, self._graders)
            try:
                reply = worker.ask(asking.questions[place])
            except _Late:
                slot.empty()
                return Reply("late", reason=f"no reply within {self._limits.deadline:g} s")
            except _Died as death:
                slot.empty()
                if death.code == -signal.SIGXCPU:
                    return Reply("exhausted")
                code = death.code
                continue
            if worker.grown:
                slot.empty()
            return reply
        return Reply("failed", reason=f"the worker ended twice, with {code}")


class _Asking:
    """What one call of ``ask`` shares between its threads."""

    def __init__(
        self, questions: Sequence[Question], on_reply: Callable[[int, Reply], None] | None
    ) -> None:
        self.questions = questions
        self._todo = deque(range(len(questions)))
        self._replies: list[Reply | None] = [None] * len(questions)
        self._on_reply, self._lock = on_reply, threading.Lock()
        self._error: Exception | None = None
        self.stopped = False

    def next(self) -> int | None:
        with contextlib.suppress(IndexError):
            return self._todo.popleft()
        return None

    def put(self, place: int, reply: Reply) -> None:
        with self._lock:
            self._replies[place] = reply
            if self._on_reply is not None:
                self._on_reply(place, reply)

    def fail(self, error: Exception) -> None:
        self._error = self._error or error
        self.stop()

    def stop(self) -> None:
        self.stopped = True
        self._todo.clear()

    def result(self) -> list[Reply]:
        if self._error is not None:
            raise self._error
        return [reply for reply in self._replies if reply is not None]


_shared: tuple[int, Pool] | None = None
_sharing = threading.Lock()


def shared() -> Pool:
    """Return the pool of this process, which ends with it; a forked process has its own."""
    global _shared
    with _sharing:
        if _shared is None or _shared[0] != os.getpid():
            pool = Pool()
            atexit.register(pool.close)
            _shared = os.getpid(), pool
        return _shared[1]
