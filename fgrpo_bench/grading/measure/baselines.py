"""Other graders to measure beside ours: math-verify as it is mostly called, and TRL's reward.

They run in processes of their own, since no time limit of theirs stops every computation.
"""

import logging
import multiprocessing
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from fgrpo_bench.grading.measure.cases import Case, Grade
from fgrpo_bench.grading.outcomes import Outcome

Pair: TypeAlias = tuple[str, str]
Judge: TypeAlias = Callable[[str, str], Outcome]

CHUNK: Final = 25
SECONDS: Final = 300.0  # for a chunk; far above what real rows take
_DOLLAR: Final = re.compile(r"(?<!\\)\$")


def bare(gold: str, response: str) -> Outcome:
    """Compare by math-verify, with the gold as the data print it."""
    return _verified(gold, response)


def wrapped(gold: str, response: str) -> Outcome:
    """Compare by math-verify, with the gold in dollar signs, as its own examples have it."""
    return _verified(gold if _DOLLAR.search(gold) else f"${gold}$", response)


def trl(gold: str, response: str) -> Outcome:
    """Reward by TRL's ``accuracy_reward``, with the gold as the data print it."""
    from trl.rewards.accuracy_rewards import accuracy_reward

    (reward,) = accuracy_reward([[{"role": "assistant", "content": response}]], [gold])
    return "grader_error" if reward is None else _outcome(reward == 1.0)


BASELINES: Final[dict[str, Judge]] = {
    "math-verify, bare gold": bare,
    "math-verify, wrapped gold": wrapped,
    "TRL accuracy_reward": trl,
}


def baseline(name: str) -> Grade:
    """Return one of the baselines as a grader under test."""

    def grade(cases: Sequence[Case]) -> list[Outcome]:
        pairs = [(case.row.gold, case.response) for case in cases]
        chunks = [pairs[place : place + CHUNK] for place in range(0, len(pairs), CHUNK)]
        return [outcome for chunk in _in_processes(name, chunks) for outcome in chunk]

    return grade


def _in_processes(name: str, chunks: list[list[Pair]]) -> list[list[Outcome]]:
    """Judge chunks side by side; one that does not end is a grader error of all its pairs."""
    context = multiprocessing.get_context("spawn")
    done: list[list[Outcome]] = []
    while len(done) < len(chunks):
        left = [(name, chunk) for chunk in chunks[len(done) :]]
        with context.Pool(os.cpu_count(), initializer=_quiet) as pool:  # its end kills workers
            results = pool.imap(_judge, left)
            try:
                for _ in left:
                    done.append(results.next(timeout=SECONDS))  # noqa: PERF401
            except multiprocessing.TimeoutError:
                done.append(["grader_error"] * len(chunks[len(done)]))
    return done


def _quiet() -> None:
    logging.disable(logging.ERROR)


def _judge(job: tuple[str, list[Pair]]) -> list[Outcome]:
    name, pairs = job
    return [_safely(BASELINES[name], *pair) for pair in pairs]


def _safely(judge: Judge, gold: str, response: str) -> Outcome:
    try:
        return judge(gold, response)
    except ModuleNotFoundError:
        raise
    except Exception:  # whatever a grader raises is its fault, and is counted
        return "grader_error"


def _verified(gold: str, response: str) -> Outcome:
    from math_verify import parse, verify

    parsed: list[Any] = parse(gold)
    return _outcome(verify(parsed, parse(response)))


def _outcome(right: bool) -> Outcome:
    return "correct" if right else "wrong"
