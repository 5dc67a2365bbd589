"""``tracelens man``: the manual page, made from what the commands say of themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from tracelens.cli._app import app, command
from tracelens.cli._help import EXAMPLES, groups
from tracelens.cli._terminal import emit
from tracelens.version import __version__

__all__ = ["man"]

EXIT = (
    ("0", "Analyzed; clean, or nothing at or above the bar."),
    ("1", "A finding at or above the bar, or evidence that was required is absent."),
    ("2", "Misuse, an input that cannot be read, or nothing known in any input."),
    ("3", "A bug of tracelens, or of an installed rule pack."),
)
ENVIRONMENT = (
    ("TRACELENS_*", "Settings, as TRACELENS_FAIL_ON=warning."),
    ("TRACELENS_CACHE", "Where parsers are kept; empty for nowhere."),
    ("NO_COLOR, FORCE_COLOR, FORCE_HYPERLINK", "Colour and links on a terminal."),
)


@app.command()
def man() -> None:
    """Print the manual page, in the language of man."""
    emit("\n".join(_page()) + "\n")


def _page() -> Iterator[str]:
    group = command()
    yield f'.TH TRACELENS 1 "" "tracelens {__version__}" "User Commands"'
    yield from (".SH NAME", r"tracelens \- read the logs of a compiled PyTorch model")
    yield from (".SH SYNOPSIS", r"\fBtracelens\fR \fICOMMAND\fR [\fIOPTIONS\fR] ...")
    yield from (".SH DESCRIPTION", _plain(group.help or ""))
    yield ".SH COMMANDS"
    for name, one in sorted(group.commands.items()):
        yield from _command(name, one)
    for title, rows in (("EXIT STATUS", EXIT), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        yield from (line for key, said in rows for line in (".TP", _bold(key), _plain(said)))


def _command(name: str, one: Any) -> Iterator[str]:
    """Yield the section of a command: what it does, its options by group, examples."""
    import typer

    yield f'.SS "tracelens {name}"'
    yield _plain(inspect.cleandoc(one.help or ""))
    context = typer.Context(one, info_name=f"tracelens {name}")
    for title, records in groups(one, context):
        yield from (".PP", rf"\fI{_plain(title)}\fR")
        for key, said in records:
            yield from (".TP", _bold(key), _plain(said))
    if examples := EXAMPLES.get(name):
        yield from (".PP", r"\fIExamples\fR", ".PP", ".nf", ".RS")
        yield from (_plain(example) for example in examples)
        yield from (".RE", ".fi")


def _bold(text: str) -> str:
    return rf"\fB{_plain(text)}\fR"


def _plain(text: str) -> str:
    """Return text in which nothing is a request of roff."""
    lines = (" ".join(line.split()) for line in text.replace("\\", r"\e").split("\n"))
    escaped = [line.replace("-", r"\-") for line in lines]
    return "\n".join(rf"\&{line}" if line.startswith((".", "'")) else line for line in escaped)
