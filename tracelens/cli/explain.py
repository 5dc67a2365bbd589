"""``tracelens explain``: a rule's documentation, in the terminal or as a page."""

from __future__ import annotations

import contextlib
import inspect
import textwrap
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli._app import app
from tracelens.cli._catalogue import Entry, complete_rule, find_rule
from tracelens.cli._phrases import rules_about
from tracelens.cli._terminal import emit, width
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.rules import Rule

__all__ = ["explain"]


class PageFormat(StrEnum):
    """How to write a page."""

    TEXT = "text"
    MARKDOWN = "markdown"


@app.command()
def explain(
    ctx: typer.Context,
    rule: Annotated[
        list[str],
        typer.Argument(
            metavar="RULE",
            help="A rule's code or name, or the words of a message.",
            autocompletion=complete_rule,
        ),
    ],
    fmt: Annotated[
        PageFormat, typer.Option("--format", "-f", help="How to write the page.")
    ] = PageFormat.TEXT,
) -> None:
    """Explain a rule: why it matters, what it looks like, what to do.

    Words of a message find the rule that is about it, with or without quotes.
    """
    from tracelens.cli._gate import installed_broken

    found, *others = _meant(" ".join(rule))
    doc = inspect.cleandoc(found.__doc__ or "").replace("``", "`")
    if fmt is PageFormat.MARKDOWN:
        emit("\n".join((*_page(Entry.of(found), doc), *_others(others))) + "\n")
        raise typer.Exit(installed_broken())
    bold, plain = ("\x1b[1m", "\x1b[0m") if ctx.obj.color else ("", "")
    columns = width()
    page = (*_head(Entry.of(found), columns), *_body(doc, columns), *_others(others))
    lines = "\n".join(page).rstrip("\n")
    emit(lines.replace("\1", bold).replace("\2", plain) + "\n")
    raise typer.Exit(installed_broken())


def _meant(words: str) -> list[Rule]:
    """Return the rules that are meant: by code or name, else by words of a message."""
    if " " in words.strip():
        return rules_about(words)
    try:
        return [find_rule(words)]
    except UsageError as error:
        if "did you mean" in (error.hint or ""):
            raise
        with contextlib.suppress(UsageError):
            return rules_about(words)
        raise


def _others(rules: list[Rule]) -> Iterator[str]:
    """Name the other rules that these words may be about."""
    if rules:
        yield f"Also about these words: {', '.join(f'{rule.code} {rule.name}' for rule in rules)}"


def _page(entry: Entry, doc: str) -> Iterator[str]:
    yield f"# {entry.code} {entry.name}"
    yield ""
    for name, text in _facts(entry):
        yield f"- {name}: {text}"
    yield ""
    yield doc


def _head(entry: Entry, columns: int) -> Iterator[str]:
    yield f"\1{entry.code} {entry.name}\2"
    yield ""
    for name, text in _facts(entry):
        yield from textwrap.wrap(f"{name:10}{text}", columns, subsequent_indent=10 * " ")
    yield ""


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "severity", f"{entry.severity}, unless the evidence says otherwise"
    reads = ", ".join((*entry.reads, *(f"{name} (if there)" for name in entry.uses)))
    yield "reads", reads or "everything"
    yield "needs", "; ".join(entry.needs) or "no switch"
    yield "live", entry.changes or f"cannot be tested: {entry.untested}"


def _body(doc: str, columns: int) -> Iterator[str]:
    """Set headings in bold and wrap prose; excerpts stay as they are."""
    for block in doc.split("\n\n"):
        heading, _, rest = block.partition("\n") if block.startswith("## ") else ("", "", block)
        if heading:
            yield f"\1{heading[3:]}\2"
        if rest.startswith("    "):
            yield rest
        else:
            yield from _wrapped(rest, columns)
        yield ""


def _wrapped(prose: str, columns: int) -> Iterator[str]:
    """Wrap a paragraph, or a list whose items begin with a hyphen."""
    for item in prose.replace("\n- ", "\0- ").split("\0"):
        indent = "  " if item.startswith("- ") else ""
        yield from textwrap.wrap(
            item, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
