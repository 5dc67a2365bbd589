"""How far names are replaced in what is made to be passed on: bundles, issues, scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tracelens.render import Redact

__all__ = ["SharedRedactOption", "shared"]

SharedRedactOption = Annotated[
    bool | None,
    typer.Option(
        "--redact/--no-redact",
        help="Replace names of users, hosts and home directories; --redact=paths|source|all your "
        "files, lines of code, functions too.  [default: --redact, or the level of the settings]",
    ),
]


def shared(given: Redact, settings: Redact) -> Redact:
    """Return how far to go: names at least, unless the command line says otherwise."""
    if given is not None:
        return given
    return settings if isinstance(settings, str) else True
