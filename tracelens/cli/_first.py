"""What ``tracelens --help`` and ``tracelens --version`` print, without the rest of the package.

Building the command line to describe it takes three times as long as Python's own start. The page
is kept beside this module, as typer makes it for lines of 80 characters, and a test compares them.
"""

from __future__ import annotations

import os
import sys

from tracelens.version import __version__

__all__ = ["PAGE", "answer"]

PAGE = f"{os.path.dirname(__file__)}/_templates/help.txt"  # noqa: PTH120 -- pathlib costs as much
#: What these are asked with.
HELP: tuple[list[str], ...] = ([], ["-h"], ["--help"])
VERSION = ["--version"]
#: The fewest characters per line that the page is made for; more make no difference to typer.
CELLS = 80


def answer(argv: list[str]) -> str:
    """Return what these words alone print; empty when that takes more than a kept page."""
    if "_TRACELENS_COMPLETE" in os.environ:  # a shell asks what could come next
        return ""
    if argv == VERSION:
        return f"tracelens {__version__}\n"
    if argv not in HELP or "COLUMNS" in os.environ or not _is_wide():
        return ""
    try:
        with open(PAGE, encoding="utf-8") as page:  # noqa: PTH123 -- as above
            return page.read()
    except OSError:
        return ""


def _is_wide() -> bool:
    """Tell whether lines have room for the page; where it goes to no terminal, they have."""
    try:
        cells = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
    except (OSError, ValueError):
        return True
    return cells == 0 or cells >= CELLS
