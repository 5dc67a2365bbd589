"""Where reports go and what they show: options of every command that writes one."""

from __future__ import annotations

from typing import Annotated

import typer

from tracelens.cli._output import installed_formats

__all__ = [
    "FormatOption",
    "MaxCharsOption",
    "OpenOption",
    "OutputOption",
    "QuietOption",
    "RedactOption",
    "RootOption",
    "SplitOption",
    "VerboseOption",
]


def _formats(incomplete: str) -> list[str]:
    return [name for name in installed_formats() if name.startswith(incomplete)]


OutputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the report to FILE in the format of its suffix; - is stdout. Repeatable. "
        "-f csv -o DIR/ writes the findings and a file for each table.",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        autocompletion=_formats,
        help="Format of standard output: text, markdown, html, json, csv, sarif, github, gitlab, "
        "junit ...  [default: text]",
    ),
]
RedactOption = Annotated[
    bool | None,
    typer.Option(
        "--redact/--no-redact",
        help="Replace names of users, hosts and home directories; --redact=paths|source|all your "
        "files, lines of code, functions too.  [default: in all formats but JSON]",
    ),
]
RootOption = Annotated[
    str,
    typer.Option(
        "--root",
        metavar="DIR",
        help="Name files relative to DIR, as a repository does, in all formats but JSON.",
        show_default=False,
    ),
]
MaxCharsOption = Annotated[
    int | None,
    typer.Option(
        "--max-chars", metavar="N", help="Most characters of a Markdown report.  [default: 60000]"
    ),
]
VerboseOption = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Show also what is harmless, and what was neither understood nor there.",
    ),
]
QuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="One line for each finding; with -o, nothing."),
]


SplitOption = Annotated[
    bool,
    typer.Option("--split", help="Markdown in several files, with nothing left out: r.md, r-2.md."),
]
OpenOption = Annotated[
    bool, typer.Option("--open", help="Show the HTML page in the browser, also without -o.")
]
