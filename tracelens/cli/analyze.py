"""``tracelens analyze``: read logs and say what the rules find."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli._analysis_options import (
    BaselineOption,
    EngineOption,
    ExtendSelectOption,
    FailOnAbsentOption,
    FailOnOption,
    IgnoreOption,
    OneRunOption,
    RecordedWithOption,
    RequireOption,
    RunOption,
    SchedulerOption,
    SelectOption,
    StrictOption,
    Team,
    analyzed,
    compared,
    named_runs,
    settings,
)
from tracelens.cli._app import app
from tracelens.cli._output import (
    FormatOption,
    MaxCharsOption,
    OpenOption,
    OutputOption,
    Plan,
    QuietOption,
    RedactOption,
    RootOption,
    SplitOption,
    VerboseOption,
    shown,
)
from tracelens.errors import SourceError, UsageError

if TYPE_CHECKING:
    from tracelens.report import Report

__all__ = ["analyze"]

SAMPLE = "aarch64-bf16-linear.log"


@app.command()
def analyze(
    ctx: typer.Context,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="Files (.gz, .xz, .zst too), directories, globs, URLs (s3://...), or - for "
            "standard input.",
            show_default=False,
        ),
    ] = None,
    *,
    output: OutputOption = None,
    fmt: FormatOption = None,
    select: SelectOption = None,
    extend_select: ExtendSelectOption = None,
    ignore: IgnoreOption = None,
    fail_on: FailOnOption = None,
    require: RequireOption = None,
    fail_on_absent: FailOnAbsentOption = None,
    strict: StrictOption = None,
    recorded_with: RecordedWithOption = None,
    one_run: OneRunOption = False,
    run: RunOption = None,
    baseline: BaselineOption = None,
    kind: Annotated[
        str | None,
        typer.Option("--as", metavar="KIND", help="Read the input as this log kind, unmarked."),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Analyze the log that ships with tracelens.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Processes that share the work.  "
            "[default: 1; free cores for 32 MB in several inputs]",
            show_default=False,
        ),
    ] = None,
    engine: EngineOption = None,
    scheduler: SchedulerOption = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Say where a generated kernel comes from, and what it took, instead of the text.",
        ),
    ] = None,
    annotate: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the trace with findings, gaps and how busy the device is, for Perfetto.",
        ),
    ] = None,
    redact: RedactOption = None,
    root: RootOption = "",
    max_chars: MaxCharsOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    open_: OpenOption = False,
    split: SplitOption = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Read again when a file changes; show what is different."),
    ] = False,
) -> None:
    """Read logs and say what is slow, where, and what to set.

    A rule whose evidence is not in the input is absent: the report names the switch to set.
    """
    from tracelens.cli._gate import exit_code

    runs = named_runs(run)
    if bool(inputs or runs) is sample:
        what = "--sample is an input of its own" if sample else "no input"
        raise UsageError(what, hint="tracelens analyze FILE, or tracelens analyze --sample")
    config = settings(
        select=select,
        extend_select=extend_select,
        ignore=ignore,
        require=require,
        recorded_with=recorded_with,
        fail_on=fail_on,
        fail_on_absent=fail_on_absent,
        strict=strict,
        redact=redact,
        max_chars=max_chars,
        jobs=jobs,
    )
    if one_run and runs:
        raise UsageError("--one-run and --run contradict each other", hint="give one of them")
    team = Team(engine, scheduler, jobs)
    team.check()
    read = [*(inputs or ()), *(path for paths in runs.values() for path in paths)]
    if annotate is not None:
        from tracelens.cli import _annotate

        _annotate.check(annotate, read)
    silent = quiet or kernel is not None
    quietly = "" if kernel is not None else "concise"
    plan = Plan.of(output or (), fmt, quiet=silent, inputs=read, quietly=quietly)
    if watch:
        from tracelens.cli._rereading import begin, follow, state

        seen = state(read)
    with contextlib.chdir(_samples() if sample else Path.cwd()):
        given = [SAMPLE] if sample else inputs or []

        def again() -> Report:
            return analyzed(given, config, kind, one_run=one_run, runs=runs, team=team)

        report = begin(read, again) if watch and not sample else again()
    if baseline is not None:
        report = compared(report, baseline, config.baseline_tolerance)
    if open_:
        plan, page = plan.opening()
    plan.write(
        report,
        ctx.obj,
        max_chars=config.max_chars,
        redact=config.redact,
        redact_words=config.redact_words,
        verbose=verbose,
        root=root,
        split=split,
    )
    if open_:
        shown(page)
    if watch:
        report = follow(
            report,
            read,
            again,
            lambda _, text: plan.show(text),
            seen,
        )
    if annotate is not None:
        from tracelens.cli import _annotate

        _annotate.annotate(report, annotate)
    if kernel is not None:
        from tracelens.render import Options
        from tracelens.render._kernel import kernel_text

        plan.show(kernel_text(report, kernel, Options(redact=config.redact)))
    raise typer.Exit(exit_code(report, config))


def _samples() -> Path:
    """Return the folder of the log that ships with the package: in a wheel, or in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "samples", package.parent / "fixtures" / "logs" / "samples"):
        if (folder / SAMPLE).is_file():
            return folder
    raise SourceError(f"{SAMPLE} is missing from this installation")
