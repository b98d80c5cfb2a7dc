"""Whether two golds have the same value, by hand and against Python's own arithmetic."""

import cmath
import math

import pytest

from fgrpo_bench.grading.measure.gold_rows import parts_of
from fgrpo_bench.grading.measure.values import at_a_point, constant, same


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"3\sqrt{13}", 3 * math.sqrt(13)),
        (r"11\sqrt2", 11 * math.sqrt(2)),
        (r"\frac43\pi", 4 / 3 * math.pi),
        (r"-\frac{\pi}{6}", -math.pi / 6),
        (r"6 - 5i", 6 - 5j),
        (r"\frac{8}{\sqrt[3]{7}}", 8 / 7 ** (1 / 3)),
        (r"2021 \cdot 505 \cdot 337", 2021 * 505 * 337),
        (r"2^{-2 / 3}", 2 ** (-2 / 3)),
        (r"\frac{\log 2}{\log 2-\log 3}", math.log(2) / math.log(2 / 3)),
        (r"2-\log _{10} 250", 2 - math.log10(250)),
        (r"\ln 2 + i\pi / 3", math.log(2) + 1j * math.pi / 3),
        (r"\binom{5}{2}", 10),
        (r"5!+\lfloor 7/2\rfloor", 123),
        (r"\left(1+2\right)^{2}", 9),
        (r"\arcsin{0.5}", cmath.asin(0.5)),
        (r"\sin ^{2} 1+\cos ^{2} 1", 1),
        ("x", None),
        (r"1 \pm 2", None),
        ("1/0", None),
        ("9^{9^{9^9}}", None),
        ("(1", None),
        ("", None),
        ("200!", None),
        ("(" * 10_000, None),
    ],
)
def test_constants(text, value):
    found = constant(text)
    assert (found is None) == (value is None)
    assert value is None or cmath.isclose(found, value, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("n(n-1)", "n^2-n"),
        (r"\frac{n}{2}", "n/2"),
        (r"\cos (2 t)", r"1-2\sin^2 t"),
        (r"e^{t} / 3", r"\frac{e^t}{3}"),
        (r"\tan x", r"\frac{\sin x}{\cos x}"),
        (r"\lambda_{0}x", r"x \lambda_{0}"),
    ],
)
def test_expressions_are_the_same_where_they_are_so_at_a_point(one, other):
    assert cmath.isclose(at_a_point(one), at_a_point(other), rel_tol=1e-12)
    assert not cmath.isclose(at_a_point(one), at_a_point(f"{other}+1"), rel_tol=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (r"\frac{1}{2}", "0.50", True),
        (r"90^\circ", "90", True),
        (r"\$36", "36", True),
        ("k=3", "3", True),
        ("f(n)=n", "f(z)=z", True),
        ("1,2", "2,1", True),
        ("(1,2)", r"\left( 1, 2 \right)", True),
        ("52_8", "42", True),
        (r"\text{(C)}", "C", True),
        ("1e-3", "0.001", True),
        ("1", "2", False),
        ("1,2", "1", False),
        ("(1,2)", "(2,1)", False),
        ("(1,2)", "[1,2]", False),
        ("(1,2)", "1", False),
        ("1e-30", "2e-30", False),
        (r"\text{east}", "7", False),
        (r"\text{east}", r"\text{even}", False),
        (r"1\pm\sqrt{5}", "7", None),
    ],
)
def test_golds_are_the_same_differ_or_are_not_decided(one, other, alike):
    assert same(parts_of(one), parts_of(other)) is alike
    assert same(parts_of(other), parts_of(one)) is alike
