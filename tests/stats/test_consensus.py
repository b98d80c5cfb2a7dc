"""cons@k against all subsets with exact ties."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from fgrpo_bench.stats.consensus import cons_at_k

RNG = np.random.default_rng


def by_all_subsets(answers, correct, k):
    total = Fraction(0)
    subsets = list(combinations(range(len(answers)), k))
    for subset in subsets:
        votes = Counter(answers[i] for i in subset if answers[i] is not None)
        if votes:
            most = max(votes.values())
            winners = [a for a, count in votes.items() if count == most]
            good = sum(correct[answers.index(a)] for a in winners)
            total += Fraction(int(good), len(winners))
    return float(total / len(subsets))


CASES = [
    (["a", "a", "b", "c", None], [True, True, False, False, False]),
    (["a", "b", "b", "a", "c", "c"], [True, False, False, True, False, False]),
    (["x", "y", "z", "w"], [False, False, True, False]),
    ([None, None, "a", "b", "b"], [False, False, True, False, False]),
    (["a", "a", "b", "b", "1/2", "0.5"], [False, False, False, False, True, True]),
]


@pytest.mark.parametrize(("answers", "correct"), CASES)
def test_equals_all_subsets(answers, correct):
    n = len(answers)
    ks = list(range(1, n + 1))
    ours = cons_at_k(answers, correct, ks, RNG(0), draws=40_000)
    for k, value in zip(ks, ours, strict=True):
        expected = by_all_subsets(answers, correct, k)
        exact = k in (1, n)
        assert value == pytest.approx(expected, abs=1e-12 if exact else 0.012)


def test_a_tie_counts_as_a_fraction():
    assert cons_at_k(["a", "b"], [True, False], [2], RNG(0))[0] == 0.5
    assert cons_at_k(["a", "b", "c"], [True, False, False], [3], RNG(0))[0] == pytest.approx(1 / 3)


def test_no_answer_has_no_vote_and_is_never_right():
    assert cons_at_k([None, None, "a"], [False, False, True], [3], RNG(0))[0] == 1
    assert cons_at_k([None, float("nan")], [True, True], [1, 2], RNG(0)).tolist() == [0, 0]


def test_equal_answers_judged_otherwise_share():
    assert cons_at_k(["a", "a", "b"], [True, False, True], [3], RNG(0))[0] == 0.5


def test_beyond_the_samples_is_nan():
    assert np.isnan(cons_at_k(["a"], [True], [2], RNG(0))[0])
    with pytest.raises(ValueError, match="at least 1"):
        cons_at_k(["a"], [True], [0], RNG(0))
    with pytest.raises(ValueError, match="one verdict"):
        cons_at_k(["a"], [], [1], RNG(0))


def test_many_answers_at_the_papers_size():
    rng = RNG(1)
    answers = ["right"] * 200 + [f"wrong {i}" for i in rng.integers(0, 80, 824)]
    values = cons_at_k(answers, [a == "right" for a in answers], [1, 8, 64, 1024], rng)
    assert values[0] == pytest.approx(200 / 1024)
    assert values[-1] == 1
    assert (np.diff(values) > 0).all()
