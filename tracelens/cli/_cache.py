"""The folder in which built parsers are kept between runs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["parser_cache"]


def parser_cache() -> Path | None:
    """Return a folder that belongs to the user alone, made if need be; None where there is none.

    ``$XDG_CACHE_HOME/tracelens`` or ``~/.cache/tracelens``; ``TRACELENS_CACHE=`` (empty) turns it
    off. What is read from it is unpickled, so a folder that somebody else owns or could write to is
    not used.
    """
    named = os.environ.get("TRACELENS_CACHE")
    if named == "" or not hasattr(os, "getuid"):
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 -- no error without a home
    folder = Path(named) if named else Path(home) / "tracelens"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return folder if private and not found.st_mode & 0o077 else None
