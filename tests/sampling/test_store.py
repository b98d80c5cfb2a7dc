"""The store: what comes back, and what is refused, by name and with a remedy."""

import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fgrpo_bench.errors import UserError
from fgrpo_bench.sampling.bench import scripted_problems
from fgrpo_bench.sampling.engines.base import Completion
from fgrpo_bench.sampling.plan import Block
from fgrpo_bench.sampling.repeats import trace
from fgrpo_bench.sampling.store import SAMPLES, read_block, refuse_overlaps, scan, write_block

PROBLEMS = scripted_problems(6)
FINGERPRINT = {"model": {"id": "tiny"}, "sampling": {"temperature": 1.0, "stop": ["\n"]}}


FIRST = Block(0, 3, 0, 2)


def put(folder, block=FIRST, fingerprint=FINGERPRINT, texts=None):
    folder.mkdir(exist_ok=True)
    each = block.stop - block.start
    rows = range(block.last - block.first)
    completions = [
        [Completion(texts[row] if texts else f"{row}é{j}", 4, "stop") for j in range(each)]
        for row in rows
    ]
    traces = [trace([c.text for c in row]) for row in completions]
    seeds = [100 + row for row in rows]
    some = PROBLEMS[block.first : block.last]
    return write_block(folder, block, some, completions, seeds, fingerprint, traces)


def read(folder, fingerprint=FINGERPRINT):
    found = [stored for stored, _ in scan(folder, fingerprint, len(PROBLEMS))]
    refuse_overlaps(found)
    return [read_block(stored, PROBLEMS) for stored in found]


def refusal(folder, fingerprint=FINGERPRINT) -> str:
    with pytest.raises(UserError) as caught:
        read(folder, fingerprint)
    message = str(caught.value)
    assert message.isprintable()
    return message


def test_what_was_written_comes_back(tmp_path):
    written = [put(tmp_path), put(tmp_path, Block(3, 6, 0, 2)), put(tmp_path, Block(0, 3, 2, 5))]
    found = [stored for stored, _ in scan(tmp_path, FINGERPRINT, len(PROBLEMS))]
    assert sorted(found, key=lambda s: s.block) == sorted(written, key=lambda s: s.block)
    assert found[0].tokens == 24 or found[0].tokens == 36
    table = read_block(written[1], PROBLEMS)
    assert table.schema.remove_metadata() == SAMPLES
    assert table.to_pylist()[3] == {
        "problem_id": "4",
        "sample": 1,
        "response": "1é1",
        "n_tokens": 4,
        "finish": "stop",
        "seed": 101,
    }
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".parquet"]


def test_equal_samples_are_equal_bytes(tmp_path):
    one, other = put(tmp_path / "a"), put(tmp_path / "b")
    assert one.path.read_bytes() == other.path.read_bytes()


def test_text_that_is_no_unicode_is_kept_as_far_as_it_can_be(tmp_path):
    stored = put(tmp_path, Block(0, 1, 0, 1), texts=["a\ud800b\x00\n"])
    assert read_block(stored, PROBLEMS)["response"].to_pylist() == ["a?b\x00\n"]


def test_no_folder_and_an_empty_one_hold_nothing(tmp_path):
    assert read(tmp_path / "none") == read(tmp_path) == []


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_torn_file_is_named(tmp_path, keep):
    path = put(tmp_path).path
    path.write_bytes(path.read_bytes()[:keep])
    message = refusal(tmp_path)
    assert path.name in message
    assert re.search("torn or empty.*delete the file and run the same command", message)


def test_damage_in_the_middle_is_named(tmp_path):
    path = put(tmp_path).path
    data = bytearray(path.read_bytes())
    data[data.index("é".encode())] ^= 1  # a short column is stored as it is
    path.write_bytes(data)
    assert "damaged" in refusal(tmp_path)
    assert path.name in refusal(tmp_path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model": {"id": "other"}}, "model.id"),
        ({"sampling": {"temperature": 0.6, "stop": ["\n"]}}, "sampling.temperature"),
        ({"sampling": {"temperature": 1.0, "stop": []}}, "sampling.stop"),
    ],
)
def test_samples_drawn_otherwise_are_never_mixed_in(tmp_path, change, named):
    path = put(tmp_path).path
    message = refusal(tmp_path, FINGERPRINT | change)
    assert f"({named} differ)" in message
    assert path.name in message
    assert "--out" in message


def rewritten(path, change):
    table = pq.read_table(path)
    pq.write_table(change(table), path)


def test_a_missing_column_is_named(tmp_path):
    path = put(tmp_path).path
    rewritten(path, lambda table: table.drop_columns(["finish"]))
    assert "no column 'finish'" in refusal(tmp_path)


def test_a_parquet_of_somebody_else_is_named(tmp_path):
    path = put(tmp_path).path
    rewritten(path, lambda table: table.replace_schema_metadata(None))
    assert "not written by fgrpo-bench eval" in refusal(tmp_path)


def test_lost_and_foreign_rows_are_named(tmp_path):
    path = put(tmp_path).path
    whole = path.read_bytes()
    rewritten(path, lambda table: table.slice(0, 5))
    assert "5 rows that are not those its name tells" in refusal(tmp_path)
    path.write_bytes(whole)
    rewritten(path, lambda t: t.set_column(0, "problem_id", pa.array(["9"] * 6, pa.string())))
    assert "its rows are not those" in refusal(tmp_path)
    path.write_bytes(whole)
    rewritten(path, lambda t: t.set_column(1, "sample", pa.array([0, 0] * 3, pa.int32())))
    assert "its rows are not those" in refusal(tmp_path)


def test_a_renamed_file_and_one_beyond_the_problems_are_named(tmp_path):
    path = put(tmp_path).path
    path.rename(tmp_path / f"{Block(3, 6, 0, 2).name}.parquet")
    assert "rows that are not those its name tells" in refusal(tmp_path)
    put(tmp_path / "more", Block(3, 6, 0, 2))
    with pytest.raises(UserError, match="rows that are not those"):
        list(scan(tmp_path / "more", FINGERPRINT, 5))


def test_a_file_that_is_no_block_is_named(tmp_path):
    put(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    assert "notes.txt" in refusal(tmp_path)


def test_two_files_with_the_same_sample_are_named(tmp_path):
    one, other = put(tmp_path).path, put(tmp_path, Block(2, 4, 1, 3)).path
    message = refusal(tmp_path)
    assert one.name in message
    assert other.name in message
    shutil.rmtree(tmp_path)
    put(tmp_path)
    put(tmp_path, Block(2, 4, 2, 3))  # they touch and share nothing
    assert len(read(tmp_path)) == 2


def test_what_a_killed_process_left_half_written_is_passed_over(tmp_path):
    put(tmp_path)
    (tmp_path / f".{Block(3, 6, 0, 2).name}.parquet.123.tmp").write_bytes(b"PAR1")
    assert len(read(tmp_path)) == 1
