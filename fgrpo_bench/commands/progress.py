"""Progress on standard error: a live display on a terminal, plain lines elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from fgrpo_bench.executor import Event

Show = Callable[[str, Event], None]
_FIGURES = Column(ratio=1, no_wrap=True, overflow="ellipsis")
_KEYS = (("reward", "reward"), ("active", "active"), ("focal", "focal"), ("clip_fraction", "clip"))


def say(text: str) -> None:
    """Print a line for the person who waits; when nobody reads any more, the work goes on."""
    with contextlib.suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)


@contextmanager
def progress(most: int = 0, at_most: bool = False) -> Iterator[Show]:
    """Show jobs of ``most`` steps, or of as many as their events tell, while the context lasts.

    With ``at_most`` a job may end before.
    """
    if sys.stderr.isatty():
        with live(most, Console(file=sys.stderr)) as show:
            yield show
    else:
        yield plain(most, at_most)


def plain(most: int, at_most: bool = False) -> Show:
    """Return a display of one line per event, with the time that a job still needs."""
    begun: dict[str, tuple[int, float]] = {}

    def show(name: str, event: Event) -> None:
        if "note" in event:
            say(f"{name}  {event['note']}")
            return
        step, steps = int(event["step"]), int(event.get("steps", most))
        first, start = begun.setdefault(name, (step, time.monotonic()))
        parts = [f"{name}  {event.get('unit', 'step')} {step}/{steps}", *_words(event)]
        if step > first:
            pace = (time.monotonic() - start) / (step - first)
            minutes, seconds = divmod(round(pace * (steps - step)), 60)
            left = f"{minutes}:{seconds:02} left" + (" at most" if at_most else "")
            parts.append("done" if step == steps else left)
        say("  ".join(parts))

    return show


@contextmanager
def live(most: int, console: Console) -> Iterator[Show]:
    """Keep one line per running job: a bar, the latest figures, and the time left."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=8, table_column=Column(min_width=8)),
        MofNCompleteColumn(table_column=Column(min_width=7)),
        TimeRemainingColumn(compact=True, table_column=Column(min_width=5)),
        # What is left of the line is for the figures, the most wanted first.
        TextColumn("{task.fields[words]}", markup=False, table_column=_FIGURES),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, expand=True) as display:

        def show(name: str, event: Event) -> None:
            if name not in tasks:
                tasks[name] = display.add_task(name, total=event.get("steps", most), words="")
            if "note" in event:
                display.update(tasks[name], words=event["note"])
                return
            words = " ".join(_words(event)[::-1])
            display.update(tasks[name], completed=int(event["step"]), words=words)

        yield show


def _words(event: Event) -> list[str]:
    """Return the figures of an event that a person watches."""
    words = []
    for key, name in _KEYS:
        if event.get(key) is not None:
            words.append(f"{name} {event[key]:{'.4f' if key == 'clip_fraction' else '.3f'}}")
    curve = event.get("pass_at_k", {})
    shown = [k for k in curve if k == "1" or k == str(max(map(int, curve), key=_near_16))]
    return words + [f"pass@{k} {curve[k]:.3f}" for k in shown]


def _near_16(k: int) -> int:
    return k if k <= 16 else -k
