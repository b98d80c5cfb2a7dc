"""The pool: whatever an answer does to its worker, every question comes to a true reply."""

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fgrpo_bench.grading import child, pool
from fgrpo_bench.grading.limits import Limits
from fgrpo_bench.grading.outcomes import Question, Reply
from fgrpo_bench.grading.pool import Pool

ROOT = Path(__file__).resolve().parents[2]
GRADERS = {"math": "tests.grading.hostile:meets"}
SHORT = Limits(cpu=0.3, memory=256 << 20, deadline=30)


def ask(deed, answer=""):
    return Question("math", deed, answer)


def make(workers=1, limits=SHORT, graders=GRADERS):
    return Pool(workers, limits, graders)


@pytest.fixture(autouse=True)
def reachable(monkeypatch):
    """Workers import this checkout and its tests, wherever pytest was started."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


@pytest.fixture(scope="module")
def two():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        with make(2) as shared:
            yield shared


@pytest.fixture
def children():
    """Lists the processes, dead ones too, that this one is the parent of since the test began."""
    before = set(started())
    return lambda: [pid for pid in started() if pid not in before]


def started():
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, rest = path.parent.name, path.read_text().rsplit(")", 1)[1].split()
            if int(rest[1]) == os.getpid():
                found.append(int(pid))
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


EXHAUSTED = Reply("exhausted")


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (ask("spin"), EXHAUSTED),
        (ask("power"), EXHAUSTED),
        (ask("drain"), EXHAUSTED),
        (ask("hoard"), EXHAUSTED),
        (ask("recurse"), EXHAUSTED),
        (ask("swallow"), EXHAUSTED),
        (ask("swallow_once"), EXHAUSTED),
        (ask("swallow_all"), EXHAUSTED),
        (ask("leave", "5"), Reply("failed", reason="the worker ended with exit code 5")),
        (ask("leave", "0"), Reply("failed", reason="the worker ended with exit code 0")),
        (ask("stop"), Reply("failed", reason="the worker ended with exit code 3")),
        (ask("fail", "x"), Reply("failed", reason="ValueError: 'two\\nlines x'")),
        (ask("fail_unprintably"), Reply("failed", reason="Unprintable")),
        (ask("chatter"), Reply("done", True)),
    ],
    ids=lambda value: value.gold if isinstance(value, Question) else "",
)
def test_what_an_answer_does_and_the_next_one_is_not_touched(two, question, reply):
    assert two.ask([question, ask("equal", "right"), ask("equal")]) == [
        reply,
        Reply("done", True),
        Reply("done", False),
    ]


def test_a_sleeper_is_late():
    with make(limits=Limits(cpu=5, deadline=1)) as one:
        start = time.monotonic()
        replies = one.ask([ask("sleep", "60"), ask("equal", "right")])
        assert time.monotonic() - start < 20
        assert replies == [Reply("late"), Reply("done", True)]


def test_a_worker_that_does_not_read_a_long_question_is_late():
    with make(limits=Limits(deadline=0.5)) as one:
        (pid,) = pids(one)
        os.kill(pid, signal.SIGSTOP)
        assert one.ask([ask("echo", "x" * 1_000_000)]) == [Reply("late")]
        assert not alive(pid)
        assert one.ask([ask("equal", "right")]) == [Reply("done", True)]


def pids(pool, count=1):
    replies = pool.ask([ask("where")] * count)
    return {json.loads(reply.detail)[0] for reply in replies}


def test_workers_come_as_needed_stay_and_know_their_place(children):
    with make(3) as many:
        assert children() == []
        (reply,) = many.ask([ask("where")])
        pid, parent, *settings = json.loads(reply.detail)
        assert (parent, settings) == (os.getpid(), ["1", "0"])
        assert pids(many) == {pid}
        assert children() == [pid]
        many.ask([ask("sleep", "0.5")] * 5)
        assert len(children()) == 3
    assert children() == []


def test_a_worker_killed_while_idle_or_busy_is_replaced_and_the_question_asked_again(tmp_path):
    with make() as one:
        (pid,) = pids(one)
        os.kill(pid, signal.SIGKILL)
        assert one.ask([ask("echo", "x" * 1_000_000)])[0].status == "done"
        mark = str(tmp_path / "mark")
        assert one.ask([ask("leave_once", mark)]) == [Reply("done", True)]


def test_a_question_whose_workers_are_killed_twice_has_failed(tmp_path):
    mark = tmp_path / "mark"
    mark.touch()
    replies = []
    with make() as one:
        question = ask("hang", str(mark))
        thread = threading.Thread(target=lambda: replies.extend(one.ask([question])))
        thread.start()
        for time in (1, 2):
            until(lambda time=time: mark.read_text().count("\n") == time)
            os.kill(int(mark.read_text().split()[-1]), signal.SIGKILL)
        thread.join(30)
    assert replies == [Reply("failed", reason="the worker ended with signal 9")]


def test_a_worker_that_has_grown_is_replaced(monkeypatch):
    monkeypatch.setattr(child, "GROWTH", 64 << 20)
    with make(limits=Limits(cpu=10, memory=1 << 30)) as one:  # new pages take their time
        first, second, third = (one.ask([ask("grow", size)])[0].detail for size in ("8", "96", "8"))
        assert first == second != third


def test_a_grader_that_cannot_be_imported_is_a_failure():
    with make(graders={"math": "no_such_module:meets"}) as one:
        (reply,) = one.ask([ask("equal")])
        assert reply == Reply(
            "failed", reason="ModuleNotFoundError: \"No module named 'no_such_module'\""
        )


TEXTS = [
    "",
    "\x00",
    "a\nb\r\u2028",
    "\ud83d",
    "\ud83d\ude00",
    "\U0001f600",
    "(" * 200_000,
    "é\udfff" * 1000,
]


def test_every_text_survives(two):
    assert [reply.detail for reply in two.ask([ask("echo", text) for text in TEXTS])] == TEXTS


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.text(st.characters(), max_size=20), max_size=12),
    st.integers(0, 12),
    st.booleans(),
)
def test_neither_workers_nor_batches_change_replies_or_their_order(two, answers, cut, alone):
    questions = [ask("fingerprint", answer) for answer in answers]
    expected = [Reply("done", len(a) % 2 == 0, f"{len(a)}:{sum(map(ord, a))}") for a in answers]
    seen = {}
    width = two.workers
    two.workers = 1 if alone else width
    try:
        replies = two.ask(questions[:cut], seen.__setitem__) + two.ask(questions[cut:])
    finally:
        two.workers = width
    assert replies == expected
    assert [seen[index] for index in range(len(seen))] == expected[:cut]


def test_order_is_kept_when_the_first_is_slowest(two):
    delays = ["0.4", "0", "0.2", "0"]
    questions = [ask("sleep", delay) for delay in delays] + [ask("echo", str(i)) for i in range(20)]
    came = []
    replies = two.ask(questions, lambda index, reply: came.append(index))
    assert [reply.detail for reply in replies[4:]] == [str(i) for i in range(20)]
    assert sorted(came) == list(range(24)) != came


def test_threads_may_ask_at_once(two):
    answers = {}

    def work(name):
        replies = two.ask([ask("echo", f"{name}-{i}") for i in range(40)])
        answers[name] = [reply.detail for reply in replies]

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == {name: [f"{name}-{i}" for i in range(40)] for name in range(6)}
    assert len(two._children) <= 2


def test_an_outer_alarm_rings_and_its_timer_goes_on(two):
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        assert two.ask([ask("sleep", "0.5"), ask("spin")]) == [Reply("done", True), EXHAUSTED]
        assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(0.1)
        assert len(rung) >= 3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_signals_ignored_or_blocked_here_work_there():
    numbers = {signal.SIGPROF, signal.SIGXCPU}
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        with make() as one:
            assert one.ask([ask("spin"), ask("swallow_all")]) == [EXHAUSTED, EXHAUSTED]
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        for number, handler in before.items():
            signal.signal(number, handler)


class Enough(Exception):
    pass


def test_an_interrupt_kills_the_workers_and_passes(children):
    def interrupt(*_):
        raise Enough

    with make(2, Limits(cpu=60, deadline=600)) as some:
        busy = pids(some, 8)
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 1)
            with pytest.raises(Enough):
                some.ask([ask("spin")] * 4)
        finally:
            signal.signal(signal.SIGALRM, before)
        until(lambda: not set(children()) & busy, 5)
        assert some.ask([ask("equal", "right")]) == [Reply("done", True)]
        assert not pids(some) & busy


def test_what_the_listener_raises_passes_and_the_pool_goes_on(two):
    with pytest.raises(ZeroDivisionError):
        two.ask([ask("equal")] * 5, lambda index, reply: 1 / 0)
    assert two.ask([ask("equal", "right")]) == [Reply("done", True)]


def test_a_closed_pool_says_so_to_those_who_wait_and_those_who_come(children):
    one = make(1, Limits(cpu=60, deadline=600))
    told = []

    def work():
        with pytest.raises(RuntimeError, match="closed") as caught:
            one.ask([ask("sleep", "600")])
        told.append(caught.value)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: len(children()) == 1)
    one.close()
    for thread in threads:
        thread.join(10)
    assert len(told) == 2
    assert children() == []
    with pytest.raises(RuntimeError, match="closed"):
        one.ask([ask("equal")])
    one.close()


def test_a_start_that_fails_is_the_askers_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with make() as one, pytest.raises(FileNotFoundError):
        one.ask([ask("equal")])


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_answers_leave_nothing_behind(two):
    two.ask([ask("equal", "right")] * 100)
    gc.collect()
    files, threads, memory = len(os.listdir("/proc/self/fd")), threading.active_count(), resident()
    for _ in range(5):
        assert all(reply.right for reply in two.ask([ask("equal", "right")] * 2000))
    gc.collect()
    until(lambda: threading.active_count() <= threads, 5)
    assert len(os.listdir("/proc/self/fd")) == files
    assert resident() - memory < 16 << 20


def test_deaths_leave_nothing_behind(children):
    with make() as one:
        one.ask([ask("equal")])
        files = len(os.listdir("/proc/self/fd"))
        one.ask([ask("leave", "1")] * 3 + [ask("equal")])
        assert len(os.listdir("/proc/self/fd")) == files
        assert len(children()) == 1


SCRIPT = """
import os, sys, threading, time
from fgrpo_bench.grading import pool
from fgrpo_bench.grading.limits import Limits
from fgrpo_bench.grading.outcomes import Question, Reply
GRADERS = {"math": "tests.grading.hostile:meets"}
pool.GRADERS = GRADERS
def ask(deed, answer=""): return Question("math", deed, answer)
"""


def script(text, **options):
    command = [sys.executable, "-W", "error", "-c", SCRIPT + text]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("deed", ["spin", "sleep", "drain"])
def test_workers_end_with_a_killed_parent(deed):
    text = f"""
p = pool.Pool(2, Limits(cpu=0.3 if "{deed}" == "drain" else 600), GRADERS)
for reply in p.ask([ask("sleep", "0.3"), ask("sleep", "0.3"), ask("where")]): pass
print(*(c._process.pid for c in p._children), flush=True)
p.ask([ask("{deed}", "600")] * 2)
"""
    with script(text) as process:
        workers = [int(word) for word in process.stdout.readline().split()]
        assert len(workers) == 2
        time.sleep(0.5)
        process.kill()
        process.wait()
        until(lambda: not any(alive(worker) for worker in workers))


def test_a_fork_asks_workers_of_its_own_and_leaves_the_parents_alone():
    text = """
p = pool.Pool(1, Limits(), GRADERS)
first = p.ask([ask("where")])[0].detail
child = os.fork()
if child == 0:
    second = p.ask([ask("where")])[0].detail
    p.close()
    os._exit(0 if second != first else 1)
assert os.waitpid(child, 0)[1] == 0
assert p.ask([ask("where")])[0].detail == first
p.close()
print("good")
"""
    with script(text) as process:
        assert process.stdout.read() == "good\n"
    assert process.returncode == 0


def test_the_shared_pool_is_one_works_in_threads_and_ends_with_the_process():
    text = """
pool.Pool.__init__.__defaults__ = (1, Limits(), GRADERS)
def work():
    p = pool.shared()
    assert p is pool.shared()
    p.ask([ask("equal")])
    print(*(c._process.pid for c in p._children), flush=True)
thread = threading.Thread(target=work); thread.start(); thread.join()
"""
    with script(text) as process:
        (worker,) = process.stdout.read().split()
    assert process.returncode == 0
    assert not alive(int(worker))


def test_the_real_graders_are_the_default():
    assert set(pool.GRADERS) == {"math", "ifeval"}
