"""Sampling a task: nothing lost, nothing doubled, whatever happens in between."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fgrpo_bench.errors import Failed, UserError
from fgrpo_bench.sampling.bench import SETTINGS, ScriptedEngine, scripted_problems
from fgrpo_bench.sampling.plan import WHOLE, Shard
from fgrpo_bench.sampling.run import Sampling, prompts_hash

DRIVER = """
import sys
from pathlib import Path
from fgrpo_bench.sampling.bench import SETTINGS, ScriptedEngine, scripted_problems
from fgrpo_bench.sampling.run import Sampling
folder, samples, rate, rows = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
engine = ScriptedEngine(rate)
engine.block_rows = rows
sampling = Sampling(folder, "scripted", scripted_problems(100), {"engine": "scripted"})
print("ready", flush=True)
sampling.fill(sampling.missing(samples, rows), engine, SETTINGS, 0, lambda: None)
"""


def fill(folder: Path, problems=9, samples=20, rows=64, engine=None, shard=WHOLE, seed=0):
    folder.mkdir(exist_ok=True)
    engine = engine or ScriptedEngine()
    sampling = Sampling(folder, "scripted", scripted_problems(problems), {"engine": "x"})
    blocks = sampling.missing(samples, rows, shard)
    sampling.fill(blocks, engine, SETTINGS, seed, lambda: None)
    return blocks


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rows(folder: Path) -> dict[tuple[str, int], tuple[str, int]]:
    found = {}
    for path in folder.iterdir():
        for row in pq.read_table(path, partitioning=None).to_pylist():
            key = row["problem_id"], row["sample"]
            assert key not in found
            found[key] = row["response"], row["seed"]
    return found


def test_every_sample_is_there_once_and_depends_on_its_seed(tmp_path):
    fill(tmp_path)
    found = rows(tmp_path)
    assert sorted(found) == sorted((f"{p}", s) for p in range(9) for s in range(20))
    assert len({seed for _, seed in found.values()}) == 18  # of each problem one per 16 samples
    fill(tmp_path / "other", seed=1)
    assert rows(tmp_path / "other").keys() == found.keys()
    assert rows(tmp_path / "other") != found


def test_again_there_is_nothing_to_do(tmp_path):
    assert fill(tmp_path)
    before = contents(tmp_path)
    assert fill(tmp_path) == []
    assert contents(tmp_path) == before


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_parts_of_several_machines_make_the_same_whole(tmp_path, order):
    """Each part on a machine of its own, then all files in one folder."""
    whole, together = tmp_path / "whole", tmp_path / "together"
    fill(whole, samples=200)
    together.mkdir()
    for index in order:
        part = tmp_path / f"part{index}"
        fill(part, samples=200, shard=Shard(index, 4))
        for path in part.iterdir():
            path.rename(together / path.name)
    assert contents(together) == contents(whole)
    assert fill(together, samples=200) == []


def test_more_samples_leave_those_that_are_there_alone(tmp_path):
    fill(tmp_path, samples=10)
    before = contents(tmp_path)
    fill(tmp_path, samples=100)
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    assert sorted(rows(tmp_path)) == sorted((f"{p}", s) for p in range(9) for s in range(100))


def test_files_that_hold_the_same_samples_are_refused(tmp_path):
    fill(tmp_path / "a", samples=10)
    fill(tmp_path / "b", samples=12)
    for path in (tmp_path / "b").iterdir():
        path.rename(tmp_path / "a" / path.name)
    with pytest.raises(UserError, match="hold the same samples: delete one of them"):
        fill(tmp_path / "a", samples=12)


class Breaking(ScriptedEngine):
    """Breaks down at one call."""

    def __init__(self, at: int, how: str) -> None:
        super().__init__()
        self.at, self.how, self.calls = at, how, 0

    def generate(self, requests, settings):
        self.calls += 1
        out = super().generate(requests, settings)
        if self.calls < self.at:
            return out
        if self.how == "short":
            out[0].pop()
        elif self.how == "long":
            out[-1].append(out[0][0])
        elif self.how == "lost":
            out.pop()
        else:
            raise UserError("the server is gone")
        return out


@pytest.mark.parametrize("how", ["short", "long", "lost", "gone"])
def test_a_broken_answer_stops_it_and_what_is_done_is_kept(tmp_path, how):
    whole = tmp_path / "whole"
    fill(whole)
    with pytest.raises((Failed, UserError), match=r"scripted returned|server is gone"):
        fill(tmp_path / "broken", engine=Breaking(4, how))
    done = contents(tmp_path / "broken")
    assert len(done) == 3
    fill(tmp_path / "broken")
    assert contents(tmp_path / "broken") == contents(whole)


class SameAgain(ScriptedEngine):
    """Ignores the seed."""

    def generate(self, requests, settings):
        same = [request._replace(seed=index) for index, request in enumerate(requests)]
        return super().generate(same, settings)


def test_a_broken_seed_is_refused_before_the_repeat_is_stored(tmp_path):
    with pytest.raises(UserError, match="ignores the seed"):
        fill(tmp_path, samples=128, rows=1024, engine=SameAgain())
    assert len(contents(tmp_path)) == 1
    with pytest.raises(UserError, match="ignores the seed"):  # known from the files, too
        fill(tmp_path, samples=128, rows=1024, engine=SameAgain())


def test_requests_of_one_block_that_repeat_are_refused(tmp_path):
    """With few problems a block holds several requests of each: every 16 samples are compared."""

    class Sixteen(ScriptedEngine):
        def generate(self, requests, settings):
            few = super().generate([r._replace(n=16) for r in requests], settings)
            return [(texts * 99)[: r.n] for texts, r in zip(few, requests, strict=True)]

    fill(tmp_path / "good", samples=64, rows=1024)
    assert len(contents(tmp_path / "good")) == 1
    with pytest.raises(UserError, match="from number 16 on repeat those from number 0"):
        fill(tmp_path / "bad", samples=64, rows=1024, engine=Sixteen())


def test_more_samples_that_begin_like_the_first_are_refused(tmp_path):
    fill(tmp_path, samples=16, rows=144, engine=SameAgain())
    with pytest.raises(UserError, match="from number 16 on repeat those from number 0"):
        fill(tmp_path, samples=40, rows=144, engine=SameAgain())


def test_the_hash_of_prompts_sees_order_identity_and_text():
    some = scripted_problems(3)
    others = [some[::-1], some[:2], scripted_problems(4)]
    assert len({prompts_hash(problems) for problems in [some, *others]}) == 4
    assert prompts_hash(some) == prompts_hash(scripted_problems(3))


def kill_and_resume(tmp_path, kills: int, samples: int, rate: float, block_rows: int) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def start(folder: Path, speed: float) -> subprocess.Popen[bytes]:
        words = (sys.executable, "-c", DRIVER, str(folder), f"{samples}", f"{speed}")
        return subprocess.Popen((*words, f"{block_rows}"), env=environment, stdout=subprocess.PIPE)

    def finish(process: subprocess.Popen[bytes]) -> None:
        process.communicate(timeout=120)
        assert process.returncode == 0

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    finish(start(whole, 1e9))
    rng, alive = random.Random(0), 0
    for _ in range(kills):
        process = start(killed, rate)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        before = len(list(killed.glob("p*.parquet")))
        time.sleep(rng.uniform(0.0, 100 * samples / rate / kills))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            alive += 1
        process.communicate(timeout=60)
        now = {p.name: p.read_bytes() for p in killed.glob("p*.parquet")}
        assert len(now) >= before
        assert all((whole / name).read_bytes() == data for name, data in now.items())
    assert alive == kills, "a kill came too late: it hit nothing"
    finish(start(killed, 1e9))
    for leftover in killed.glob(".*.tmp"):  # the lock's holder removes them, in the command
        leftover.unlink()
    assert contents(killed) == contents(whole)
    assert len(rows(killed)) == 100 * samples


def test_three_kills_lose_and_double_nothing(tmp_path):
    kill_and_resume(tmp_path, kills=3, samples=300, rate=20_000, block_rows=640)


@pytest.mark.slow
def test_twenty_kills_of_a_run_of_100_000_samples_lose_and_double_nothing(tmp_path):
    kill_and_resume(tmp_path, kills=20, samples=1000, rate=20_000, block_rows=640)
