"""The rows of a benchmark: from a file in the hub's columns, or from the hub itself."""

import contextlib
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgrpo_bench.benchmarks.benchmark import Benchmark
from fgrpo_bench.errors import UserError, fault, quoted, shown
from fgrpo_bench.jsonl import read_lines

if TYPE_CHECKING:
    from datasets import Dataset


def read_file(path: Path) -> "Dataset":
    """Read rows from a ``.jsonl`` or ``.parquet`` file, all in memory: no cache, no network.

    Columns of lists and of records keep their shape; a key that is missing in one record and
    there in another becomes None, as in a data set of the hub.

    Raises:
        UserError: no such file, another suffix, a damaged line, no rows, a column of mixed types.
    """
    import pyarrow as pa
    from datasets import Dataset

    if path.suffix not in (".jsonl", ".parquet"):
        raise fault(path, "rows are read from .jsonl or .parquet; convert the file")
    try:
        table = _parquet(path) if path.suffix == ".parquet" else _jsonl(path)
    except OSError as error:
        raise fault(path, f"cannot be read ({error.strerror or type(error).__name__})") from None
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise fault(path, f"cannot be read as a table ({quoted(reason)})") from None
    if not table.num_rows:
        raise fault(path, "no rows; give a file that has some")
    return Dataset(table)


def _parquet(path: Path) -> Any:
    import pyarrow.parquet as pq
    from datasets.table import InMemoryTable

    with path.open("rb") as stream:
        # what another program noted about the columns may not fit them: it is left out
        return InMemoryTable(pq.read_table(stream).replace_schema_metadata(None))


def _jsonl(path: Path) -> Any:
    import pyarrow as pa
    from datasets.table import InMemoryTable

    rows = list(_lines(path))
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([row.get(name) for row in rows])
        except (pa.ArrowException, OverflowError) as error:
            reason = quoted(str(error).splitlines()[0])
            raise fault(path, f"column {quoted(name)} has mixed types ({reason})") from None
    return InMemoryTable(pa.table(columns))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line, row in read_lines(path, "copy the file again"):
        if not isinstance(row, dict):
            raise fault(path, "no JSON object; each line is one row", line)
        yield row


def read_hub(benchmark: str, config: dict[str, Any]) -> "Dataset":
    """Read rows from the hub, or from what was downloaded before.

    Args:
        benchmark: its name, for messages.
        config: the task's: ``dataset_path``, ``dataset_name``, ``dataset_kwargs``, ``test_split``.

    Raises:
        UserError: the hub cannot be reached or does not give the data.
    """
    import datasets

    path, mend = config["dataset_path"], "give the rows by --data FILE"
    try:
        with _no_bars():
            return datasets.load_dataset(
                path,
                config.get("dataset_name"),
                split=config["test_split"],
                **config["dataset_kwargs"],
            )
    except ImportError:
        raise
    except Exception as error:  # of four libraries, and their common base is this
        reason = " ".join(str(error).split())
        if "gated" in reason or "GatedRepoError" in type(error).__name__:
            mend = (
                f"accept its terms at huggingface.co/datasets/{path} and hf auth login, or {mend}"
            )
            raise UserError(f"{benchmark}: {path} is gated: {mend}") from None
        found = f"{type(error).__name__}: {quoted(reason)}"
        if isinstance(error, ConnectionError):
            found = "the hub cannot be reached, and they were not downloaded before"
        raise UserError(f"{benchmark}: no rows of {path} ({found}): {mend}") from None


@contextlib.contextmanager
def _no_bars() -> Iterator[None]:
    import datasets

    shown_before = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown_before:
            datasets.enable_progress_bars()


def check_rows(benchmark: Benchmark, rows: "Dataset", place: str) -> None:
    """Check that every row has the benchmark's columns and an identity of its own.

    Args:
        benchmark: whose rows they are.
        rows: the rows.
        place: where they came from, for messages.

    Raises:
        UserError: a column that is missing or empty in a row, or two rows with one identity.
    """
    found, needed = rows.column_names, (*benchmark.texts, *benchmark.columns)
    if missing := [name for name in needed if name not in found]:
        has = ", ".join(map(quoted, found))
        names = ", ".join(map(quoted, missing))
        raise UserError(f"{place}: {benchmark.name} needs the column {names}; found {has}")
    seen: dict[str, int] = {}
    for index, row in enumerate(rows):
        where = f"{place}: row {index + 1}"
        for name in needed:
            if row[name] is None or row[name] == "":
                raise UserError(f"{where} has no {quoted(name)}; fill it in or leave the row out")
            if name in benchmark.texts and not isinstance(row[name], str):
                raise UserError(f"{where}: {quoted(name)} is no text but {quoted(row[name])}")
        problem = benchmark.problem_id(row, index)
        if problem in seen:
            twins = f"rows {seen[problem] + 1} and {index + 1}"
            raise UserError(
                f"{place}: {twins} have the same {benchmark.key} {quoted(problem)}; keep one"
            )
        seen[problem] = index


def hash_rows(benchmark: Benchmark, rows: "Dataset") -> str:
    """Return the SHA-256 of what prompts and grades depend on: the benchmark's columns, in order.

    Equal for equal rows, whether they came from the hub, a .jsonl or a .parquet file.
    """
    digest = sha256()
    for row in rows:
        digest.update(_content(benchmark, row) + b"\n")
    return digest.hexdigest()


def hash_row(benchmark: Benchmark, row: dict[str, Any]) -> str:
    """Return a short hash of one row, by which two evaluations know that they mean the same."""
    return sha256(_content(benchmark, row)).hexdigest()[:16]


def _content(benchmark: Benchmark, row: dict[str, Any]) -> bytes:
    kept = {name: _bare(row[name]) for name in (*benchmark.texts, *benchmark.columns)}
    return json.dumps(kept, sort_keys=True, default=str).encode()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"{shown(path)}: cannot be read ({error.strerror})") from None


def _bare(value: Any) -> Any:
    """Leave out keys that have no value: a column of records fills them in or not."""
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items() if item is not None}
    return [_bare(item) for item in value] if isinstance(value, list) else value
