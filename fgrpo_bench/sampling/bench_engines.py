"""How fast the transformers engine is beside lm-eval's own on the same model, in turns.

lm-eval is given what it asks for: one instance for each repeat, sampled in batches of as many rows
as ours. Both read the same checkpoint in the same precision on the same threads: in float32 on a
CPU, where bfloat16 is slow for both and far slower for the one that reads a prompt n times.
"""

from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

from fgrpo_bench.sampling.engines.base import Completion, Engine, Request, Settings
from fgrpo_bench.sampling.engines.make import make_engine

_BATCH_SIZE = 64


def compare_hf(
    model: str, prompts: Sequence[str], n: int, max_tokens: int, stop: Sequence[str], rounds: int
) -> dict[str, Any]:
    """Time n samples of each prompt at temperature 1 by both, after a warm-up of each.

    Args:
        model: a folder or a model of the hub.
        prompts: texts to continue.
        n: samples of each.
        max_tokens: limit of a response.
        stop: texts that end a response.
        rounds: timings of each.

    Returns:
        Seconds of every round, samples per second, mean tokens of a response (lm-eval's without
        those of the stop) and the ratio of the medians; above 1, ours is the faster.
    """
    import torch

    settings = Settings(temperature=1.0, top_p=1.0, max_tokens=max_tokens, stop=tuple(stop))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shared = {"batch_size": str(_BATCH_SIZE), "device": device}
    if device == "cpu":
        shared["dtype"] = "float32"
    engines = {
        "ours": make_engine("hf", model, None, shared),
        "lm_eval": make_engine("lm-eval:hf", model, None, shared),
    }
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    made: dict[str, list[list[Completion]]] = {}
    for turn in range(rounds + 1):
        requests = [Request(prompt, n, turn) for prompt in prompts]
        for name, engine in engines.items():
            taken, made[name] = _timed(engine, requests, settings)
            if turn:  # the first is the warm-up
                seconds[name].append(taken)
    for engine in engines.values():
        engine.close()
    return {
        "prompts": len(prompts),
        "n": n,
        "max_tokens": max_tokens,
        "batch_size": _BATCH_SIZE,
        "device": device,
        "dtype": engines["ours"].identity["dtype"],
        "threads": torch.get_num_threads(),
        "seconds": seconds,
        "samples_per_second": {
            name: len(prompts) * n / median(times) for name, times in seconds.items()
        },
        "mean_tokens": {name: _mean_tokens(groups) for name, groups in made.items()},
        "ratio": median(seconds["lm_eval"]) / median(seconds["ours"]),
    }


def _timed(
    engine: Engine, requests: list[Request], settings: Settings
) -> tuple[float, list[list[Completion]]]:
    start = perf_counter()
    made = engine.generate(requests, settings)
    return perf_counter() - start, made


def _mean_tokens(groups: list[list[Completion]]) -> float:
    counts = [completion.tokens or 0 for group in groups for completion in group]
    return sum(counts) / len(counts)
