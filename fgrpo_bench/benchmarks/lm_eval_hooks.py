"""What the lm-eval files under ``tasks/`` refer to by name, for plain lm-eval and our loader alike.

lm-eval calls these with rows and responses; the work is done by the registry. It does not say how
a response ended, so a response that was cut off is graded like one that was not.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from fgrpo_bench.benchmarks import gpqa
from fgrpo_bench.benchmarks.arith import generate
from fgrpo_bench.benchmarks.registry import BENCHMARKS

Grade: TypeAlias = Callable[[dict[str, Any], Sequence[Sequence[str]]], dict[str, list[int]]]

gpqa_prompt = gpqa.prompt
gpqa_letter = gpqa.right_letter


def arith_rows(**_: Any) -> dict[str, Any]:
    """Return the split ``test`` of arith; the metadata that lm-eval passes decide nothing."""
    from datasets import Dataset

    return {"test": Dataset.from_list(generate())}


def all_responses(responses: Iterable[list[str]], _: Any) -> Iterable[list[str]]:
    """Keep every response: without a filter lm-eval drops all but the first of each problem."""
    return responses


def share_right(verdicts: Sequence[Sequence[int]]) -> float:
    """Return the mean over problems of the share of right responses.

    >>> share_right([[1, 0], [1, 1]])
    0.75
    """
    return sum(sum(each) / len(each) for each in verdicts) / len(verdicts)


def _grade(name: str) -> Grade:
    """Return the function that gives each response of a problem its verdict, 1 for right.

    A list and no mean: of a mean one cannot tell over how many responses it was taken.
    """

    def grade(doc: dict[str, Any], results: Sequence[Sequence[str]]) -> dict[str, list[int]]:
        (responses,) = results
        verdicts = BENCHMARKS[name].grade([(doc, response, "stop") for response in responses])
        return {"correct": [int(verdict.outcome == "correct") for verdict in verdicts]}

    return grade


def __getattr__(name: str) -> Grade:
    """Offer a function of each benchmark's name, for ``process_results``."""
    if name not in BENCHMARKS:
        raise AttributeError(f"no benchmark {name}")
    return _grade(name)
