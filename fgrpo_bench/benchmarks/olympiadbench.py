"""OlympiadBench: gold answers as its rows give them, with repairs of those that are malformed."""

from typing import Any, Final

from fgrpo_bench.grading.mathematics.golds import Gold

# by the row's id: what the data print, and what they mean
REPAIRS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {"2349": ("$221,$8$", ("221", "8"))}


def gold(doc: dict[str, Any]) -> Gold:
    """Return the gold answer of a row: ``final_answer``, ``is_multiple_answer``, ``error``.

    >>> gold({"id": 2349, "final_answer": ["$221,$8$"], "is_multiple_answer": True}).parts
    ('221', '8')
    """
    answers = doc["final_answer"]
    texts = [answers] if isinstance(answers, str) else list(answers)
    printed, meant = REPAIRS.get(str(doc.get("id")), ("", ()))
    if texts == [printed]:
        return Gold(",".join(meant), meant)
    return Gold.from_list(texts, bool(doc.get("is_multiple_answer")), doc.get("error"))
