"""``fgrpo-bench doctor``: what is installed here, and whether it is what was tested together."""

import os
import platform
import re
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from fgrpo_bench import __version__
from fgrpo_bench.executor import cores

_HERE = Path(__file__).resolve().parents[1]


def doctor() -> None:
    """Print versions against the tested set, cores, GPU and writable places."""
    print(f"fgrpo-bench {__version__}, Python {platform.python_version()}, {platform.system()}")
    print(f"cores: {cores()} usable; one worker each")
    print(f"GPU: {_gpu()}")
    for place in (Path.cwd(), Path(tempfile.gettempdir())):
        free = shutil.disk_usage(place).free / 2**30
        can = "writable" if os.access(place, os.W_OK) else "NOT writable: choose another --out"
        print(f"{place}: {can}, {free:.0f} GiB free")
    print("packages (tested version in brackets where it differs):")
    own = {re.split(r"[^A-Za-z0-9._-]", text)[0] for text in requires("fgrpo-bench") or ()}
    for name, tested in tested_versions().items():
        if name not in own:
            continue
        print(f"  {name} {_compare(name, tested)}")


def tested_versions() -> dict[str, str]:
    """Return the versions of ``constraints.txt``, from the package or the checkout."""
    for path in (_HERE / "constraints.txt", _HERE.parent / "constraints.txt"):
        if path.exists():
            lines = path.read_text("utf-8").splitlines()
            return dict(line.split("==") for line in lines if line and not line.startswith("#"))
    return {}


def _compare(name: str, tested: str) -> str:
    try:
        here = version(name)
    except PackageNotFoundError:
        return f"not installed [{tested}]"
    return here if here.partition("+")[0] == tested else f"{here} [{tested}]"


def _gpu() -> str:
    """Ask torch for a GPU; the mazes need none."""
    try:
        import torch
    except ModuleNotFoundError:
        return "unknown, torch is not installed: pip install 'fgrpo-bench[train]'"
    if not torch.cuda.is_available():
        return "none (the mazes run on the CPU)"
    return ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
