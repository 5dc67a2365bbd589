"""``environment.json`` of a recording: begun with the run, so that a killed one leaves it too."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracelens.errors import SourceError
from tracelens.version import __version__

__all__ = ["NAME", "begin_environment", "end_environment", "write_environment"]

NAME = "environment.json"
#: Bytes that the file holds from the start: blanks, in whose place the end of a run is told on a
#: disk that is full by then.
ROOM = 1 << 14
#: What is told of a run in any case: the rest may not fit.
_SHORT = ("command", "finished", "exit_code", "ended", "artifacts", "log", "notes")


def begin_environment(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write what is known before a run, marked as incomplete, with room for its end."""
    data = _packed({**facts, "complete": False})
    # What does not fit now is tried once more at the end.
    with contextlib.suppress(OSError):
        (folder / NAME).write_bytes(data.ljust(ROOM))


def end_environment(folder: Path, facts: Mapping[str, Any]) -> str:
    """Write all that is known after a run; return what is missing, empty where nothing is."""
    try:
        write_environment(folder, facts)
    except SourceError as error:
        short = _packed({key: facts[key] for key in _SHORT if key in facts} | {"complete": False})
        if _fill(folder / NAME, short):
            why = getattr(error.__cause__, "strerror", None) or error
            return f"{NAME} holds only how the program ended: {why}"
        return str(error)
    return ""


def write_environment(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write ``environment.json``, whole or not at all.

    Raises:
        SourceError: It cannot be written.
    """
    path = folder / NAME
    beside = folder / f".{NAME}.part"
    try:
        beside.unlink(missing_ok=True)
        with beside.open("xb") as file:
            file.write(_packed(facts))
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise SourceError(f"{path}: cannot be written: {error.strerror}") from error


def _packed(facts: Mapping[str, Any]) -> bytes:
    whole = {"schema_version": 1, "tool": {"name": "tracelens", "version": __version__}, **facts}
    return (json.dumps(whole, indent=2) + "\n").encode("utf-8", "replace")


def _fill(path: Path, data: bytes) -> bool:
    """Write over what the file holds, which takes no further room on the disk."""
    try:
        with path.open("r+b", buffering=0) as file:
            room = file.seek(0, 2)
            file.seek(0)
            return len(data) <= room and file.write(data.ljust(room)) == room
    except OSError:
        return False
