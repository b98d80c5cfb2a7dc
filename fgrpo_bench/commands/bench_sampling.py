"""``fgrpo-bench bench sampling``: what sampling costs beside the model, against its targets."""

import os
from typing import Any

from fgrpo_bench.commands.bench_stats import print_targets, target
from fgrpo_bench.commands.progress import say
from fgrpo_bench.sampling.bench import measure_bookkeeping, measure_memory

PROMPTS, SAMPLES = 16, 16


def bench_sampling(model: str | None) -> dict[str, Any]:
    """Measure the bookkeeping, its memory, and with a model the hf engine beside lm-eval's.

    Args:
        model: a checkpoint for the hf engine, None to leave that out.

    Raises:
        UserError: the checkpoint cannot be used.
    """
    book, memory = measure_bookkeeping(say), measure_memory(say)
    result: dict[str, Any] = {
        "threads": os.environ.get("OMP_NUM_THREADS", "unset"),
        "bookkeeping": book,
        "memory": memory,
    }
    growth = memory["growth"] / min(memory["megabytes"].values())
    targets = {
        "bookkeeping, share of the engine's time": target(book["share"], at_most=0.05),
        "memory at 16 times the samples, growth": target(growth, at_most=0.05),
    }
    if model is None:
        say(
            "the hf engine is left out: name a checkpoint, such as --model "
            "models/smollm2-135m-instruct (make smollm2)"
        )
    else:
        result["hf"] = _compare(model)
        targets["hf engine, times lm-eval's hf"] = target(result["hf"]["ratio"], at_least=2)
    print_targets(targets)
    return {**result, "targets": targets}


def _compare(model: str) -> dict[str, Any]:
    """Sample 16 answers to each of 16 short sums, side by side."""
    from fgrpo_bench.benchmarks.load import load_task
    from fgrpo_bench.sampling.bench_engines import compare_hf

    task = load_task("arith")
    step = max(1, len(task.problems) // PROMPTS)
    prompts = [str(problem.prompt) for problem in task.problems[::step]][:PROMPTS]
    return compare_hf(model, prompts, SAMPLES, task.max_tokens, task.stop, 3)
