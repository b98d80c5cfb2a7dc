"""fgrpo-bench: did a method of group-relative RL really help, at which k, and would it hold?"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fgrpo_bench.stats.pass_at_k import pass_at_k as pass_at_k

__version__ = "0.1.0"
__all__ = ["__version__", "pass_at_k"]


def __getattr__(name: str) -> Any:
    """Import what the package exports at its first use: ``--help`` must not wait for numpy."""
    if name == "pass_at_k":
        from fgrpo_bench.stats.pass_at_k import pass_at_k

        return pass_at_k
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
