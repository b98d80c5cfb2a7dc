"""Progress on standard error: plain lines, one per evaluation of a run."""

import contextlib
import sys
import time

from fgrpo_bench.executor import Event, Job


def say(text: str) -> None:
    """Print a line for the person who waits; when nobody reads any more, the work goes on."""
    with contextlib.suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)


class Progress:
    """Turns the events of workers into lines, with the time that a job still needs."""

    def __init__(self, steps: int, at_most: bool = False) -> None:
        """Show jobs of ``steps`` steps, or of at most so many."""
        self._steps = steps
        self._left = "left at most" if at_most else "left"
        self._first: dict[str, tuple[int, float]] = {}

    def show(self, job: Job, event: Event) -> None:
        """Print one event."""
        step = int(event["step"])
        first, start = self._first.setdefault(job.name, (step, time.monotonic()))
        parts = [f"{job.name}  step {step}/{self._steps}"]
        for key, name in (
            ("reward", "reward"),
            ("active", "active"),
            ("focal", "focal"),
            ("clip_fraction", "clip"),
        ):
            if event.get(key) is not None:
                parts.append(f"{name} {event[key]:{'.4f' if key == 'clip_fraction' else '.3f'}}")
        curve = event.get("pass_at_k", {})
        shown = [k for k in curve if k == "1" or k == str(max(map(int, curve), key=_near_16))]
        parts += [f"pass@{k} {curve[k]:.3f}" for k in shown]
        if step > first:
            pace = (time.monotonic() - start) / (step - first)
            minutes, seconds = divmod(round(pace * (self._steps - step)), 60)
            ended = step == self._steps
            parts.append("done" if ended else f"{minutes}:{seconds:02} {self._left}")
        say("  ".join(parts))


def _near_16(k: int) -> int:
    return k if k <= 16 else -k
