"""The accuracy harness counts right, and other graders are asked side by side."""

import pytest

from fgrpo_bench.grading.measure import baselines
from fgrpo_bench.grading.measure.accuracy import HIDDEN, measure
from fgrpo_bench.grading.measure.cases import (
    AS_PRINTED,
    OTHER,
    Case,
    cases_of,
    other_golds,
    thinned,
)
from fgrpo_bench.grading.measure.gold_rows import Row, notation_rows, parts_of
from fgrpo_bench.grading.measure.report import render, summary


def row(gold: str, key: str = "7", benchmark: str = "math500") -> Row:
    return Row(benchmark, key, {"answer": gold}, gold, parts_of(gold))


ROWS = [row(gold, str(key)) for key, gold in enumerate(["$3,5$", r"\frac{1}{2}", "0.5", "x_1"])]


def everything(outcome):
    return lambda cases: [outcome] * len(cases)


def test_a_grader_that_takes_everything_and_one_that_takes_nothing():
    cases = cases_of(ROWS)
    right = sum(case.right for case in cases)
    for outcome, rejected, accepted in (("correct", 0, 1), ("wrong", 1, 0)):
        found = measure(everything(outcome), cases, frozenset())
        assert found.rate("math500", "rejects") == (rejected * right, right)
        assert found.rate("math500", "accepts") == (accepted * (n := len(cases) - right), n)
        assert len(found.failures) == (n if accepted else right)


def test_an_error_of_the_grader_fails_right_answers_and_is_counted():
    found = measure(everything("grader_error"), cases_of(ROWS), frozenset())
    assert found.rate("math500", "accepts")[0] == 0
    assert all(count.errors == count.cases for count in found.counts["math500"].values())


def test_a_failure_is_listed_with_its_row():
    case = Case(ROWS[1], False, "sign", r"-\frac{1}{2}")
    (failure,) = measure(everything("correct"), [case], frozenset()).failures
    assert (failure.row, failure.kind, failure.gold) == ("1", "sign", r"\frac{1}{2}")
    assert (failure.answer, failure.outcome) == (r"-\frac{1}{2}", "correct")


def test_texts_that_may_not_be_shown_are_not_listed():
    case = Case(row("025", benchmark="aime24"), False, "sign", "-25")
    (failure,) = measure(everything("correct"), [case], frozenset(["aime24"])).failures
    assert (failure.row, failure.gold, failure.answer) == ("7", HIDDEN, HIDDEN)


def test_golds_of_other_rows_have_other_values_and_are_drawn_the_same_again():
    rows = [row(gold, str(key)) for key, gold in enumerate(["1", "1.0", "2", r"1 \pm i"])]
    pairs = other_golds(rows)
    assert pairs == other_golds(rows)
    found = {(case.row.id, case.answer, case.clear) for case in pairs}
    assert found == {
        *(("0", "2", True), ("1", "2", True), ("2", "1", True), ("2", "1.0", True)),
        *(("3", answer, False) for answer in ("1", "1.0", "2")),
        *((key, r"1 \pm i", False) for key in "012"),
    }
    assert len(other_golds(rows, limit=3)) == 3
    assert {case.kind for case in pairs} == {OTHER}


def test_a_gold_with_dollar_signs_is_tried_as_it_is_printed():
    texts = {case.answer for case in cases_of([ROWS[0]]) if case.kind == AS_PRINTED}
    assert texts == {"$3,5$"}
    malformed = Row("olympiadbench", "2349", {}, "$221,$8$", ("221", "8"))
    kinds = {case.kind for case in cases_of([malformed])}
    assert AS_PRINTED not in kinds


def test_thinned_cases_are_spread_over_each_kind():
    cases = [Case(ROWS[0], True, kind, str(place)) for kind in "ab" for place in range(10)]
    kept = [(case.kind, case.answer) for case in thinned([*cases, cases[0]._replace(kind="c")], 3)]
    assert kept == [*((kind, answer) for kind in "ab" for answer in "036"), ("c", "0")]


def test_integers_in_the_notations_of_aime_and_amc():
    rows = notation_rows()
    assert {(one.group, one.gold) for one in rows if one.id == "25"} == {
        ("aime (notation)", "025"),
        ("amc (notation)", "25.0"),
    }
    assert len(rows) == 2000


def test_the_report_lists_failures_and_escapes_them():
    cases = [
        Case(ROWS[0], True, "gold", "3, 5"),
        Case(ROWS[3], True, "spacing", "x_{1} | " + "y" * 400),
        Case(ROWS[1], False, OTHER, r"\text{no}", clear=False),
    ]
    results = {
        "ours": measure(lambda _: ["correct", "wrong", "correct"], cases, frozenset()),
        "other": measure(everything("wrong"), cases[:1], frozenset()),
    }
    assert summary(results).rows == (
        ("math500", "ours", "50.00%", "2", "100.00%", "1"),
        ("math500", "other", "100.00%", "1", "", "0"),
    )
    text = render(results, "ours", ["a note"])
    assert r"| math500 | 3 | spacing | x\_1 | x\_{1} \| yyy" in text
    assert "gold of another row (to be judged by a person)" in text
    assert "| gold | right | 0 of 1 | 1 of 1 |" in text
    assert max(map(len, text.splitlines())) < 500


def test_other_graders_are_asked_in_processes_of_their_own():
    pytest.importorskip("math_verify")
    cases = [
        Case(ROWS[1], True, "decimal", "0.5"),
        Case(ROWS[1], False, "sign", r"-\frac{1}{2}"),
        Case(row(r"3\sqrt{13}"), False, "misread", "3"),
    ]
    found = {name: baselines.baseline(name)(cases) for name in list(baselines.BASELINES)[:2]}
    assert found == {
        "math-verify, bare gold": ["correct", "wrong", "correct"],
        "math-verify, wrapped gold": ["correct", "wrong", "wrong"],
    }


def test_another_grader_that_does_not_end_is_stopped(monkeypatch):
    pytest.importorskip("math_verify")
    monkeypatch.setattr(baselines, "SECONDS", 0.01)
    cases = [Case(ROWS[1], True, "gold", "1")] * (baselines.CHUNK + 1)
    found = baselines.baseline("math-verify, wrapped gold")(cases)
    assert found == ["grader_error"] * len(cases)


def test_golds_are_wrapped_once(monkeypatch):
    asked = []
    monkeypatch.setattr(baselines, "_verified", lambda gold, _: asked.append(gold) or "wrong")
    for gold in ("1,3", r"$\frac{1}{2}$", r"\$18.90"):
        baselines.wrapped(gold, "")
    assert asked == ["$1,3$", r"$\frac{1}{2}$", r"$\$18.90$"]
