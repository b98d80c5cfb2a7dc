"""The grader: questions become verdicts, asked once, kept where decided."""

import os
import threading
from pathlib import Path

import pytest

from fgrpo_bench.grading import grader as module
from fgrpo_bench.grading.cache import VerdictCache
from fgrpo_bench.grading.grader import Grader, shared_grader
from fgrpo_bench.grading.limits import Limits
from fgrpo_bench.grading.outcomes import Question, Reply, Verdict
from fgrpo_bench.grading.pool import Pool

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "tests.grading.hostile:meets"


class Scripted:
    """Stands for a pool; knows the replies and who asked."""

    def __init__(self, replies=None):
        self.replies = replies or {}
        self.asked = []

    def ask(self, questions, on_reply):
        replies = []
        for index, question in reversed(list(enumerate(questions))):
            self.asked.append(question)
            reply = self.replies.get(
                question.answer, Reply("done", question.gold == question.answer)
            )
            if isinstance(reply, BaseException):
                raise reply
            on_reply(index, reply)
            replies.append(reply)
        return replies[::-1]


def math(gold, answer, miss="wrong"):
    return Question("math", gold, answer, miss)


@pytest.fixture
def cache(tmp_path):
    return VerdictCache(tmp_path / "verdicts.sqlite")


def test_replies_become_verdicts():
    replies = {
        "late": Reply("late"),
        "burst": Reply("exhausted"),
        "broken": Reply("failed", reason="ValueError"),
        "noted": Reply("done", True, "1/2"),
        "off": Reply("done", False, "3"),
    }
    questions = [
        math("1", "1"),
        math("1", "2"),
        math("1", "?", "no_answer"),
        *(math("1", answer) for answer in replies),
    ]
    assert Grader(Scripted(replies), None).settle(questions, "v") == [
        Verdict("correct", "1"),
        Verdict("wrong", "2"),
        Verdict("no_answer", "?"),
        Verdict("grader_error", "late"),
        Verdict("grader_error", "burst"),
        Verdict("grader_error", "broken"),
        Verdict("correct", "1/2"),
        Verdict("wrong", "3"),
    ]


def test_a_whole_response_is_no_answer():
    replies = {"noted": Reply("done", True, "2 of 3"), "late": Reply("late")}
    questions = [Question("ifeval", "{}", answer) for answer in ("a response", "noted", "late")]
    assert Grader(Scripted(replies), None).settle(questions, "v") == [
        Verdict("wrong", None),
        Verdict("correct", "2 of 3"),
        Verdict("grader_error", None),
    ]


def test_equal_questions_are_asked_once_and_each_has_its_own_miss(cache):
    pool = Scripted()
    questions = [math("1", "2"), math("1", "1"), math("1", "2", "no_answer"), math("1", "2")]
    settled = []
    verdicts = Grader(pool, cache).settle(questions, "v", settled.append)
    assert [verdict.outcome for verdict in verdicts] == ["wrong", "correct", "no_answer", "wrong"]
    assert len(pool.asked) == 2
    assert sorted(settled) == [1, 3]


def test_what_is_known_is_not_asked_unless_of_another_version(cache):
    questions = [math("1", str(i % 7)) for i in range(20)]
    first = Grader(Scripted(), cache).settle(questions, "v")
    pool, settled = Scripted(), []
    assert Grader(pool, cache).settle([*questions, math("2", "2")], "v", settled.append) == [
        *first,
        Verdict("correct", "2"),
    ]
    assert [question.gold for question in pool.asked] == ["2"]
    assert settled == [20, 1]
    Grader(pool, cache).settle(questions, "w")
    assert len(pool.asked) == 8


def test_the_undecided_is_asked_again(cache):
    replies = {"a": Reply("late"), "b": Reply("failed", reason="x"), "c": Reply("exhausted")}
    questions = [math("a", "a"), math("b", "b"), math("c", "c")]
    verdicts = Grader(Scripted(replies), cache).settle(questions, "v")
    assert {verdict.outcome for verdict in verdicts} == {"grader_error"}
    pool = Scripted()
    verdicts = Grader(pool, cache).settle(questions, "v")
    assert [verdict.outcome for verdict in verdicts] == ["correct", "correct", "grader_error"]
    assert {question.answer for question in pool.asked} == {"a", "b"}


def test_an_interrupt_keeps_what_was_decided(cache):
    questions = [math("1", str(i)) for i in range(10)]
    with pytest.raises(KeyboardInterrupt):
        Grader(Scripted({"3": KeyboardInterrupt()}), cache).settle(questions, "v")
    pool = Scripted()
    Grader(pool, cache).settle(questions, "v")
    assert {question.answer for question in pool.asked} == {"0", "1", "2", "3"}


def test_decisions_are_kept_as_they_come(cache, monkeypatch):
    monkeypatch.setattr(module, "KEEP_EVERY", 0.0)
    kept = []
    monkeypatch.setattr(cache, "put", lambda fresh: kept.append(len(fresh)))
    Grader(Scripted(), cache).settle([math("1", str(i)) for i in range(5)], "v")
    assert kept == [1] * 5


def test_a_failure_is_told_once_without_the_text(caplog):
    replies = {"secret": Reply("failed", reason="ValueError: 'no'"), "slow": Reply("late")}
    questions = [math("1", "secret")] * 3 + [math("1", "slow")]
    module._warn.cache_clear()
    for _ in range(2):
        Grader(Scripted(replies), None).settle(questions, "v")
    assert sorted(record.getMessage() for record in caplog.records) == [
        "grader math: ValueError: 'no'",
        "grader math: no reply in time",
    ]


def test_a_missing_package_is_an_error_of_the_installation(cache):
    with (
        Pool(1, Limits(), {"math": "no_such_package.grader:meets"}) as pool,
        pytest.raises(ModuleNotFoundError) as caught,
    ):
        Grader(pool, cache).settle([math("1", "1"), math("1", "2")], "v")
    assert caught.value.name == "no_such_package"


def test_other_versions_of_the_libraries_decide_anew(cache, monkeypatch):
    asked = Scripted()
    Grader(asked, cache).settle([math("1", "1")], "v")
    Grader(Scripted(), cache).settle([math("1", "1")], "v")
    module._libraries.cache_clear()
    monkeypatch.setattr(module, "version", lambda name: "999")
    again = Scripted()
    Grader(again, cache).settle([math("1", "1")], "v")
    module._libraries.cache_clear()
    assert len(again.asked) == len(asked.asked) == 1


def test_nothing_asked_nothing_settled(cache):
    assert Grader(Scripted(), cache).settle([], "v") == []


@pytest.fixture
def reachable(monkeypatch):
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


@pytest.mark.usefixtures("reachable")
def test_a_busy_machine_leaves_no_wrong_verdict_behind(cache):
    """A clock that runs out under load says nothing about the answer, then or later."""
    questions = [math("sleep", "0.5"), math("equal", "right"), math("spin", "")]
    graders = {"math": HOSTILE}
    with Pool(1, Limits(cpu=0.3, deadline=0.25), graders) as hurried:
        verdicts = Grader(hurried, cache).settle(questions, "v")
        assert verdicts[0].outcome == "grader_error"
    with Pool(1, Limits(cpu=0.3, deadline=30), graders) as patient:
        verdicts = Grader(patient, cache).settle(questions, "v")
        assert [v.outcome for v in verdicts] == ["correct", "correct", "grader_error"]


@pytest.mark.usefixtures("reachable")
def test_threads_share_a_grader(cache):
    results = {}
    with Pool(2, Limits(), {"math": HOSTILE}) as pool:
        shared = Grader(pool, cache)

        def work(name):
            questions = [math("echo", f"{(i + name) % 30}") for i in range(60)]
            results[name] = [v.answer for v in shared.settle(questions, "v")]

        threads = [threading.Thread(target=work, args=(name,)) for name in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert results == {name: [f"{(i + name) % 30}" for i in range(60)] for name in range(5)}


def test_the_shared_grader_is_one():
    assert shared_grader() is shared_grader()
