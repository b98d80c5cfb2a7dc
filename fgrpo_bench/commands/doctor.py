"""``fgrpo-bench doctor``: what is installed here, and whether it is what was tested together."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path

from fgrpo_bench import __version__
from fgrpo_bench.executor import cores
from fgrpo_bench.extras import Requirement, install_line, requirements

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
    possible = [item for item in requirements() if item.platform in ("", sys.platform)]
    for text in package_lines(possible, tested_versions()):
        print(text)


def package_lines(required: Sequence[Requirement], tested: dict[str, str]) -> Iterator[str]:
    """Yield one line for the core and each extra, and below it the packages not yet listed.

    Args:
        required: the requirements, those of an extra in one row.
        tested: package to version.
    """
    listed: set[str] = set()
    for extra, group in groupby(required, key=lambda item: item.extra):
        here = {item.package: _installed(item.package) for item in group}
        missing = ", ".join(name for name, found in here.items() if found is None)
        state = f"missing {missing}: {install_line(extra)}" if missing else "complete"
        yield f"{f'extra {extra}' if extra else 'core'}: {state}"
        for name, found in here.items():
            if found is not None and name not in listed:
                yield f"  {name} {_compare(found, tested.get(name))}"
        listed.update(here)


def tested_versions() -> dict[str, str]:
    """Return the versions of ``constraints.txt``, from the package or the checkout."""
    for path in (_HERE / "constraints.txt", _HERE.parent / "constraints.txt"):
        if path.exists():
            lines = path.read_text("utf-8").splitlines()
            return dict(line.split("==") for line in lines if line and not line.startswith("#"))
    return {}


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _compare(here: str, tested: str | None) -> str:
    return here if tested in (None, here.partition("+")[0]) else f"{here} [{tested}]"


def _gpu() -> str:
    """Ask torch for a GPU; the mazes need none."""
    try:
        import torch
    except ModuleNotFoundError:
        return f"unknown, torch is not installed: {install_line('train')}"
    if not torch.cuda.is_available():
        return "none (the mazes run on the CPU)"
    names = ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
    return f"{names} (for train.device=auto, one run to each)"
