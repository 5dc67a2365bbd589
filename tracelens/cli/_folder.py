"""Reports of several files: where they go, and which formats have them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tracelens.errors import SourceError, UsageError

if TYPE_CHECKING:
    from tracelens.plugins.facts import RendererFacts

__all__ = ["is_folder", "made", "of_folder"]


def is_folder(file: str) -> bool:
    """Tell whether a value of ``-o`` names a folder: by its last character, or since it is one."""
    return file.endswith("/") or Path(file).is_dir()


def of_folder(
    file: str, name: str | None, renderers: Mapping[str, RendererFacts]
) -> tuple[str, RendererFacts]:
    """Return what to write into a folder: the format that ``-f`` asks for.

    Raises:
        UsageError: None is asked for, it is one text, or there is no place for the folder.
    """
    if name is None or not _fills(renderers[name]):
        able = [each for each, facts in renderers.items() if _fills(facts)]
        hint = f"a folder takes a format of several files: -f {' or -f '.join(able)} -o {file}"
        raise UsageError(f"{file}: is a directory", hint=hint)
    path = Path(file)
    if not path.is_dir() and not path.absolute().parent.is_dir():
        raise UsageError(f"{file}: {path.absolute().parent} is not a directory")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{file}: is a file")
    return file, renderers[name]


def made(file: str) -> Path:
    """Return the folder, which is there from now on.

    Raises:
        SourceError: It cannot be made.
    """
    try:
        Path(file).mkdir(exist_ok=True)
    except OSError as error:
        raise SourceError(f"{file}: cannot be written: {error.strerror}") from error
    return Path(file)


def _fills(facts: RendererFacts) -> bool:
    return not facts.distribution and "files" in vars(facts.load())
