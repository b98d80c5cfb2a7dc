"""IFEval's flags and rates: by hand for every instruction, as lm-eval's own, and never by chance."""

import json
import logging
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgrpo_bench.grading import ifeval
from fgrpo_bench.grading.outcomes import Question, Verdict
from tests.grading.ifeval_cases import AMBIGUOUS, CASES

ROOT = Path(__file__).resolve().parents[2]
METRICS = ("prompt_level_strict", "prompt_level_loose", "inst_level_strict", "inst_level_loose")
PLAIN = (
    "The old bridge stood over the river for many years. People of the town liked to walk there in "
    "the evening, because the view was wonderful. Dr. Smith said it was built in 1890.\n\nIn the end "
    "the council closed it, and there was a large party with music, food and fireworks."
)
MARKED = (
    '<<The bridge>>\n\n* one *point*\n* two **points**\n- three [name] [street]\n***\n{"a": 1}\n\n'
    'SECTION 1\nIt said "no", WHICH IS SHORT.\n\nP.S. My answer is yes.\n******\nP.P.S Any other '
    "questions? Is there anything else I can help with?"
)
GERMAN = "dies ist ein kurzer text in kleinen buchstaben, der nichts weiter sagt."
HASH = {"letter": "#", "let_frequency": 4, "let_relation": "at least"}  # as in two rows of the data


def row(*instructions: tuple[str, dict], prompt: str = "Write.") -> dict:
    names, given = zip(*instructions, strict=True)
    return {"key": 1, "prompt": prompt, "instruction_id_list": list(names), "kwargs": list(given)}


def gold(*instructions: tuple[str, dict]) -> str:
    return ifeval.judge(row(*instructions), "text", "stop").gold


@pytest.fixture(scope="module")
def rows(reference_data):
    text = (reference_data / "data" / "ifeval.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def responses(doc: dict) -> list[str]:
    return [PLAIN, MARKED, f"{doc['prompt']}\n\n{GERMAN}"]


def test_the_cases_cover_exactly_the_registered_instructions_each_way():
    registered = ifeval._checkers().instructions_registry.INSTRUCTION_DICT
    assert len(registered) == 25
    for flags in ("1/1", "0/0"):
        assert {case.instruction for case in CASES if case.flags == flags} == set(registered)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.instruction}-{case.flags[::2]}")
def test_flags_of_every_instruction(case):
    right, flags = ifeval.meets(gold((case.instruction, case.given)), case.response)
    assert (flags, right) == (case.flags, case.flags[0] == "1")


def test_flags_stand_in_the_order_of_the_instructions():
    asked = gold(
        ("punctuation:no_comma", {}),
        ("startend:quotation", {}),
        ("length_constraints:number_words", {"num_words": 2, "relation": "at least"}),
    )
    assert ifeval.meets(asked, 'Well, here:\n"one two"') == (False, "001/111")
    assert ifeval.meets(asked, "one; two") == (False, "101/101")
    assert ifeval.meets(asked, '"one two"') == (True, "111/111")


def test_a_worker_is_asked_with_arguments_that_are_given():
    doc = row(
        ("punctuation:no_comma", {"num_words": None, "relation": None}),
        ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}),
    )
    asked = ifeval.judge(doc, " a response\n", "stop")
    assert asked == Question("ifeval", asked.gold, " a response\n", "wrong")
    assert json.loads(asked.gold) == {
        **doc, "kwargs": [{}, {"num_words": 3, "relation": "less than"}]
    }  # fmt: skip
    assert ifeval.judge(dict(reversed(doc.items())), "another", "length") == Question(
        "ifeval", asked.gold, "another", "truncated"
    )


@pytest.mark.parametrize("response", ["", " \n\t"])
def test_a_blank_response_is_judged_at_once_with_flags(response):
    doc = row(("punctuation:no_comma", {}), ("no:such", {}))
    assert ifeval.judge(doc, response, "stop") == Verdict("no_answer", "00/00")
    assert ifeval.judge(doc, response, "length") == Verdict("truncated", "00/00")


@pytest.mark.parametrize(
    ("names", "kwargs", "error"),
    [
        (["no:such"], [{}], KeyError),
        (["punctuation:no_comma", "no:such"], [{}, {}], KeyError),
        (["punctuation:no_comma"], [], ValueError),
        (["punctuation:no_comma"], [{}, {}], ValueError),
        ([], [], ValueError),
        (["punctuation:no_comma"], [{"commas": 1}], TypeError),
        (["length_constraints:number_words"], [{"relation": "at least"}], ValueError),
        (["length_constraints:number_words"], [{"relation": "at least", "num_words": 0}], ValueError),
        (["length_constraints:number_words"], [{"relation": "at most", "num_words": 5}], ValueError),
        (["length_constraints:number_words"], [{"relation": "at least", "num_words": "5"}], TypeError),
        (["keywords:letter_frequency"], [{"let_frequency": 1, "let_relation": "at least"}], ValueError),
        (["keywords:existence"], [{"keywords": "tea"}], ValueError),
        (["combination:repeat_prompt"], [{}], ValueError),
    ],
)  # fmt: skip
def test_what_lm_eval_would_guess_or_not_know_is_an_error(names, kwargs, error):
    doc = {"key": 1, "prompt": "p", "instruction_id_list": names, "kwargs": kwargs}
    with pytest.raises(error):
        ifeval.meets(json.dumps(doc), "tea and milk")


class _Draws:
    """In place of ``random`` in the checkers: draws as ours do, and tells who drew."""

    def __init__(self) -> None:
        self.drawn = set()
        self.key = None

    def choice(self, options):
        self.drawn.add(self.key)
        return random.Random(0).choice(options)


def test_flags_and_rates_are_those_of_lm_eval_on_the_whole_data(rows, monkeypatch):
    from lm_eval.api.metrics import mean
    from lm_eval.tasks.ifeval import instructions

    utils, draws, flags = ifeval._checkers(), _Draws(), []
    theirs = {name: [] for name in METRICS}
    for doc in rows:
        draws.key = doc["key"]
        for response in responses(doc):
            asked = ifeval.judge(doc, response, "stop")
            right, found = ifeval.meets(asked.gold, asked.answer)
            monkeypatch.setattr(instructions, "random", draws)
            expected = utils.process_results(doc, [response])
            strict, loose = ([flag == "1" for flag in part] for part in found.split("/"))
            ours = (right, all(loose), strict, loose)
            assert ours == tuple(expected[f"{name}_acc"] for name in METRICS)
            flags.append(found)
            for name in METRICS:
                theirs[name].append(expected[f"{name}_acc"])
    assert len(rows) == 541
    assert draws.drawn == {1122, 1129}  # asked for # and !
    rates = ifeval.rates(Counter(flags))
    assert list(rates) == list(METRICS)
    for name in METRICS:
        aggregate = mean if name.startswith("prompt") else utils.agg_inst_level_acc
        assert rates[name] == pytest.approx(aggregate(theirs[name]), abs=1e-12)
    assert 0 < rates["prompt_level_strict"] < rates["prompt_level_loose"] < 0.5
    assert len(set(rates.values())) == 4


def chancy() -> list[tuple[str, str]]:
    """Questions that chance would answer: which language is it, how often is no letter there."""
    asked = [
        (gold(("language:response_language", {"language": name})), text) for text, name in AMBIGUOUS
    ]
    letters = gold(("keywords:letter_frequency", HASH))
    return asked + [(letters, letter * 4) for letter in "abcdefghijklmnopqrstuvwxyz"]


def test_the_same_response_has_the_same_flags_in_any_order_and_process():
    from langdetect import DetectorFactory

    questions = chancy()
    expected = {question: ifeval.meets(*question)[1] for question in questions}
    assert sum(expected[question] == "1/1" for question in questions[-26:]) == 1
    rng = random.Random(3)
    for turn in range(50):
        rng.shuffle(questions)
        random.seed(turn)
        DetectorFactory.seed = turn  # as another task of the process may leave it
        assert {question: ifeval.meets(*question)[1] for question in questions} == expected
    code = (
        "import json, sys\n"
        "from fgrpo_bench.grading.ifeval import meets\n"
        "print(json.dumps([meets(*question)[1] for question in json.load(sys.stdin)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert json.loads(done.stdout) == [expected[question] for question in questions]
    assert done.stderr == ""


def test_a_response_of_no_language_is_not_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        assert ifeval.meets(gold(("language:response_language", {"language": "de"})), "12")[0]
    assert "12" not in caplog.text


def test_a_long_response_is_not_given_up_by_the_clock(monkeypatch):
    from nltk import redos

    monkeypatch.setattr(redos, "DEFAULT_TIMEOUT", 1e-6)
    ifeval._checkers.cache_clear()
    asked = {"capital_frequency": 2, "capital_relation": "at least"}
    response = "A word, 'and' THE OTHER. " * 2000
    assert ifeval.meets(gold(("change_case:capital_word_frequency", asked)), response)[0]


@st.composite
def _flags(draw):
    size = draw(st.integers(1, 4))
    loose = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    strict = [each and draw(st.booleans()) for each in loose]
    return "/".join("".join(str(int(each)) for each in part) for part in (strict, loose))


@given(st.lists(_flags(), min_size=1))
def test_rates_are_those_of_a_plain_loop(samples):
    seen = {name: [] for name in METRICS}
    for sample in samples:
        for part, name in zip(sample.split("/"), ("strict", "loose"), strict=True):
            seen[f"prompt_level_{name}"].append(set(part) == {"1"})
            seen[f"inst_level_{name}"] += [int(flag) for flag in part]
    expected = {name: sum(values) / len(values) for name, values in seen.items()}
    assert ifeval.rates(Counter(samples)) == pytest.approx(expected, abs=1e-12)


def test_rates_of_nothing_are_none():
    assert ifeval.rates({}) == ifeval.rates({"1/1": 0}) == {}
