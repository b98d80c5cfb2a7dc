"""The list of benchmarks, which needs none of what evaluates them."""

import subprocess
import sys
import time

from fgrpo_bench.benchmarks.registry import BENCHMARKS, tasks_folder
from fgrpo_bench.cli import main


def test_every_benchmark_is_listed_with_its_data(capsys):
    main(["tasks"])
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 100
    for name, benchmark in BENCHMARKS.items():
        graded, data = (line.split() for line in lines if line.split()[:1] == [name])
        assert graded[-1] == str(benchmark.rows)
        assert benchmark.grader in graded
        assert benchmark.style in graded
        assert data[-1] == ("yes" if benchmark.redistributable else "no")
        if benchmark.hub:
            assert data[1:3] == [benchmark.hub, benchmark.revision[:8]]
    assert "group ood: gpqa_diamond ifeval\n" in printed
    assert "ifeval_qwen2.5" in printed
    assert lines[-1].endswith(str(tasks_folder()))


def test_it_is_fast_and_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from fgrpo_bench.cli import main\n"
        "main(['tasks'])\n"
        "assert not {'torch', 'lm_eval', 'datasets', 'nltk'} & set(sys.modules)"
    )
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert time.monotonic() - start < 10
