"""The application object and the options that every command takes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from tracelens import cli
from tracelens.cli._help import Grouped
from tracelens.cli._options import Root
from tracelens.cli._terminal import Terminal, supports_color
from tracelens.version import __version__

__all__ = ["app", "command"]


def _typer() -> typer.Typer:
    return typer.Typer(
        cls=Root,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


app = _typer()


class Color(StrEnum):
    """When to write colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


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
    no_plugins: Annotated[
        bool, typer.Option("--no-plugins", help="Use what is built in, and no installed pack.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Read the logs of a torch.compile'd model and say what is slow, where, and what to set."""
    del debug, no_plugins, version  # what is begun before the command is found looks at them
    shows = supports_color() if color is Color.AUTO else color is Color.ALWAYS
    ctx.obj = Terminal.now(color=shows)


def command(argv: Sequence[str] = ()) -> typer.core.TyperGroup:
    """Return the command line; where ``argv`` names a command, with that one alone.

    To import and build the others takes longer than to read a small log.
    """
    names = [found.name for found in pkgutil.iter_modules(cli.__path__)]
    names = [name for name in names if not name.startswith("_")]
    named = next((word for word in argv if not word.startswith("-")), "")
    wanted = [f"{cli.__name__}.{name}" for name in ([named] if named in names else names)]
    for name in wanted:
        importlib.import_module(name)
    known = {info.callback.__module__: info for info in app.registered_commands if info.callback}
    chosen = _typer()
    chosen.registered_callback = app.registered_callback
    chosen.registered_commands = [known[name] for name in wanted]
    for info in chosen.registered_commands:
        info.cls = Grouped
    built = typer.main.get_command(chosen)
    assert isinstance(built, typer.core.TyperGroup)  # noqa: S101 -- it has a callback
    return built
