"""``fgrpo-bench bench maze``: the speed of a training step, against what it is held to."""

from pathlib import Path
from typing import Any

from fgrpo_bench.commands.base import ensure_trained
from fgrpo_bench.commands.progress import say
from fgrpo_bench.errors import UserError
from fgrpo_bench.maze.grid import Cell, cells
from fgrpo_bench.maze.recipe import require_base

_RUNS = Path("runs")
# The targets of ``bench maze`` hold at this many prompts; the speed-up at this group size.
_PROMPTS, _GROUP_SIZE = 32, 16
_LEAST_SPEEDUP, _MOST_COST = 10.0, 5.0
_LEAST_SHARE = 0.95
_HERE = ["train.device=cpu"]  # what is measured is one thread


def bench_maze(preset: str, group_size: int) -> dict[str, Any]:
    """Compare our step with the reference's, and a large group with a small one.

    Raises:
        UserError: a preset that it cannot time, or no base.
    """
    (cell,) = cells(preset, ["grpo"], [group_size], overrides=_HERE)
    if cell.config.maze.reward != "exact" or cell.config.train.entropy or cell.config.train.kl:
        raise UserError(
            f"preset {preset}: bench maze knows only maze.reward=exact, train.entropy=0 and "
            "train.kl=0"
        )
    require_base(cell.config)

    import torch

    from fgrpo_bench.maze.bench import LARGE, PAIRS, SMALL, compare, scale
    from fgrpo_bench.maze.data import load_mazes
    from fgrpo_bench.maze.sft import load_base

    root = _RUNS / cell.preset
    if cell.config.base.train:
        ensure_trained(root, cell.config)
    torch.set_num_threads(1)
    base, mazes = load_base(cell.config, root).model, load_mazes(cell.config).training
    say(f"{cell.preset}: N = {group_size}, ours and the reference in turns")
    compared = compare(cell, base, mazes, say)
    small, large = cells(preset, ["grpo"], [SMALL, LARGE], overrides=_HERE)
    say(f"{cell.preset}: ours at N = {SMALL} and N = {LARGE} in turns")
    scaled = scale(small, large, base, mazes, say)
    result = {
        **_setting(cell),
        "threads": torch.get_num_threads(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "pairs": PAIRS,
        **compared,
        "scaling": scaled,
        "targets": _targets(cell, compared["speedup"]["median"], scaled["cost"]["median"]),
    }
    _print_maze(result)
    return result


def _setting(cell: Cell) -> dict[str, Any]:
    section = cell.config.train
    return {
        "preset": cell.preset,
        "method": cell.method,
        "prompts": section.prompts,
        "group_size": cell.group_size,
        "minibatches": section.minibatches,
    }


def _targets(cell: Cell, speedup: float, cost: float) -> dict[str, dict[str, Any]]:
    """Judge the targets; ``met`` is None where the setting is not the one they are set for."""
    here = cell.config.train.prompts == _PROMPTS
    fast = speedup >= _LEAST_SPEEDUP if here and cell.group_size == _GROUP_SIZE else None
    flat = cost <= _MOST_COST if here else None
    return {
        "speedup": {"at_least": _LEAST_SPEEDUP, "measured": speedup, "met": fast},
        "scaling_cost": {"at_most": _MOST_COST, "measured": cost, "met": flat},
    }


def _print_maze(result: dict[str, Any]) -> None:
    print(
        f"{result['preset']}: {result['prompts']} prompts x N = {result['group_size']}, "
        f"{result['minibatches']} mini-batches; one thread, processor time, "
        f"medians of {result['pairs']} interleaved pairs\n"
    )
    print(f"{'':10}{'s/step':>8}{'steps/s':>9}{'tokens/s':>10}   time")
    for name in ("ours", "reference"):
        row = result[name]
        split = ", ".join(f"{part} {share:.0%}" for part, share in row["split"].items())
        numbers = f"{row['seconds']:8.3f}{row['steps_per_s']:9.2f}{row['tokens_per_s']:10,.0f}"
        print(f"{name:10}{numbers}   {split}")
    scaling, targets = result["scaling"], result["targets"]
    small, large = scaling["small"], scaling["large"]
    print(f"\nreference / ours: {_range(result['speedup'])}; {_verdict(targets['speedup'])}")
    print(
        f"ours, N = {large['group_size']} / N = {small['group_size']}: "
        f"{_range(scaling['cost'])} ({large['seconds']:.3f} s and {small['seconds']:.3f} s); "
        f"{_verdict(targets['scaling_cost'])}"
    )
    reached, peak = result["gflops_per_s"], result["peak_matmul_gflops_per_s"]
    print(
        f"ours, arithmetic: {reached:.1f} of the {peak:.0f} GFLOP/s of a matrix product "
        f"({result['share_of_peak']:.0%})"
    )
    share = min(row["processor_share"] for row in (result["ours"], result["reference"], large))
    if share < _LEAST_SHARE:
        say(f"warning: the machine is busy: this process had {share:.0%} of a core; run it again")


def _range(ratios: dict[str, float]) -> str:
    return f"{ratios['median']:.1f}x ({ratios['min']:.1f} to {ratios['max']:.1f})"


def _verdict(target: dict[str, Any]) -> str:
    bound = f"at least {target['at_least']:g}x" if "at_least" in target else ""
    bound = bound or f"at most {target['at_most']:g}x"
    if target["met"] is None:
        setting = f"{_PROMPTS} prompts" + (f" x N = {_GROUP_SIZE}" if "at_least" in target else "")
        return f"target {bound}: not judged, it is set for {setting}"
    return f"target {bound}: {'met' if target['met'] else 'missed'}"
