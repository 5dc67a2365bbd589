"""``tracelens render``: a saved report in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._output import Plan, shown
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

__all__ = ["render"]


@app.command()
def render(
    ctx: typer.Context,
    report: Annotated[
        str, typer.Argument(metavar="REPORT.json", help="A saved report; - is standard input.")
    ],
    *,
    output: OutputOption = None,
    fmt: FormatOption = None,
    redact: RedactOption = None,
    root: RootOption = "",
    max_chars: MaxCharsOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    open_: OpenOption = False,
    split: SplitOption = False,
) -> None:
    """Write a saved report in other formats, without reading the logs again."""
    from tracelens.cli._environment import laid_over
    from tracelens.cli._gate import installed_broken
    from tracelens.config import load
    from tracelens.report import saved

    config = laid_over(load(Path.cwd())).updated({"redact": redact, "max-chars": max_chars})
    plan = Plan.of(output or (), fmt, quiet=quiet, inputs=[report], quietly="concise")
    if open_:
        plan, page = plan.opening()
    plan.write(
        saved.load(report),
        ctx.obj,
        config,
        verbose=verbose,
        root=root,
        split=split,
    )
    if open_:
        shown(page)
    raise typer.Exit(installed_broken())
