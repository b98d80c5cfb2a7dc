"""The cache is where the user says, else in the home, else among temporary files."""

import os
import tempfile
from pathlib import Path

import pytest

from fgrpo_bench.rundir.cache_folder import cache_folder


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.delenv("FGRPO_BENCH_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_nearest_place_that_is_named(tmp_path, monkeypatch):
    assert cache_folder() == tmp_path / "home/.cache/fgrpo-bench"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg/fgrpo-bench"
    monkeypatch.setenv("FGRPO_BENCH_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "home/mine"
    assert cache_folder().is_dir()


def test_a_relative_place_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FGRPO_BENCH_CACHE", "here")
    assert cache_folder() == tmp_path / "here"


def unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FGRPO_BENCH_CACHE", str(tmp_path / "file" / "cache"))


def test_a_place_that_cannot_be_is_replaced_by_a_private_one(tmp_path, monkeypatch):
    unwritable(tmp_path, monkeypatch)
    folder = cache_folder()
    assert folder == cache_folder() == tmp_path / f"fgrpo-bench-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("taken", ["writable by all", "a link", "a file"])
def test_a_private_folder_that_others_could_change_is_not_taken(tmp_path, monkeypatch, taken):
    unwritable(tmp_path, monkeypatch)
    folder = tmp_path / f"fgrpo-bench-{os.getuid()}"
    if taken == "a link":
        (tmp_path / "theirs").mkdir()
        folder.symlink_to(tmp_path / "theirs")
    elif taken == "a file":
        folder.touch(0o700)
    else:
        folder.mkdir()
        folder.chmod(0o777)
    assert cache_folder() != folder
    assert cache_folder().stat().st_mode & 0o777 == 0o700
