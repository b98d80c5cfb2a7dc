"""Counts of anybody's evaluation: what is read, and what is refused in one line."""

import json
import re
from pathlib import Path

import pytest

from fgrpo_bench.errors import UserError
from fgrpo_bench.report import counts as module
from fgrpo_bench.report.counts import paired, read_counts

STAMP = "2026-01-31T12-00-00.123456"
HEADER = "problem_id,n,c\n"


def table(argument) -> list[tuple]:
    """The rows of a single argument."""
    (read,) = read_counts([argument])
    return list(read.table.itertuples(index=False, name=None))


def refusal(*arguments: str) -> str:
    with pytest.raises(UserError) as caught:
        read_counts(arguments)
    message = str(caught.value)
    assert message.isprintable(), message  # so it is one line, too
    return message


def a_csv(folder: Path, text: str, name: str = "a.csv") -> str:
    (folder / name).write_text(text, "utf-8")
    return f"A={folder / name}"


def sample(doc=0, scores=None, filtered=("x",), sampled=1, filter="none", **more) -> dict:
    """A row as lm-eval 0.4.13 logs it; ``filtered`` is what the filter left of each request."""
    scores = {"exact_match": 1.0} if scores is None else scores
    prompt = {"arg_0": "one plus one?", "arg_1": {"until": [], "do_sample": True}}
    return {
        "doc_id": doc, "doc": {"q": "one plus one?", "a": "2"}, "target": "2",
        "arguments": {"gen_args_0": prompt},
        "resps": [["x"] * sampled], "filtered_resps": list(filtered), "filter": filter,
        "metrics": list(scores), "doc_hash": f"d{doc}", "prompt_hash": "p", "target_hash": "t",
        **scores, **more,
    }  # fmt: skip


def samples(folder: Path, *rows: dict, name: str = f"samples_math_{STAMP}.jsonl") -> str:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / name).write_text(text, "utf-8")
    return f"A={folder / name}"


def test_a_csv_keeps_ids_as_text_and_ignores_other_columns(tmp_path):
    text = 'who,n, c,problem_id\nx,4,0,007\ny,4,3.0,"a,b"\nz,4, 4,NA\n'
    assert table(a_csv(tmp_path, text)) == [
        ("all", "007", 4, 0),
        ("all", "NA", 4, 4),
        ("all", "a,b", 4, 3),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_a_csv_of_a_spreadsheet(tmp_path, end):
    lines = ["\ufeffbenchmark,problem_id,n,c", "ä,2,3,1", "b,1,3,2"]
    (tmp_path / "A.CSV").write_bytes((end.join(lines) + end).encode())
    (read,) = read_counts([f"A={tmp_path / 'A.CSV'}"])
    assert read.problems == [("b", "1"), ("ä", "2")]
    assert read.table[["n", "c"]].dtypes.astype(str).tolist() == ["int64", "int64"]
    assert read.table.columns.tolist() == ["benchmark", "problem_id", "n", "c"]


def test_names_keep_their_order_and_put_files_together(tmp_path):
    one = a_csv(tmp_path, HEADER + "1,2,1\n", "one.csv")
    two = a_csv(tmp_path, "benchmark,problem_id,n,c\nb,1,8,2\n", "two=2.csv")
    other = one.replace("A=", "Ä b=")
    read = read_counts([two, other, one])
    assert [c.name for c in read] == ["A", "Ä b"]
    assert [c.problems for c in read] == [[("all", "1"), ("b", "1")], [("all", "1")]]
    assert read[0].table["n"].tolist() == [2, 8]
    assert read_counts([]) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1,3.5,1\n", "a.csv line 2: n is '3.5', not a whole number from 0; correct it"),
        (HEADER + "1,3,1\n2,3,-1\n", "a.csv line 3: c is '-1', not a whole number from 0"),
        (HEADER + "1,3,nan\n", "line 2: c is 'nan', not a whole"),
        (HEADER + "1,,1\n", "line 2: n is '', not a whole"),
        (HEADER + "1,1e2,1\n", "line 2: n is '1e2', not a whole"),
        (HEADER + "1,٣,1\n", "line 2: n is '٣', not a whole"),
        (HEADER + "1,99999999999999999999,1\n", "line 2: n is '9999"),
        (HEADER + "1,3,4\n", "line 2: c = 4 of n = 3; n must be 1 or more and c at most n"),
        (HEADER + "1,0,0\n", "line 2: c = 0 of n = 0; n must be 1 or more"),
        (
            "problem_id,n,c,benchmark\n1,3,1,a\x1b[2J\n",
            "line 2: benchmark 'a\\x1b[2J' holds control characters; rename it",
        ),
        (HEADER + " ,3,1\n", "line 2: an empty problem_id or benchmark; fill it in"),
        (HEADER + "1,3,1\n1,3,2\n", "line 3: problem '1' of 'all' is there twice; keep one line"),
        (HEADER + "a,b,3,1\n", "line 2: 4 fields where the header has 3; mend the line"),
        (HEADER + "1,3,1\n2,3", "line 3: 2 fields where the header has 3"),
        (HEADER + '1,3,1\n"2,3,1\n', "line 3: damaged CSV (unexpected end of data); mend"),
        (HEADER + f"{'x' * 200_000},3,1\n", "line 2: damaged CSV (field larger than field limit"),
        ("problem,n\n", "line 1: no column 'problem_id', 'c', there is 'problem', 'n'; rename or"),
        ("problem_id;n;c\n", "no column 'problem_id', 'n', 'c', there is 'problem_id;n;c';"),
        ("", "no column 'problem_id', 'n', 'c', there is nothing; rename or add columns"),
        ("problem_id,n,c,n\n1,2,1,2\n", "line 1: two columns are called 'n'; rename one"),
        (HEADER, "a.csv: no rows; check that its evaluation finished"),
    ],
)
def test_bad_csv_is_refused(tmp_path, text, message):
    said = refusal(a_csv(tmp_path, text))
    assert message in said
    assert said.startswith(str(tmp_path / "a.csv"))


def test_lines_are_those_of_the_file(tmp_path):
    text = HEADER + '"two\nlines",3,1\n2,3,4\n'
    assert "a.csv line 4: c = 4 of n = 3" in refusal(a_csv(tmp_path, text))


def test_foreign_text_is_short_and_on_one_line(tmp_path):
    said = refusal(a_csv(tmp_path, HEADER + '1,"\x1b[31m\n' + "y" * 900 + '",1\n'))
    assert r"n is '\x1b[31m\nyy" in said
    assert len(said) < 180 + len(str(tmp_path))


def test_bad_arguments_are_refused(tmp_path):
    for argument in ("a.csv", "=a.csv", " =a.csv", "A="):
        assert refusal(argument) == f"--counts {argument!r} is not NAME=FILE: write it so"
    assert refusal("A=no/such.csv") == "no/such.csv: no such file; check the path"
    assert refusal("A=no.jsonl@acc,none") == "no.jsonl: no such file; check the path"
    assert refusal("A=no.jsonl@acc@x").startswith("no.jsonl: no such file")
    assert refusal("A=x@y").startswith("x@y: neither .csv nor .jsonl")
    assert refusal("A=two\nlines.csv") == r"'two\nlines.csv': no such file; check the path"
    assert f"{tmp_path}: a directory; name the files in it" in refusal(f"A={tmp_path}")
    said = refusal("A=results_1.json")
    assert said == (
        "results_1.json: neither .csv nor .jsonl (samples_*.jsonl of lm_eval --log_samples)"
    )
    argument = a_csv(tmp_path, HEADER + "1,1,1\n")
    assert "a.csv: a CSV has no metrics; leave out '@acc'" in refusal(argument + "@acc")
    (tmp_path / "b.csv").write_bytes(HEADER.encode("utf-16"))
    assert "b.csv: not UTF-8; save it as UTF-8" in refusal(f"A={tmp_path / 'b.csv'}")


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    def broken(path):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, "_read_csv", broken)
    said = refusal(a_csv(tmp_path, HEADER))
    assert "a.csv: cannot be read (Input/output error); check the file" in said


def test_a_file_counts_once_for_a_name(tmp_path):
    one, two = (a_csv(tmp_path, HEADER + "1,2,1\n", name) for name in ("one.csv", "two.csv"))
    (tmp_path / "link.csv").symlink_to(tmp_path / "one.csv")
    again = f"A={tmp_path / 'link.csv'}"
    assert "link.csv: given twice for 'A'; name it once" in refusal(one, again)
    said = refusal(one, two)
    assert said.startswith(str(tmp_path / "two.csv"))
    assert f"problem '1' of 'all' is in {tmp_path / 'one.csv'} too; leave out one" in said
    assert "or give them two names instead of 'A'" in said
    assert len(read_counts([one, two.replace("A=", "B=")])) == 2


def test_samples_of_one_metric_and_filter_need_no_choice(tmp_path):
    rows = [sample(doc, {"exact_match": score}) for doc, score in ((10, 1.0), (2, 0.0), (1, True))]
    argument = samples(tmp_path, *rows)
    assert table(argument) == [("math", "1", 1, 1), ("math", "10", 1, 1), ("math", "2", 1, 0)]
    assert read_counts([argument])[0].hashes["math", "10"] == "d10"


@pytest.mark.parametrize(
    ("name", "benchmark"),
    [
        (f"samples_a_b-2_{STAMP}.jsonl", "a_b-2"),
        ("samples_aime24_2026-01-31T12-00-00.jsonl", "aime24"),
        ("samples_aime24.jsonl", "samples_aime24"),
        ("mine.JSONL", "mine"),
    ],
)
def test_the_benchmark_is_the_task_in_the_name(tmp_path, name, benchmark):
    assert table(samples(tmp_path, sample(), name=name)) == [(benchmark, "0", 1, 1)]


def test_n_is_what_was_scored_not_what_was_sampled(tmp_path):
    first = sample(0, {"exact_match": 1.0}, filtered=["x"], sampled=16)
    assert table(samples(tmp_path, first)) == [("math", "0", 1, 1)]


def test_the_mean_over_scored_responses_is_a_count(tmp_path):
    rows = [
        sample(doc, {"exact_match": mean}, filtered=[["x"] * 7], sampled=9)
        for doc, mean in enumerate([0.0, 5 / 7, 1.0])
    ]
    found = [(n, c) for _, _, n, c in table(samples(tmp_path, *rows))]
    assert found == [(7, 0), (7, 5), (7, 7)]


def test_a_mean_is_a_count_up_to_rounding(tmp_path):
    assert 1 / 49 * 49 != 1
    row = sample(0, {"pass@1": 1 / 49, "pass@8": 8 / 49}, [["x"] * 49], 49)
    assert table(samples(tmp_path, row)) == [("math", "0", 49, 1)]


def test_no_response_to_any_problem_may_be_right(tmp_path):
    rows = [sample(doc, {"exact_match": 0.0}, [["x"] * 4], 4) for doc in range(2)]
    assert table(samples(tmp_path, *rows)) == [("math", "0", 4, 0), ("math", "1", 4, 0)]


def test_a_list_of_verdicts_is_a_count(tmp_path):
    scores = {"each": [0, True, 1.0], "any": 1}
    assert table(samples(tmp_path, sample(0, scores, [["x"] * 3], 3))) == [("math", "0", 3, 2)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([({"f1": 0.5}, ["x"], 1)], "'f1,none' does not count right responses (line 1: 0.5 over 1"),
        ([({"m": 0.4}, [["x"] * 4], 4)], "(line 1: 0.4 over 4 responses)"),
        ([({"m": 1e-12}, ["x"], 1)], "(line 1: 1e-12 over 1 response)"),
        ([({"m": float("nan")}, ["x"], 1)], "(line 1: nan over 1 response)"),
        ([({"m": 999}, ["x"], 1)], "(line 1: 999 over 1 response)"),
        ([({"m": "1"}, ["x"], 1)], "(line 1: '1' over 1 response)"),
        ([({"m": [1, 1]}, ["x"], 1)], "(line 1: [1, 1] over 1 response)"),
        ([({"m": [1, 1]}, ["x"], 2)], "(line 1: [1, 1] over 1 response)"),
        ([({"m": [1, 0.5]}, [["x"] * 2], 2)], "(line 1: [1, 0.5] over 2 responses)"),
        ([({"m": [[1], 0]}, [["x"] * 2], 2)], "(line 1: [[1], 0] over 2 responses)"),
        ([({"m": i}, [["x"] * 4], 4) for i in (0, 1)], "(line 2: one verdict on several resp"),
        ([({"m": False}, [["x"] * 4], 4)], "(line 1: one verdict on several responses)"),
        ([({"pass@2": 0.5}, [["x"] * 4], 4)], "(an estimate at k > 1)"),
        ([({"maj@4": 0}, [["x"] * 4], 4)], "(an estimate at k > 1)"),
        ([({"m": 1}, ["x"], 1), ({"k": 1}, ["x"], 1)], "(not every row has it)"),
        ([({"m": 1}, ["x"], 1), ({"m": 0.2}, ["x"], 1)], "(line 2: 0.2 over 1 response)"),
        ([({}, ["x"], 1)], "no metrics"),
    ],
)
def test_what_is_no_count_is_refused(tmp_path, rows, message):
    said = refusal(samples(tmp_path, *(sample(doc, *row) for doc, row in enumerate(rows))))
    assert message in said
    assert said.startswith(str(tmp_path))
    assert said.endswith("; write a CSV with problem_id, n, c instead")


def test_a_filter_that_cuts_one_response_in_pieces_is_one_response(tmp_path):
    assert table(samples(tmp_path, sample(filtered=[["a", "b"]]))) == [("math", "0", 1, 1)]


def test_log_likelihoods_are_no_repeats(tmp_path):
    pair = ["-0.5", "False"]
    task = {"resps": [[pair]], "filtered_resps": [pair]}
    choices = {"resps": [[pair], [pair]], "filtered_resps": [pair, pair]}
    scores = {"acc": 1.0, "mcc": [1, 1], "brier_score": [1, "[0.4 0.6]"]}
    repeated = task | {"resps": [[pair, pair]]}
    rows = [sample(doc, scores) | kind for doc, kind in enumerate([task, choices, repeated])]
    assert table(samples(tmp_path, *rows)) == [("math", str(doc), 1, 1) for doc in range(3)]


def test_metric_and_filter_can_be_chosen(tmp_path):
    rows = [
        sample(doc, {"exact_match": float(kind == "flexible"), "acc": 0, "f1": 0.3}, filter=kind)
        for kind in ("strict", "flexible")
        for doc in (0, 1)
    ]
    argument = samples(tmp_path, *rows)
    assert [c for *_, c in table(argument + "@exact_match,flexible")] == [1, 1]
    assert [c for *_, c in table(argument + "@exact_match,strict")] == [0, 0]
    path = argument.removeprefix("A=")
    keys = [
        f"'{name},{kind}'" for kind in ("strict", "flexible") for name in ("exact_match", "acc")
    ]
    how = f"write NAME={path}@METRIC,FILTER"
    assert refusal(argument) == f"{path}: more than one metric; {how} with {', '.join(keys)}"
    said = refusal(argument + "@exact_match")
    assert said.endswith(f"{how} with 'exact_match,strict', 'exact_match,flexible'")
    said = refusal(argument + "@exact_match,strct")
    assert said == (f"{path}: no 'exact_match,strct'; {how}: did you mean 'exact_match,strict'?")
    assert "no ''; write NAME=" in refusal(argument + "@")
    assert "'f1,strict' does not count right responses" in refusal(argument + "@f1,strict")


def test_of_two_filters_none_is_taken_unasked(tmp_path):
    rows = [sample(0, {"m": score}, filter=kind) for kind, score in (("a", 1), ("b", 0.5))]
    said = refusal(samples(tmp_path, *rows))
    assert "more than one metric; write NAME=" in said
    assert said.endswith("@METRIC,FILTER with 'm,a'")


def test_a_long_choice_is_cut(tmp_path):
    said = refusal(samples(tmp_path, sample(0, {f"m{i}": 1 for i in range(12)})))
    assert said.endswith("'m9,none' and 2 more")


def test_instructions_of_ifeval_are_no_repeats(tmp_path):
    scores = [(True, [True]), (False, [True, False, True]), (True, [True, True])]
    rows = [
        sample(doc, {"prompt_level_strict_acc": prompt, "inst_level_strict_acc": each})
        for doc, (prompt, each) in enumerate(scores)
    ]
    argument = samples(tmp_path, *rows, name=f"samples_ifeval_{STAMP}.jsonl")
    assert [(n, c) for _, _, n, c in table(argument)] == [(1, 1), (1, 0), (1, 1)]
    assert table(argument + "@prompt_level_strict_acc") == table(argument)
    said = refusal(argument + "@inst_level_strict_acc")
    assert "(line 2: [True, False, True] over 1 response)" in said


def test_names_with_an_at_sign(tmp_path):
    rows = [sample(doc, {"pass@1": 1, "pass@8": 0}) for doc in range(2)]
    argument = samples(tmp_path, *rows, name="a@b.jsonl")
    assert [c for *_, c in table(argument + "@pass@1,none")] == [1, 1]
    assert [c for *_, c in table(argument + "@pass@8")] == [0, 0]
    samples(tmp_path, sample(5), name="a@b.jsonl@pass@1.jsonl")
    for choice in ("", "@exact_match,none"):
        assert [p for _, p, *_ in table(argument + "@pass@1.jsonl" + choice)] == ["5"]


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ('{"doc_id": 1, "doc', "line 2: damaged JSON; copy or evaluate it again"),
        ("[" * 100_000, "line 2: damaged JSON"),
        ("\ud800", "line 2: damaged JSON"),
        ("null", "line 2: no sample of lm-eval (doc_id, filter, metrics, resps, filtered_resps);"),
        (json.dumps({"problem_id": 1}), "line 2: no sample of lm-eval"),
        (json.dumps(sample("1")), "line 2: no sample of lm-eval"),
        (json.dumps(sample(1) | {"metrics": [["a"]]}), "line 2: no sample of lm-eval"),
        (json.dumps(sample(0)), "line 2: doc_id 0 is there twice under filter 'none': keep one"),
    ],
)
def test_damaged_samples_are_refused(tmp_path, last, message):
    argument = samples(tmp_path, sample(0))
    with open(argument.removeprefix("A="), "a", encoding="utf-8", errors="surrogatepass") as file:
        file.write(last)
    said = refusal(argument)
    assert f"samples_math_{STAMP}.jsonl {message}" in said


def test_a_samples_file_without_rows_is_refused(tmp_path):
    assert "no rows; check that its evaluation finished" in refusal(samples(tmp_path))


def test_two_runs_of_a_task_are_not_pooled(tmp_path):
    one = samples(tmp_path, sample(0), name=f"samples_math_{STAMP}.jsonl")
    two = samples(tmp_path, sample(0), name="samples_math_2026-02-01T12-00-00.jsonl")
    assert re.search(r"02-01.*: problem '0' of 'math' is in .*01-31", refusal(one, two))
    three = samples(tmp_path, sample(0), name=f"samples_code_{STAMP}.jsonl")
    assert read_counts([one, three])[0].problems == [("code", "0"), ("math", "0")]


def test_the_same_problems_pair(tmp_path):
    one = a_csv(tmp_path, HEADER + "2,2,1\n1,2,1\n", "one.csv")
    two = a_csv(tmp_path, HEADER + "1,9,3\n2,9,4\n", "two.csv").replace("A=", "B=")
    three = a_csv(tmp_path, HEADER + "01,9,3\n2,9,4\n3,9,4\n", "three.csv").replace("A=", "C=")
    paired(read_counts([one, two]))
    paired(read_counts([one]))
    paired([])
    with pytest.raises(UserError) as caught:
        paired(read_counts([one, two, three]))
    assert str(caught.value) == (
        "'C' lacks 1 of the 2 problems of 'A', first problem '1' of 'all': count the same "
        "problems, under the same benchmark and problem_id, for both"
    )
    with pytest.raises(UserError, match=r"'B' lacks 2 of the 3 .* first problem '01' of 'all'"):
        paired(read_counts([three, two]))
    sub = a_csv(tmp_path, HEADER + "2,2,1\n", "sub.csv").replace("A=", "D=")
    with pytest.raises(UserError, match="'D' lacks 1 of the 2 problems of 'B', first problem '1'"):
        paired(read_counts([sub, two]))


def test_other_documents_under_the_same_ids_do_not_pair(tmp_path):
    one = samples(tmp_path, sample(0), sample(1))
    for name, hash_ in (("same", "d1"), ("other", "e1")):
        (tmp_path / name).mkdir()
        samples(tmp_path / name, sample(0), sample(1) | {"doc_hash": hash_})
    same, other = (
        one.replace("A=", f"{n}=").replace("samples", f"{n}/samples") for n in ("same", "other")
    )
    csv = a_csv(tmp_path, "benchmark,problem_id,n,c\nmath,0,1,1\nmath,1,1,1\n").replace("A", "D", 1)
    paired(read_counts([one, csv, same]))
    with pytest.raises(UserError) as caught:
        paired(read_counts([csv, one, other]))
    assert str(caught.value) == (
        "1 documents of 'A' and 'other' differ (doc_hash), first problem '1' of 'math': evaluate "
        "both on the same data, or write CSV files if the problems are the same"
    )
