"""One worker process, seen from the process that asks it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Final

from fgrpo_bench.grading.limits import Limits
from fgrpo_bench.grading.outcomes import Question, Reply
from fgrpo_bench.grading.worker import pack

IMPORTING: Final = 300.0  # seconds for a grader's import, from a slow disk on a busy machine
GROWTH: Final = 512 << 20  # bytes a worker may grow by before another takes its place
WORKER: Final = "fgrpo_bench.grading.worker"
ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Died(Exception):
    """A worker ended without an answer; the message says how."""


class Child:
    """A worker process and the socket to it, used by one thread at a time."""

    def __init__(self, limits: Limits, graders: Mapping[str, str]) -> None:
        """Start the process.

        Args:
            limits: of each question.
            graders: kinds and their ``module:function``.

        Raises:
            OSError: the system gives no more processes or files.
        """
        self._deadline = limits.deadline
        self._imported: set[str] = set()
        self._growth = 0
        setup = json.dumps([dict(graders), limits.cpu, limits.memory])
        # A socket, since it is written and read with a timeout; both ends close on exec.
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                theirs.setblocking(True)  # the worker's end, whatever default the program has set
                self._process = subprocess.Popen(
                    [sys.executable, "-m", WORKER, setup],
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "0"},
                    start_new_session=True,  # Ctrl-C reaches this process alone
                )
        except BaseException:
            self._socket.close()
            raise

    @property
    def fit(self) -> bool:
        """Whether it can take another question."""
        return self._process.returncode is None and self._growth <= GROWTH

    def ask(self, question: Question) -> Reply:
        """Ask a question and wait; the process has ended if it was late or exhausted hard.

        Raises:
            Died: the process ended, which may or may not be this question's doing.
        """
        kind, gold, answer, _ = question
        try:
            if kind not in self._imported:
                reply = self._exchange([kind], IMPORTING)
                if reply.status != "done":
                    return reply
                self._imported.add(kind)
            return self._exchange([kind, gold, answer], self._deadline)
        except TimeoutError:
            self.end()
            return Reply("late")
        except (OSError, EOFError, ValueError):  # gone, or not in its right mind
            code = self.end()
            if code == -signal.SIGXCPU:
                return Reply("exhausted")
            raise Died(_ending(code)) from None

    def kill(self) -> None:
        """Kill the process, from any thread; who uses it will find out."""
        self._process.kill()

    def end(self) -> int:
        """Kill the process if need be, wait for it, and return how it ended."""
        self._process.kill()
        self._socket.close()
        return self._process.wait()

    def disown(self) -> None:
        """Let go of the process without a word to it: it is the child of the process we left."""
        self._socket.close()
        self._process.returncode = 0

    def _exchange(self, message: list[str], seconds: float) -> Reply:
        until = time.monotonic() + seconds
        self._socket.settimeout(seconds)
        self._socket.sendall(pack(message))
        line = bytearray()
        while not line.endswith(b"\n"):
            # not 0, which would mean not to wait at all
            self._socket.settimeout(max(until - time.monotonic(), 1e-6))
            part = self._socket.recv(1 << 16)
            if not part:
                raise EOFError
            line += part
        *fields, self._growth = json.loads(line)
        return Reply(*fields)


def _ending(code: int) -> str:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the worker ended with {how}"
