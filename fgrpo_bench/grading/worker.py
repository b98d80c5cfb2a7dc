"""A worker process of ``pool``: it answers one question at a time, a line of JSON for a line.

Nobody watches a worker whose parent was killed: when its question is answered, or its time of the
processor used up, it finds its input closed and ends.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from fgrpo_bench.grading.limits import Exhausted, confine, limited, peak_memory, reset_signals

Meets: TypeAlias = Callable[[str, str], tuple[bool, str | None]]
_REASON = 200  # characters of an error's message


def main() -> None:
    """Answer the questions of standard input on what was standard output, until that closes."""
    settings = json.loads(sys.argv[1])
    reset_signals()
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints goes elsewhere
    graders: dict[str, Meets] = {}
    for line in sys.stdin.buffer:
        job = json.loads(line)
        if "load" in job:
            reply = _load(job["load"], settings["graders"], graders)
            confine(settings["memory"])
        else:
            reply = _answer(graders[job["kind"]], job["gold"], job["answer"], settings["cpu"])
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


def _load(kind: str, places: dict[str, str], graders: dict[str, Meets]) -> dict[str, Any]:
    """Import a grader, which takes as long as it takes."""
    module, _, function = places[kind].partition(":")
    try:
        graders[kind] = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        return {"missing": error.name}
    except Exception as error:
        return {"status": "failed", "reason": _described(error)}
    return {"status": "loaded"}


def _answer(meets: Meets, gold: str, answer: str, cpu: float) -> dict[str, Any]:
    try:
        with limited(cpu):
            right, detail = meets(gold, answer)
        reply = {"status": "done", "right": bool(right), "detail": detail}
    except (Exhausted, MemoryError, RecursionError):
        reply = {"status": "exhausted"}
    except ModuleNotFoundError as error:
        reply = {"missing": error.name}
    except Exception as error:
        reply = {"status": "failed", "reason": _described(error)}
    return {**reply, "memory": peak_memory()}


def _described(error: Exception) -> str:
    """Return an error on one line; its arguments are shown if they are texts, never computed."""
    words = [argument for argument in error.args if isinstance(argument, str)]
    return f"{type(error).__name__}: {' '.join(' '.join(words).split())}"[:_REASON]


if __name__ == "__main__":
    main()
