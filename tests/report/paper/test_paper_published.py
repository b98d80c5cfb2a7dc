"""The shipped tables are the paper's, row for row, and found from anywhere."""

import csv
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fgrpo_bench.report.paper.published import PROBLEMS, TABLES, Cell, chosen_gamma, folder, load
from tests.report.paper import golden

ROOT = Path(__file__).resolve().parents[3]


def test_the_shipped_tables_are_the_papers_row_for_row(reference_data):
    with (reference_data / "paper" / "paper_results.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    seen = 0
    for table in TABLES:
        with (folder() / f"{table}.csv").open(newline="") as file:
            ours = list(csv.reader(file))
        assert ours == [head[1:], *(row[1:] for row in rows if row[0] == table)]
        seen += len(ours) - 1
    assert seen == len(rows) == 2256


def test_numbers_of_problems():
    assert golden.PROBLEMS == PROBLEMS


def test_a_cell_with_two_numbers_is_refused(tmp_path, monkeypatch):
    shutil.copytree(folder(), tmp_path / "paper")
    path = tmp_path / "paper" / "table4.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    monkeypatch.setattr("fgrpo_bench.report.paper.published.folder", lambda: tmp_path / "paper")
    with pytest.raises(ValueError, match=r"table4\.csv has two numbers"):
        load()


def test_the_chosen_gamma_is_table_1s(published):
    assert chosen_gamma(published, "Qwen2.5-7B", "fcispo") == 1.0
    assert chosen_gamma(published, "Qwen2.5-7B", "grpo") == 0.0
    with pytest.raises(KeyError, match="ds-grpo"):
        chosen_gamma(published, "Qwen2.5-7B", "ds-grpo")
    assert published["table2"][Cell("Qwen2.5-7B", "fgrpo", 0.5, 8, "delta_nll_rare", None)] == 0.46


@pytest.mark.slow
def test_the_wheel_carries_them_and_finds_them_from_any_directory(tmp_path):
    words = ["wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "from fgrpo_bench.report.paper import published\n"
        "print(published.folder(), sum(map(len, published.load().values())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site")},
        check=True,
        capture_output=True,
        text=True,
    )
    place, count = done.stdout.rsplit(maxsplit=1)
    assert (Path(place), count) == (tmp_path / "site/fgrpo_bench/baselines/paper", "2256")
