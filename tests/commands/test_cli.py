"""The command line: help is fast, mistakes are one line and exit code 2."""

import subprocess
import sys
import time
from importlib.metadata import version

import pytest

from fgrpo_bench.cli import main
from fgrpo_bench.commands import doctor
from fgrpo_bench.config.load import preset_names
from fgrpo_bench.extras import Requirement


def run(*words: str) -> tuple[int, str]:
    """Exit code and output of a real process."""
    done = subprocess.run(
        [sys.executable, "-m", "fgrpo_bench.cli", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def test_help_is_fast_and_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from fgrpo_bench.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as e: assert not e.code\n"
        "heavy = {'torch', 'transformers', 'matplotlib', 'pandas', 'numpy', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    times = []
    for _ in range(3):
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        times.append(time.monotonic() - start)
        assert done.returncode == 0, done.stderr
        assert all(command in done.stdout for command in ("run", "report", "base", "bench"))
    assert min(times) < 1.0


def test_reporting_needs_no_torch():
    code = (
        "import sys\n"
        "import fgrpo_bench.commands.report, fgrpo_bench.commands.run\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnu"], "no command 'rnu': did you mean 'run'?"),
        (["run"], "--method"),
        (["run", "--metod", "grpo"], "run has no option '--metod': did you mean '--method'?"),
        (["run", "--method", "fgrop"], "unknown method 'fgrop': did you mean 'fgrpo'?"),
        (["run", "--method", "grpo", "--n", "1"], "a group needs at least 2 rollouts"),
        (["run", "--method", "grpo", "--n", "eight"], "--n"),
        (["run", "--method", "fgrpo", "--gamma", "-1"], "gamma must be 0 or more"),
        (["run", "--method", "grpo", "--preset", "maze-smal"], "did you mean 'maze-small'?"),
        (["run", "--method", "grpo", "--preset", "none.toml"], "cannot read preset none.toml"),
        (["run", "--method", "grpo", "--set", "maze.size=7"], "192 different mazes"),
        (["run", "--method", "grpo", "--set", "model.width=32"], "base.train=true"),
        (["run", "--method", "grpo", "--set", "maze.reward=reech"], "'exact' or 'reach'"),
        (
            ["run", "--method", "grpo", "--set", "maze.reward=reach"],
            "set evaluation.samples to at least 256, the largest k",
        ),
        (["run", "--method", "grpo", "--set", "train.device=gpu"], "'cpu' or 'auto'"),
        (["run", "--seed", "0", "--method", "grpo", "--seed", "1"], "--seed is given twice"),
        (["bench", "mase"], "no bench 'mase': did you mean 'maze'?"),
        (["bench"], "Missing from fgrpo-bench bench: NAME"),
        (["bench", "maze", "--n", "1"], "a group needs at least 2 rollouts"),
        (["bench", "maze", "--preset", "maze-smal"], "did you mean 'maze-small'?"),
        (["bench", "maze", "--json", "no/where.json"], "there is no folder no"),
        (["report", "nowhere"], "nowhere is no directory"),
        (["report", "."], "no finished run under ."),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(words)
    captured = capsys.readouterr()
    assert exit_.value.code == 2
    lines = captured.err.strip().splitlines()
    assert lines[-1].startswith("fgrpo-bench: ")
    assert message in lines[-1]
    assert not captured.out
    assert not any(tmp_path.iterdir()), "a mistake leaves nothing behind"


def test_a_mistake_in_a_real_process():
    code, output = run("run", "--method", "fgrop")
    assert (code, output) == (2, "fgrpo-bench: unknown method 'fgrop': did you mean 'fgrpo'?\n")


def test_version_and_bare_call(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out.strip().count(".") == 2
    with pytest.raises(SystemExit):
        main([])
    assert "usage: fgrpo-bench" in capsys.readouterr().out


def test_presets_names_every_preset(capsys):
    main(["presets"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[::2]] == preset_names()
    assert lines[-2].startswith("maze-small: The effect on a laptop")
    assert lines[-1] == ("  11x11 mazes, 600 steps of 32 prompts, gamma 1, base maze-small shipped")
    assert lines[3].endswith("20000 steps of 256 prompts, gamma 1, base trained first")


def test_doctor_compares_with_the_tested_versions(capsys):
    main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("cores: ") for line in lines)
    assert any(line.startswith("GPU: ") for line in lines)
    assert f"  numpy {version('numpy')}" in [line.partition(" [")[0] for line in lines]
    tested = doctor.tested_versions()
    assert {"torch", "trl", "vllm", "ray"} <= set(tested)
    assert doctor._compare("2.13.0+cpu", "2.13.0") == "2.13.0+cpu"
    assert doctor._compare("2.3.5", "0.1") == "2.3.5 [0.1]"
    assert doctor._compare("2.3.5", None) == "2.3.5"


def test_doctor_says_which_extras_are_complete(capsys):
    main(["doctor"])
    out = capsys.readouterr().out
    assert "core: complete\n" in out
    assert "extra train: complete\n" in out
    assert out.count("  torch ") == 1, "a package of several extras is listed once"
    required = [
        Requirement("no-such-core", "", ""),
        Requirement("numpy", "one", ""),
        Requirement("no-such-a", "two", ""),
        Requirement("numpy", "two", ""),
        Requirement("no-such-b", "two", ""),
    ]
    assert list(doctor.package_lines(required, {"numpy": "0.1"})) == [
        "core: missing no-such-core: pip install fgrpo-bench",
        "extra one: complete",
        f"  numpy {version('numpy')} [0.1]",
        "extra two: missing no-such-a, no-such-b: pip install 'fgrpo-bench[two]'",
    ]


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("torch", ["run", "--method", "grpo", "--out", "/nonexistent/x"]),
        ("transformers", ["bench", "maze"]),
    ],
)
def test_a_missing_extra_says_what_to_type(package, words):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from fgrpo_bench.cli import main\n"
        f"main({words})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"fgrpo-bench: {package} is not installed: pip install 'fgrpo-bench[train]'"
    )


@pytest.mark.parametrize(("module", "extra"), [("lm_eval.tasks", "eval"), ("numba", "sim")])
def test_a_missing_package_of_any_extra_is_one_line(module, extra, monkeypatch, capsys):
    def fail(command: object) -> None:
        raise ModuleNotFoundError(f"No module named '{module}'", name=module)

    monkeypatch.setattr("fgrpo_bench.cli.dispatch", fail)
    with pytest.raises(SystemExit) as exit_:
        main(["presets"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err == (
        f"fgrpo-bench: {module} is not installed: pip install 'fgrpo-bench[{extra}]'\n"
    )


def test_a_missing_module_that_no_extra_brings_is_a_bug(monkeypatch):
    def fail(command: object) -> None:
        raise ModuleNotFoundError("No module named 'no_such'", name="no_such")

    monkeypatch.setattr("fgrpo_bench.cli.dispatch", fail)
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        main(["presets"])
