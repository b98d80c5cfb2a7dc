"""Where what can be made again is kept between runs."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Return a folder to write to: the user's cache, else one in the folder of temporary files.

    The first is ``$FGRPO_BENCH_CACHE``, or ``fgrpo-bench`` in ``$XDG_CACHE_HOME`` or ``~/.cache``.
    """
    folder = _wanted()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    return folder if writable else temporary_folder()


def _wanted() -> Path:
    if own := os.environ.get("FGRPO_BENCH_CACHE"):
        return Path(own).expanduser().absolute()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return (caches if caches.is_absolute() else Path.cwd() / caches) / "fgrpo-bench"


def temporary_folder() -> Path:
    """Return a private folder: the same in all processes of a user, or a new one if it is taken."""
    folder = Path(tempfile.gettempdir()) / f"fgrpo-bench-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.lstat()
    private = stat.S_ISDIR(about.st_mode) and not about.st_mode & 0o022
    ours = private and about.st_uid == os.getuid()
    return folder if ours else Path(tempfile.mkdtemp(prefix="fgrpo-bench-"))
