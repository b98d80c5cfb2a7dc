"""What an answer may cost, and how a worker process holds its graders to it.

Graders read hostile text. Inside the process an alarm ends what takes too long; where it cannot,
in one long call into C or in code that catches everything, the kernel ends the process.
"""

import contextlib
import math
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

T = TypeVar("T")

AGAIN: Final = 0.1  # CPU seconds until the alarm goes off again in code that caught it
GRACE: Final = 1.0  # CPU seconds from the alarm to the kernel's kill, which counts in whole seconds


@dataclass(frozen=True)
class Limits:
    """The limits of a question.

    Attributes:
        cpu: seconds of processor time.
        memory: bytes of address space on top of what the grader takes once it is imported.
        deadline: seconds by the clock of the process that asks, a help against sleepers alone.
    """

    cpu: float = 5.0
    memory: int = 2 << 30
    deadline: float = 60.0


class OutOfTime(BaseException):
    """The alarm; not an ``Exception``, since graders catch those."""


class _Alarm:
    """The state of the alarm, which the signal's handler sees."""

    armed = False
    fired = False


def prepare() -> None:
    """Let signals mean here what the functions below need, whatever the parent did to them."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    signal.signal(signal.SIGPROF, _ring)
    _bound(resource.RLIMIT_CORE, 0)


def within(cpu: float, work: Callable[[], T]) -> T | None:
    """Return what ``work`` returns, or None if it used up its processor time.

    None too if it caught the alarm and came to a result: that may be the alarm's doing. Where the
    alarm does not reach, the process ends with SIGXCPU a second or two later.

    Args:
        cpu: seconds.
        work: called in the main thread.
    """
    _bound(resource.RLIMIT_CPU, math.ceil(time.process_time() + cpu + GRACE))
    _Alarm.fired = False
    result = None
    try:
        signal.setitimer(signal.ITIMER_PROF, cpu, AGAIN)
        _Alarm.armed = True
        result = work()
    except OutOfTime:
        pass
    finally:
        _Alarm.armed = False  # first, as a call could let the alarm through
        signal.setitimer(signal.ITIMER_PROF, 0)
        _bound(resource.RLIMIT_CPU, resource.RLIM_INFINITY)
    return None if _Alarm.fired else result


def bound_memory(extra: int | None) -> None:
    """Bound the address space to what is in use and ``extra`` bytes, or lift the bound."""
    most = resource.RLIM_INFINITY if extra is None else _size(0) + extra
    _bound(resource.RLIMIT_AS, most)


def resident() -> int:
    """Return the bytes of this process that are in memory, 0 where the system does not tell.

    Not the peak that ``getrusage`` knows: a child begins with its parent's.
    """
    return _size(1)


def _size(field: int) -> int:
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _ring(*_: Any) -> None:
    if _Alarm.armed:
        _Alarm.fired = True
        raise OutOfTime


def _bound(which: int, most: int) -> None:
    """Set a soft limit, as far as the hard one and the platform let us."""
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        most = hard if most == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(which, (most, hard))
