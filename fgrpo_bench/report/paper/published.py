"""The numbers that the paper printed (arXiv 2602.06717v2), one file a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

_PACKAGE = Path(__file__).resolve().parents[2]
TABLES = tuple(f"table{number}" for number in (1, 2, 4, 6, 10, 11, 12, 13, 14))
COLUMNS = ("model", "method", "objective", "gamma", "group_size", "benchmark", "k", "value")
MODELS = ("Qwen2.5-7B", "Qwen3-4B-Base", "Llama-3.2-3B-Instruct")
# The table of each model's whole curves.
CURVES = dict(zip(MODELS, ("table12", "table13", "table14"), strict=True))
PAIRS = (("grpo", "fgrpo"), ("dapo", "fdapo"), ("cispo", "fcispo"))
MATH = ("aime24", "aime25", "amc23", "math500", "minerva", "olympiadbench")
OOD = ("ifeval", "synlogic", "gpqa_diamond")
AVERAGES = {"avg_math": MATH, "avg_ood": OOD}
KS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
ENDS = (KS[0], KS[-1])
SWEEP = (0.5, 1.0, 2.0)
GROUP_SIZE = 8
ROUNDING = 5e-4  # half a unit of the last printed digit, as a fraction
# Problems of each benchmark. The paper does not name its SynLogic split: the easy validation split
# has 270. OlympiadBench's open text-only English maths has 674, in some copies 675.
PROBLEMS = {
    "aime24": 30,
    "aime25": 30,
    "amc23": 40,
    "math500": 500,
    "minerva": 272,
    "olympiadbench": 674,
    "ifeval": 541,
    "synlogic": 270,
    "gpqa_diamond": 198,
}


class Cell(NamedTuple):
    """What a number is about.

    Attributes:
        model: the trained model, in the paper's words.
        method: name of the method.
        gamma: focal exponent, 0 without focal weight; None where it is what the number tells.
        group_size: rollouts a prompt.
        benchmark: of the measurement.
        k: of pass@k; None for anything else.
    """

    model: str
    method: str
    gamma: float | None
    group_size: int
    benchmark: str
    k: int | None


Numbers = Mapping[Cell, float]
Published = Mapping[str, Numbers]


def folder() -> Path:
    """Return where the published tables lie: in the installed package, or in the checkout."""
    places = [root / "baselines" / "paper" for root in (_PACKAGE, _PACKAGE.parent)]
    return next((place for place in places if place.is_dir()), places[0])


def load() -> Published:
    """Return the numbers of every table as printed: percent, ``delta_nll_rare`` in nats a token.

    Raises:
        ValueError: a table with two numbers for the same cell.
    """
    return {table: _read(folder() / f"{table}.csv") for table in TABLES}


def _read(path: Path) -> Numbers:
    data = pd.read_csv(path, dtype={"group_size": int, "k": "Int64", "gamma": float})
    numbers: dict[Cell, float] = {}
    for row in data.itertuples(index=False):
        k = None if pd.isna(row.k) else int(row.k)
        cell = Cell(row.model, row.method, row.gamma, row.group_size, row.benchmark, k)
        if cell in numbers:
            raise ValueError(f"{path.name} has two numbers for {cell}")
        numbers[cell] = float(row.value)
    return numbers


def chosen_gamma(published: Published, model: str, method: str) -> float:
    """Return the gamma that table 1 shows for a method on a model; 0 without focal weight.

    Raises:
        KeyError: table 1 has no such row.
    """
    for cell in published["table1"]:
        if (cell.model, cell.method) == (model, method) and cell.gamma is not None:
            return cell.gamma
    raise KeyError(f"table 1 has no {method} on {model}")
