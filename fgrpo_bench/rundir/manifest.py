"""``manifest.json``: what is needed to make a run again. No host names, home paths or secrets."""

import json
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fgrpo_bench.errors import UserError
from fgrpo_bench.rundir.atomic import write_json

SCHEMA = 1
_PACKAGES = (
    *("fgrpo-bench", "torch", "transformers", "numpy", "scipy", "pandas", "pyarrow"),
    *("safetensors", "lm-eval", "vllm", "openai"),
    *("math-verify", "latex2sympy2-extended", "sympy", "langdetect", "nltk"),
)


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def environment() -> dict[str, Any]:
    """Return package versions, platform and the git commit of the project's checkout, if any."""
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "packages": packages,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "git": _git(),
    }


def write_manifest(directory: Path, content: dict[str, Any]) -> None:
    """Write a manifest atomically behind its schema version."""
    write_json(directory / "manifest.json", {"schema": SCHEMA, **content})


def read_manifest(directory: Path, again: str = "run it again with --force") -> dict[str, Any]:
    """Read a run's manifest; ``again`` is how to mend one that cannot be read.

    Raises:
        UserError: a missing or damaged file, named.
    """
    path = directory / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
        manifest["command"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} cannot be read; {again}") from None
    return manifest


def resume_manifest(directory: Path, fresh: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest to write: ``fresh``, or the first one with a note that it was resumed.

    The note has the time and the environment, which may differ from those of the beginning.
    """
    try:
        first = json.loads((directory / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError):
        return fresh
    first.pop("schema", None)
    keys = ("started", "packages", "python", "platform", "git", "device", "threads")
    again = {key: fresh[key] for key in keys}
    return {**first, "resumed": [*first.get("resumed", []), again]}


def _git() -> dict[str, Any] | None:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        commit = _run(root, "rev-parse", "HEAD")
        dirty = bool(_run(root, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": dirty}


def _run(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ("git", "-C", str(root), *arguments), capture_output=True, text=True, check=True, timeout=20
    )
    return done.stdout.strip()
