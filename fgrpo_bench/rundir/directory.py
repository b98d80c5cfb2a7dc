"""A run's directory: who may write there, what is done, and how an interrupted run goes on."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from fgrpo_bench.errors import UserError
from fgrpo_bench.rundir.atomic import write_bytes, write_json

State = Literal["new", "started", "finished"]


def inspect(
    directory: Path,
    config: dict[str, Any],
    complete: Callable[[dict[str, Any]], dict[str, Any]] = lambda there: there,
    remedy: str = "use --force to start over, or another --out",
) -> State:
    """Return how far the run with this configuration got here.

    Args:
        directory: the place.
        config: the configuration.
        complete: adds to what is there the defaults of keys that are younger.
        remedy: what to do about another configuration or a damaged one.

    Raises:
        UserError: the place holds another configuration, or something that is no run.
    """
    try:
        there = json.loads((directory / "config.json").read_text("utf-8"))
    except FileNotFoundError:
        if directory.is_dir() and any(not _early(p.name) for p in directory.iterdir()):
            raise UserError(
                f"{directory} holds other files and no config.json, so it is not a run; "
                "choose another --out"
            ) from None
        return "new"
    except NotADirectoryError:
        raise UserError(
            f"{directory} cannot be made: a file is in the way; choose another --out"
        ) from None
    except (OSError, ValueError):
        raise UserError(f"{directory}/config.json cannot be read; {remedy}") from None
    if isinstance(there, dict):
        there = complete(there)
    if there != config:
        keys = ", ".join(differing_keys(there, config))
        raise UserError(
            f"{directory} holds a run with another configuration ({keys} differ): {remedy}"
        )
    return "finished" if (directory / "results.json").exists() else "started"


def _early(name: str) -> bool:
    """Whether a file may lie in a run directory before ``config.json`` does."""
    brought = name == "samples"  # of an evaluation's parts, from other machines
    return brought or name.startswith(("lock", "worker-")) or name.endswith(".tmp")


def differing_keys(there: Any, ours: Any, prefix: str = "") -> list[str]:
    """Return the names of what differs between two nested records.

    >>> differing_keys({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2})
    ['a.b']
    """
    if not isinstance(there, dict) or not isinstance(ours, dict):
        return [prefix.rstrip(".") or "its form"] if there != ours else []
    return [
        key
        for name in sorted(there.keys() | ours.keys())
        for key in differing_keys(there.get(name), ours.get(name), f"{prefix}{name}.")
    ]


@contextmanager
def locked(directory: Path, part: str | None = None) -> Iterator[None]:
    """Hold a directory's lock, made if need be; it falls when the process ends, however it ends.

    Args:
        directory: the place.
        part: the part of it to work on, beside processes with other parts; None for all of it.

    Raises:
        UserError: another process holds it, or the same part.
    """
    directory.mkdir(parents=True, exist_ok=True)
    exclusive, shared = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_SH | fcntl.LOCK_NB
    locks = {"lock": exclusive} if part is None else {"lock": shared, f"lock-{part}": exclusive}
    with ExitStack() as held:
        for name, kind in locks.items():
            file = held.enter_context(open(directory / name, "a"))
            try:
                fcntl.flock(file, kind)
            except BlockingIOError:
                raise UserError(f"another process is working in {directory}; wait for it") from None
        yield


def begin(
    directory: Path,
    config: dict[str, Any],
    folders: Sequence[str] = ("checkpoints",),
    alone: bool = True,
) -> None:
    """Record the configuration, after which the directory belongs to it, and make its folders.

    The lock must be held. Temporary files and empty logs that a killed process left are removed,
    if no other process works on a part of it.
    """
    write_json(directory / "config.json", config)
    for folder in folders:
        (directory / folder).mkdir(exist_ok=True)
    if not alone:
        return
    for leftover in directory.rglob(".*.tmp"):
        leftover.unlink()
    for log in directory.glob("worker-*.log"):
        ours = log.name == f"worker-{os.getppid()}.log"
        with suppress(FileNotFoundError):  # a command that was turned away removes its own
            if not ours and not log.stat().st_size:
                log.unlink()


def check_clearable(directory: Path) -> None:
    """Raise ``UserError`` if a place holds something that is no run."""
    if not (directory / "config.json").is_file():
        inspect(directory, {})


def clear(directories: Sequence[Path]) -> None:
    """Remove runs, all or none: first every lock is taken and every place is known to be a run.

    Raises:
        UserError: a place holds something that is no run, or another process works there.
    """
    there = [directory for directory in directories if directory.exists()]
    with ExitStack() as locks:
        for directory in there:
            check_clearable(directory)
            locks.enter_context(locked(directory))
        for directory in there:
            _clear(directory)


def _clear(directory: Path) -> None:
    """Remove a run so that what is left, if this is cut short, is known and never looks better.

    Results go first, then checkpoints (or a resume would miss metrics), ``config.json`` last.
    """
    order = {"results.json": 0, "checkpoints": 1, "config.json": 3, "lock": 4}
    for path in sorted(directory.iterdir(), key=lambda path: order.get(path.name, 2)):
        if path.name == "lock":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


class Metrics:
    """``metrics.jsonl``: one line per step, cut back to the checkpoint on resume."""

    def __init__(self, directory: Path, last_step: int) -> None:
        """Open for appending after dropping every line past ``last_step``, torn ones too."""
        path = directory / "metrics.jsonl"
        kept = [line for line in read_metrics(directory) if line["step"] <= last_step]
        write_bytes(path, "".join(json.dumps(line) + "\n" for line in kept).encode())
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (closed by close)

    def append(self, line: dict[str, Any]) -> None:
        """Add one step."""
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Flush to disk: a checkpoint written after this never runs ahead of its metrics."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(directory: Path) -> list[dict[str, Any]]:
    """Return the lines of ``metrics.jsonl`` up to the first torn one; none without the file."""
    try:
        text = (directory / "metrics.jsonl").read_text("utf-8")
    except FileNotFoundError:
        return []
    lines: list[dict[str, Any]] = []
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines
