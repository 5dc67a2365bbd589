"""``tracelens compare``: what has changed between two runs, or along several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli._analysis import analyzed, settings
from tracelens.cli._analysis_options import (
    ExtendSelectOption,
    IgnoreOption,
    RecordedWithOption,
    SelectOption,
)
from tracelens.cli._app import app
from tracelens.cli._loading import is_report
from tracelens.cli._output import Plan, shown
from tracelens.cli._output_options import (
    FormatOption,
    MaxCharsOption,
    OpenOption,
    OutputOption,
    QuietOption,
    RedactOption,
    VerboseOption,
)
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.config import Config
    from tracelens.report import Report

__all__ = ["compare"]

#: The report that a recording holds.
REPORT = "report.json"
FewerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at-most",
        metavar="NAME=LIMIT",
        help="Exit 1 when a counter grew by more: compile_s=+10%, graph_breaks=+0, kernels=40. "
        "Repeatable.",
        show_default=False,
    ),
]


@app.command()
def compare(
    ctx: typer.Context,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="BEFORE AFTER...",
            help="Logs, traces, recordings (directories) or saved reports, in their order.",
            show_default=False,
        ),
    ],
    *,
    output: OutputOption = None,
    fmt: FormatOption = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="error|warning|info|never",
            help="Exit 1 on a new or worse finding of this severity or above.  [default: never]",
        ),
    ] = None,
    at_most: FewerOption = None,
    select: SelectOption = None,
    extend_select: ExtendSelectOption = None,
    ignore: IgnoreOption = None,
    recorded_with: RecordedWithOption = None,
    redact: RedactOption = None,
    max_chars: MaxCharsOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    open_: OpenOption = False,
) -> None:
    """Say what is new, fixed, worse and better between runs, and put every counter side by side.

    Of more than two inputs, the first is before, the last is after, and counters show the trend.
    """
    from tracelens.cli._limits import exceeded, limits
    from tracelens.render.compare import FORMATS
    from tracelens.report.compare import compare as compared

    if len(inputs) < 2:
        raise UsageError("nothing to compare with", hint="tracelens compare BEFORE AFTER")
    bars = limits(at_most or ())
    config = settings(
        select=select,
        extend_select=extend_select,
        ignore=ignore,
        require=None,
        recorded_with=recorded_with,
        fail_on=fail_on,
        redact=redact,
        max_chars=max_chars,
    )
    plan = Plan.of(output or (), fmt, quiet=quiet, inputs=inputs, formats=FORMATS)
    if open_:
        plan, page = plan.opening(FORMATS)
    comparison = compared([_report(path, config) for path in inputs], inputs)
    plan.write(
        comparison,
        ctx.obj,
        config,
        verbose=verbose,
    )
    if open_:
        shown(page)
    raise typer.Exit(int(exceeded(comparison, config.fail_on, bars)))


def _report(path: str, config: Config) -> Report:
    """Return the report that ``path`` is, or holds, or is analyzed to."""
    from tracelens.report import saved

    file = Path(path)
    for held in (file / REPORT, file):
        if held.is_file() and is_report(held):
            return saved.load(str(held))
    return analyzed([path], config)
