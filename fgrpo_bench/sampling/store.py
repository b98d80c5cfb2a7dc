"""The sample store: one parquet file a block, written whole or not at all, never changed after.

Every file carries in its metadata what it was sampled with. Nothing else is needed to resume, to
put the parts of several machines together, or to refuse what does not belong.
"""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fgrpo_bench.benchmarks.problems import Problem
from fgrpo_bench.config.load import digest
from fgrpo_bench.errors import UserError, fault, quoted, shown
from fgrpo_bench.rundir.atomic import write_bytes
from fgrpo_bench.rundir.directory import differing_keys
from fgrpo_bench.sampling.engines.base import Completion
from fgrpo_bench.sampling.plan import Block, block_of
from fgrpo_bench.sampling.repeats import Trace

SCHEMA: Final = 1
SAMPLES: Final = pa.schema(
    [
        ("problem_id", pa.string()),
        ("sample", pa.int32()),
        ("response", pa.string()),
        ("n_tokens", pa.int32()),
        ("finish", pa.string()),
        ("seed", pa.int64()),
    ]
)
_KEY: Final = b"fgrpo_bench"
_AGAIN: Final = "delete the file and run the same command again"

Fingerprint = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """A block that is in the store.

    Attributes:
        block: which samples of which problems.
        path: its file.
        identity: a hash that other samples would not have.
        tokens: sum of the responses' lengths, None where the engine could not tell.
    """

    block: Block
    path: Path
    identity: str
    tokens: int | None


def write_block(
    folder: Path,
    block: Block,
    problems: Sequence[Problem],
    completions: Sequence[Sequence[Completion]],
    seeds: Sequence[int],
    fingerprint: Fingerprint,
    traces: Sequence[Trace],
) -> Stored:
    """Write a block's samples and return it as it is stored.

    Args:
        folder: of the task.
        block: which samples of which problems these are.
        problems: the block's problems.
        completions: of each problem its samples.
        seeds: of each problem the seed they were drawn with.
        fingerprint: what they were sampled with.
        traces: what ``repeats`` keeps of them.
    """
    each = block.stop - block.start
    texts, tokens, finishes = zip(*chain.from_iterable(completions), strict=True)
    arrays = [
        pa.array(np.repeat([problem.problem_id for problem in problems], each), pa.string()),
        pa.array(np.tile(np.arange(block.start, block.stop), len(problems)), pa.int32()),
        _storable(texts),
        pa.array(tokens, pa.int32()),
        pa.array(finishes, pa.string()),
        pa.array(np.repeat(seeds, each), pa.int64()),
    ]
    table = pa.Table.from_arrays(arrays, schema=SAMPLES)
    total = None if None in tokens else sum(tokens)
    stored = Stored(block, folder / f"{block.name}.parquet", digest(traces), total)
    content = {"fingerprint": fingerprint, "block": block.name}
    write_table(stored.path, table, content | {"traces": traces, "tokens": total})
    return stored


def write_table(path: Path, table: pa.Table, content: dict[str, Any]) -> None:
    """Write a table with what it is about in its metadata, atomically, pages checksummed."""
    text = json.dumps({"schema": SCHEMA, **content}, sort_keys=True)
    buffer = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata({_KEY: text.encode()}),
        buffer,
        compression="zstd",
        write_page_checksum=True,
    )
    write_bytes(path, buffer.getvalue())


def scan(
    folder: Path, fingerprint: Fingerprint, problems: int
) -> Iterator[tuple[Stored, list[Trace]]]:
    """Yield the blocks in a task's folder with their traces, after checking that they belong there.

    Args:
        folder: of the task; it may be missing.
        fingerprint: what they must have been sampled with.
        problems: number of problems of the task.

    Raises:
        UserError: a file that is torn, empty, damaged, in the wrong place, or sampled otherwise.
    """
    for path in sorted(folder.glob("*")):
        if not path.name.endswith(".tmp"):
            yield _checked(path, fingerprint, problems)


def read_block(stored: Stored, problems: Sequence[Problem]) -> pa.Table:
    """Read a block's samples and check that they are those of its problems, in order.

    Raises:
        UserError: damaged data, or rows of other problems or samples.
    """
    block = stored.block
    try:
        table = pq.read_table(
            stored.path, page_checksum_verification=True, partitioning=None, memory_map=False
        )
    except (OSError, pa.ArrowException) as error:
        raise fault(stored.path, f"damaged ({_reason(error)}); {_AGAIN}") from None
    each = block.stop - block.start
    ids = [p.problem_id for p in problems[block.first : block.last] for _ in range(each)]
    numbers = [*range(block.start, block.stop)] * (block.last - block.first)
    if table["problem_id"].to_pylist() != ids or table["sample"].to_pylist() != numbers:
        raise fault(stored.path, f"its rows are not those that its name tells; {_AGAIN}")
    return table


def read_content(path: Path, columns: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Return what a file of ours says it is about, and its number of rows, from its footer alone.

    Raises:
        UserError: a torn, empty or foreign file, or one without these columns.
    """
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        raise fault(path, f"torn or empty ({_reason(error)}); {_AGAIN}") from None
    names = footer.schema.to_arrow_schema().names
    if missing := [name for name in columns if name not in names]:
        raise fault(path, f"no column {', '.join(map(repr, missing))}; {_AGAIN}")
    try:
        content = dict(json.loads((footer.metadata or {})[_KEY]))
    except (KeyError, ValueError, TypeError):
        raise fault(path, "not written by fgrpo-bench eval; move it elsewhere") from None
    if content.get("schema") != SCHEMA:
        raise fault(path, f"schema {quoted(content.get('schema'))}; this version reads {SCHEMA}")
    return content, footer.num_rows


def _checked(path: Path, fingerprint: Fingerprint, problems: int) -> tuple[Stored, list[Trace]]:
    block = block_of(path.stem) if path.suffix == ".parquet" else None
    if block is None:
        raise fault(path, "no block of samples is called so; move it elsewhere")
    content, rows = read_content(path, SAMPLES.names)
    if changed := differing_keys(content.get("fingerprint"), fingerprint):
        raise fault(path, f"was sampled otherwise ({', '.join(changed)} differ); use another --out")
    if content.get("block") != block.name or rows != block.rows or block.last > problems:
        raise fault(path, f"{rows} rows that are not those its name tells; {_AGAIN}")
    traces = [Trace(*each) for each in content["traces"]]
    return Stored(block, path, digest(traces), content["tokens"]), traces


def refuse_overlaps(found: Iterable[Stored]) -> None:
    """Raise ``UserError`` if two files hold the same sample of a problem."""
    spans: dict[int, list[tuple[int, int, Path]]] = {}
    for stored in found:
        for problem in range(stored.block.first, stored.block.last):
            spans.setdefault(problem, []).append((*stored.block[2:], stored.path))
    for intervals in spans.values():
        intervals.sort()
        for (_, stop, one), (start, _, other) in pairwise(intervals):
            if start < stop:
                raise UserError(
                    f"{shown(one)} and {shown(other)} hold the same samples: delete one of them"
                )


def _storable(texts: Sequence[str]) -> pa.Array:
    """Return the texts as a column; lone surrogates, which UTF-8 has no place for, become "?"."""
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        return pa.array([text.encode("utf-8", "replace").decode() for text in texts], pa.string())


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0][:120]
