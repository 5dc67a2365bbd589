"""``tracelens confirm``: test findings by running the program again, with one thing changed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli import _loading
from tracelens.cli._analysis import words
from tracelens.cli._app import app
from tracelens.cli._catalogue import complete_rule
from tracelens.cli._output import Plan
from tracelens.cli._output_options import (
    FormatOption,
    MaxCharsOption,
    OutputOption,
    QuietOption,
    RedactOption,
    RootOption,
    VerboseOption,
)
from tracelens.cli._saving import save
from tracelens.cli._terminal import say
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.live.lab import Lab
    from tracelens.live.workload import Workload
    from tracelens.report import Finding, Report

__all__ = ["confirm"]

#: What a shell says of a program that Ctrl-C has ended.
INTERRUPTED = 130
#: Minutes in all, without and with the what-if table.
MINUTES, TABLE_MINUTES = 5.0, 10.0
#: Share of the time that findings may take where the what-if table is wanted as well.
FINDINGS_SHARE = 0.3


@app.command()
def confirm(
    ctx: typer.Context,
    report: Annotated[
        str,
        typer.Argument(
            metavar="REPORT|LOG", help="A saved report, a recording's directory, or a log."
        ),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- CMD...]", help="The program to run.", show_default=False),
    ] = None,
    *,
    entry: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Run this instead: a function that is a step, or returns one.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="RULES",
            help="Test only these findings: codes, prefixes, names or ids, comma separated.",
            autocompletion=complete_rule,
            show_default=False,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            min=0.1,
            help="Time to spend, in all: 5 unless said otherwise, 10 with --explore.",
            show_default=False,
        ),
    ] = None,
    advice: Annotated[
        bool,
        typer.Option("--advice", help="Try each printed advice, also where another has worked."),
    ] = False,
    explore: Annotated[
        bool, typer.Option("--explore", help="Also time the standard settings, one by one.")
    ] = False,
    row: Annotated[
        list[str] | None,
        typer.Option(
            "--row",
            metavar="NAME[=VARIABLE=VALUE]",
            help="Time this setting instead: one of one's own, or a standard one such as eager.",
            show_default=False,
        ),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="Run the program to its end each time, also when it has made enough steps.",
        ),
    ] = False,
    execute_log_code: Annotated[
        bool,
        typer.Option(
            "--execute-log-code",
            help="Run generated code that stands in the log. It can do anything that you can.",
        ),
    ] = False,
    python: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="The Python that has torch, for --entry and small programs."
        ),
    ] = None,
    output: OutputOption = None,
    fmt: FormatOption = None,
    redact: RedactOption = None,
    root: RootOption = "",
    max_chars: MaxCharsOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
) -> None:
    """Test findings by running the program again, with one thing changed.

    First one recorded run per change, for all findings: does the program show it again, and is it
    gone with the change? Then, the costliest first, whether that saves time.
    """
    from tracelens.cli._gate import installed_broken
    from tracelens.config import load

    if command and entry:
        raise UsageError("--entry and a command", hint="give one of them")
    config = load(Path.cwd()).updated({"redact": redact, "max-chars": max_chars})
    plan = Plan.of(output or (), fmt, quiet=quiet)
    path, found = _loading.read(report, config)
    interpreter = python or _python()
    if execute_log_code:
        _warn(Path(report))
    job = _Job(
        found,
        path,
        plan if output else None,
        workload=_with_input(_workload(command, entry, interpreter), path.parent),
        python=interpreter,
        log_code=Path(report) if execute_log_code else None,
        seconds=(minutes or (TABLE_MINUTES if explore else MINUTES)) * 60,
        whole=whole,
        every=advice,
        rows=tuple(row or ()),
    )
    code = job.run(words(only), explore=explore)
    job.save()
    plan.write(
        job.report,
        ctx.obj,
        config,
        verbose=verbose,
        root=root,
    )
    raise typer.Exit(installed_broken() or code)


class _Job:
    """One call of the command: what it has found out is on disk after every finding."""

    def __init__(
        self,
        report: Report,
        path: Path,
        plan: Plan | None,
        *,
        workload: Workload | None,
        python: str,
        log_code: Path | None,
        seconds: float,
        whole: bool,
        every: bool = False,
        rows: tuple[str, ...] = (),
    ) -> None:
        from tracelens.cli._watch import Watch

        self.path = path
        self.report = report
        self._in_place = plan is None
        self._files = (
            [] if plan is None else [Path(f) for f, _ in plan.targets if f[-5:] == ".json"]
        )
        self._workload = workload
        self._python = python
        self._log_code = log_code
        self._seconds = seconds
        self._whole = whole
        self._every = every
        self._rows = rows
        self._until = time.monotonic() + seconds
        self._watch = Watch(seconds)

    def run(self, only: tuple[str, ...], *, explore: bool) -> int:
        """Test the findings, then the settings, and return the exit code."""
        from tracelens.live import confirming

        confirming.candidates(self.report, only)
        if (explore or self._rows) and self._workload is None:
            option = "--explore" if explore else "--row"
            raise UsageError(f"{option} has nothing to run", hint="-- COMMAND, or --entry")
        check_rows(self._rows)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                signal.signal(number, _interrupt)
        try:
            if explore or not self._rows:
                self._confirm(only, self._seconds * (FINDINGS_SHARE if explore else 1))
            if explore or self._rows:
                self._explore(standard=explore)
        except KeyboardInterrupt:
            self._watch.clear()
            say(f"interrupted; what is known so far is in {self.path}")
            return INTERRUPTED
        finally:
            self._watch.clear()
        return 0

    def _lab(self, seconds: float) -> Lab:
        from tracelens.live.ahead import MOST
        from tracelens.live.lab import Lab
        from tracelens.live.run_cache import beside

        return Lab(
            base=dict(os.environ),
            seconds=seconds,
            on_progress=self._watch.doing,
            whole=self._whole,
            keep=beside(self.path),
            at_once=MOST,
            expected=_recorded_seconds(self.path.parent),
            bundle=self.path.parent,
        )

    def _confirm(self, only: tuple[str, ...], seconds: float) -> None:
        from tracelens.live.confirming import Means, confirm

        with self._lab(seconds) as lab:
            self.report = confirm(
                self.report,
                lab,
                Means(
                    self._workload,
                    self._python,
                    self._log_code,
                    str(self.path),
                    _recorded_seconds(self.path.parent),
                ),
                only=only,
                every=self._every,
                on_plan=self._watch.plan,
                on_finding=self._watch.finding,
                on_result=self._keep,
            )
        self._watch.untested(self.report.shown)

    def _explore(self, *, standard: bool) -> None:
        from tracelens.live.exploring import explore
        from tracelens.live.lab import OutOfTime, RunFailed

        if self._workload is None:
            return
        left = max(self._until - time.monotonic(), self._seconds * (1 - FINDINGS_SHARE))
        self._watch.part("settings, one by one" if standard else "the rows")
        with self._lab(left) as lab:
            try:
                explore(
                    lab,
                    self._workload,
                    asked=self._rows,
                    standard=standard,
                    on_rows=self._keep_rows,
                )
            except RunFailed as failed:
                self._watch.clear()
                say(f"no what-if table: the unchanged program failed: {failed}")
            except OutOfTime:
                self._watch.clear()
                say("no what-if table: the time was up", hint="--minutes")

    def _keep_rows(self, rows: list[dict[str, object]]) -> None:
        from tracelens.live.exploring import TABLE

        self.report = self.report.model_copy(update={"tables": self.report.tables | {TABLE: rows}})
        self._watch.rows(rows)
        self.save()

    def _keep(self, report: Report, finding: Finding) -> None:
        self.report = report
        self._watch.said(finding, finding.confirmation)
        self.save()

    def save(self) -> None:
        """Write what is known so far: into the report itself, or where ``-o`` says."""
        for path in [self.path] if self._in_place else self._files:
            save(path, self.report.to_json())


def check_rows(rows: tuple[str, ...]) -> None:
    """Refuse rows that are none, before anything is run.

    Raises:
        UsageError: One of them is neither a setting nor the name of one.
    """
    if rows:
        from tracelens.live.rows import check

        for row in rows:
            check(row)


def _recorded_seconds(folder: Path) -> float:
    """Return what the program took when it was recorded into ``folder``; 0 if it was not."""
    try:
        facts = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
        return float(facts["finished"]["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def _interrupt(number: int, frame: object) -> None:
    """Have every signal that ends the command end it as Ctrl-C does: with nothing left behind."""
    del number, frame
    raise KeyboardInterrupt


def _warn(log: Path) -> None:
    """Say loudly what is about to happen.

    Raises:
        UsageError: There is no log to take code from.
    """
    if not log.is_file() or _loading.is_report(log):
        raise UsageError("--execute-log-code needs the log itself", hint="tracelens confirm LOG")
    say(f"WARNING: code out of {log} will be run, with all that you may do; Ctrl-C stops it")


def _python() -> str:
    """Return the Python that has torch: this one, or that of the active environment."""
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    return shutil.which("python") or shutil.which("python3") or sys.executable


def _with_input(workload: Workload | None, folder: Path) -> Workload | None:
    """Have a command read what it read when it was recorded, or the file that is given now."""
    from dataclasses import replace

    from tracelens.live import run_cache, stdin

    if workload is None or workload.title:
        return workload
    try:
        is_file = stat.S_ISREG(os.fstat(0).st_mode)
    except OSError:
        is_file = False
    if is_file:
        return replace(workload, stdin=Path("/proc/self/fd/0").resolve())
    data = stdin.kept(folder)
    if data is None:
        return workload
    room = run_cache.beside(folder / "report.json")
    room.mkdir(exist_ok=True)
    (room / "stdin").write_bytes(data)
    return replace(workload, stdin=room / "stdin")


def _workload(command: list[str] | None, entry: str | None, python: str) -> Workload | None:
    from tracelens.live.micro import DRIVER
    from tracelens.live.workload import Workload

    if command:
        return Workload(tuple(command), cwd=Path.cwd())
    if entry is None:
        return None
    module, colon, function = entry.partition(":")
    if not (module and colon and function):
        raise UsageError(f"--entry {entry}: not of the form module:function")
    argv = (python, str(DRIVER), "--entry", entry)
    return Workload(argv, cwd=Path.cwd(), title=f"--entry {entry}")
