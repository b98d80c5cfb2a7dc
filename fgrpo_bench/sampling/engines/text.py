"""A response as it grows: whole characters only, and where a stop text begins."""

from collections.abc import Sequence
from typing import Any, Final

_CONTEXT: Final = 5  # tokens before a response that decide how its first one is written
_PENDING: Final = 8  # a character has at most four tokens: more that do not add up are garbage
_BROKEN: Final = "\N{REPLACEMENT CHARACTER}"


class Growing:
    """The text of one response, decoded as its tokens come.

    Only the newest tokens are decoded, behind a few older ones: tokenizers write a first word
    without the space that it has inside a text. A character that spans tokens waits for its end.

    Attributes:
        text: what is settled.
        tokens: how many have come.
    """

    def __init__(self, tokenizer: Any, prompt: Sequence[int], stop: Sequence[str]) -> None:
        self.text = ""
        self.tokens = 0
        self._tokenizer = tokenizer
        self._stop = [text for text in stop if text]
        self._reach = max(map(len, self._stop), default=1) - 1
        self._old = list(prompt[-_CONTEXT:])
        self._new: list[int] = []

    def add(self, token: int) -> bool:
        """Take one more token; return True where a stop text is complete, and cut it off."""
        self.tokens += 1
        self._new.append(token)
        before, both = self._decode(self._old), self._decode([*self._old, *self._new])
        whole = not both.endswith(_BROKEN) or len(self._new) > _PENDING
        if len(both) <= len(before) or not whole:
            return False
        self._old, self._new = self._new, []
        return self._settle(both[len(before) :])

    def end(self) -> str:
        """Return the whole text; like vLLM, without a last character that never became whole."""
        before, both = self._decode(self._old), self._decode([*self._old, *self._new])
        self._new = []
        self._settle(both[len(before) :].rstrip(_BROKEN))
        return self.text

    def _settle(self, more: str) -> bool:
        start = max(len(self.text) - self._reach, 0)
        self.text += more
        found = [at for stop in self._stop if (at := self.text.find(stop, start)) >= 0]
        if found:
            self.text = self.text[: min(found)]
        return bool(found)

    def _decode(self, tokens: list[int]) -> str:
        # cleaning would take the space before a comma, which the model wrote
        clean = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        return str(self._tokenizer.decode(tokens, **clean))
