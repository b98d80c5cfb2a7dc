"""The wheel carries all it needs: installed with its real dependencies, run from elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*words: object, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_built_wheel_works_in_an_empty_environment_and_directory(tmp_path, micro_preset):
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python, tool = (tmp_path / "venv" / "bin" / name for name in ("python", "fgrpo-bench"))
    pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "-w", tmp_path / "wheels", ROOT, cwd=tmp_path)
    (wheel,) = (tmp_path / "wheels").glob("fgrpo_bench-*.whl")
    constraints = ("-c", ROOT / "constraints.txt")
    run(*pip, "install", *constraints, wheel, cwd=tmp_path)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "maze-small" in run(tool, "presets", cwd=elsewhere)
    assert "numpy" in run(tool, "doctor", cwd=elsewhere)
    place = run(tool, "tasks", cwd=elsewhere).splitlines()[-1].rpartition(": ")[2]
    assert Path(place).is_relative_to(tmp_path / "venv")
    assert (Path(place) / "math500" / "math500.yaml").is_file()
    refused = subprocess.run([tool, "run", "--method", "grpo"], cwd=elsewhere, capture_output=True)
    assert refused.returncode == 2
    assert b"pip install 'fgrpo-bench[train]'" in refused.stderr

    run(*pip, "install", *constraints, f"{wheel}[train]", cwd=tmp_path)
    words = ("--n", "4", "--set", "train.steps=2", "--set", "evaluation.every=2")
    out = run(tool, "run", "--method", "grpo", "fgrpo", *words, cwd=elsewhere)
    assert "F-GRPO N=4" in out
    run(tool, "report", cwd=elsewhere)
    assert (elsewhere / "reports" / "latest" / "pass_at_k.png").stat().st_size > 10_000
    run(tool, "run", "--method", "grpo", "--preset", micro_preset, cwd=elsewhere)
