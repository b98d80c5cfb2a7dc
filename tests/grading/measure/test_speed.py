"""The speed measurement: its answers, and what it makes of a pool that is well or ill."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fgrpo_bench.grading.measure import speed
from fgrpo_bench.grading.outcomes import Reply


def right_or_wrong(cases):
    return ["correct" if case.right else "wrong" for case in cases]


def test_answers_are_long_tailed_and_the_right_one_is_the_most_frequent():
    problems = speed.sampled()
    assert {len(cases) for cases in problems} == {1024}
    distinct = [len({case.answer for case in cases}) for cases in problems]
    assert sum(distinct) / len(distinct) == pytest.approx(84, abs=3)
    for cases in problems:
        counts = Counter(case.answer for case in cases)
        ((first, _),) = counts.most_common(1)
        assert {case.right for case in cases if case.answer == first} == {True}
        assert int(first) == int(cases[0].row.gold)
        assert sum(count == 1 for count in counts.values()) >= 5
    assert problems == speed.sampled()


def test_speed_is_measured_beside_one_call_for_each(monkeypatch):
    pytest.importorskip("math_verify")
    monkeypatch.setattr(speed, "BESIDE", 2)
    lines: list[str] = []
    found = speed.measure_speed(right_or_wrong, lines.append)
    assert found["ratio"] == pytest.approx(found["beside_seconds"] / found["seconds"])
    assert (found["misgraded"], found["beside_measured_samples"], len(lines)) == (0, 2, 2)
    wrong = speed.measure_speed(lambda cases: ["wrong"] * len(cases), lines.append)
    assert wrong["misgraded"] == sum(case.right for cases in speed.sampled() for case in cases)


def test_hostile_answers_are_a_hundred_different_ones():
    texts = speed.hostile()
    assert len(set(texts)) == len(texts) == 100
    assert max(map(len, texts)) == 400_000
    assert any("\0" in text for text in texts)
    assert any("\ud800" in text for text in texts)
    for text in texts:
        assert text.count("{") == text.count("}")


@pytest.mark.parametrize("alive", [True, False])
def test_a_pool_is_alive_after_hostile_answers_or_not(alive):
    asked = []

    def ask(questions):
        asked.append(len(questions))
        if len(questions) > 1:
            return [Reply("exhausted")] * len(questions)
        return [Reply("done", right=alive or len(asked) == 1)]

    found = speed.measure_hostile(ask, workers=2, limit=5.0)
    assert asked == [1, 100, 1]
    assert (found["alive"], found["bound_seconds"], found["accepted"]) == (alive, 250.0, 0)
    assert found["statuses"] == {"exhausted": 100}
    assert found["share_of_bound"] == pytest.approx(found["seconds"] / 250)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
def test_zombies_and_growing_memory_are_seen():
    kept: list[bytearray] = []
    ended = []

    def ask(questions):
        kept.append(bytearray(b"x" * 30_000_000))
        return [Reply("done")] * len(questions)

    def leave(questions):
        process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
        process.stdout.read()  # it has ended, and nobody asks how
        ended.append(process)
        return [Reply("done")] * len(questions)

    before = speed.measure_leaks(lambda questions: [Reply("done")] * len(questions), 100)
    grown, left = speed.measure_leaks(ask, 100), speed.measure_leaks(leave, 10)
    for process in ended:
        process.wait()
        process.stdout.close()
    assert grown["megabytes"][-1] - grown["megabytes"][0] > 100 > 10 * before["growth"]
    assert left["zombies"] - before["zombies"] >= 4
