"""Read right answers per problem from the samples that lm-eval 0.4.13 logs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fgrpo_bench.errors import UserError, fault, quoted, shown, suggestion
from fgrpo_bench.jsonl import read_lines

INSTEAD: Final = "write a CSV with problem_id, n, c instead"
LISTED: Final = 10
_BEYOND_ONE: Final = re.compile(r"(@|_at_)(?!1$)\d+$", re.ASCII)


@dataclass(frozen=True)
class Samples:
    """What a file says: (n, c) of every doc_id, and the hash of its document."""

    counts: dict[int, tuple[int, int]]
    hashes: dict[int, str]


@dataclass
class _Metric:
    """A metric under one filter; ``reason`` is why it is no count of right responses."""

    name: str
    filter: str
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    reason: str = ""
    single: int = 0
    verdict: int = 0
    averaged: bool = False

    @property
    def key(self) -> str:
        return f"{self.name},{self.filter}"

    def add(self, doc: int, value: Any, scored: int, line: int) -> None:
        right = _right(value, scored)
        if right is None:
            text = f"line {line}: {quoted(value)} over {scored} response{'s' * (scored > 1)}"
            self.reason = self.reason or text
            return
        self.counts[doc] = scored, right
        if scored > 1 and not isinstance(value, list):
            self.single = self.single or line
            if right or isinstance(value, bool):
                self.verdict = self.verdict or line
            self.averaged |= 0 < right < scored

    def finish(self, docs: int) -> None:
        if self.single and _BEYOND_ONE.search(self.name):
            self.reason = self.reason or "an estimate at k > 1"
        elif self.verdict and not self.averaged:
            # their mean, any of them or a vote: a 1 looks the same, only zeros say that none was
            self.reason = self.reason or f"line {self.verdict}: one verdict on several responses"
        if len(self.counts) < docs:
            self.reason = self.reason or "not every row has it"


def read_samples(path: Path, choice: str | None) -> Samples:
    """Read ``samples_<task>_<time>.jsonl`` of ``lm_eval --log_samples``.

    n is the number of responses that were scored: one under the filter take_first, however many
    were sampled.

    Args:
        path: the file.
        choice: ``METRIC,FILTER`` or ``METRIC``; None where the file has one that counts.

    Raises:
        UserError: a damaged file, a repeated sample, or no single metric that counts.
    """
    metrics: dict[tuple[str, str], _Metric] = {}
    docs: dict[str, set[int]] = {}
    hashes: dict[int, str] = {}
    for line, row in _rows(path):
        doc, kind, scored = row["doc_id"], row["filter"], _scored(row)
        if doc in docs.setdefault(kind, set()):
            text = f"doc_id {quoted(doc)} is there twice under filter {quoted(kind)}"
            raise fault(path, f"{text}: keep one run in a file, reruns repeat samples", line)
        docs[kind].add(doc)
        for name in row["metrics"]:
            metric = metrics.setdefault((name, kind), _Metric(name, kind))
            metric.add(doc, row.get(name), scored, line)
        if isinstance(row.get("doc_hash"), str):
            hashes[doc] = row["doc_hash"]
    for metric in metrics.values():
        metric.finish(len(docs[metric.filter]))
    chosen = _chosen(path, list(metrics.values()), choice) if docs else _Metric("", "")
    return Samples(chosen.counts, hashes)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, row in read_lines(path, "copy or evaluate it again"):
        if not isinstance(row, dict) or not _is_sample(row):
            names = "doc_id, filter, metrics, resps, filtered_resps"
            raise fault(path, f"no sample of lm-eval ({names}); {INSTEAD}", line)
        yield line, row


def _is_sample(row: dict[str, Any]) -> bool:
    names = row.get("metrics")
    return (
        type(row.get("doc_id")) is int
        and isinstance(row.get("filter"), str)
        and isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and all(isinstance(row.get(key), list) for key in ("resps", "filtered_resps"))
    )


def _scored(row: dict[str, Any]) -> int:
    """Return how many responses the metrics saw: what the filter left, not what was sampled."""
    match row["resps"], row["filtered_resps"]:
        # a log-likelihood is a list by itself, and a filter may cut one response into a list
        case [[str(), *rest]], [[_, *others]] if len(others) <= len(rest):
            return 1 + len(others)
    return 1


def _right(value: Any, scored: int) -> int | None:
    if isinstance(value, list):  # one verdict a response, or it is about something else
        verdicts = len(value) == scored and all(verdict in (0, 1) for verdict in value)
        return int(sum(value)) if verdicts else None
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    right = round(value * scored)
    return right if abs(value * scored - right) <= 1e-9 * (scored - 1) else None


def _chosen(path: Path, metrics: list[_Metric], choice: str | None) -> _Metric:
    good = [metric for metric in metrics if not metric.reason]
    if choice is not None:
        found = [metric for metric in metrics if choice == metric.key]
        found = found or [metric for metric in metrics if choice == metric.name]
    else:
        found = good if len({metric.filter for metric in metrics}) == 1 else []
    if len(found) == 1 and not found[0].reason:
        return found[0]
    if len(found) == 1 or not good:
        raise _no_count(path, found or metrics)
    how = f"write NAME={shown(path)}@METRIC,FILTER"
    if choice is None or found:
        keys = [quoted(metric.key) for metric in found or good]
        more = f" and {len(keys) - LISTED} more" if len(keys) > LISTED else ""
        raise fault(path, f"more than one metric; {how} with {', '.join(keys[:LISTED])}{more}")
    keys = [quoted(metric.key)[1:-1] for metric in good[:LISTED]]
    raise fault(path, f"no {quoted(choice)}; {how}: {suggestion(choice, keys, 'it has')}")


def _no_count(path: Path, metrics: list[_Metric]) -> UserError:
    if not metrics:
        return fault(path, f"no metrics; {INSTEAD}")
    first = metrics[0]
    text = f"{quoted(first.key)} does not count right responses ({first.reason})"
    return fault(path, f"{text}; {INSTEAD}")
