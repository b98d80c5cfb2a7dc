"""The process that grades: one question at a time, until the other end of its input closes.

Lines of JSON come in and go out. ``[kind]`` asks it to import a grader, ``[kind, gold, answer]``
to grade; a line of a ``Reply``'s fields answers, with the bytes by which the process has grown.
"""

import importlib
import json
import os
import select
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from fgrpo_bench.errors import quoted
from fgrpo_bench.grading import limits
from fgrpo_bench.grading.outcomes import Reply

GRADERS: Final[Mapping[str, str]] = {
    "math": "fgrpo_bench.grading.mathematics.compare:meets",
    "ifeval": "fgrpo_bench.grading.ifeval:meets",
}
Meets: TypeAlias = Callable[[str, str], tuple[bool, str | None]]


class _Desk:
    """The graders of this process, imported when they are first needed."""

    def __init__(self, graders: Mapping[str, str], cpu: float, memory: int) -> None:
        self._graders, self._cpu, self._memory = graders, cpu, memory
        self._imported: dict[str, Meets] = {}
        self._start = 0

    def answer(self, kind: str, *texts: str) -> Reply:
        """Do what a line asks for; graders do not fail this."""
        if not texts:
            return self._import(kind)
        gold, answer = texts
        meets = self._imported[kind]
        reply = limits.within(self._cpu, lambda: _grade(meets, gold, answer))
        return reply or Reply("exhausted")

    def growth(self) -> int:
        """Return the bytes that this process has grown by since it last imported a grader."""
        return limits.resident() - self._start

    def _import(self, kind: str) -> Reply:
        module, _, name = self._graders[kind].partition(":")
        limits.bound_memory(None)
        try:
            self._imported[kind] = getattr(importlib.import_module(module), name)
        except Exception as error:
            return Reply("failed", reason=_reason(error))
        limits.bound_memory(self._memory)
        self._start = limits.resident()
        return Reply("done")


def main() -> None:
    """Answer the lines of standard input on what is standard output at the start."""
    limits.prepare()
    questions, replies = os.dup(0), os.dup(1)
    # Whatever graders read and print is not part of the conversation, and may be any text.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdout = open(1, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    threading.Thread(target=_leave_with_parent, args=(questions,), daemon=True).start()
    desk = _Desk(*json.loads(sys.argv[1]))
    with open(questions, "rb") as lines, open(replies, "wb") as out:
        for line in lines:
            reply = desk.answer(*json.loads(line))
            out.write(pack([*reply, desk.growth()]))
            out.flush()


def pack(value: Any) -> bytes:
    r"""Return a value as one line of JSON that gives back any text, lone surrogates too.

    >>> json.loads(pack(["two\nlines", "\ud83d", "\ud83d\ude00"]))
    ['two\nlines', '\ud83d', '\ud83d\ude00']
    """
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _grade(meets: Meets, gold: str, answer: str) -> Reply:
    try:
        right, detail = meets(gold, answer)
    except (MemoryError, RecursionError):
        return Reply("exhausted")
    except Exception as error:
        return Reply("failed", reason=_reason(error))
    return Reply("done", bool(right), detail)


def _reason(error: Exception) -> str:
    name = type(error).__name__
    try:
        return f"{name}: {quoted(str(error))}"
    except Exception:  # it quotes something that cannot be printed
        return name


def _leave_with_parent(questions: int) -> None:
    """Wait until nobody is left to ask, then stop, in the midst of a question too."""
    poll = select.poll()
    poll.register(questions, 0)  # nothing but the hang-up; what there is to read is not for us
    poll.poll()
    os._exit(0)


if __name__ == "__main__":
    main()
