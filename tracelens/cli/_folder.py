"""Reports of several files: where they go, and which formats have them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tracelens.errors import SourceError, UsageError

__all__ = ["Form", "is_folder", "made", "of_folder"]

#: What goes into a folder when no format is named.
USUAL = ("html", "markdown", "json")


class Form(Protocol):
    """What a plan needs to know of a format."""

    @property
    def name(self) -> str:
        """As given to ``-f``."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Of the files that are written in it."""

    @property
    def distribution(self) -> str:
        """The package that it comes from; empty for ours."""

    def load(self) -> Any:
        """Return what has a function ``render``."""


def is_folder(file: str) -> bool:
    """Tell whether a value of ``-o`` names a folder: by its last character, or since it is one."""
    return file.endswith("/") or Path(file).is_dir()


def of_folder(file: str, form: Form | None, forms: Mapping[str, Form]) -> list[tuple[str, Form]]:
    """Return what to write into a folder: the format that ``-f`` asks for, else the usual three.

    Raises:
        UsageError: The format is one text, or there is no place for the folder.
    """
    if form is not None and not _fills(form):
        able = [each for each, one in forms.items() if _fills(one)]
        hint = f"a folder takes a format of several files: -f {' or -f '.join(able)} -o {file}"
        raise UsageError(f"{file}: is a directory", hint=hint if able else "")
    path = Path(file)
    if form is None and not file.endswith("/") and path.suffix in _suffixes(forms):
        raise UsageError(f"{file}: is a directory")
    if not path.is_dir() and not path.absolute().parent.is_dir():
        raise UsageError(f"{file}: {path.absolute().parent} is not a directory")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{file}: is a file")
    if form is not None:
        return [(file, form)]
    held = [forms[name] for name in USUAL if name in forms]
    return [(str(path / f"report{one.suffixes[0]}"), one) for one in held]


def _suffixes(forms: Mapping[str, Form]) -> set[str]:
    return {suffix for form in forms.values() for suffix in form.suffixes}


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


def _fills(facts: Form) -> bool:
    return not facts.distribution and "files" in vars(facts.load())
