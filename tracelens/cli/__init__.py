"""The command line: the only place that prints, exits, and knows about terminals.

Every module here without a leading underscore is one command; a new command is a new module.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from tracelens.cli._first import answer

__all__ = ["main"]

#: Objects that are made before Python looks for circles among the young ones; nearly all that an
#: analysis makes stays.
YOUNG = 20_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code of the process.

    0: clean or below the bar. 1: findings at or above it, or required evidence is missing.
    2: misuse, or nothing readable in the input. 3: a bug of ours or of an installed pack.

    Args:
        argv: What stands behind the command's name; from the process when None.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    page = answer(given)
    if page and _written(page):
        return 0 if given else 2
    if argv is None:  # the process is ours
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    from tracelens.cli._main import execute  # all but the first page needs more

    code = execute(given)
    if argv is None:
        gc.freeze()  # the process ends: looking through everything takes a fifth of it
    return code


def _written(text: str) -> bool:
    """Write the text to standard output; tell whether that was possible."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:  # the usual way says what is wrong with it
        return False
    return True
