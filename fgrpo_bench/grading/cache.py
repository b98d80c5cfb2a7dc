"""Decisions of graders that outlast a command, without the texts they are about."""

import contextlib
import hashlib
import logging
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from fgrpo_bench.errors import quoted, shown
from fgrpo_bench.grading.outcomes import Question, Reply
from fgrpo_bench.rundir.cache_folder import cache_folder

OURS: Final = 0x46475631  # SQLite's application id: "FGV1", the layout's version with it
PATIENCE: Final = 30.0  # seconds to wait for another process that writes
AT_ONCE: Final = 500  # keys in one query; old SQLite takes 999
LAYOUT: Final = (
    "CREATE TABLE verdicts (key BLOB PRIMARY KEY CHECK (length(key) = 16),"
    " status TEXT NOT NULL CHECK (status IN ('done', 'exhausted')),"
    " correct INTEGER NOT NULL CHECK (correct IN (0, 1)), detail BLOB) WITHOUT ROWID"
)


def default_path() -> Path:
    """Return where the cache of this user lies."""
    return cache_folder() / "verdicts.sqlite"


def key(question: Question, version: str) -> bytes:
    """Return 16 bytes that stand for a question to a version of its grader."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (question.kind, question.gold, question.answer, version):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()


class VerdictCache:
    """Replies by key in an SQLite file that threads and processes share.

    A file that cannot be used is left alone, with one warning, and nothing is kept.
    """

    def __init__(self, path: Path) -> None:
        """Open nothing yet.

        Args:
            path: of the file, made with its folders when it is needed.
        """
        self._path = path
        self._usable = True
        self._lock = threading.Lock()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """Return the replies that are known, by key."""
        found: dict[bytes, Reply] = {}
        with self._tolerant(), self._open() as database:
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, status, correct, detail FROM verdicts WHERE key IN ({marks})"
                for name, status, correct, detail in database.execute(query, some):
                    text = None if detail is None else detail.decode("utf-8", "surrogatepass")
                    found[name] = Reply(status, bool(correct), text)
        return found

    def put(self, replies: Mapping[bytes, Reply]) -> None:
        """Keep what was decided; late and failed replies are not, as they may not come again."""
        rows = [
            (name, reply.status, reply.right, _bytes(reply.detail))
            for name, reply in replies.items()
            if reply.status in ("done", "exhausted")
        ]
        with self._tolerant(), self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?)", rows)
            database.execute("COMMIT")

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Let no fault of the file out; the first one is told and ends its use."""
        try:
            yield
        except _Unusable:
            pass
        except (sqlite3.Error, OSError, ValueError) as error:
            with self._lock:
                first, self._usable = self._usable, False
            if first:
                logging.getLogger(__name__).warning(
                    "verdicts are not kept: %s: %s", shown(self._path), quoted(str(error))
                )

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Connect for one batch; a lasting connection would tie us to a thread and a process.

        The journal is SQLite's plain one: its faster one breaks on the network disks of clusters.
        """
        if not self._usable:
            raise _Unusable
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)
        with contextlib.closing(connection) as database:
            if _owner(database) != OURS:
                _lay_out(database)
            yield database


class _Unusable(Exception):
    """The file was found unusable before."""


def _bytes(text: str | None) -> bytes | None:
    """Encode any text, which SQLite's own type does not take."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _owner(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA application_id").fetchone()[0])


def _lay_out(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    if _owner(database) != OURS:  # another process may have been faster
        if database.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            raise sqlite3.DatabaseError("the file belongs to another program")
        database.execute(LAYOUT)
        database.execute(f"PRAGMA application_id = {OURS}")
    database.execute("COMMIT")
