"""Answers that are right or wrong for every kind of gold, and what no answer may do."""

import json
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fgrpo_bench.grading.boxed import last_boxed
from fgrpo_bench.grading.mathematics.compare import decide, equal, unreadable
from fgrpo_bench.grading.mathematics.golds import Gold
from fgrpo_bench.grading.mathematics.judge import judge, shown_answer
from fgrpo_bench.grading.mathematics.numbers import number
from fgrpo_bench.grading.mathematics.shapes import parts
from fgrpo_bench.grading.mathematics.texts import bare, split, tidy, word
from fgrpo_bench.grading.outcomes import Question, Verdict

RIGHT = [
    # numbers in every notation
    ("025", "25"), ("27.0", "27"), ("58,500", "58500"), ("58,500", "58{,}500"),
    ("58500", "58,500"), ("11,\\! 111,\\! 111,\\! 100", "11111111100"), ("10080", "10 080"),
    ("4.5e33", r"4.5 \times 10^{33}"), ("4.5e33", r"4.5\cdot10^{33}"), ("4.5e33", "4.5E+33"),
    (".0000672", r"6.72\times 10^{-5}"), ("-1./3", r"-\frac{1}{3}"), ("1e-5", "10^{-5}"),
    (r"\frac43", r"\tfrac{4}{3}"), (r"\frac{71}{6}", r"11\frac{5}{6}"), ("0.5", "1/2"),
    (r"\frac{1}{3}", "0.3333333"), (r"\frac{1000000000}{3}", "333333333.3"),
    ("10^{4}", "10000"), (r"2^{1009}", r"2^{1008}\cdot 2"),
    ("−5", "-5"), (r"\dfrac{17}{50}", ".34"), (r"1\frac{4}{5}", "1.8"), ("5", "(5)"),
    # in bold, as text, behind a sign
    ("42", r"\mathbf{42}"), ("42", r"\text{42}"), ("42", r"\textbf{42} \text{ cm}"), ("42", "= 42"),
    ("42", r"\mathbf{\frac{84}{2}}"), ("(2,4)", r"\mathrm{(2,4)}"), ("42", "≈ 42"),
    ("3, 4", r"\textbf{3}, \textbf{4}"), ("3, 4", r"3\text{, }4"), ("3, 4", r"\text{4 and 3}"),
    # units, money, percent, degrees
    (r"90^\circ", "90"), (r"90^\circ", r"90\text{ degrees}"), ("90", "90°"),
    (r"5.4 \text{ cents}", "5.4"), (r"\$18.90", "18.9"), ("28\\%", "28"), ("62.5%", "62.5"),
    (r"864 \mbox{ inches}^2", r"864\text{ in}^2"), ("15", r"15\,\mathrm{cm}^2"), ("45", "45 minutes"),
    (r"\frac{600}{7}", r"\frac{600}{7}\text{ km/h}"), ("52_8", "52"), ("52_8", "52_{8}"),
    # words and letters
    (r"\text{Evelyn}", "Evelyn"), (r"\text{(C)}", "C"), (r"\text{(C)}", r"\textbf{(C)}"),
    (r"\text{(C)}", r"\text{(C) Plane}"), ("52_8", r"52_{\text{eight}}"),
    (r"\text{even}", "Even"), ("m", "m"),
    # expressions
    ("p - q", "-q+p"), ("(a+5)(b+2)", "(b+2)(a+5)"), (r"\tan^2(y)+1", r"\sec^2(y)"),
    (r"\frac{1}{2 n+2}", r"\frac{1}{2(n+1)}"), (r"\binom{2n}{n}", r"\frac{(2n)!}{(n!)^2}"),
    (r"\lceil n / 2\rceil+1", r"\lfloor (n+1)/2\rfloor+1"), (r"5 \sqrt[3]{4}", r"5\cdot 4^{1/3}"),
    (r"m n-\lfloor m / 2\rfloor", r"mn - \left\lfloor \frac{m}{2} \right\rfloor"),
    (r"\frac{8}{\sqrt[3]{7}}", r"\frac{8\sqrt[3]{49}}{7}"), (r"\cot x", r"\frac{\cos x}{\sin x}"),
    (r"\frac{\log 2}{\log 2-\log 3}", r"\frac{\ln 2}{\ln(2/3)}"), (r"2+\pi", "5.141592653"),
    (r"\frac{9 \sqrt{3}}{20}", r"\frac{9}{20}\sqrt{3}"), ("np.arcsin(10/13)", r"\arcsin(10/13)"),
    (r"\frac{4 A}{3+3 i} e^{i t}", r"\frac{4A(1-i)}{6} e^{it}"), ("14 - i", "14.0 - 1.0i"),
    (r"\sqrt{4 \pi G \rho_{0} r_{0}^{2}}", r"2 r_0 \sqrt{\pi G \rho_0}"),
    (r"\frac{1}{2}(\exp{a*t} - \exp{-a*t})", r"\sinh(at)"), (r"e^{t} / 3", r"\frac{1}{3}e^t"),
    (r"I(0) e^{-\frac{t}{R C}}", "I(0)e^{-t/(RC)}"), ("1", r"\frac{x}{x}"),
    (r"m_{p} c^{2}\left(\gamma^{2}-1\right)", r"m_p c^2 (\gamma - 1)(\gamma + 1)"),
    (r"\hbar \omega(v+1 / 2)", r"\hbar\omega\left(v+\tfrac12\right)"),
    # lists and sets
    ("1331 and 1728", "1728, 1331"), ("3, 5, 7", r"\{7,5,3\}"), ("1,-2", r"x = -2 \text{ or } x = 1"),
    (r"1 \pm \sqrt{19}", r"1+\sqrt{19}, 1-\sqrt{19}"), ("-2,-2", "-2,-2"),
    (r"\{1\pm\sqrt{5},-2\}", r"-2, 1-\sqrt5, 1+\sqrt5"), ("E_{1},E_{2}", "E_2, E_1"),
    ("f(n)=n, g(n)=1", "g(n)=1, f(n)=n"), ("(1,1), (3,2)", "(3,2),(1,1)"), ("x=5", "5"),
    ("5", "x=5"), ("5", "n = 2 + 3 = 5"), ("10^{100},10^{1/100}", "10^{1/100}, 10^{100}"),
    # tuples, intervals, matrices
    (r"\left( 3, \frac{\pi}{2} \right)", r"(3, \tfrac{\pi}{2})"), ("(3,4]", r"3 < x \le 4"),
    (r"x \in [-2,7]", r"-2 \le x \le 7"), (r"(0,9) \cup (9,36)", r"(9,36)\cup(0,9)"),
    (r"k \geqslant 2", r"[2,\infty)"), (r"(-\infty, 3]", r"x \le 3"), (r"(-\infty, 3)", "3 > x"),
    (r"(-\infty, 0) \cup\{1\}", r"\{1\} \cup (-\infty,0)"), ("[-2,7)", r"7 > x \ge -2"),
    (r"(-\infty, 2) \cup (3, \infty)", r"x < 2 \text{ or } x > 3"), ("x<2, x>3", r"(3,\infty) \cup (-\infty,2)"),
    ("(1,-1),(-1,1)", r"(\pm 1, \mp 1)"),
    (r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}", r"\begin{bmatrix} -\frac{1}{3} \\ \frac{2}{3} \end{bmatrix}"),
    (r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}", r"\left(-\frac13,\frac23\right)"),
    # with what is asked for named, and conditions on variables
    ("f(n)=n^2", "f(x) = x^2"), ("2n+1007", "f(n) = 2n+1007"), ("f(n) = 2 n+1007", "f(x)=2x+1007"),
    ("f(n)=n", r"f(x) = x \text{ for all } x \in \mathbb{N}"), ("10^{3},10", "(x,y) = (1000, 10)"),
    ("2,-1,-18", "(a, h, k) = (2, -1, -18)"), (r"\frac{\sqrt{5}-1}{2}", r"\sin\theta = \frac{-1+\sqrt{5}}{2}"),
    (r"\frac{1}{s+1}", r"\frac{V_o(s)}{V_i(s)} = \frac{1}{1+s}"), ("100p", "Y^s(p) = 100p"),
    (r"x=\frac{\pi}{6}+\pi k, \frac{\pi}{3}+\pi k", r"x = \frac{\pi}{6}+k\pi, \frac{\pi}{3}+k\pi \ (k \in \mathbb{Z})"),
    # equations
    ("2x+4y-3=0", r"y = -\frac{1}{2}x + \frac{3}{4}"), ("34x+45y-20z+100=0", "-34x-45y+20z-100=0"),
    ("x+y<1", "2x+2y<2"), ("x+y<1", "-x-y>-1"),
    ("y = 2x + 3", "2x+3"), ("y=2x+3", "y-2x=3"), (r"\frac{d x}{d t}=k x-a", r"\frac{dx}{dt} = kx - a"),
    (r"y^{\prime}+r y-r x(t)=0", "y' + ry - rx(t) = 0"), ("MR=SRMC", "SRMC = MR"),
    (r"\frac{d x}{d t}=k x-a", r"\dot{x} - kx = -a"), (r"\frac{d x}{d t}=k x-a", "x'(t) = kx(t) - a"),
    (r"y^{\prime}+r y-r x(t)=0", r"\frac{dy}{dt} = r(x-y)"), (r"m \frac{d v}{d t}+b v=f", r"m\dot v + bv = f"),
    (r"\frac{d^{2} v_{o}}{d t^{2}}+\frac{v_{o}}{L C}=0", r"\ddot{v}_o + \frac{1}{LC} v_o = 0"),
    # what only the library can work out
    ("55", r"\sum_{k=1}^{10} k"), ("2", r"\int_{0}^{2} 1 dx"),
]  # fmt: skip
WRONG = [
    (r"\frac{1}{3000000000}", "0.0000000004"), ("28", "28.00001"), (r"\pi", r"\approx 3.14"),
    ("42", r"\mathbf{43}"), ("42", r"4\text{2}"), ("42", r"\text{4, 2}"),
    ("025", "26"), ("27.0", "27.5"), ("58,500", "58"), ("28\\%", "2800"), ("28\\%", "0.28"),
    ("4.5e33", r"4.5 \times 10^{32}"), (r"\frac{1}{3}", "0.333"), (r"2+\pi", "5.14"),
    (r"\frac{1}{2004!}", r"\frac{1}{2006!}"), (r"\frac{1}{2^{99}}", r"\frac{1}{2^{98}}"),
    (r"\frac{2^{2005}+1}{3 \cdot 2^{2006}}", r"\frac{1}{3 \cdot 2^{2006}}"), ("0.5978", "0.5979"),
    (r"\frac{100!}{2^{50}}", r"\frac{100!}{2^{51}}"), ("4", r"4\sqrt(2)"), ("12", "1 2"),
    (r"3\sqrt{13}", "3"), (r"\left( 3, \frac{\pi}{2} \right)", "3"), ("5", "x"), ("2k", "k"),
    (r"\lfloor\sqrt{n-1}\rfloor", r"\lfloor\sqrt{n}\rfloor"), ("|x|", "x"), ("2k", "2K"),
    ("6-5i", "6+5i"), ("x^3+3x-6", "x^3+3x-7"), (r"120^\circ", r"\frac{2\pi}{3}"),
    ("1331 and 1728", "1728"), ("3,5,7", "3,5,8"), ("3,5,7", "3,5,7,9"), ("-2,-2", "-2"),
    (r"1 \pm \sqrt{19}", r"1+\sqrt{19}"), ("15", r"15 \text{ or } 16"), ("x=5", "k=5"),
    ("f(n)=n, g(n)=1", "f(n)=1, g(n)=n"), ("(3,4]", "(3,4)"), ("(3,4]", "[3,4]"), ("(3,4)", "(4,3)"),
    (r"k \geqslant 2", "k>2"), (r"(-\infty, 3]", "x<3"), (r"(-\infty, 3)", r"3 \ge x"),
    ("[-2,7)", r"7 \ge x > -2"), ("(1,1),(-1,-1)", r"(\pm 1, \mp 1)"), ("(6,31,-1)", "(6,31,1)"),
    (r"(0,9) \cup (9,36)", "(0,36)"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 & 2 \end{pmatrix}"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "(1,2,3,4)"),
    ("f(n)=n^2", "g(x) = x^2"), ("f(n)=an", "f(x)=xn"), ("f(n)=n", r"f(x)=2x \text{ for all } x"),
    ("10,1000", "(x,y) = (1000, 10)"), ("2,-1", "(a,b,c) = (2,-1,3)"), ("5", r"\frac{x}{y} = 6"), ("5", "x^2=5"),
    (r"\frac{d x}{d t}=k x-a", "x = kx - a"), (r"\frac{d x}{d t}=k x-a", r"\ddot{x} = kx - a"),
    ("x+y<1", "-x-y<-1"), ("x+y=1", "x-y=1"), ("x+y=1", "0=0"), ("x<2", "x>2"), ("52_8", "52_9"),
    ("52_8", r"52_{\text{six}}"), (r"\text{(C)}", r"\text{(D) Plane C}"),
    (r"(-\infty, 2) \cup (3, \infty)", "x < 2"), (r"(-\infty, 2) \cup (3, \infty)", r"x < 2 \text{ or } x \ge 3"),
    ("52_8", "42"),
    (r"\text{Evelyn}", "Carla"), (r"\text{(C)}", "D"), ("5", "5=6"), ("10", "2x=10"),
]  # fmt: skip
HOSTILE = [
    "9^{9^{9^9}}", r"5^{\left(5^{\left(5^{\left(5^5\right)}\right)}\right)}", "10!!!!!",
    r"\binom{1000000}{500000}", "(" * 300 + "5" + ")" * 300, "{" * 100_000, "}" * 100_000,
    "\x00", "\ud800", "9" * 100_000, r"\frac{1}{" * 200 + "5" + "}" * 200, "1" + "e9" * 500,
    r"\sqrt{" * 11 + "5" + "}" * 11, "10^{10^{10}}", r"5 + 10^{9999} - 10^{9999} + \frac{0}{0}",
    "__import__('os').system('true')", "5; import os", "5" + "," * 1900, "=" * 1900, "<" * 1900,
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), RIGHT)
def test_another_way_to_write_it_is_right(gold, answer):
    assert equal(Gold.from_text(gold), answer)


@pytest.mark.parametrize(("gold", "answer"), WRONG)
def test_another_answer_is_wrong(gold, answer):
    assert not equal(Gold.from_text(gold), answer)


@pytest.mark.parametrize("answer", HOSTILE)
def test_hostile_answers_are_wrong_and_soon(answer):
    assert not equal(Gold.from_text("7"), answer)
    assert not equal(Gold.from_text("x^2 + 1"), answer)


def test_every_gold_of_the_tables_meets_itself():
    for gold, _ in RIGHT + WRONG:
        assert equal(Gold.from_text(gold), gold), gold
        assert equal(Gold.from_json(Gold.from_text(gold).to_json()), gold)


def test_reported_cases(reference_data):
    lines = (reference_data / "data" / "mathverify_cases.jsonl").read_text("utf-8").splitlines()
    for case in map(json.loads, lines):
        found = judge(Gold.from_text(case["gold"]), case["response"], "stop")
        if case["correct"] is None:
            assert found == Verdict("no_answer", None), case
            continue
        right = (
            equal(Gold.from_json(found.gold), found.answer)
            if isinstance(found, Question)
            else found.outcome == "correct"
        )
        assert right == case["correct"], case


def test_multiple_answers_of_olympiadbench_keep_their_count_and_tolerance():
    lists = Gold.from_list(["$69$,$84$"], several=True)
    assert lists.parts == ("69", "84")
    assert equal(lists, "84, 69")
    assert not equal(lists, "69")
    assert not equal(lists, "69, 69")
    near = Gold.from_list(["4.2,4.3"], several=True, error="1e-1")
    assert equal(near, "4.3, 4.2")
    assert not equal(near, "4.25, 9")  # one answer does not do for two
    assert Gold.from_list(["$101,202$"], several=True).parts == ("101", "202")
    assert Gold.from_list(["101,202"], several=False).parts == ("101202",)
    about = Gold.from_list(["4.2"], several=False, error="1e-1")
    assert equal(about, "4.3")
    assert not equal(about, "4.31")


@pytest.mark.parametrize(
    ("response", "finish", "verdict"),
    [
        ("25", "stop", Verdict("no_answer", None)),
        ("25", "length", Verdict("truncated", None)),
        (r"\boxed{  }", "stop", Verdict("no_answer", None)),
        (r"\boxed{24}, no: \boxed{025.0}", "stop", Verdict("correct", "25")),
        (r"\boxed{25} and so on", "length", Verdict("correct", "25")),
        (r"\boxed{24}", "length", Verdict("wrong", "24")),
        (r"\boxed{" + "7" * 9_000 + "}", "stop", Verdict("wrong", "7" * 2_000)),
    ],
)
def test_outcomes(response, finish, verdict):
    assert judge(Gold.from_text("25"), response, finish) == verdict


def test_texts_that_do_not_decide_become_a_question():
    asked = judge(Gold.from_text(r"\sqrt{2}"), r"\boxed{ 2^{1/2} }", "length")
    assert asked == Question("math", Gold.from_text(r"\sqrt{2}").to_json(), "2^{1/2}", "wrong")


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "\\frac", "\\sqrt", "{", "}", "(", ")", "[", "]", "1", "2", "x", "+", "-", "=", ",", " ",
            "\\pm ", "\\text{and}", "^", "_", "\\circ", "%", "$", "\\left", "\\{", "\\}", "\\\\", "'",
            "\\begin{pmatrix}", "\\end{pmatrix}", "&", "\\cup ", "<", "\\le ", "\\in ", ".", "e5", "!",
        ]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.one_of(st.text(max_size=40), FRAGMENTS))
@example("\\frac{}{}")
@example("x\\in")
@example("=")
@example("\\begin{pmatrix}\\end{pmatrix}")
def test_no_reader_raises_and_reading_twice_changes_nothing(text):
    tidied = tidy(text)
    assert tidy(tidied) == tidied
    for read in (bare, word, split, number, unreadable, shown_answer):
        read(tidied)
    parts(tidied, True)
    for gold in (Gold.from_text("25"), Gold.from_text("(1, 2]"), Gold.from_text("x=1, y=2")):
        decide(gold, text)
        equal(gold, text)
    assert equal(Gold.from_text(text), text) or not tidied


@settings(deadline=None)
@given(st.fractions(max_denominator=10**6), st.sampled_from([0, 1, 2, 3]))
def test_numbers_in_every_notation_are_exact(value, kind):
    above, below = value.numerator, value.denominator
    texts = (
        f"{above}/{below}",
        f"\\frac{{{above}}}{{{below}}}",
        f"{'-' if above < 0 else ''}\\dfrac {{{abs(above)}}} {{{below}}}",
        f"{'-' if above < 0 else ''}{abs(above) // below}\\frac{{{abs(above) % below}}}{{{below}}}",
    )
    assert number(tidy(texts[kind])) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6), st.integers(-30, 30))
def test_decimals_and_powers_of_ten_are_exact(value, power):
    exact = Fraction(value) * Fraction(10) ** power
    assert number(tidy(f"{value:f}e{power}")) == exact
    assert number(tidy(f"{value:f} \\times 10^{{{power}}}")) == exact
    assert number(tidy(f"{value:f}\\cdot 10^{{{power}}}")) == exact


def test_the_last_box_is_read():
    assert last_boxed(r"\boxed{1} \boxed{2}") == "2"
