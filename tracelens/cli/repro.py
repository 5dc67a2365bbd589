"""``tracelens repro``: a script that shows one finding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli import _loading
from tracelens.cli._app import app
from tracelens.cli._saving import save
from tracelens.cli._shared_redact import SharedRedactOption, shared
from tracelens.cli._terminal import emit

__all__ = ["repro"]


@app.command()
def repro(
    report: Annotated[
        str,
        typer.Argument(metavar="REPORT", help="A saved report, a recording's directory, or a log."),
    ],
    finding: Annotated[
        str, typer.Argument(metavar="FINDING", help="The finding's id; its code if it has but one.")
    ],
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE.py", help="Write the script to FILE.py."),
    ] = "-",
    redact: SharedRedactOption = None,
) -> None:
    """Write a Python script that shows a finding, for an issue or another machine.

    It needs nothing but torch, and of a log it holds numbers and known names only.
    """
    from tracelens.cli._environment import laid_over
    from tracelens.cli._gate import installed_broken
    from tracelens.config import load
    from tracelens.live.repro import find, script

    config = laid_over(load(Path.cwd()))
    loaded = _loading.read(report, config).report
    text = script(
        loaded,
        find(loaded, finding),
        redact=shared(redact, config.redact),
        words=config.redact_words,
    )
    if output == "-":
        emit(text)
    else:
        save(Path(output), text)
    raise typer.Exit(installed_broken())
