"""GPQA: four choices in an order that belongs to the question, and the letter of the right one.

An order that changed between samples of a problem would mix several problems into one, and pass@k
of such samples means nothing.
"""

from hashlib import sha256
from typing import Any, Final

LETTERS: Final = "ABCD"
CHOICES: Final = (
    "Correct Answer",
    "Incorrect Answer 1",
    "Incorrect Answer 2",
    "Incorrect Answer 3",
)


def order(question: str) -> list[int]:
    """Return which of ``CHOICES`` stands at A, B, C and D: by a hash of the question.

    >>> order("Which way is up?")
    [0, 2, 1, 3]
    """

    def key(place: int) -> bytes:
        return sha256(f"gpqa/{place}/{question.strip()}".encode()).digest()

    return sorted(range(len(CHOICES)), key=key)


def prompt(doc: dict[str, Any]) -> str:
    """Return the question with its four lettered choices."""
    places = order(doc["Question"])
    lines = [
        f"{letter}. {doc[CHOICES[place]].strip()}"
        for letter, place in zip(LETTERS, places, strict=True)
    ]
    ask = "Your final answer is the letter of the right choice: A, B, C or D."
    return "\n\n".join((doc["Question"].strip(), "\n".join(lines), ask))


def right_letter(doc: dict[str, Any]) -> str:
    """Return the letter of the right choice."""
    return LETTERS[order(doc["Question"]).index(0)]
