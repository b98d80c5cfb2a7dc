"""Verdicts that outlive the process: what was decided once is not computed again.

Only hashes of gold answers and answers are kept, no texts: some of them may not be passed on.
"""

import contextlib
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final

from fgrpo_bench.errors import shown
from fgrpo_bench.grading.outcomes import Question, Reply
from fgrpo_bench.rundir.cache_folder import cache_folder

_LASTING: Final = ("done", "exhausted")  # what would come out the same on any day
_TOGETHER: Final = 500  # keys of one query
_WAIT: Final = 30.0  # seconds for another process to finish writing
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS verdicts "
    "(key BLOB PRIMARY KEY, status TEXT NOT NULL, right INTEGER NOT NULL, detail TEXT)"
    "WITHOUT ROWID"
)


def key_of(question: Question, version: str) -> bytes:
    """Return the hash that identifies a decision.

    Args:
        question: what was asked.
        version: of everything that decides it.
    """
    parts = [question.kind, question.gold, question.answer, version]
    return blake2b(json.dumps(parts).encode(), digest_size=16).digest()


class VerdictCache:
    """A file of decisions, shared by processes and threads; without it all goes on, slower."""

    def __init__(self, path: Path) -> None:
        """Open the file, or begin it.

        Args:
            path: of the file; what is no such file is set aside.
        """
        self._path, self._lock = path, threading.Lock()
        self._base: sqlite3.Connection | None = None
        self._owner = 0
        self._broken = False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """Return the decisions that are known."""
        known: dict[bytes, Reply] = {}
        with self._open() as base:
            if base is None:
                return known
            for batch in _batches(keys):
                marks = ",".join("?" * len(batch))
                query = f"SELECT key, status, right, detail FROM verdicts WHERE key IN ({marks})"
                for key, status, right, detail in base.execute(query, batch):
                    known[key] = Reply(status, bool(right), detail)
        return known

    def put(self, replies: Iterable[tuple[bytes, Reply]]) -> None:
        """Keep decisions; a reply that another day may change is not kept."""
        rows = [
            (key, reply.status, reply.right, reply.detail)
            for key, reply in replies
            if reply.status in _LASTING
        ]
        with self._open() as base:
            if base is not None and rows:
                base.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?)", rows)
                base.commit()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._base is not None and self._owner == os.getpid():
                self._base.close()
            self._base = None

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        """Give the connection of this process, or None; a fault of the file ends its use."""
        with self._lock:
            try:
                if self._base is None or self._owner != os.getpid():
                    self._base = None if self._broken else self._connected()
                    self._owner = os.getpid()
                yield self._base
            except (sqlite3.Error, OSError) as error:
                self._broken, self._base = True, None
                logging.getLogger(__name__).warning(
                    "%s: verdicts are not kept (%s)", shown(self._path), error
                )

    def _connected(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _connect(self._path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # locked, or not to be written
                raise
            os.replace(self._path, self._path.with_suffix(".damaged"))
            logging.getLogger(__name__).warning(
                "%s is damaged: set aside as .damaged, and begun anew", shown(self._path)
            )
            return _connect(self._path)


def _connect(path: Path) -> sqlite3.Connection:
    base = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False)
    try:
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=NORMAL")
        base.execute(_TABLE)
        base.commit()
    except BaseException:
        base.close()
        raise
    return base


def _batches(keys: Sequence[bytes]) -> Iterator[list[bytes]]:
    left = iter(keys)
    while batch := list(islice(left, _TOGETHER)):
        yield batch


def default_path() -> Path:
    """Return where verdicts are kept."""
    return cache_folder() / "verdicts.sqlite"
