"""Breakages make another answer: by hand for each family of golds, and by value."""

import random

import pytest

from fgrpo_bench.grading.measure.breakages import KINDS, breakages
from fgrpo_bench.grading.measure.gold_rows import find_rows, parts_of
from fgrpo_bench.grading.measure.values import same
from tests.grading.measure.worth import worth

BY_HAND = {
    "2": {
        "plus one": ["3"],
        "times 100": ["200"],
        "over 100": ["0.02"],
        "sign": ["-2"],
        "variable": ["x", "n"],
    },
    "0": {"plus one": ["1"], "variable": ["x", "n"]},
    r"\frac{1}{2}": {
        "plus one": [r"\frac{3}{2}"],
        "times 100": ["50"],
        "over 100": [r"\frac{1}{200}"],
        "sign": [r"-\frac{1}{2}"],
        "variable": ["x", "n"],
    },
    r"28\%": {
        "plus one": [r"29\%"],
        "times 100": [r"2800\%"],
        "sign": [r"-28\%"],
        "variable": ["x", "n"],
    },
    "4.5e33": {
        "plus one": [r"5.5 \times 10^{33}"],
        "times 100": [r"4.5 \times 10^{35}"],
        "over 100": [r"4.5 \times 10^{31}"],
        "sign": [r"-4.5 \times 10^{33}"],
        "variable": ["x", "n"],
    },
    r"3\sqrt{13}": {"plus one": [r"3\sqrt{13}+1"], "sign": [r"-\left(3\sqrt{13}\right)"]},
    "2^{1009}": {"plus one": ["2^{1009}+1"], "sign": [r"-\left(2^{1009}\right)"]},
    "p - q": {"sign": [r"-\left(p - q\right)"]},
    r"c e^{-2 x}": {},
    "x=5": {"variable": ["x"]},
    "f(x)=2 x": {"variable": ["f(x)"]},
    "2x+y=0": {},
    "1,2": {"answer dropped": ["1", "2"], "answer altered": ["2, 2", "1, 3"]},
    "-2,-2": {"answer altered": ["-1, -2", "-2, -1"]},
    "16,3,1,1": {
        "answer dropped": ["3, 1, 1"],
        "answer altered": ["17, 3, 1, 1", "16, 4, 1, 1"],
    },
    "0,1,2": {"answer dropped": ["0, 1", "1, 2"], "answer altered": ["1, 1, 2", "0, 2, 2"]},
    "(1,1), (3,2)": {
        "answer dropped": ["(1,1)", "(3,2)"],
        "answer altered": ["(2, 1), (3,2)", "(1,1), (4, 2)"],
    },
    "(0,3)": {"sign": ["(0, -3)"], "answer altered": ["(1, 3)"]},
    "(3,4]": {"interval end": ["[3,4]", "(3,4)"]},
    r"(-\infty, 0]": {"interval end": [r"(-\infty, 0)"]},
    r"(0,9) \cup (9,36)": {
        "answer dropped": ["(0,9)", "(9,36)"],
        "interval end": [
            r"[0,9) \cup (9,36)",
            r"(0,9] \cup (9,36)",
            r"(0,9) \cup [9,36)",
            r"(0,9) \cup (9,36]",
        ],
    },
    r"\left[ \frac{\pi^2}{8}, \frac{5 \pi^2}{4} \right]": {
        "interval end": [
            r"\left( \frac{\pi^2}{8}, \frac{5 \pi^2}{4} \right]",
            r"\left[ \frac{\pi^2}{8}, \frac{5 \pi^2}{4} \right)",
        ],
    },
    r"k \geqslant 2": {"interval end": ["k > 2"]},
    r"1 \pm \sqrt{19}": {"answer dropped": [r"1 + \sqrt{19}", r"1 - \sqrt{19}"]},
    r"\text{Evelyn}": {},
    r"5 \sqrt[3]{4}": {
        "plus one": [r"5 \sqrt[3]{4}+1"],
        "sign": [r"-\left(5 \sqrt[3]{4}\right)"],
    },
}
# their float has no room for the one that is added
TOO_LARGE = {r"2^{1009}", r"\frac{100!}{2^{50}}", r"\frac{4 \cdot 999^{4}}{27}"}


@pytest.mark.parametrize("gold", BY_HAND)
def test_each_family_by_hand(gold):
    found: dict[str, list[str]] = {}
    for name, text in breakages(parts_of(gold)):
        found.setdefault(name, []).append(text)
    assert found == BY_HAND[gold]
    assert set(found) <= set(KINDS)


def test_a_hundredth_of_a_row_in_per_cent_could_be_meant():
    assert "over 100" not in {name for name, _ in breakages(("4.2",), "%")}


def test_numbers_change_their_value():
    draw = random.Random(4)
    factors = {"times 100": 100, "over 100": 0.01, "sign": -1}
    for _ in range(500):
        top, bottom = draw.randrange(-400, 400), draw.randrange(1, 400)
        for gold in (
            str(top),
            f"{top / 100:.2f}",
            rf"\frac{{{top}}}{{{bottom}}}",
            f"{draw.randrange(1, 10)}.{draw.randrange(100)}e{draw.randrange(-30, 30)}",
            rf"{top}\text{{ cm}}",
        ):
            for name, text in breakages((gold,)):
                if name in factors:
                    assert float(worth(text)) == pytest.approx(factors[name] * float(worth(gold)))
                if name != "variable":
                    assert worth(text) != worth(gold)


def test_breakages_of_real_golds_change_their_value(reference_data):
    rows = find_rows(reference_data / "data")
    for row in (row for found in rows.values() for row in found):
        for name, text in breakages(row.parts, row.unit):
            if name != "plus one" or row.parts[0] not in TOO_LARGE:
                assert same(parts_of(text), row.parts) is not True, (row.id, name, text)
