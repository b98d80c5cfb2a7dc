"""``fgrpo-bench eval``: sample a model on benchmarks, resumably, and measure pass@k."""

import json
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fgrpo_bench.benchmarks.problems import Task
from fgrpo_bench.benchmarks.registry import resolve, task_names
from fgrpo_bench.commands.progress import progress, say
from fgrpo_bench.errors import UserError, quoted, shown
from fgrpo_bench.report.evaluations import find_evaluations, summary_grid
from fgrpo_bench.report.grids import print_grid
from fgrpo_bench.sampling.engines.base import Engine
from fgrpo_bench.sampling.engines.checkpoint import showable
from fgrpo_bench.sampling.engines.options import literals
from fgrpo_bench.sampling.evaluation import Progress, Wanted, evaluate, regrade
from fgrpo_bench.sampling.plan import WHOLE, Shard

if TYPE_CHECKING:
    from fgrpo_bench.options import Eval

_MOST = 100_000  # samples of a problem; the plan of missing ones is a table in memory
_EVERY = 2.0  # seconds between two lines of progress where there is no terminal


def run_eval(command: "Eval") -> None:
    """Evaluate every task, one directory each, and print what was found.

    Raises:
        UserError: wrong use, or a task, model, server or directory that cannot be used.
    """
    if command.regrade:
        regrade_all(command)
        return
    from fgrpo_bench.benchmarks.load import load_task
    from fgrpo_bench.sampling.engines.make import make_engine

    if command.model is None or not command.task:
        missing = "--task" if command.model else "--model"
        raise UserError(f"eval needs {missing}: name one, or --regrade what was sampled before")
    names, arguments = resolve(command.task), _arguments(command.engine_arg)
    files = _files(command.data, names)
    wanted = _wanted(command, command.model, files)
    out = command.out or Path("evals") / _slug(command.model)
    _check(wanted)
    say(f"loading {command.model} ({command.engine})")
    engine = make_engine(command.engine, command.model, command.base_url, arguments)
    try:
        say(f"reading {', '.join(names)}")
        tasks = [load_task(name, files.get(name), engine.family) for name in names]
        waiting = [task.name for task in tasks if not _evaluate(task, engine, wanted, out)]
    finally:
        engine.close()
    _print_found([out / task.name for task in tasks], out)
    if waiting:
        say(
            f"part {command.shard} is done; {', '.join(waiting)}: other parts are missing. Bring "
            f"all parts together in {out}/, then run the command without --shard"
        )


def regrade_all(command: "Eval") -> None:
    """Grade all samples of an evaluation anew, and print what was found.

    Raises:
        UserError: wrong use, or no evaluation of these tasks is there.
    """
    from fgrpo_bench.benchmarks.load import load_task

    if command.out is None and command.model is None:
        raise UserError("--regrade needs the place of an evaluation: name it with --out")
    out = command.out or Path("evals") / _slug(str(command.model))
    there = sorted(file.parent.name for file in out.glob("*/results.json"))
    names = [name for name in there if name in task_names()]
    if command.task:
        names = resolve(command.task)
        if missing := [name for name in names if name not in there]:
            raise UserError(f"{shown(out)} has no finished {missing[0]}; it has {', '.join(there)}")
    if not names:
        raise UserError(f"{shown(out)} holds no finished evaluation: name one with --out")
    files = _files(command.data, names)
    words = "fgrpo-bench eval --regrade"
    for name in names:
        task = load_task(name, files.get(name))
        with _shown() as show:
            regrade(task, out / name, words, show, say)
    _print_found([out / name for name in names], out)


def _print_found(places: Sequence[Path], out: Path) -> None:
    found, _ = find_evaluations(places)
    if found:
        print_grid(summary_grid(found))
        say(f"evaluation: {out}/; compare: fgrpo-bench report {out} OTHER")


def _evaluate(task: Task, engine: Engine, wanted: Wanted, out: Path) -> bool:
    with _shown() as show:
        return evaluate(task, engine, wanted, out / task.name, show, say) is not None


@contextmanager
def _shown() -> Iterator[Progress]:
    """Show samples as they come: a bar on a terminal, elsewhere a line now and then."""
    live = sys.stderr.isatty()
    with progress() as display:
        last = time.monotonic()

        def show(name: str, done: int, total: int) -> None:
            nonlocal last
            if live or done in (0, total) or time.monotonic() - last > _EVERY:
                last = time.monotonic()
                display(name, {"step": done, "steps": total, "unit": "sample"})

        yield show


def _flat(texts: Sequence[Sequence[str]]) -> list[str]:
    """Return the values of an option that may be given several times."""
    return [text for part in texts for text in part]


def _wanted(command: "Eval", model: str, files: dict[str, Path]) -> Wanted:
    shard = _shard(command.shard)
    return Wanted(
        command.samples,
        command.temperature,
        command.top_p,
        command.max_tokens,
        command.seed,
        shard,
        _command(command, model, files),
    )


def _check(wanted: Wanted) -> None:
    limit = wanted.max_tokens
    limits = (
        ("--samples", wanted.samples, 1 <= wanted.samples <= _MOST, f"from 1 to {_MOST}"),
        ("--temperature", wanted.temperature, 0 <= wanted.temperature < 100, "0 or more"),
        ("--top-p", wanted.top_p, 0 < wanted.top_p <= 1, "above 0 and at most 1"),
        ("--max-tokens", limit, limit is None or limit >= 1, "1 or more"),
        ("--seed", wanted.seed, wanted.seed >= 0, "0 or more"),
    )
    for name, value, good, range_ in limits:
        if not good:
            raise UserError(f"{name} {value}: give a number {range_}")


def _shard(text: str | None) -> Shard:
    if text is None:
        return WHOLE
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
    shard = Shard(*map(int, match.groups())) if match else None
    if shard is None or shard.part >= shard.parts:
        raise UserError(f"--shard {quoted(text)}: write i/n with i from 0 to n - 1, such as 0/4")
    return shard


def _arguments(texts: Sequence[Sequence[str]]) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for text in _flat(texts):
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--engine-arg {quoted(text)} is not KEY=VALUE: write it so")
        if key.strip() in arguments:
            raise UserError(f"--engine-arg {key.strip()} is given twice: keep one")
        arguments[key.strip()] = value
    return arguments


def _files(texts: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, Path]:
    """Return the file of each task: ``TASK=FILE``, or ``FILE`` where there is one task."""
    files: dict[str, Path] = {}
    for text in _flat(texts):
        name, equals, place = text.partition("=")
        if not equals or name not in names:
            if len(names) > 1:
                raise UserError(
                    f"--data {quoted(text)}: with several tasks write TASK=FILE, TASK one of "
                    f"{', '.join(names)}"
                )
            name, place = names[0], text
        if name in files:
            raise UserError(f"--data gives {name} two files: keep one")
        files[name] = Path(place)
        if not files[name].is_file():  # said before a large model is loaded
            raise UserError(f"--data {shown(files[name])}: there is no such file")
    return files


def _slug(model: str) -> str:
    """Return a folder's name for a model: the last part of its path or hub id.

    >>> _slug("Qwen/Qwen2.5-7B"), _slug("runs/final/")
    ('Qwen2.5-7B', 'final')
    """
    return re.sub(r"[^\w.-]+", "-", model.rstrip("/").rpartition("/")[2]).strip(".-") or "model"


def _command(command: "Eval", model: str, files: dict[str, Path]) -> str:
    """Return the command for the manifest: without folders, addresses and credentials."""
    local = model[:1] in ("/", "~", ".") or Path(model).exists()
    words = ["fgrpo-bench", "eval", "--model", _slug(model) if local else model]
    words += ["--task", *command.task, "--samples", str(command.samples)]
    words += ["--engine", command.engine]
    words += ["--base-url", "URL"] if command.base_url else []
    for key, value in showable(literals(_arguments(command.engine_arg))).items():
        text = value if isinstance(value, str) else json.dumps(value)
        words += ["--engine-arg", f"{key}={text}"]
    for name, file in files.items():
        words += ["--data", f"{name}={file.name}"]
    words += ["--temperature", f"{command.temperature:g}", "--top-p", f"{command.top_p:g}"]
    words += ["--max-tokens", str(command.max_tokens)] if command.max_tokens is not None else []
    words += ["--seed", str(command.seed)]
    return " ".join(shlex.join(words).split())
