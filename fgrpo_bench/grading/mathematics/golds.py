"""Gold answers of mathematics, brought into the form in which they are compared."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from fgrpo_bench.grading.mathematics.texts import split, tidy


@dataclass(frozen=True)
class Gold:
    r"""What is right for a problem of mathematics.

    Attributes:
        text: all of it, tidy.
        parts: each answer that is asked for, such as ``("11", "13")``; most have one.
        error: tolerance in absolute value, or None for exact answers.
    """

    text: str
    parts: tuple[str, ...]
    error: float | None = None

    def to_json(self) -> str:
        """Return it as text, for a question to a worker."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote."""
        value = json.loads(text)
        return cls(value["text"], tuple(value["parts"]), value["error"])

    @classmethod
    def from_text(cls, text: str) -> Self:
        r"""Read an answer as data sets print it: a number, LaTeX, or several with commas.

        >>> Gold.from_text("58,500").parts, Gold.from_text("1331 and 1728").parts
        (('58500',), ('1331', '1728'))
        >>> Gold.from_text("np.arcsin(10/13)").parts
        ('\\arcsin(10/13)',)
        """
        text = tidy(text)
        return cls(text, tuple(split(text)))

    @classmethod
    def from_list(cls, texts: Sequence[str], several: bool, error: str | None = None) -> Self:
        r"""Read answers as OlympiadBench prints them.

        Args:
            texts: LaTeX between dollar signs, or plain.
            several: whether they are more answers than one, so that no comma joins thousands.
            error: tolerance, or None.

        >>> Gold.from_list(["$69$,$84$"], several=True).parts
        ('69', '84')
        """
        parts = tuple(part for text in texts for part in split(tidy(text), thousands=not several))
        return cls(tidy(",".join(texts)), parts, float(error) if error else None)
