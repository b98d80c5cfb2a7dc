"""Run jobs side by side on this machine: one single-threaded worker per core, or per GPU.

A worker reads its job from standard input, writes events as JSON lines to standard output, and
ends when its input closes: no worker outlives the command that started it.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fgrpo_bench.errors import Failed, Interrupted, UserError

Event = dict[str, Any]
WORKER = (sys.executable, "-m", "fgrpo_bench.worker")


@dataclass(frozen=True)
class Job:
    """A piece of work for one process.

    Attributes:
        name: shown in progress lines.
        kind: ``cell`` trains and evaluates, ``base`` trains a base model.
        payload: what the worker needs, as JSON.
        directory: where it works.
    """

    name: str
    kind: Literal["cell", "base"]
    payload: dict[str, Any]
    directory: Path


def cores() -> int:
    """Return the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(
    jobs: Sequence[Job], on_event: Callable[[str, Event], None], gpus: Sequence[str] = ()
) -> None:
    """Run all jobs, at most one per core or GPU at a time, and pass on what they report.

    Args:
        jobs: the work, started in this order.
        on_event: receives the job's name and every progress event, in this process.
        gpus: the GPUs to share out, one to a worker, who sees no other; none means cores.

    Raises:
        UserError: a job met bad input; raised when the others have ended.
        Failed: a worker broke down; raised when the others have ended.
        Interrupted: a worker was killed; the others are stopped, their work kept.
        KeyboardInterrupt: passed on after the workers are stopped.
    """
    waiting, running = list(jobs), dict[str, tuple[subprocess.Popen[str], str | None]]()
    free: list[str | None] = [*gpus] or [None] * cores()
    events: queue.Queue[tuple[Job, Event]] = queue.Queue()
    trouble: UserError | Failed | None = None
    try:
        while waiting or running:
            while waiting and free:
                job, gpu = waiting.pop(0), free.pop(0)
                running[job.name] = _start(job, gpu, events), gpu
            job, event = events.get()
            if event["event"] == "progress":
                on_event(job.name, event)
                continue
            free.append(running.pop(job.name)[1])
            if event["event"] == "killed":
                raise Interrupted(f"{job.name}: {event['message']}")
            if event["event"] in ("error", "failed") and trouble is None:
                kind = UserError if event["event"] == "error" else Failed
                trouble = kind(f"{job.name}: {event['message']}")
    finally:
        for process, _ in running.values():
            process.kill()
        for process, _ in running.values():
            process.wait()
    if trouble is not None:
        raise trouble


def _start(
    job: Job, gpu: str | None, events: "queue.Queue[tuple[Job, Event]]"
) -> subprocess.Popen[str]:
    job.directory.mkdir(parents=True, exist_ok=True)
    # A log of our own: another command may be at work here, until the lock turns one of us away.
    log = job.directory / f"worker-{os.getpid()}.log"
    place = {} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu}
    with open(log, "w", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **place},
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops the workers
        )
    assert process.stdin is not None
    message = {"kind": job.kind, "payload": job.payload, "directory": str(job.directory)}
    with contextlib.suppress(BrokenPipeError):  # it died at once: its follower will tell
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
    threading.Thread(target=_follow, args=(job, process, log, events), daemon=True).start()
    return process


def _follow(
    job: Job,
    process: subprocess.Popen[str],
    log: Path,
    events: "queue.Queue[tuple[Job, Event]]",
) -> None:
    """Pass on a worker's events; whatever happens, its last one tells how it ended."""
    last: Event | None = None
    try:
        with process:  # closes both pipes and waits
            for line in process.stdout or ():
                event = _parse(line)
                if event["event"] in ("end", "error"):
                    last = event
                elif event["event"] == "progress":
                    events.put((job, event))
        if last is not None:
            log.unlink(missing_ok=True)
    finally:
        events.put((job, last or _verdict(process.returncode, log)))


def _parse(line: str) -> Event:
    """Read an event; libraries may print to the worker's output too, and a kill may tear a line."""
    try:
        event = json.loads(line)
    except ValueError:
        event = None
    return event if isinstance(event, dict) and "event" in event else {"event": "noise"}


def _verdict(code: int | None, log: Path) -> Event:
    """Tell how a worker ended that did not say so itself."""
    if code is not None and code < 0:
        kept = "its work is kept, run the same command to go on"
        return {"event": "killed", "message": f"the worker ended with signal {-code}; {kept}"}
    try:
        words = log.read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        words = []
    reason = words[-1] if words else f"exit code {code}"
    return {"event": "failed", "message": f"the worker failed: {reason} (details in {log})"}
