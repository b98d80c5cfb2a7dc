r"""The last complete ``\boxed{...}`` of a response, found by counting braces."""

import re
from typing import Final

# a run of backslashes is one token, so that any text takes one pass
_TOKEN: Final = re.compile(r"(?P<slashes>\\+)(?P<box>boxed\s*\{)?|[{}]")


def last_boxed(text: str) -> str | None:
    r"""Return what is inside the last ``\boxed{...}`` whose braces balance, or None.

    Of nested boxes it is the inner one. Escaped braces are text. A doubled backslash before the
    box is taken for a slip of escaping: no line break stands there.

    >>> last_boxed(r"first \boxed{1}, then \boxed{\frac{1}{2}} and \boxed{3")
    '\\frac{1}{2}'
    >>> last_boxed(r"\boxed{\left\{1, 2\right.}")
    '\\left\\{1, 2\\right.'
    >>> last_boxed("the answer is 5") is None
    True
    """
    opened: list[int | None] = []  # where a box's content begins, None for any other brace
    begin, end, escaped = -1, -1, -1
    for token in _TOKEN.finditer(text):
        if token["box"]:
            opened.append(token.end())
        elif token["slashes"]:
            escaped = token.end() if len(token["slashes"]) % 2 else -1
        elif token.start() == escaped:
            continue
        elif token[0] == "{":
            opened.append(None)
        elif opened:
            start = opened.pop()
            if start is not None and start > begin:
                begin, end = start, token.start()
    return None if begin < 0 else text[begin:end]
