"""How fast answers of mathematics are graded, and what hostile ones and very many ones cost."""

import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from fgrpo_bench.grading.mathematics.golds import Gold
from fgrpo_bench.grading.measure.cases import Case, Grade
from fgrpo_bench.grading.measure.gold_rows import Row, notation_rows
from fgrpo_bench.grading.outcomes import Outcome, Question, Reply

Ask: TypeAlias = Callable[[Sequence[Question]], list[Reply]]

PROBLEMS, SAMPLES = 30, 1024
BESIDE: Final = 64  # samples of each problem for one call per sample; the rest cost the same
RIGHT: Final = 0.3  # share of right answers
# wrong integers; with the junk, 1,024 samples of this tail show about 84 different answers
TAIL: Final = 102
JUNK: Final = (r"\text{none}", "x", r"\frac{1}{2}", r"2\sqrt{3}", "0.5", "n+1", "", "(1, 2)")


def answers(row: Row, count: int) -> list[Case]:
    """Return so many answers to a row: the right one most often, the others long-tailed."""
    draw = random.Random(f"{row.group} {row.id}")
    right = int(float(row.gold))
    wrong = [number for number in draw.sample(range(1000), TAIL + 1) if number != right][:TAIL]
    texts = [*map(str, wrong)]
    for place, junk in enumerate(JUNK):
        texts.insert((place + 1) * TAIL // len(JUNK), junk)
    weights = [1 / (rank + 2) ** 1.4 for rank in range(len(texts))]
    scale = (1 - RIGHT) / sum(weights)
    shares = [RIGHT, *(weight * scale for weight in weights)]
    chosen = draw.choices([str(right), *texts], shares, k=count)
    return [Case(row, text == str(right), "sampled", text) for text in chosen]


def sampled(problems: int = PROBLEMS, samples: int = SAMPLES) -> list[list[Case]]:
    """Return the answers to each of so many problems."""
    rows = notation_rows()
    return [answers(rows[index * 1000 // problems], samples) for index in range(problems)]


def measure_speed(grade: Grade, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure grading samples by the grader and by one math-verify call for each, in one run.

    The latter is measured on the first samples of each problem and scaled: it has no memory, so
    that a sample costs the same wherever it stands. The gold is parsed once per problem there.
    """
    problems = sampled()
    grade([problems[0][0]])  # the first one pays for imports and processes
    _one_call_each(problems[0][:1])
    begun = time.perf_counter()
    outcomes = [grade(cases) for cases in problems]
    ours = time.perf_counter() - begun
    say(f"{PROBLEMS} problems x {SAMPLES:,} samples: {ours:.1f} s")
    begun = time.perf_counter()
    for cases in problems:
        _one_call_each(cases[:BESIDE])
    beside = (time.perf_counter() - begun) * SAMPLES / BESIDE
    say(f"one math-verify call for each: {beside:.0f} s, from {BESIDE} samples of each problem")
    return {
        "problems": PROBLEMS,
        "samples": SAMPLES,
        "distinct": sum(len({case.answer for case in cases}) for cases in problems) / PROBLEMS,
        "seconds": ours,
        "beside_seconds": beside,
        "beside_measured_samples": BESIDE,
        "ratio": beside / ours,
        "misgraded": sum(map(_misgraded, problems, outcomes)),
    }


def _misgraded(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> int:
    pairs = zip(cases, outcomes, strict=True)
    return sum((outcome == "correct") != case.right for case, outcome in pairs)


def _one_call_each(cases: Sequence[Case]) -> None:
    from math_verify import parse, verify

    gold = parse(f"${cases[0].row.gold}$")
    for case in cases:
        verify(gold, parse(case.response))


def hostile() -> list[str]:
    """Return 100 answers that burn time or memory where they are taken at their word."""
    found = []
    for size in range(10):
        deep, many = 300 + 100 * size, 20_000 * (size + 1)
        found += [
            "^{".join(["9"] * (4 + size)) + "}" * (3 + size),
            f"{10 + size}" + "!" * (4 + size),
            "(" * deep + "1" + ")" * deep,
            r"\sqrt{" * deep + "2" + "}" * deep,
            rf"\binom{{{10 ** (8 + size)}}}{{{10 ** (7 + size)}}}",
            "{" * many + "}" * many,
            f"1\x00{size}",
            f"\ud800{size}",
            rf"\frac{{1}}{{10^{{10^{{{8 + size}}}}}}}",
            _determinant(8 + size) if size % 2 else _integral(5 + size),
        ]
    return found


def _determinant(size: int) -> str:
    rows = ["&".join(f"x_{{{row}{column}}}" for column in range(size)) for row in range(size)]
    matrix = r"\\".join(rows)
    return rf"\det\begin{{pmatrix}}{matrix}\end{{pmatrix}}"


def _integral(power: int) -> str:
    return rf"\int_0^{{\infty}} \frac{{\sin(x^2) e^{{-x}}}}{{1+x^{{{power}}}}} dx"


def measure_hostile(ask: Ask, workers: int, limit: float) -> dict[str, Any]:
    """Ask 100 hostile questions and then a simple one.

    Args:
        ask: puts questions to the pool.
        workers: processes of the pool.
        limit: seconds that a question may cost.
    """
    texts, gold = hostile(), Gold.from_text("5").to_json()
    _alive(ask)
    begun = time.perf_counter()
    replies = ask([Question("math", gold, text) for text in texts])
    seconds = time.perf_counter() - begun
    bound = len(texts) * limit / workers
    statuses = [reply.status for reply in replies]
    return {
        "answers": len(texts),
        "seconds": seconds,
        "bound_seconds": bound,
        "share_of_bound": seconds / bound,
        "statuses": {status: statuses.count(status) for status in sorted(set(statuses))},
        "accepted": sum(reply.right for reply in replies),
        "alive": _alive(ask),
    }


def _alive(ask: Ask) -> bool:
    (reply,) = ask([Question("math", Gold.from_text("5").to_json(), "5.0")])
    return reply.status == "done" and reply.right


def measure_leaks(ask: Ask, count: int = 10_000) -> dict[str, Any] | None:
    """Ask very many different questions; return growth of memory and processes left behind.

    None where there is no ``/proc`` to read them from.
    """
    if not Path("/proc/self/stat").exists():
        return None
    gold, sizes = Gold.from_text(r"\frac{x}{2}+\sqrt{y}").to_json(), []
    for part in range(5):
        numbers = range(part * count // 5, (part + 1) * count // 5)
        texts = [rf"\frac{{{number}x}}{{3}}+\sqrt{{y+{number}}}" for number in numbers]
        ask([Question("math", gold, text) for text in texts])
        sizes.append(sum(size for _, size in _family()))
    family = _family()
    return {
        "answers": count,
        "megabytes": [size / 1e6 for size in sizes],
        "growth": sizes[-1] / sizes[0] - 1,
        "zombies": sum(state == "Z" for state, _ in family),
        "processes": len(family),
    }


def _family() -> list[tuple[str, int]]:
    """Return state and resident bytes of this process and of all that descend from it."""
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        found[number] = fields[0], int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return [found[number] for number in found if _descends(number, parents)]


def _descends(number: int, parents: dict[int, int]) -> bool:
    while number and number != os.getpid():
        number = parents.get(number, 0)
    return number == os.getpid()
