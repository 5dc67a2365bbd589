"""Files that are written whole or not at all, and names that cannot be written to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from tracelens.cli._ending import told_to_end
from tracelens.errors import SourceError, UsageError

__all__ = ["MAX_NAME", "check_names", "check_place", "replacing", "save"]

#: Bytes of a file's name.
MAX_NAME = 255


def check_names(files: Sequence[str]) -> None:
    """Refuse names that no file can have.

    Raises:
        UsageError: One is too long.
    """
    for path in map(Path, files):
        if any(len(os.fsencode(part)) > MAX_NAME for part in path.parts):
            raise UsageError(f"{path.name[:80]}: a name of more than {MAX_NAME} bytes")


def check_place(file: str, inputs: Sequence[str]) -> None:
    """Refuse a place that cannot be written to, or that one of ``inputs`` is read from.

    Raises:
        UsageError: It is such a place.
    """
    path = Path(file)
    if not path.parent.is_dir():
        raise UsageError(f"{file}: {path.parent} is not a directory")
    if path.is_dir():
        raise UsageError(f"{file}: is a directory")
    for source in inputs:
        if path.exists() and Path(source).exists() and path.samefile(source):
            raise UsageError(f"{file}: is an input as well; it would be overwritten")


def save(path: Path, text: str) -> None:
    """Write a file whole or not at all, with the permissions that it had."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to be written whole or not at all, with the permissions that it had.

    Raises:
        SourceError: It cannot be written.
    """
    # A name of our own: of any length that the folder takes, and never a link that lies there.
    part = path.with_name(f".tracelens-{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        mode = path.stat().st_mode & 0o7777 if path.exists() else None
        with contextlib.ExitStack() as stack:
            stack.enter_context(told_to_end())
            stack.callback(part.unlink, missing_ok=True)
            with part.open("xb") as file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                yield file
            part.replace(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be written: {error.strerror}") from error
