"""``tracelens analyze``: read logs and say what the rules find."""

from __future__ import annotations

from typing import Annotated

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
)
from tracelens.cli._analyzing import analyze_as_asked
from tracelens.cli._app import app
from tracelens.cli._output_options import (
    FormatOption,
    MaxCharsOption,
    OpenOption,
    OutputOption,
    QuietOption,
    RedactOption,
    RootOption,
    SplitOption,
    VerboseOption,
)

__all__ = ["analyze"]


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
    raise typer.Exit(
        analyze_as_asked(
            ctx.obj,
            inputs,
            output=output,
            fmt=fmt,
            select=select,
            extend_select=extend_select,
            ignore=ignore,
            fail_on=fail_on,
            require=require,
            fail_on_absent=fail_on_absent,
            strict=strict,
            recorded_with=recorded_with,
            one_run=one_run,
            run=run,
            baseline=baseline,
            kind=kind,
            sample=sample,
            jobs=jobs,
            engine=engine,
            scheduler=scheduler,
            kernel=kernel,
            annotate=annotate,
            redact=redact,
            root=root,
            max_chars=max_chars,
            verbose=verbose,
            quiet=quiet,
            open_=open_,
            split=split,
            watch=watch,
        )
    )
