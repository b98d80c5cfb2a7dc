"""Lines of JSON from somebody else's file, each with its number for messages."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fgrpo_bench.errors import fault


def read_lines(path: Path, again: str) -> Iterator[tuple[int, Any]]:
    """Yield number, from 1, and value of each line that is not blank.

    Args:
        path: the file, in UTF-8 with or without a byte order mark.
        again: what to do about a damaged line.

    Raises:
        UserError: a line that is no JSON.
    """
    with open(path, "rb") as stream:
        for line, raw in enumerate(stream, 1):
            try:
                text = raw.decode("utf-8-sig").strip()
                value = json.loads(text) if text else None
            except (ValueError, RecursionError):
                raise fault(path, f"damaged JSON; {again}", line) from None
            if text:
                yield line, value
