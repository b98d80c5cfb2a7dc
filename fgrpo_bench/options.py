"""The options of every command, with the help that ``--help`` shows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from tyro.conf import Positional, UseAppendAction, arg

Preset: TypeAlias = Annotated[str, arg(metavar="NAME|FILE.toml")]
Overrides: TypeAlias = Annotated[
    UseAppendAction[tuple[tuple[str, ...], ...]],
    arg(metavar="SECTION.KEY=VALUE", help_behavior_hint="(repeatable)"),
]
Counts: TypeAlias = Annotated[
    UseAppendAction[tuple[tuple[str, ...], ...]],
    arg(metavar="NAME=FILE[@METRIC]", help_behavior_hint="(repeatable)"),
]
Data: TypeAlias = Annotated[
    UseAppendAction[tuple[tuple[str, ...], ...]],
    arg(metavar="[TASK=]FILE", help_behavior_hint="(repeatable)"),
]
EngineArguments: TypeAlias = Annotated[
    UseAppendAction[tuple[tuple[str, ...], ...]],
    arg(metavar="KEY=VALUE", help_behavior_hint="(repeatable)"),
]


@dataclass(frozen=True)
class Run:
    """Train every cell of a grid, measure pass@k, and print the comparison.

    Finished cells are skipped and interrupted ones go on from their last checkpoint.
    Example: fgrpo-bench run --method grpo fgrpo --n 8 --seed 0 1
    """

    method: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")]
    """Methods: grpo, fgrpo, dapo, fdapo, cispo, fcispo, rloo, dr_grpo, maxrl, pkpo, passk,
    w_reinforce, unlikeliness, ds_grpo, shuffled-focal."""
    n: Annotated[tuple[int, ...], arg(metavar="N [N ...]")] = (8,)
    """Group sizes: rollouts per prompt."""
    gamma: Annotated[
        tuple[float, ...], arg(metavar="G [G ...]", help_behavior_hint="(default: the preset's)")
    ] = ()
    """Focal exponents, for methods with focal weight."""
    seed: Annotated[tuple[int, ...], arg(metavar="S [S ...]")] = (0,)
    """Seeds of the runs."""
    preset: Preset = "maze-small"
    """A shipped preset, or a file of your own."""
    set: Overrides = ()
    """Override the preset."""
    out: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """Where run directories are kept."""
    force: Annotated[bool, arg(help_behavior_hint="")] = False
    """Start the cells over: what is there of them is removed."""
    dry_run: Annotated[bool, arg(help_behavior_hint="")] = False
    """Only show the resolved configuration and the runs with their state."""


@dataclass(frozen=True)
class Eval:
    """Sample a model on benchmarks, grade the answers, and measure pass@k.

    Every block of samples is on disk before the next is drawn: the same command goes on where an
    interrupted one stopped, and more --samples add to those that are there.

    Example: fgrpo-bench eval --model Qwen/Qwen2.5-7B --task math500 aime24 --samples 256

    Example: fgrpo-bench eval --model models/smollm2-135m-instruct --task arith --samples 16

    Example: fgrpo-bench eval --regrade --out evals/Qwen2.5-7B
    """

    model: Annotated[str | None, arg(metavar="M", help_behavior_hint="(required)")] = None
    """A folder with a checkpoint, an id on the model hub, or the name a server knows."""
    task: Annotated[tuple[str, ...], arg(metavar="T [T ...]", help_behavior_hint="(required)")] = ()
    """Benchmarks, or groups of them: see fgrpo-bench tasks."""
    samples: Annotated[int, arg(metavar="N")] = 16
    """Samples of every problem."""
    engine: Annotated[str, arg(metavar="hf|vllm|openai|lm-eval:NAME")] = "hf"
    """What samples: transformers, vLLM, a server that speaks OpenAI's protocol, or a model of
    lm-eval."""
    base_url: Annotated[str | None, arg(metavar="URL", help_behavior_hint="")] = None
    """For openai: the server, such as http://localhost:8000/v1. The key is OPENAI_API_KEY."""
    engine_arg: EngineArguments = ()
    """Pass an argument to the engine, such as tensor_parallel_size=4 or batch_size=64."""
    data: Data = ()
    """Take the rows from a .jsonl or .parquet file with the columns of the data set on the hub."""
    regrade: Annotated[bool, arg(help_behavior_hint="")] = False
    """Only grade the samples that are there anew, of all tasks or the named ones: no model."""
    shard: Annotated[str | None, arg(metavar="I/N", help_behavior_hint="")] = None
    """Sample only part I (from 0) of N, for several machines."""
    temperature: Annotated[float, arg(metavar="T")] = 1.0
    """Temperature; 0 is greedy."""
    top_p: Annotated[float, arg(metavar="P")] = 1.0
    """Mass of the nucleus."""
    max_tokens: Annotated[
        int | None, arg(metavar="N", help_behavior_hint="(default: the task's)")
    ] = None
    """Limit of a response's length."""
    seed: Annotated[int, arg(metavar="S")] = 0
    """Seed of the samples."""
    out: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: evals/MODEL)")] = (
        None
    )
    """Where the evaluation is kept, a folder per task."""


@dataclass(frozen=True)
class Grade:
    """Grade responses from anywhere: lines of JSON on standard input, verdicts on standard output.

    A line is {"gold": ..., "response": ...}, or {"doc": ..., "response": ...} with the whole row of
    the data set, and maybe "finish": "length" for a response that was cut off. The answer to it is
    {"outcome": ..., "correct": ..., "answer": ...}, one for one, in order.

    Example: fgrpo-bench grade --task math500 < cases.jsonl > verdicts.jsonl
    """

    task: Annotated[str, arg(metavar="T")]
    """The benchmark whose grader is to be used: see fgrpo-bench tasks."""


@dataclass(frozen=True)
class Report:
    """Draw the figures and write the tables of runs, of evaluations, or of anybody's counts.

    Example: fgrpo-bench report runs/maze-small --out reports/mine

    Example: fgrpo-bench report --counts grpo=a.csv --counts fgrpo=b.csv
    """

    runs: Annotated[
        Positional[tuple[Path, ...]],
        arg(metavar="[RUN ...]", help_behavior_hint="(default: everything under runs)"),
    ] = ()
    """Runs or evaluations, or folders that hold some."""
    counts: Counts = ()
    """Compare evaluations with the first of them. A CSV has the columns problem_id, n, c and maybe
    benchmark; a .jsonl is what lm_eval --log_samples writes."""
    paper: Annotated[bool, arg(help_behavior_hint="")] = False
    """The F-GRPO paper's tables beside our values, and what its published numbers can tell."""
    out: Annotated[Path, arg(metavar="DIR")] = Path("reports/latest")
    """Folder of the report."""


@dataclass(frozen=True)
class Base:
    """Train a preset's base model by supervised learning; the shipped bases come from here."""

    preset: Preset = "maze-small"
    """A shipped preset, or a file of your own."""
    set: Overrides = ()
    """Override the preset."""
    out: Annotated[Path, arg(metavar="DIR")] = Path("bases")
    """Folder for PRESET.safetensors and its manifest PRESET.json."""


@dataclass(frozen=True)
class Bench:
    """Measure the speed of a part on one thread, against its targets.

    maze: a training step beside a plain loop on Hugging Face transformers, and N = 512 beside 8.
    stats: pass@k, the paper's test and the bootstrap beside loops, and against exact fractions.
    sampling: the bookkeeping of eval, and with --model the hf engine beside lm-eval's.
    grading: the grader's speed, and with --data its errors on real answers, beside other graders.
    """

    name: Annotated[Positional[str], arg(metavar="NAME")]
    """What to measure: maze, stats, sampling or grading."""
    preset: Annotated[
        str | None, arg(metavar="NAME|FILE.toml", help_behavior_hint="(default: maze-small)")
    ] = None
    """For maze: a shipped preset, or a file of your own."""
    n: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: 16)")] = None
    """For maze: group size, rollouts per prompt."""
    model: Annotated[str | None, arg(metavar="M", help_behavior_hint="")] = None
    """For sampling: a checkpoint."""
    data: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="")] = None
    """For grading: a folder with math500.jsonl, minerva_math.jsonl and olympiadbench.jsonl, in the
    columns of the data sets on the hub."""
    json: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Also write everything to this file; for grading, a report to read beside it, as .md."""


@dataclass(frozen=True)
class Presets:
    """List the shipped presets."""


@dataclass(frozen=True)
class Tasks:
    """List the benchmarks of language models: data, prompt style, grader, licence."""


@dataclass(frozen=True)
class Doctor:
    """Show what is installed, cores, GPU and writable places."""
