"""Links of a terminal (OSC 8): to files of this machine, and to the pages of rules."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import quote

__all__ = ["supports_links", "target"]

#: Terminals of which it is known that they would print the sequence, or do something else with it.
WITHOUT = {"dumb", "linux"}


def supports_links() -> bool:
    """Tell whether standard output makes links: FORCE_HYPERLINK, then a terminal that is no CI."""
    if forced := os.environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    if os.environ.get("CI") or os.environ.get("TERM", "dumb") in WITHOUT:
        return False
    return sys.stdout.isatty()


def target(name: str) -> str | None:
    """Return the address of a file that is there, or of the page of a rule; None for neither."""
    import socket

    page = Path(__file__).parents[2] / "docs" / "rules" / f"{name}.md"
    try:
        path = page if name.isalnum() else Path(name).expanduser()
        if not path.is_file():
            return None
        return f"file://{socket.gethostname()}{quote(str(path.resolve()))}"
    except (OSError, RuntimeError, ValueError):
        return None
