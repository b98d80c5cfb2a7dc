"""``fgrpo-bench bench stats``: speed and exactness of the statistics, against their targets."""

import os
from typing import Any

from fgrpo_bench.commands.progress import say
from fgrpo_bench.stats.bench import measure_bootstrap, measure_pass_at_k, measure_subsampling

Target = dict[str, Any]


def bench_stats() -> dict[str, Any]:
    """Measure pass@k, the m-out-of-n test and the bootstrap side by side with plain loops."""
    curve = measure_pass_at_k(say)
    tests = {f"at_k_{k}": measure_subsampling(k, say) for k in (1, 256)}
    bootstrap = measure_bootstrap(say)
    result = {
        "threads": os.environ.get("OMP_NUM_THREADS", "unset"),
        "pass_at_k": curve,
        "subsampling": tests,
        "bootstrap": bootstrap,
        "targets": targets(curve, tests, bootstrap),
    }
    _print(result)
    return result


def targets(
    curve: dict[str, Any], tests: dict[str, dict[str, Any]], bootstrap: dict[str, Any]
) -> dict[str, Target]:
    """Judge what was measured."""
    slowest = max(tests.values(), key=lambda test: test["seconds"])
    apart = max(test["standard_errors_apart"] for test in tests.values())
    return {
        "pass@k, ms": target(1000 * curve["seconds"], at_most=20),
        "pass@k, times the loop": target(curve["speedup"]["median"], at_least=100),
        "pass@k, relative error": target(curve["relative_error"], at_most=1e-14),
        "m-out-of-n, s": target(slowest["seconds"], at_most=1),
        "m-out-of-n, times the draws": target(slowest["speedup"]["median"], at_least=5),
        "m-out-of-n, standard errors from the draws": target(apart, at_most=4),
        "bootstrap, s": target(bootstrap["seconds"], at_most=1.5),
    }


def target(measured: float, at_most: float | None = None, at_least: float | None = None) -> Target:
    """Judge a measurement by the bound it is held to."""
    if at_most is not None:
        return {"at_most": at_most, "measured": measured, "met": measured <= at_most}
    assert at_least is not None
    return {"at_least": at_least, "measured": measured, "met": measured >= at_least}


def _print(result: dict[str, Any]) -> None:
    curve, bootstrap = result["pass_at_k"], result["bootstrap"]
    print("one process, processor time; the loop is what most harnesses carry\n")
    print(f"{'':44}{'ours':>10}{'beside':>10}{'ratio':>9}")
    title = f"{curve['problems']:,} problems x k = 1..{curve['largest_k']} at n = {curve['n']:,}"
    _line(f"pass@k, {title}", curve)
    for test in result["subsampling"].values():
        _line(f"m-out-of-n, {test['problems']} problems, k = {test['k']}", test)
    _line(
        f"bootstrap, {bootstrap['resamples']:,} resamples x {bootstrap['largest_k']} k", bootstrap
    )
    least = curve["library_functions_seconds"]
    print(
        f"\npass@k: its logarithms and exponentials alone take {1000 * least:.1f} ms "
        f"({least / curve['seconds']:.0%} of its time)"
        f"\nbootstrap: {bootstrap['share_of_peak']:.0%} of the peak of a matrix product\n"
    )
    print_targets(result["targets"])


def print_targets(targets: dict[str, Target]) -> None:
    """Print a line per target: what was measured, the bound, and whether it holds."""
    for name, one in targets.items():
        bound = (
            f"at most {one['at_most']:g}" if "at_most" in one else f"at least {one['at_least']:g}"
        )
        print(f"{name:44}{one['measured']:>10.3g}   {bound}: {'met' if one['met'] else 'missed'}")


def _line(title: str, part: dict[str, Any]) -> None:
    ours, beside = part["seconds"], part["beside_seconds"]
    print(f"{title:44}{1000 * ours:8.1f} ms{beside:8.2f} s{part['speedup']['median']:8.0f}x")
