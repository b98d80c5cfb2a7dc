"""The executor: every way a worker can end reaches the person who waits."""

import sys
from itertools import pairwise

import pytest

from fgrpo_bench import executor
from fgrpo_bench.errors import Failed, Interrupted, UserError
from fgrpo_bench.executor import Job, run_jobs

NOISE = "print('MKL_VERBOSE oneMKL', flush=True); print('{\"torn', flush=True);"
TELL = "import json, sys; tell = lambda **e: print(json.dumps(e), flush=True);"


def scripted(monkeypatch, script: str) -> None:
    """Let workers run this script instead of ours."""
    monkeypatch.setattr(executor, "WORKER", (sys.executable, "-c", TELL + script))


def job(tmp_path, name="job"):
    return Job(name, "cell", {}, tmp_path / name)


def test_events_arrive_and_noise_is_passed_over(tmp_path, monkeypatch):
    scripted(monkeypatch, NOISE + "tell(event='progress', step=3); tell(event='end')")
    seen = []
    run_jobs([job(tmp_path, str(i)) for i in range(4)], lambda name, event: seen.append(event))
    assert seen == [{"event": "progress", "step": 3}] * 4
    assert not list(tmp_path.rglob("worker-*.log"))


def test_bad_input_found_by_a_worker_is_the_commands_error(tmp_path, monkeypatch):
    scripted(monkeypatch, "tell(event='error', message='mend this')")
    with pytest.raises(UserError, match="mend this"):
        run_jobs([job(tmp_path)], lambda *_: None)


def test_a_crash_is_a_failure_with_its_last_words(tmp_path, monkeypatch):
    scripted(monkeypatch, "raise ZeroDivisionError('by nothing')")
    with pytest.raises(Failed, match=r"job: the worker failed: ZeroDivisionError: by nothing"):
        run_jobs([job(tmp_path)], lambda *_: None)
    (log,) = tmp_path.rglob("worker-*.log")
    assert "Traceback" in log.read_text()


def test_a_silent_exit_is_a_failure(tmp_path, monkeypatch):
    scripted(monkeypatch, "sys.exit(5)")
    with pytest.raises(Failed, match="exit code 5"):
        run_jobs([job(tmp_path)], lambda *_: None)


def test_a_kill_is_an_interruption(tmp_path, monkeypatch):
    scripted(monkeypatch, "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(Interrupted, match="signal 9; its work is kept"):
        run_jobs([job(tmp_path)], lambda *_: None)


TWO = (
    "import time; name = json.loads(sys.stdin.readline())['directory'];\n"
    "if name.endswith('bad'): {bad}\n"
    "else: time.sleep({seconds}); tell(event='progress', step=1); tell(event='end')"
)


def test_gpus_are_shared_out_one_to_a_worker(tmp_path, monkeypatch):
    script = (
        "import os, time; gpu = os.environ.get('CUDA_VISIBLE_DEVICES');\n"
        "tell(event='progress', gpu=gpu, at=time.monotonic()); time.sleep(0.3);\n"
        "tell(event='progress', gpu=gpu, at=time.monotonic()); tell(event='end')"
    )
    scripted(monkeypatch, script)
    seen: dict = {}
    jobs = [job(tmp_path, str(index)) for index in range(5)]
    run_jobs(jobs, lambda name, event: seen.setdefault(name, []).append(event), ["0", "3"])
    spans = sorted((e[0]["gpu"], e[0]["at"], e[1]["at"]) for e in seen.values())
    assert {gpu for gpu, _, _ in spans} == {"0", "3"}
    for (gpu, _, end), (other, start, _) in pairwise(spans):
        assert gpu != other or end <= start, "two workers on one GPU"


def test_one_bad_job_does_not_stop_the_others(tmp_path, monkeypatch):
    scripted(monkeypatch, TWO.format(bad="tell(event='error', message='mend')", seconds=0.5))
    done = []
    jobs = [job(tmp_path, name) for name in ("bad", "a", "b", "c")]
    with pytest.raises(UserError, match="bad: mend"):
        run_jobs(jobs, lambda name, event: done.append(name))
    assert sorted(done) == ["a", "b", "c"]


def test_a_kill_stops_the_others(tmp_path, monkeypatch):
    scripted(monkeypatch, TWO.format(bad="import os; os.kill(os.getpid(), 9)", seconds=60))
    monkeypatch.setattr(executor, "cores", lambda: 2)
    started = []
    start = executor._start
    monkeypatch.setattr(executor, "_start", lambda *a: started.append(start(*a)) or started[-1])
    with pytest.raises(Interrupted, match="bad"):
        run_jobs([job(tmp_path, "good"), job(tmp_path, "bad")], lambda *_: None)
    assert all(process.poll() is not None for process in started)
