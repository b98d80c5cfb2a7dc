"""The command line: dispatch only. What a command does is imported when it is run."""

import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, TypeAlias

import tyro
from tyro.conf import subcommand

from fgrpo_bench import __version__
from fgrpo_bench.errors import Failed, Interrupted, UserError, suggestion
from fgrpo_bench.options import (
    Base,
    Bench,
    Doctor,
    Eval,
    Grade,
    Presets,
    Report,
    Run,
    Tasks,
)

REPEATABLE = ("--set", "--counts", "--data", "--engine-arg")  # but for those of bench
Command: TypeAlias = (
    Annotated[Run, subcommand("run")]
    | Annotated[Eval, subcommand("eval")]
    | Annotated[Grade, subcommand("grade")]
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
    "grade": Grade,
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
    elif isinstance(command, Grade):
        from fgrpo_bench.commands.grade import grade

        grade(command.task)
    elif isinstance(command, Report):
        from fgrpo_bench.commands.report import report

        counts = [text for texts in command.counts for text in texts]
        report(command.runs, counts, command.paper, command.out)
    elif isinstance(command, Base):
        from fgrpo_bench.commands.base import make_base

        make_base(command.preset, [text for texts in command.set for text in texts], command.out)
    elif isinstance(command, Bench):
        from fgrpo_bench.commands.bench import bench

        bench(command)
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
        if names.count(name) > 1 and (name not in REPEATABLE or words[0] == "bench"):
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
