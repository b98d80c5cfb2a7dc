"""IFEval: whether a response follows every instruction of its prompt, by lm-eval's own checkers."""

import contextlib
import io
import logging
from functools import cache
from typing import Any

from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.sampling.engines.base import Finish


def grade(doc: dict[str, Any], response: str, finish: Finish) -> Verdict:
    """Grade a response strictly, prompt by prompt (arXiv 2311.07911, section 2).

    A response cut off by the length limit is judged as it is; if it fails it is truncated.

    Args:
        doc: a row of the data: ``key``, ``prompt``, ``instruction_id_list``, ``kwargs``.
        response: what the model wrote.
        finish: ``length`` if it ran into the limit.

    Raises:
        LookupError: NLTK's data for splitting sentences are not there.
    """
    checkers = _checkers()
    if not response.strip():
        return Verdict("truncated" if finish == "length" else "no_answer", None)
    row = checkers.InputExample(
        **{name: doc[name] for name in ("key", "prompt", "instruction_id_list", "kwargs")}
    )
    try:
        followed = checkers.test_instruction_following_strict(row, response)
    except LookupError as error:
        if "punkt" in str(error):
            _advise()
        raise
    if followed.follow_all_instructions:
        return Verdict("correct", None)
    return Verdict("truncated" if finish == "length" else "wrong", None)


@cache
def _checkers() -> Any:
    import nltk
    from langdetect import DetectorFactory

    # the checkers' import would download NLTK's data unasked, in every process that grades
    download, nltk.download = nltk.download, lambda *_: False
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            from lm_eval.tasks.ifeval import utils
    finally:
        nltk.download = download
    DetectorFactory.seed = 0  # unseeded, a text's language changes from call to call
    return utils


@cache
def _advise() -> None:
    logging.getLogger(__name__).warning(
        "ifeval: some instructions count sentences and could not be checked without NLTK's data: "
        "run python -m nltk.downloader punkt_tab and grade again"
    )
