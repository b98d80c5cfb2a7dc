"""What one question may cost a worker, and how the worker itself sees to it.

An alarm on processor time ends Python code; the kernel's own limit, a little later, ends what no
alarm can, such as one huge power. Both count work done, so that a busy machine changes no verdict.
"""

import contextlib
import math
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

_AGAIN: Final = 0.5  # seconds after which the alarm repeats: a grader may have swallowed it
_GRACE: Final = 2.0  # seconds between the alarm and the kernel's limit


@dataclass(frozen=True)
class Limits:
    """What one question may cost.

    Attributes:
        cpu: seconds of the processor, counted inside.
        memory: bytes beyond what the loaded grader has.
        deadline: seconds on the clock, counted outside; generous, since the machine may be busy.
        loading: seconds on the clock for a worker to start and import its grader.
    """

    cpu: float = 5.0
    memory: int = 2 << 30
    deadline: float = 60.0
    loading: float = 300.0


class Exhausted(BaseException):
    """The time of the processor is used up; no ``except Exception`` of a grader takes it."""


def reset_signals() -> None:
    """Leave Ctrl-C to the parent, and take back what it may have set for itself."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(name, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, _exhaust)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def confine(memory: int) -> None:
    """Allow this process so many bytes beyond what it has now, where the platform can."""
    import resource

    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + memory
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


@contextlib.contextmanager
def limited(cpu: float) -> Iterator[None]:
    """Give what is inside so many seconds of the processor.

    Raises:
        Exhausted: they are used up, and Python code was running.
    """
    import resource

    spent = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(spent.ru_utime + spent.ru_stime + cpu + _GRACE)
    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
    try:
        signal.setitimer(signal.ITIMER_PROF, cpu, _AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def peak_memory() -> int:
    """Return the most bytes of memory that this process ever held."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _exhaust(signum: int, frame: FrameType | None) -> None:
    raise Exhausted
