"""``tracelens rules``: the installed rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._catalogue import Entry, catalogue
from tracelens.cli._terminal import emit

__all__ = ["rules"]

HEADS = ("CODE", "NAME", "SEVERITY", "READS", "NEEDS", "ORIGIN")


class ListFormat(StrEnum):
    """How to write a list."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


@app.command()
def rules(
    fmt: Annotated[
        ListFormat, typer.Option("--format", "-f", help="How to write the list.")
    ] = ListFormat.TEXT,
) -> None:
    """List the rules: what they read, and the switches that they need."""
    from tracelens.cli._gate import installed_broken

    emit(_WRITERS[fmt](catalogue()))
    raise typer.Exit(installed_broken())


def _cells(entry: Entry) -> tuple[str, ...]:
    reads = (*entry.reads, *(f"[{name}]" for name in entry.uses))
    first = (entry.code, entry.name, entry.severity)
    return *first, " ".join(reads), "; ".join(entry.needs), entry.origin


def _text(entries: Sequence[Entry]) -> str:
    rows = [HEADS, *map(_cells, entries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _json(entries: Sequence[Entry]) -> str:
    return json.dumps([asdict(entry) for entry in entries], indent=2) + "\n"


def _markdown(entries: Sequence[Entry]) -> str:
    rows = [
        (
            entry.code,
            entry.name,
            entry.severity,
            entry.summary.replace("``", "`").replace("|", "\\|"),
            ", ".join(entry.kinds),
            _code(entry.needs).replace("|", "\\|"),
            entry.changes or f"no: {entry.untested}",
            entry.since,
        )
        for entry in entries
    ]
    heads = (
        "code",
        "name",
        "severity",
        "what it finds",
        "reads",
        "needs",
        "tested live by",
        "since",
    )
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _code(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


_WRITERS: dict[ListFormat, Callable[[Sequence[Entry]], str]] = {
    ListFormat.TEXT: _text,
    ListFormat.JSON: _json,
    ListFormat.MARKDOWN: _markdown,
}
