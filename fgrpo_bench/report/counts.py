"""Read how many of n samples were right, per problem, from a CSV or from lm-eval's samples."""

import csv
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from pathlib import Path
from typing import Final

import pandas as pd

from fgrpo_bench.errors import UserError, fault, quoted, shown
from fgrpo_bench.report.lm_eval_samples import LISTED, read_samples

Problem = tuple[str, str]
COLUMNS: Final = ("problem_id", "n", "c")
_SUFFIXES: Final = (".csv", ".jsonl")
_SAMPLES: Final = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(\.\d+)?")
_WHOLE: Final = re.compile(r"\d{1,15}(\.0*)?", re.ASCII)


@dataclass(frozen=True)
class Counts:
    """What was counted under one name.

    Attributes:
        name: what the report calls it.
        table: benchmark, problem_id (text), n and c (int64), sorted, each problem once.
        hashes: lm-eval's hash of a problem's document, where the file tells it.
        files: where it was read from.
    """

    name: str
    table: pd.DataFrame
    hashes: dict[Problem, str] = field(default_factory=dict, repr=False)
    files: tuple[Path, ...] = ()

    @property
    def problems(self) -> list[Problem]:
        """Benchmark and problem_id of every row."""
        return list(zip(self.table["benchmark"], self.table["problem_id"], strict=True))


@dataclass
class _File:
    path: Path
    counts: dict[Problem, tuple[int, int]] = field(default_factory=dict)
    hashes: dict[Problem, str] = field(default_factory=dict)


def read_counts(arguments: Sequence[str]) -> list[Counts]:
    """Read counts of right samples, one entry a name, in the order of first appearance.

    Args:
        arguments: each ``NAME=FILE``; files of the same name are put together. FILE is a .csv with
            the columns problem_id, n, c and maybe benchmark, or a .jsonl of lm_eval --log_samples,
            with ``@METRIC,FILTER`` or ``@METRIC`` behind it where it has several.

    Raises:
        UserError: an argument or a file that cannot be used, and why.
    """
    names: dict[str, dict[str, _File]] = {}
    for argument in arguments:
        name, _, place = argument.partition("=")
        if not name.strip() or not name.isprintable() or not place:
            raise UserError(f"--counts {quoted(argument)} is not NAME=FILE: write it so")
        path, choice = _located(place)
        files, real = names.setdefault(name, {}), os.path.realpath(path)
        if real in files:
            raise fault(path, f"given twice for {quoted(name)}; name it once")
        files[real] = _read(path, choice)
    return [_merged(name, list(files.values())) for name, files in names.items()]


def paired(counts: Sequence[Counts]) -> None:
    """Check that all counts are of the same problems.

    Raises:
        UserError: a problem that only some of them have, or one whose document differs.
    """
    for full, short in permutations(counts, 2):
        have = set(short.problems)
        if lost := [problem for problem in full.problems if problem not in have]:
            raise UserError(
                f"{quoted(short.name)} lacks {len(lost)} of the {len(full.table)} problems of "
                f"{quoted(full.name)}, first {_named(lost[0])}: count the same problems, under "
                "the same benchmark and problem_id, for both"
            )
    for one, other in combinations(counts, 2):
        both = [problem for problem in one.problems if problem in one.hashes]
        differ = [p for p in both if other.hashes.get(p, one.hashes[p]) != one.hashes[p]]
        if differ:
            raise UserError(
                f"{len(differ)} documents of {quoted(one.name)} and {quoted(other.name)} differ "
                f"(doc_hash), first {_named(differ[0])}: evaluate both on the same data, or "
                "write CSV files if the problems are the same"
            )


def _located(place: str) -> tuple[Path, str | None]:
    """Split a metric off; names of files and metrics (pass@1) may hold an '@' of their own."""
    ends = [len(place), *(end for end in range(len(place) - 1, -1, -1) if place[end] == "@")]
    known = (end for end in ends if place[:end].lower().endswith(_SUFFIXES))
    end = next(known, len(place))
    return Path(place[:end]), place[end + 1 :] if end < len(place) else None


def _read(path: Path, choice: str | None) -> _File:
    suffix = path.suffix.lower()
    if os.path.isdir(path):
        raise fault(path, "a directory; name the files in it, one by one")
    if suffix not in _SUFFIXES:
        raise fault(path, "neither .csv nor .jsonl (samples_*.jsonl of lm_eval --log_samples)")
    if not os.path.isfile(path):
        raise fault(path, "no such file; check the path")
    if suffix == ".csv" and choice is not None:
        raise fault(path, f"a CSV has no metrics; leave out {quoted('@' + choice)}")
    try:
        file = _read_csv(path) if suffix == ".csv" else _read_jsonl(path, choice)
    except UnicodeDecodeError:
        raise fault(path, "not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise fault(path, f"cannot be read ({error.strerror}); check the file") from None
    if not file.counts:
        raise fault(path, "no rows; check that its evaluation finished")
    return file


def _read_jsonl(path: Path, choice: str | None) -> _File:
    match, samples = _SAMPLES.fullmatch(path.stem), read_samples(path, choice)
    benchmark = match[1] if match else path.stem
    counts = {(benchmark, str(doc)): count for doc, count in samples.counts.items()}
    hashes = {(benchmark, str(doc)): text for doc, text in samples.hashes.items()}
    return _File(path, counts, hashes)


def _read_csv(path: Path) -> _File:
    file = _File(path)
    with open(path, encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            header = [cell.strip() for cell in next(reader, [])]
            _check_header(path, header)
            for cells in filter(None, reader):
                if len(cells) != len(header):
                    text = f"{len(cells)} fields where the header has {len(header)}; mend the line"
                    raise fault(path, text, reader.line_num)
                _add(file, dict(zip(header, cells, strict=True)), reader.line_num)
        except csv.Error as error:
            raise fault(path, f"damaged CSV ({error}); mend the line", reader.line_num) from None
    return file


def _check_header(path: Path, header: list[str]) -> None:
    for name in (*COLUMNS, "benchmark"):
        if header.count(name) > 1:
            raise fault(path, f"two columns are called '{name}'; rename one", 1)
    if lost := [name for name in COLUMNS if name not in header]:
        found = ", ".join(map(quoted, header[:LISTED])) or "nothing"
        missing = ", ".join(map(repr, lost))
        raise fault(path, f"no column {missing}, there is {found}; rename or add columns", 1)


def _add(file: _File, row: dict[str, str], line: int) -> None:
    for name in ("n", "c"):
        if not _WHOLE.fullmatch(row[name].strip()):
            text = f"{name} is {quoted(row[name])}, not a whole number from 0; correct it"
            raise fault(file.path, text, line)
    n, c = (int(row[name].strip().partition(".")[0]) for name in ("n", "c"))
    problem = row.get("benchmark", "all"), row["problem_id"]
    if n < 1 or c > n:
        text = f"c = {c} of n = {n}; n must be 1 or more and c at most n"
        raise fault(file.path, text, line)
    if not all(map(str.strip, problem)):
        raise fault(file.path, "an empty problem_id or benchmark; fill it in", line)
    if not problem[0].isprintable():  # it is printed, and a terminal would obey it
        text = f"benchmark {quoted(problem[0])} holds control characters; rename it"
        raise fault(file.path, text, line)
    if problem in file.counts:
        raise fault(file.path, f"{_named(problem)} is there twice; keep one line of it", line)
    file.counts[problem] = n, c


def _merged(name: str, files: list[_File]) -> Counts:
    owners: dict[Problem, _File] = {}
    for file in files:
        for problem in file.counts:
            if (other := owners.setdefault(problem, file)) is not file:
                raise fault(
                    file.path,
                    f"{_named(problem)} is in {shown(other.path)} too; leave out one of the files, "
                    f"or give them two names instead of {quoted(name)}",
                )
    rows = [(*problem, *owners[problem].counts[problem]) for problem in sorted(owners)]
    table = pd.DataFrame(rows, columns=["benchmark", "problem_id", "n", "c"])
    hashes = {problem: text for file in files for problem, text in file.hashes.items()}
    paths = tuple(file.path for file in files)
    return Counts(name, table.astype({"n": "int64", "c": "int64"}), hashes, paths)


def _named(problem: Problem) -> str:
    return f"problem {quoted(problem[1])} of {quoted(problem[0])}"
