"""``tracelens run``: run a program with every log switched on, then analyze what it left."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli._analysis import analyzed, compared, settings
from tracelens.cli._analysis_options import (
    BaselineOption,
    ExtendSelectOption,
    FailOnAbsentOption,
    FailOnOption,
    IgnoreOption,
    RequireOption,
    SelectOption,
    StrictOption,
)
from tracelens.cli._app import app
from tracelens.cli._output import STDOUT, Plan
from tracelens.cli._output_options import (
    MaxCharsOption,
    QuietOption,
    RedactOption,
    VerboseOption,
)
from tracelens.cli._terminal import Passing, Terminal, aside, say
from tracelens.errors import SourceError, TracelensError

if TYPE_CHECKING:
    from tracelens.config import Config
    from tracelens.live.recording import Recording, Wishes
    from tracelens.report import Report

__all__ = ["run"]

#: Where a recording goes when nobody says where.
DEFAULT = "tracelens-run"
#: What to do where a disk is full.
ROOM = "record into a folder with room: -o DIR"


class Artifacts(StrEnum):
    """How much to record."""

    FULL = "full"
    LEAN = "lean"


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    ctx: typer.Context,
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- CMD...", help="The program and its arguments."),
    ],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help=f"Where the recording goes.  [default: {DEFAULT}, or the next free number]",
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Also profile a few steady steps.")
    ] = False,
    artifacts: Annotated[
        Artifacts, typer.Option(help="full: all that rules can use. lean: what costs little.")
    ] = Artifacts.FULL,
    keep_caches: Annotated[
        bool,
        typer.Option(
            "--keep-caches",
            help="Take graphs out of caches that earlier runs have filled; logs then hold less.",
        ),
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="End the program after so many seconds."),
    ] = None,
    select: SelectOption = None,
    extend_select: ExtendSelectOption = None,
    ignore: IgnoreOption = None,
    fail_on: FailOnOption = None,
    require: RequireOption = None,
    fail_on_absent: FailOnAbsentOption = None,
    strict: StrictOption = None,
    baseline: BaselineOption = None,
    redact: RedactOption = None,
    max_chars: MaxCharsOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a program with every log switched on, and say what is slow, where, and what to set.

    The program's output and exit code stay as they are. The recording is a directory with the
    report, the log, and what there is to know about the machine.
    """
    from tracelens.live import recording
    from tracelens.live.injection import Trace
    from tracelens.live.process import Limits

    config = settings(
        select=select,
        extend_select=extend_select,
        ignore=ignore,
        require=require,
        fail_on=fail_on,
        fail_on_absent=fail_on_absent,
        strict=strict,
        redact=redact,
        max_chars=max_chars,
    )
    given = Path(output) if output else recording.unused(Path(DEFAULT))
    folder = recording.prepare(given)
    wishes = recording.Wishes(
        artifacts=artifacts.value,
        trace=Trace() if trace else None,
        limits=Limits(seconds=time_limit),
        lively=sys.stdout.isatty(),
        keep_caches=keep_caches or artifacts is Artifacts.LEAN,
    )
    recorded = _record(command, folder, wishes)
    code = _analyze(given, recorded, config, ctx.obj, baseline, verbose=verbose, quiet=quiet)
    raise typer.Exit(recorded.finished.exit_code or code)


def _record(command: list[str], folder: Path, wishes: Wishes) -> Recording:
    """Run the command with its output passed on, and say what could not be recorded."""
    from tracelens.live import adopting, recording

    terminal = Passing()
    recorded = recording.record(
        command,
        folder,
        base=dict(os.environ),
        wishes=wishes,
        show=terminal,
        stdin=sys.stdin.fileno() if _has_file(sys.stdin) else subprocess.DEVNULL,
    )
    terminal.close()
    adopting.keep(recorded, wishes, command, dict(os.environ))
    finished = recorded.finished
    if finished.reason == "time":
        say(f"the program was ended after {finished.seconds:.0f} s, as --time-limit says")
    if finished.left_behind:
        processes = (
            "1 process" if finished.left_behind == 1 else f"{finished.left_behind} processes"
        )
        say(f"{processes} outlived the program and had to be ended")
    for note in recorded.notes:
        say(note)
    return recorded


def _has_file(stream: object) -> bool:
    try:
        return os.fstat(stream.fileno()) is not None  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False


def _analyze(
    given: Path,
    recorded: Recording,
    config: Config,
    terminal: Terminal,
    baseline: str | None,
    *,
    verbose: bool,
    quiet: bool,
) -> int:
    """Analyze the bundle, write its reports and show the text; return what the bar says.

    Trouble is told on standard error, since the exit code is the program's.
    """
    from tracelens.cli._gate import exit_code

    barred = config.fail_on != "never" or bool(
        config.fail_on_absent or config.require or config.strict or config.budgets
    )
    folder = given if given.is_dir() else recorded.folder
    try:
        plan = Plan.of(
            [str(folder / "report.json"), str(folder / "report.html")], None, quiet=quiet
        )
        if not sys.stdout.isatty():  # it is the program's, byte by byte
            plan, terminal = replace(plan, show=aside), Terminal(color=False)
        report = analyzed([str(folder)], config)
        if baseline is not None:
            report = compared(report, baseline, config.baseline_tolerance)
        written = _write(plan, report, terminal, config, verbose=verbose)
    except TracelensError as error:
        say(str(error), hint=_no_room(recorded) or _why_nothing(recorded) or error.hint)
        return error.exit_code if barred else 0
    if written:
        say(f"recorded in {folder}: report.html, report.json, log.txt.gz, environment.json")
    if recorded.finished.exit_code:
        what = "before anything was compiled" if not recorded.compiles else "early"
        rest = "" if not recorded.compiles else ": what it had not done yet is not recorded"
        say(f"the program ended {what} ({recorded.ended}){rest}")
    elif recorded.processes and (why := _why_nothing(recorded)):
        say(why)
    if not barred:
        return 0
    return exit_code(report, config) or (0 if written else SourceError.exit_code)


def _write(
    plan: Plan, report: Report, terminal: Terminal, config: Config, *, verbose: bool
) -> bool:
    """Write the files and show the text; where they do not fit, show it all the same."""

    def put(wanted: Plan) -> None:
        wanted.write(
            report,
            terminal,
            config,
            verbose=verbose,
        )

    try:
        put(plan)
    except SourceError as error:
        say(f"no report is kept: {error}", hint=ROOM)
        put(replace(plan, targets=tuple(one for one in plan.targets if one[0] == STDOUT)))
        return False
    return True


def _no_room(recorded: Recording) -> str:
    """Say what to do about a log that could not be written; empty where it could."""
    from tracelens.live.recording import CUT

    return ROOM if any(note.startswith(CUT) for note in recorded.notes) else ""


def _why_nothing(recorded: Recording) -> str:
    """Say why a recording may hold nothing from torch; empty where it must hold something."""
    if not recorded.processes:
        return "no process of the program imported torch, or its Python ignores PYTHONPATH"
    return "" if recorded.compiles else "torch was imported, but nothing was compiled"
