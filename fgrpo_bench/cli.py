"""The command line: dispatch only. What a command does is imported when it is run."""

import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, TypeAlias

import tyro
from tyro.conf import Positional, UseAppendAction, arg, subcommand

from fgrpo_bench import __version__
from fgrpo_bench.errors import Failed, Interrupted, UserError, suggestion

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
REPEATABLE = ("--set", "--counts", "--data", "--engine-arg")


@dataclass(frozen=True)
class Run:
    """Train every cell of a grid, measure pass@k, and print the comparison.

    Finished cells are skipped and interrupted ones go on from their last checkpoint.
    Example: fgrpo-bench run --method grpo fgrpo --n 8 --seed 0 1
    """

    method: Annotated[tuple[str, ...], arg(metavar="NAME [NAME ...]")]
    """Methods: grpo, fgrpo, dapo, fdapo, cispo, fcispo, rloo, dr_grpo, maxrl, shuffled-focal."""
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
    """

    model: Annotated[str, arg(metavar="M")]
    """A folder with a checkpoint, an id on the model hub, or the name a server knows."""
    task: Annotated[tuple[str, ...], arg(metavar="T [T ...]")]
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
    """Measure a part, its speed on one thread for the most, against its targets.

    maze: a training step beside a plain loop on Hugging Face transformers, and N = 512 beside 8.
    stats: pass@k, the paper's test and the bootstrap beside loops, and against exact fractions.
    sampling: the bookkeeping of eval, and with --model the hf engine beside lm-eval's.
    grading: how right and how fast mathematics is graded, beside math-verify and TRL.

    Example: fgrpo-bench bench grading --data rows --json grading.json
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


Command: TypeAlias = (
    Annotated[Run, subcommand("run")]
    | Annotated[Eval, subcommand("eval")]
    | Annotated[Report, subcommand("report")]
    | Annotated[Base, subcommand("base")]
    | Annotated[Bench, subcommand("bench")]
    | Annotated[Presets, subcommand("presets")]
    | Annotated[Tasks, subcommand("tasks")]
    | Annotated[Doctor, subcommand("doctor")]
)
COMMANDS = {
    "run": Run,
    "eval": Eval,
    "report": Report,
    "base": Base,
    "bench": Bench,
    "presets": Presets,
    "tasks": Tasks,
    "doctor": Doctor,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong use, 3 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for output in (sys.stdout, sys.stderr):  # a terminal without γ gets a ? and not a traceback
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="replace")
    try:
        dispatch(parse(words))
    except UserError as error:
        _leave(2, str(error))
    except Interrupted as error:
        _leave(3, str(error))
    except KeyboardInterrupt:
        _leave(3, "interrupted; the work is kept, run the same command to go on")
    except Failed as error:
        _leave(1, str(error))
    except BrokenPipeError:  # only the table goes to standard output, and it comes last
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ModuleNotFoundError as error:
        _leave(2, _missing(error))
    except OSError as error:
        _leave(2, f"{error.filename or 'input or output'}: {error.strerror or error}")


def parse(words: list[str]) -> Command:
    """Return the command that the words describe, or exit with one line that mends them."""
    if words in (["--version"], ["-V"]):
        print(__version__)
        raise SystemExit(0)
    _check_spelling(words)
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return tyro.cli(
                Command,
                prog="fgrpo-bench",
                args=words or ["--help"],
                description="Did a method of group-relative RL really help, and at which k?",
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as exit_:
        if exit_.code:
            raise UserError(_one_line(errors.getvalue(), words)) from None
        raise


def dispatch(command: Command) -> None:
    """Import what a command needs and do it."""
    if isinstance(command, Run):
        from fgrpo_bench.commands.run import run

        overrides = [text for texts in command.set for text in texts]
        run(
            command.method,
            command.n,
            command.gamma,
            command.seed,
            command.preset,
            overrides,
            command.out,
            command.force,
            command.dry_run,
        )
    elif isinstance(command, Eval):
        from fgrpo_bench.commands.evaluate import run_eval

        run_eval(command)
    elif isinstance(command, Report):
        from fgrpo_bench.commands.report import report

        counts = [text for texts in command.counts for text in texts]
        report(command.runs, counts, command.paper, command.out)
    elif isinstance(command, Base):
        from fgrpo_bench.commands.base import make_base

        make_base(command.preset, [text for texts in command.set for text in texts], command.out)
    elif isinstance(command, Bench):
        from fgrpo_bench.commands.bench import bench

        bench(command.name, command.preset, command.n, command.model, command.data, command.json)
    elif isinstance(command, Presets):
        from fgrpo_bench.commands.presets import presets

        presets()
    elif isinstance(command, Tasks):
        from fgrpo_bench.commands.tasks import tasks

        tasks()
    else:
        from fgrpo_bench.commands.doctor import doctor

        doctor()


def _check_spelling(words: list[str]) -> None:
    """Name a misspelt command or option and the nearest right one, or an option given twice.

    Of two ``--seed`` the parser would silently keep the last, and a grid would lose its cells.
    """
    if not words or words[0] in ("-h", "--help"):
        return
    if words[0] not in COMMANDS:
        raise UserError(f"no command '{words[0]}': {suggestion(words[0], list(COMMANDS))}")
    options = [f"--{field.name.replace('_', '-')}" for field in fields(COMMANDS[words[0]])]
    names = [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
    for name in names:
        if name not in (*options, "--help"):
            raise UserError(f"{words[0]} has no option '{name}': {suggestion(name, options)}")
        if names.count(name) > 1 and name not in REPEATABLE:
            raise UserError(f"{name} is given twice: write its values behind one {name}")


def _one_line(box: str, words: list[str]) -> str:
    """Turn the parser's framed error into one line."""
    body = re.split(r"\n│ ─+ │\n", box)[0]
    lines = [line.strip("╭─╮╰╯│ ") for line in body.splitlines()[1:]]
    text = " ".join(line for line in lines if line)
    return f"{text} (see fgrpo-bench {words[0] if words else ''} --help)"


def _missing(error: ModuleNotFoundError) -> str:
    from fgrpo_bench.extras import how_to_install

    advice = how_to_install(str(error.name).partition(".")[0])
    if advice is None:
        raise error
    return f"{error.name} is not installed: {advice}"


def _leave(code: int, message: str) -> None:
    print(f"fgrpo-bench: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
