"""The worker process of ``executor``: one job, one thread, then the end."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from fgrpo_bench.config.schema import MazeConfig
from fgrpo_bench.errors import UserError


def main() -> None:
    """Do the job that standard input describes and report it on standard output."""
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        _work(job["kind"], job["payload"], Path(job["directory"]))
        _tell(event="end")
    except UserError as error:
        _tell(event="error", message=str(error))
    except OSError as error:
        place = error.filename or job["directory"]
        _tell(event="error", message=f"{place}: {error.strerror or error}")


def _work(kind: str, payload: dict[str, Any], directory: Path) -> None:
    import torch

    torch.set_num_threads(1)
    if kind == "base":
        from fgrpo_bench.maze.sft import train_base

        train_base(MazeConfig.model_validate(payload), directory, lambda line: _tell(**line))
    else:
        from fgrpo_bench.maze import experiment
        from fgrpo_bench.maze.grid import Cell

        experiment.run(Cell.from_json(payload), directory, lambda line: _tell(**line))


def _tell(event: str = "progress", **content: Any) -> None:
    print(json.dumps({"event": event, **content}), flush=True)


def _leave_with_parent() -> None:
    """Block until the parent's end of the pipe closes, then stop: every file here is atomic.

    Reads the descriptor, since a thread inside ``sys.stdin`` can abort the interpreter's exit.
    """
    while os.read(0, 4096):
        pass
    os._exit(3)


if __name__ == "__main__":
    main()
