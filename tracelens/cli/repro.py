"""``tracelens repro``: a script that shows one finding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._output import save
from tracelens.cli._terminal import emit
from tracelens.errors import SourceError

if TYPE_CHECKING:
    from tracelens.report import Report

__all__ = ["repro"]

#: Bytes by which a report and a log are told apart.
HEAD = 64


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
    redact: Annotated[
        bool,
        typer.Option(
            "--redact/--no-redact", help="Leave names, home directories and tokens out of it."
        ),
    ] = True,
) -> None:
    """Write a Python script that shows a finding, for an issue or another machine.

    It needs nothing but torch, and of a log it holds numbers and known names only.
    """
    from tracelens.live.repro import find, script

    loaded = _report(report)
    text = script(loaded, find(loaded, finding), redact=redact)
    if output == "-":
        emit(text)
    else:
        save(Path(output), text)


def _report(path: str) -> Report:
    """Return the saved report, or what the rules say about a log."""
    from tracelens import engine, saved

    if path == "-":
        return saved.load(path)
    folder = Path(path)
    file = folder / "report.json" if folder.is_dir() else folder
    try:
        with file.open("rb") as stream:
            is_report = stream.read(HEAD).lstrip().startswith(b"{")
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    return saved.load(str(file)) if is_report else engine.analyze(str(file))
