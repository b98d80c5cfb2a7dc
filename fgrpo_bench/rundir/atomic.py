"""Writes that are there whole or not at all, even when the process is killed in the middle."""

import contextlib
import json
import os
from pathlib import Path


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file under a temporary name, flush it to disk, and rename it into place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_directory(path.parent)


def write_json(path: Path, value: object) -> None:
    """Write JSON atomically: indented, keys in the order given, equal bytes for equal values."""
    write_bytes(path, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode())


def sync_directory(path: Path) -> None:
    """Flush a directory, so that a rename in it survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
