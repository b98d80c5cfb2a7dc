"""The address of a server and the words about it, without the credentials that either may hold."""

import base64
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from fgrpo_bench.errors import UserError

_MESSAGE: Final = 200


@dataclass(frozen=True)
class Server:
    """Where to ask, and with what to prove that one may.

    Attributes:
        url: without credentials; safe to show.
        query: of the address, sent with every request.
        headers: of every request, beside the key's own.
        key: for the server.
        secrets: what no message may hold.
    """

    url: str
    query: dict[str, str] = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    key: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def scrub(self, text: str) -> str:
        """Return a text without what is secret."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def line(self, text: str) -> str:
        """Return a server's words on one short line, without what is secret.

        >>> Server("http://x", {}, {}, "k", ("sk-1",)).line("no key\\n sk-1 here")
        'no key *** here'
        """
        words = "".join(c if c.isprintable() else " " for c in self.scrub(text)).split()
        whole = " ".join(words)
        return whole if len(whole) <= _MESSAGE else f"{whole[: _MESSAGE - 3]}..."


@contextmanager
def quiet(server: Server) -> Iterator[None]:
    """Keep what is secret out of the log of HTTP requests, which shows whole addresses."""

    def scrub(record: logging.LogRecord) -> bool:
        record.msg, record.args = server.scrub(record.getMessage()), ()
        return True

    logs = [logging.getLogger(name) for name in ("httpx", "httpx2")]
    for log in logs:
        log.addFilter(scrub)
    try:
        yield
    finally:
        for log in logs:
            log.removeFilter(scrub)


def parse(base_url: str) -> Server:
    """Read the address of an OpenAI-compatible server; the key is in ``OPENAI_API_KEY``.

    A name and password in the address become a header, so that no log of addresses has them.

    Raises:
        UserError: it is no address.
    """
    try:
        parts = urlsplit(base_url.strip())
        port, host = parts.port, parts.hostname
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise UserError("--base-url is no address: write it like http://localhost:8000/v1")
    shown = f"[{host}]" if ":" in host else host
    url = f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
    given = os.environ.get("OPENAI_API_KEY", "").strip()
    if not given.isascii() or not given.isprintable():
        raise UserError("OPENAI_API_KEY holds what no key can hold: set it again")
    query = dict(parse_qsl(parts.query))
    secrets = [given, *query.values(), parts.query]
    headers = {}
    if parts.username is not None or parts.password is not None:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        encoded = base64.b64encode(pair.encode()).decode()
        headers["Authorization"] = f"Basic {encoded}"
        secrets += [encoded, pair, parts.netloc.rpartition("@")[0]]
        secrets += [unquote(part) for part in (parts.username, parts.password) if part]
    longest_first = sorted(filter(None, secrets), key=len, reverse=True)
    return Server(url, query, headers, given or "none", tuple(longest_first))
