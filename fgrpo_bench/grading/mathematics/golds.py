"""Gold answers of mathematics, brought into the form in which they are compared."""

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True)
class Gold:
    r"""What is right for a problem of mathematics.

    Attributes:
        parts: LaTeX of each answer that is asked for, such as ``("11", "13")``; most have one.
        error: tolerance in absolute value, or None for exact answers.
    """

    parts: tuple[str, ...]
    error: float | None = None

    def to_json(self) -> str:
        """Return it as text, for a question to a worker."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote."""
        value = json.loads(text)
        return cls(tuple(value["parts"]), value["error"])
