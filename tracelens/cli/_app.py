"""The application object and the options that every command takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from tracelens import __version__
from tracelens.cli._terminal import supports_color

__all__ = ["Terminal", "app"]

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Color(StrEnum):
    """When to write colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True)
class Terminal:
    """What standard output can show."""

    color: bool = False


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tracelens {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    *,
    color: Annotated[
        Color, typer.Option(help="When to write colour; auto heeds NO_COLOR and FORCE_COLOR.")
    ] = Color.AUTO,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Read the logs of a torch.compile'd model and say what is slow, where, and what to set."""
    del debug, version
    ctx.obj = Terminal(color=supports_color() if color is Color.AUTO else color is Color.ALWAYS)
