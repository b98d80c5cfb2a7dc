"""The cache: what it gives back was put in, and no state of its file stops anyone."""

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgrpo_bench.grading.cache import VerdictCache, default_path, key
from fgrpo_bench.grading.outcomes import Question, Reply

ROOT = Path(__file__).resolve().parents[2]
RIGHT = Reply("done", True)


def name(number):
    return number.to_bytes(16, "big")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "verdicts.sqlite"


def test_what_was_decided_comes_back_to_another_object(path):
    replies = {
        name(1): RIGHT,
        name(2): Reply("done", False, "a detail"),
        name(3): Reply("exhausted"),
        name(4): Reply("done", True, "\ud83d\x00é"),
        name(5): Reply("done", True, ""),
    }
    VerdictCache(path).put(replies)
    assert VerdictCache(path).get([*replies, name(9)]) == replies
    assert VerdictCache(path).get([]) == {}


def test_what_may_not_come_again_is_not_kept(path):
    cache = VerdictCache(path)
    undecided = {name(1): Reply("late"), name(2): Reply("failed", reason="ValueError")}
    cache.put({**undecided, name(3): RIGHT})
    assert cache.get([name(1), name(2), name(3)]) == {name(3): RIGHT}


def test_many_keys_at_once(path):
    cache = VerdictCache(path)
    replies = {name(i): Reply("done", i % 3 == 0) for i in range(2345)}
    cache.put(replies)
    assert cache.get(list(replies)) == replies


def test_texts_are_not_in_the_file(path):
    question = Question("math", "a gold of some length", "an answer of some length")
    VerdictCache(path).put({key(question, "version"): RIGHT})
    data = path.read_bytes()
    assert b"some length" not in data
    assert b"version" not in data


@given(st.lists(st.tuples(*[st.text(st.characters(), max_size=3)] * 3), min_size=2, max_size=2))
def test_equal_keys_mean_equal_questions(parts):
    one, other = (key(Question("math", gold, answer), v) for gold, answer, v in parts)
    assert (one == other) == (parts[0] == parts[1])
    assert len(one) == 16


def test_the_key_knows_the_kind_and_forgets_the_miss():
    first = key(Question("math", "1", "2"), "v")
    assert key(Question("ifeval", "1", "2"), "v") != first
    assert key(Question("math", "1", "2", "no_answer"), "v") == first
    assert first.hex() == "3d3c54c7995d946a845c08338809e377"


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def damage_whole(path):
    path.write_bytes(b"no database at all" * 1000)


def damage_pages(path):
    VerdictCache(path).put({name(i): RIGHT for i in range(5000)})
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


def foreign(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()


def folder(path):
    path.mkdir()


@pytest.mark.parametrize("harm", [damage_whole, damage_pages, foreign, folder])
def test_a_file_that_cannot_be_used_is_left_alone_with_one_warning(path, harm, caplog):
    path.parent.mkdir()
    harm(path)
    before = path.read_bytes() if path.is_file() else None
    cache = VerdictCache(path)
    for _ in range(2):
        assert cache.get([name(1)]) == {}
        cache.put({name(1): RIGHT})
    (warning,) = warnings(caplog)
    assert str(path) in warning
    assert "\n" not in warning
    assert before is None or path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_told_once(tmp_path, caplog):
    (tmp_path / "file").touch()
    cache = VerdictCache(tmp_path / "file" / "verdicts.sqlite")
    threads = [threading.Thread(target=cache.put, args=({name(1): RIGHT},)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.get([name(1)]) == {}
    assert len(warnings(caplog)) == 1


@pytest.fixture
def nobody():
    """Be someone without rights, also where tests run as root; gives a folder all can read."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder), lambda: os.seteuid(65534 if user == 0 else user)
        os.seteuid(user)
        os.chmod(folder, 0o755)


@pytest.mark.parametrize("filled", [False, True])
def test_a_folder_that_can_only_be_read(nobody, filled, caplog):
    folder, become = nobody
    path = folder / "verdicts.sqlite"
    if filled:
        VerdictCache(path).put({name(1): RIGHT})
        path.chmod(0o444)
    folder.chmod(0o555)
    become()
    cache = VerdictCache(path)
    assert cache.get([name(1), name(2)]) == ({name(1): RIGHT} if filled else {})
    for _ in range(2):
        cache.put({name(2): RIGHT})
    assert cache.get([name(2)]) == {}
    assert len(warnings(caplog)) == 1


def test_an_empty_file_is_a_new_one(path, caplog):
    path.parent.mkdir()
    path.touch()
    VerdictCache(path).put({name(1): RIGHT})
    assert VerdictCache(path).get([name(1)]) == {name(1): RIGHT}
    assert not warnings(caplog)


WRITE = """
import sys
from pathlib import Path
from fgrpo_bench.grading.cache import VerdictCache
from fgrpo_bench.grading.outcomes import Reply
cache, start = VerdictCache(Path(sys.argv[1])), int(sys.argv[2])
for batch in range(start, start + int(sys.argv[3])):
    rows = [(batch * 100 + i) for i in range(100)]
    cache.put({n.to_bytes(16, "big"): Reply("done", n % 2 == 0) for n in rows})
    print(batch, flush=True)
"""


def writer(path, start, batches):
    command = [sys.executable, "-c", WRITE, str(path), str(start), str(batches)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_processes_and_threads_write_at_once(path, caplog):
    cache = VerdictCache(path)
    with writer(path, 0, 20) as one, writer(path, 100, 20) as other:
        threads = [
            threading.Thread(target=cache.put, args=({name(50_000 + i): RIGHT},)) for i in range(10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.stdout.read().count("\n") == other.stdout.read().count("\n") == 20
    numbers = [*range(2000), *range(10_000, 12_000), *range(50_000, 50_010)]
    found = cache.get([name(number) for number in numbers])
    assert found == {name(n): Reply("done", n % 2 == 0 or n >= 50_000) for n in numbers}
    assert not warnings(caplog)


def test_a_kill_in_the_middle_loses_one_batch_at_most(path, caplog):
    start = 0
    for delay in (0.0, 0.013, 0.031):
        with writer(path, start, 10_000) as process:
            process.stdout.readline()
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            told = [start, *map(int, process.stdout.read().split())]
        numbers = range(start * 100, (told[-1] + 3) * 100)
        found = VerdictCache(path).get([name(number) for number in numbers])
        assert len(found) % 100 == 0, "half a batch"
        assert (told[-1] + 1 - start) * 100 <= len(found) <= (told[-1] + 2 - start) * 100
        start = told[-1] + 10
    assert not warnings(caplog)


def test_the_default_place(monkeypatch, tmp_path):
    monkeypatch.setenv("FGRPO_BENCH_CACHE", str(tmp_path / "ours"))
    assert default_path() == tmp_path / "ours" / "verdicts.sqlite"
