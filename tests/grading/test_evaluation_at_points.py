"""Values at points against sympy's own evaluation, and the bounds that nothing exceeds."""

import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from fgrpo_bench.grading.mathematics.evaluation import MATH, Huge, Unknown, evaluate, hashed
from fgrpo_bench.grading.mathematics.leaves import same_relation, same_value
from fgrpo_bench.grading.mathematics.parser import Unreadable, parse

ROOT = Path(__file__).resolve().parents[2]
X, Y, N = sympy.symbols("x y n")
POINT = {"x": Fraction(7, 3), "y": Fraction(5, 11), "n": Fraction(6)}

ATOMS = st.sampled_from(
    [X, Y, N, sympy.pi, sympy.E, *map(sympy.Integer, (-3, 1, 2, 5))]
) | st.builds(sympy.Rational, st.integers(-9, 9), st.integers(1, 9))


def _deeper(inner):
    one = st.sampled_from([sympy.sin, sympy.cos, sympy.exp, sympy.Abs, sympy.floor, sympy.ceiling])
    return (
        st.builds(lambda a, b: a + b, inner, inner)
        | st.builds(lambda a, b: a * b, inner, inner)
        | st.builds(lambda a, n: a**n, inner, st.integers(0, 4))
        | st.builds(lambda a: sympy.sqrt(sympy.Abs(a)), inner)
        | st.builds(lambda f, a: f(a), one, inner)
    )


@settings(deadline=None, max_examples=200)
@given(st.recursive(ATOMS, _deeper, max_leaves=6))
def test_values_equal_sympys_own(expression):
    numbers = {symbol: sympy.Rational(POINT[symbol.name]) for symbol in (X, Y, N)}
    theirs = expression.subs(numbers)
    try:
        ours = evaluate(expression, POINT)
    except Huge:
        assert abs(sympy.log(sympy.Abs(theirs.evalf(30)) + 1)) > 1000
        return
    if isinstance(ours, Fraction):
        assert sympy.simplify(theirs - sympy.Rational(ours)) == 0
    else:
        expected = MATH.mpf(str(theirs.evalf(60)))
        assert abs(ours - expected) <= MATH.mpf(10) ** -50 * max(abs(expected), 1)


def test_rational_values_are_exact_fractions():
    text = r"\frac{2^{2005}+1}{3 \cdot 2^{2006}} + \binom{10}{3} + 5! + \sqrt{\frac{4}{9}} + \lfloor 7/2 \rfloor"
    expected = Fraction(2**2005 + 1, 3 * 2**2006) + 120 + 120 + Fraction(2, 3) + 3
    assert evaluate(parse(text), {}) == expected
    assert evaluate(parse("2.50"), {}) == Fraction(5, 2)


@pytest.mark.parametrize(
    "text",
    ["9^{9^{9^9}}", "9^{-9^{9^9}}", "10!!!!!", r"\exp(\exp(\exp(\exp(9))))", r"\binom{99999}{50000}", "2^{60000}", r"\sin(2^{60000})", "100000!"],
)  # fmt: skip
def test_what_is_too_large_is_left_at_once(text):
    expression, start = parse(text), time.process_time()
    with pytest.raises((Huge, Unknown)):
        evaluate(expression, {})
    assert time.process_time() - start < 1


@pytest.mark.parametrize("text", [r"\frac{1}{0}", "0^{-1}", "(-1)!", r"\log 0", r"\int x dx"])
def test_what_has_no_value_is_unknown(text):
    with pytest.raises(Unknown):
        evaluate(parse(text), {"x": Fraction(1)})


@pytest.mark.parametrize("text", ["", "5 @ 3", "(", "\\frac{1}", "=", "(" * 900, "x" + "!" * 900])
def test_what_is_no_mathematics_is_unreadable(text):
    with pytest.raises((Unreadable, Huge, Unknown)):
        evaluate(parse(text), {"x": Fraction(1)})


def test_unknown_functions_have_a_value_of_their_arguments():
    assert same_value("f(x+1)", "f(1+x)")
    assert not same_value("f(x+1)", "f(x)")
    assert not same_value("f(x)", "g(x)")
    assert same_value("2u(t)", "u(t)+u(t)")


def test_identities_and_near_misses():
    assert same_value(r"\sqrt{x^2}", "x")  # most symbols stand for positive numbers
    assert not same_value("|x|", "x")  # but these bars say that this one does not
    assert same_value(r"\sin^{2}x+\cos^{2}x", "1")
    assert not same_value(r"\sin^{2}x+\cos^{2}x", r"1+10^{-60}")
    assert same_value("0", r"\sqrt{2}-\sqrt{2}")
    assert not same_value(r"\lfloor\sqrt{n}\rfloor", r"\lfloor\sqrt{n+1}\rfloor")
    assert same_value("i^2", "-1")


def test_relations_are_the_same_up_to_a_factor():
    assert same_relation(("x+y", "1"), ("2", "2x+2y"))
    assert not same_relation(("x+y", "1"), ("2", "2x+2y"), signed=True)
    assert not same_relation(("x+y", "1"), ("x+y", "2"))
    assert not same_relation(("x", "x"), ("x", "y"))


def test_values_of_names_differ():
    assert len({hashed(f"{turn}/{name}") for turn in range(9) for name in "abcxyz"}) == 54


def test_no_text_is_ever_compiled():
    """The libraries behind could: Python's eval would run what a model wrote."""
    code = (
        "import sys\n"
        "from tests.grading.test_mathematics import HOSTILE, RIGHT, WRONG\n"
        "from fgrpo_bench.grading.mathematics.compare import equal\n"
        "from fgrpo_bench.grading.mathematics.golds import Gold\n"
        "from fgrpo_bench.grading.mathematics.parser import parse\n"
        "seen = []\n"
        "def audit(event, arguments):\n"
        "    if event in ('compile', 'os.system', 'subprocess.Popen', 'socket.connect'):\n"
        "        seen.append((event, arguments))\n"
        "for hooked in (False, True):\n"  # at first sympy compiles code of its own
        "    if hooked:\n"
        "        parse.cache_clear()\n"
        "        sys.addaudithook(audit)\n"
        "    for gold, answer in RIGHT + WRONG + [('7', text) for text in HOSTILE]:\n"
        "        equal(Gold.from_text(gold), answer)\n"
        "assert not seen, seen[:3]\n"
        "print('looked', len(RIGHT) > 50)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "looked True\n", done.stderr[-2000:]
