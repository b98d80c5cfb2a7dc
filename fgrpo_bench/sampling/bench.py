"""How much time the bookkeeping around an engine takes, and how much memory."""

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import numpy as np

from fgrpo_bench.benchmarks.problems import Problem
from fgrpo_bench.grading.blocks import Tally, grade_block
from fgrpo_bench.grading.outcomes import Verdict
from fgrpo_bench.sampling.engines.base import Completion, Request, Settings
from fgrpo_bench.sampling.run import Sampling

RATE: Final = 20_000
SETTINGS: Final = Settings(temperature=1.0, top_p=1.0, max_tokens=16)


class ScriptedEngine:
    """An engine without a model: it draws short answers by the seed, at most ``rate`` a second."""

    name = "scripted"
    family: str | None = None
    block_rows = 8192

    def __init__(self, rate: float = float("inf")) -> None:
        self.identity: dict[str, Any] = {"name": "scripted"}
        self.seconds = 0.0
        self._rate = rate
        self._answers = [Completion(f" {number}", 3, "stop") for number in range(200)]

    def generate(self, requests: Sequence[Request], settings: Settings) -> list[list[Completion]]:
        """Return answers that depend on the seeds alone."""
        begun = time.perf_counter()
        out = []
        for request in requests:
            rng = np.random.Generator(np.random.PCG64(request.seed))
            picks = rng.integers(len(self._answers), size=request.n).tolist()
            out.append([self._answers[pick] for pick in picks])
        rows = sum(request.n for request in requests)
        time.sleep(max(0.0, begun + rows / self._rate - time.perf_counter()))
        self.seconds += time.perf_counter() - begun
        return out

    def close(self) -> None:
        """Nothing is held."""


def scripted_problems(count: int) -> list[Problem]:
    """Return problems whose prompts are of a usual length."""
    return [
        Problem(f"{index}", f"Question {index}. " + "Lorem ipsum " * 20, {"answer": f"{index}"})
        for index in range(count)
    ]


def exact(cases: Sequence[tuple[dict[str, Any], str, str]]) -> list[Verdict]:
    """Grade scripted answers."""
    answers = [(doc["answer"], response.strip()) for doc, response, _ in cases]
    return [Verdict("correct" if gold == said else "wrong", said) for gold, said in answers]


def sample_all(
    folder: Path, problems: int, samples: int, engine: ScriptedEngine
) -> tuple[float, float]:
    """Sample and grade everything; return the seconds of sampling and those of grading."""
    everything, start = scripted_problems(problems), time.perf_counter()
    for name in ("samples", "grades"):
        (folder / name).mkdir(parents=True)
    sampling = Sampling(folder / "samples", "scripted", everything, {"engine": "scripted"})
    blocks = sampling.missing(samples, engine.block_rows)
    sampling.fill(blocks, engine, SETTINGS, 0, lambda: None)
    sampled, tally = time.perf_counter(), Tally(problems)
    for stored in sampling.stored:
        tally.add(stored.block, *grade_block(stored, everything, folder / "grades", exact, "exact"))
    assert tally.n.min() == samples
    return sampled - start, time.perf_counter() - sampled


def measure_bookkeeping(
    say: Callable[[str], None], samples: int = 100_000, rounds: int = 3
) -> dict[str, Any]:
    """Measure what sampling takes beside the engine's own time.

    Args:
        say: receives a line per round.
        samples: in all, over 100 problems.
        rounds: repetitions.
    """
    found = []
    for index in range(rounds + 1):
        folder, engine = Path(mkdtemp(prefix="fgrpo-bench-")), ScriptedEngine(RATE)
        each = samples // 100 if index else 1  # the first pays for imports
        try:
            seconds, grading = sample_all(folder, 100, each, engine)
            size = sum(path.stat().st_size for path in (folder / "samples").iterdir())
        finally:
            shutil.rmtree(folder)
        share = (seconds - engine.seconds) / engine.seconds
        if not index:
            continue
        found.append({"share": share, "sampling": seconds, "grading": grading, "bytes": size})
        say(f"round {index}: {share:.1%} of the engine's {engine.seconds:.2f} s")
    shares = sorted(one["share"] for one in found)
    return {
        "samples": samples,
        "rate": RATE,
        "rounds": found,
        "share": shares[len(shares) // 2],
        "bytes_per_sample": found[0]["bytes"] / samples,
    }


def measure_memory(say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the peak memory of processes that sample and grade little and much."""
    peaks = {}
    for samples in (250, 4000):
        code = f"from fgrpo_bench.sampling.bench import peak; print(peak({samples}))"
        done = subprocess.run(
            (sys.executable, "-c", code), capture_output=True, text=True, check=True
        )
        peaks[100 * samples] = float(done.stdout)
        say(f"{100 * samples:,} samples: peak memory {peaks[100 * samples]:.0f} MB")
    few, many = peaks.values()
    return {"megabytes": {str(rows): peak for rows, peak in peaks.items()}, "growth": many - few}


def peak(samples: int) -> float:
    """Sample and grade 100 problems and return this process's peak memory in MB."""
    folder = Path(mkdtemp(prefix="fgrpo-bench-"))
    try:
        sample_all(folder, 100, samples, ScriptedEngine())
    finally:
        shutil.rmtree(folder)
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
