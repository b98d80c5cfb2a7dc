"""Rewritings keep what an answer says: by hand for each family of golds, and by value."""

import random

import pytest

from fgrpo_bench.grading.measure.gold_rows import find_rows, parts_of
from fgrpo_bench.grading.measure.notations import Number, decimal
from fgrpo_bench.grading.measure.rewritings import KINDS, rewritings
from fgrpo_bench.grading.measure.values import same
from tests.grading.measure.worth import worth

BY_HAND = {
    r"\frac{1}{2}": {
        "fraction command": [r"\dfrac{1}{2}", r"\tfrac{1}{2}"],
        "decimal": ["0.5"],
        "unit": [r"\frac{1}{2} \text{ cm}", r"\frac{1}{2}\text{ units}"],
    },
    r"\frac43": {
        "fraction command": [r"\dfrac43", r"\tfrac43"],
        "unit": [r"\frac43 \text{ cm}", r"\frac43\text{ units}"],
    },
    r"\dfrac 34": {
        "fraction command": [r"\frac 34", r"\tfrac 34"],
        "spacing": [r"\dfrac34"],
        "decimal": ["0.75"],
        "unit": [r"\dfrac 34 \text{ cm}", r"\dfrac 34\text{ units}"],
    },
    "9": {
        "zero padding": ["9.0", "009"],
        "unit": [r"9 \text{ cm}", r"9\text{ units}"],
    },
    "025": {
        "zero padding": ["25", "25.0"],
        "unit": [r"025 \text{ cm}", r"025\text{ units}"],
    },
    ".0000672": {
        "fraction": [r"\frac{21}{312500}"],
        "zero padding": ["0.0000672", "0.00006720"],
        "unit": [r".0000672 \text{ cm}", r".0000672\text{ units}"],
    },
    "1234": {
        "thousands": ["1,234", "1{,}234", r"1,\!234"],
        "zero padding": ["1234.0"],
        "unit": [r"1234 \text{ cm}", r"1234\text{ units}"],
    },
    r"\$32,\!348": {
        "thousands": [r"\$32348", r"\$32,348", r"\$32{,}348"],
        "zero padding": [r"\$32348.0"],
    },
    r"1\frac{4}{5}": {
        "fraction command": [r"1\dfrac{4}{5}", r"1\tfrac{4}{5}"],
        "decimal": ["1.8"],
        "unit": [r"1\frac{4}{5} \text{ cm}", r"1\frac{4}{5}\text{ units}"],
    },
    r"90^\circ": {
        "sign dropped": ["90"],
        "zero padding": [r"90.0^\circ"],
        "unit": [r"90 ^\circ"],
    },
    "62.5%": {
        "fraction": [r"\frac{125}{2}%"],
        "sign dropped": ["62.5"],
        "zero padding": ["62.50%"],
    },
    r"5.4 \text{ cents}": {
        "fraction": [r"\frac{27}{5} \text{ cents}"],
        "zero padding": [r"5.40 \text{ cents}"],
        "unit": ["5.4"],
    },
    "4.5e33": {
        "power of ten": [r"4.5 \times 10^{33}", r"4.5 \cdot 10^{33}"],
        "zero padding": [r"4.50 \times 10^{33}"],
        "unit": [r"4.5 \times 10^{33} \text{ cm}", r"4.5 \times 10^{33}\text{ units}"],
    },
    "1e-3": {
        "power of ten": [r"1 \times 10^{-3}", r"1 \cdot 10^{-3}", "10^{-3}"],
        "zero padding": [r"1.0 \times 10^{-3}"],
        "unit": [r"1 \times 10^{-3} \text{ cm}", r"1 \times 10^{-3}\text{ units}"],
    },
    "-3./2": {
        "decimal": ["-1.5"],
        "programming": [r"-\frac{3}{2}"],
        "unit": [r"-3./2 \text{ cm}", r"-3./2\text{ units}"],
    },
    "np.arcsin(10/13)": {"programming": [r"\arcsin(10/13)"]},
    "1,-2": {
        "spacing": ["1,-2"],
        "order": ["-2, 1"],
        "set braces": [r"\{1, -2\}"],
        "zero padding": ["1.0, -2.0"],
    },
    "-2,-2": {"spacing": ["-2,-2"], "zero padding": ["-2.0, -2.0"]},
    r"a=2, a=-6-4 \sqrt{2}": {
        "spacing": [r"a=2,a=-6-4\sqrt{2}"],
        "order": [r"a=-6-4 \sqrt{2}, a=2"],
    },
    r"x=1+\pi k, 2": {"spacing": [r"x=1+\pi k,2"], "zero padding": [r"x=1+\pi k, 2.0"]},
    r"(3,4]": {
        "spacing": [r"\left(3,4\right]"],
        "zero padding": ["(3.0, 4.0]"],
    },
    r"\left( \frac{3}{2}, -13 \right)": {
        "fraction command": [
            r"\left( \dfrac{3}{2}, -13 \right)",
            r"\left( \tfrac{3}{2}, -13 \right)",
        ],
        "spacing": [r"\left(\frac{3}{2},-13\right)", r"( \frac{3}{2}, -13 )"],
        "decimal": ["(1.5, -13)"],
        "zero padding": [r"(\frac{3}{2}, -13.0)"],
    },
    r"(-\infty, 2) \cup (3, \infty)": {
        "spacing": [
            r"(-\infty,2)\cup(3,\infty)",
            r"\left(-\infty, 2\right) \cup \left(3, \infty\right)",
        ],
    },
    "4210_{5}": {"spacing": ["4210_5"]},
    r"\text{(C)}": {},
    r"\text{Evelyn}": {},
    r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}": {},
    r"1 \pm \sqrt{19}": {"spacing": [r"1\pm\sqrt{19}"]},
    r"\cot x": {},
    "y = 2x + 3": {"spacing": ["y=2x+3"]},
    "f(x)=2 x": {"spacing": ["f(x)=2x", r"f\left(x\right)=2 x", "f(x) = 2 x"]},
    r"5 \sqrt[3]{4}": {"spacing": [r"5\sqrt[3]{4}"]},
}


@pytest.mark.parametrize("gold", BY_HAND)
def test_each_family_by_hand(gold):
    parts = parts_of(gold)
    found: dict[str, list[str]] = {}
    first, *others = rewritings(parts)
    for name, text in others:
        found.setdefault(name, []).append(text)
    assert (first.name, first.text) == ("gold", ", ".join(parts))
    assert found == BY_HAND[gold]
    assert set(found) <= {*KINDS, "unit"}


@pytest.mark.parametrize(
    ("gold", "unit", "text"),
    [
        ("45", "minute", r"45 \text{ minute}"),
        ("166", "cm^2", r"166 \text{ cm}^2"),
        (r"\frac{600}{7}", "km/h", r"\frac{600}{7} \text{ km/h}"),
        ("4.2", "%", r"4.2\%"),
    ],
)
def test_the_unit_of_a_row_is_its_own(gold, unit, text):
    assert [one.text for one in rewritings((gold,), unit) if one.name == "unit"] == [text]


def test_numbers_keep_their_value():
    draw = random.Random(3)
    for _ in range(500):
        whole, places = draw.randrange(-(10**6), 10**6), draw.randrange(5)
        top, bottom = draw.randrange(-400, 400), draw.randrange(1, 400)
        exponent = draw.randrange(-30, 30)
        for gold in (
            str(whole),
            f"{whole / 10**places:.{places}f}",
            rf"\frac{{{top}}}{{{bottom}}}",
            f"{draw.randrange(1, 10)}.{draw.randrange(100)}e{exponent}",
            rf"{abs(whole)}\frac{{{bottom}}}{{400}}",
        ):
            for name, text in rewritings((gold,)):
                assert worth(text) == worth(gold), (gold, name, text)


def test_a_decimal_is_exact_or_none():
    for bottom in range(1, 200):
        number = Number.read(rf"\frac{{7}}{{{bottom}}}")
        text = decimal(number.value)
        while bottom % 2 == 0:
            bottom //= 2
        while bottom % 5 == 0:
            bottom //= 5
        assert (text is not None) == (7 % bottom == 0)
        assert text is None or worth(text) == number.value


def test_rewritings_of_real_golds_keep_their_value(reference_data):
    rows = find_rows(reference_data / "data")
    assert {name: len(found) for name, found in rows.items()} == {
        "math500": 500,
        "minerva": 272,
        "olympiadbench": 675,
    }
    for row in (row for found in rows.values() for row in found):
        texts = [one.text for one in rewritings(row.parts, row.unit)]
        assert len(set(texts)) == len(texts)
        for text in texts:
            assert same(parts_of(text), row.parts) is not False, (row.id, text)
