"""NLTK's sentence data: those of the package, written whole, and found where none are installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nltk
import punkt
import pytest
from nltk.tokenize.punkt import PunktTokenizer, load_punkt_params

from fgrpo_bench.grading import ifeval
from fgrpo_bench.grading import punkt as ours

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = "tokenizers/punkt_tab/english/"
SENTENCES = {
    "key": 1, "prompt": "Two sentences.", "instruction_id_list": ["length_constraints:number_sentences"],
    "kwargs": [{"relation": "at least", "num_sentences": 2}],
}  # fmt: skip


@pytest.fixture
def only(monkeypatch):
    """NLTK's folders, none to begin with."""
    monkeypatch.setattr(nltk.data, "path", [])
    return nltk.data.path


def test_nltk_reads_the_very_parameters_of_the_package(tmp_path, only):
    only.append(str(ours.write_punkt(tmp_path / "data")))
    found, model = load_punkt_params(nltk.data.find(ENGLISH)), punkt.load_model("english")
    assert found.abbrev_types == model.abbrev_types
    assert found.collocations == model.collocations
    assert found.sent_starters == model.sent_starters
    assert dict(found.ortho_context) == model.ortho_context
    assert len(found.ortho_context) == 20366


def test_sentences_of_real_texts_are_those_of_the_package(tmp_path, only, reference_data):
    only.append(str(ours.write_punkt(tmp_path / "data")))
    texts = []
    for path in sorted((reference_data / "data").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines()[:200]:
            row = json.loads(line)
            texts += [row[name] for name in ("prompt", "problem", "question") if row.get(name)]
    theirs, other = PunktTokenizer(), punkt.PunktSentenceTokenizer(punkt.load_model("english"))
    assert len(texts) > 700
    apart = [text for text in texts if theirs.tokenize(text) != other.tokenize(text)]
    assert len(apart) <= len(texts) / 200  # the package joins a mark that stands alone


def test_many_processes_may_write_at_once_and_damage_is_mended(tmp_path):
    code = (
        "import sys; from pathlib import Path; from fgrpo_bench.grading.punkt import write_punkt\n"
        "write_punkt(Path(sys.argv[1]))"
    )
    root = tmp_path / "data"
    started = [
        subprocess.Popen([sys.executable, "-c", code, root], cwd=ROOT, stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    assert [(each.communicate()[1], each.returncode) for each in started] == [(b"", 0)] * 6
    files = {path.name: path.read_bytes() for path in (root / ENGLISH).iterdir()}
    assert len(files) == 4
    (root / ENGLISH / "ortho_context.tab").write_bytes(b"the\t")
    (root / ENGLISH / "collocations.tab").unlink()
    ours.write_punkt(root)
    assert {path.name: path.read_bytes() for path in (root / ENGLISH).iterdir()} == files


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        ours.write_punkt(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_nltk_trusts_what_is_written_under_any_umask(tmp_path, only):
    before = os.umask(0)
    try:
        only.append(str(ours.write_punkt(tmp_path / "data")))
    finally:
        os.umask(before)
    assert PunktTokenizer().tokenize("Dr. Smith left. He was tired.") == [
        "Dr. Smith left.",
        "He was tired.",
    ]


def test_data_that_nltk_finds_by_itself_are_left_to_it(tmp_path, only, monkeypatch):
    only.append(str(ours.write_punkt(tmp_path / "own")))
    monkeypatch.setenv("FGRPO_BENCH_CACHE", str(tmp_path / "cache"))
    ours.provide_punkt()
    assert only == [str(tmp_path / "own")]
    assert not (tmp_path / "cache").exists()


def test_data_are_provided_in_the_cache_or_where_it_cannot_be(tmp_path, only, monkeypatch):
    monkeypatch.setenv("FGRPO_BENCH_CACHE", str(tmp_path / "cache"))
    ours.provide_punkt()
    assert only == [str(tmp_path / "cache" / "nltk_data")]
    only.clear()
    monkeypatch.setattr(ours, "temporary_folder", lambda: tmp_path / "temporary")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "nltk_data").touch()
    monkeypatch.setenv("FGRPO_BENCH_CACHE", str(tmp_path / "other"))
    ours.provide_punkt()
    assert only == [str(tmp_path / "temporary" / "nltk_data")]
    assert PunktTokenizer().tokenize("One. Two.") == ["One.", "Two."]


@pytest.fixture
def without_package(only, monkeypatch):
    from lm_eval.tasks.ifeval import instructions_util

    monkeypatch.setitem(sys.modules, "punkt", None)
    for known in (ifeval._checkers, ifeval._advise, instructions_util._get_sentence_tokenizer):
        known.cache_clear()
    yield
    for known in (ifeval._checkers, ifeval._advise, instructions_util._get_sentence_tokenizer):
        known.cache_clear()


def test_without_data_there_is_one_line_of_advice_and_no_verdict(without_package, caplog):
    asked = ifeval.judge(SENTENCES, "One. Two.", "stop")
    for _ in range(2):
        with pytest.raises(LookupError, match=r"^ifeval: .*pip install nltk-punkt"):
            ifeval.meets(asked.gold, asked.answer)
    assert [record.message for record in caplog.records] == [ifeval._ADVICE]
    assert "\n" not in ifeval._ADVICE
    words = {**SENTENCES, "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    asked = ifeval.judge(words, "One. Two.", "stop")
    assert ifeval.meets(asked.gold, asked.answer) == (True, "1/1")


def test_without_data_nothing_is_downloaded_or_said_until_sentences_count():
    code = (
        "import json, socket, sys\n"
        "def refuse(*_, **__): raise SystemExit('network')\n"
        "socket.getaddrinfo = socket.create_connection = refuse\n"
        "sys.modules['punkt'] = None\n"
        "from fgrpo_bench.grading.ifeval import judge, meets\n"
        "asked = judge(json.load(sys.stdin), 'One. Two.', 'stop')\n"
        "print(meets(asked.gold, asked.answer)[1])"
    )
    words = {**SENTENCES, "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(words),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert (done.stdout, done.stderr) == ("1/1\n", "")
