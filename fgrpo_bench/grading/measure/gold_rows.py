"""Where the rows of a benchmark of mathematics keep their gold answers, and how these are made up.

This is the oracle of the accuracy measurement: on purpose it shares nothing with the grader.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fgrpo_bench.grading.measure.notations import split
from fgrpo_bench.jsonl import read_lines

FILES: Final = {
    "math500": ("math500.jsonl",),
    "minerva": ("minerva_math.jsonl", "minerva.jsonl"),
    "olympiadbench": ("olympiadbench.jsonl",),
}
MALFORMED: Final = {("olympiadbench", "2349"): r"221,8"}
_DOLLAR: Final = re.compile(r"(?<!\\)\$")
_SET: Final = re.compile(r"\\\{(.*)\\\}", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """A row whose answers are measured.

    Attributes:
        benchmark: name of the benchmark.
        notation: ``aime`` or ``amc`` for integers made here in its notation, else empty.
        id: of the row.
        doc: the row as the data have it.
        gold: the gold answer as it is printed.
        parts: of the gold, each answer that is asked for, without outer dollar signs.
        unit: that the row names beside its gold, or None.
    """

    benchmark: str
    id: str
    doc: dict[str, Any] = field(repr=False, hash=False, compare=False)
    gold: str
    parts: tuple[str, ...]
    unit: str | None = None
    notation: str = ""

    @property
    def group(self) -> str:
        """Under what it is counted."""
        return f"{self.notation} (notation)" if self.notation else self.benchmark


def parts_of(gold: str) -> tuple[str, ...]:
    r"""Return the answers that a gold answer asks for.

    >>> parts_of("$69$,$84$"), parts_of(r"\{1\pm\sqrt{5},-2\}"), parts_of("58,500")
    (('69', '84'), ('1\\pm\\sqrt{5}', '-2'), ('58,500',))
    """
    text = _DOLLAR.sub("", gold).strip().removesuffix(".").strip()
    if braces := _SET.fullmatch(text):
        text = braces[1]
    return (text,) if "where" in text else split(text)


def find_rows(folder: Path) -> dict[str, list[Row]]:
    """Return the rows of each benchmark that has a file in the folder."""
    found = {}
    for name, files in FILES.items():
        for path in (folder / file for file in files):
            if path.is_file():
                found[name] = list(_read(name, path))
                break
    return found


def _read(name: str, path: Path) -> Iterator[Row]:
    for index, (_, doc) in enumerate(read_lines(path, "copy the file again")):
        if name == "olympiadbench":
            gold, unit, key = ",".join(doc["final_answer"]), doc.get("unit"), str(doc["id"])
        else:
            gold, unit, key = doc["answer"], None, str(doc.get("unique_id", index))
        parts = parts_of(MALFORMED.get((name, key), gold))
        yield Row(name, key, doc, gold, parts, _DOLLAR.sub("", unit) if unit else None)


def notation_rows() -> list[Row]:
    """Return the integers from 0 to 999 as AIME prints its answers, and as AMC does."""
    rows = []
    for notation, benchmark, printed in (("aime", "aime24", "{:03d}"), ("amc", "amc23", "{}.0")):
        for number in range(1000):
            gold = printed.format(number)
            doc = {"id": number, "answer": gold}
            rows.append(Row(benchmark, str(number), doc, gold, (gold,), None, notation))
    return rows
