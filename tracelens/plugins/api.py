"""Which version of what packs are written against, and which packs were written for another one.

A pack says so in the file ``tracelens.toml`` of its top-level package, as
``tracelens-api = ">=1,<2"``. It is data: no code of the pack is run to read it.
"""

from __future__ import annotations

import importlib.util
import operator
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tracelens.errors import closest
from tracelens.late import late

__all__ = ["API", "FILE", "UNSAID", "Stated", "holds", "stated"]

#: What packs are written against (docs/packs.md). The first number changes when a pack that works
#: may stop working, the second one when something is added.
API = (1, 0)
#: Beside the top-level package's ``__init__.py``.
FILE = "tracelens.toml"
KEY = "tracelens-api"
#: What is said of a pack that states no version.
UNSAID = f'states no API version: write {KEY} = ">={API[0]},<{API[0] + 1}" into its {FILE}'
_CLAUSE = late(r"\s*(>=|<=|==|!=|>|<)\s*(\d{1,4}(?:\.\d{1,4}){0,2})\s*")
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


class Stated(NamedTuple):
    """What a pack says of itself."""

    #: The versions that it works with; empty where it does not say.
    api: str = ""
    #: Why it takes no part; empty where it does.
    refused: str = ""


def holds(wanted: str) -> bool:
    """Tell whether our version is among those that ``wanted`` describes.

    Raises:
        ValueError: It describes none.
    """
    answers = []
    for clause in wanted.split(","):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            raise ValueError(f"{clause.strip()!r} is no version")
        number = tuple(int(part) for part in match[2].split("."))
        answers.append(_HOLDS[match[1]](_padded(API), _padded(number)))
    return all(answers)


def _padded(version: tuple[int, ...]) -> tuple[int, ...]:
    return (*version, 0, 0, 0)[:3]


def stated(packages: Iterable[str]) -> Stated:
    """Return what the first of some top-level packages with the file says in it."""
    for package in packages:
        if (file := _file(package)) is not None:
            return _read(file)
    return Stated()


def _file(package: str) -> Path | None:
    """Return the file of a package, which is not imported."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError, AttributeError):
        return None  # whoever imports it will say why
    for folder in (spec.submodule_search_locations if spec else None) or ():
        if (path := Path(folder, FILE)).is_file():
            return path
    return None


def _read(file: Path) -> Stated:
    import tomllib  # noqa: PLC0415 -- costly, and only where a pack is installed

    where = f"{file.parent.name}/{file.name}"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return Stated(refused=f"{where}: {error}")
    api = table.get(KEY, "")
    ours = ".".join(map(str, API))
    try:
        if api and not holds(api):
            return Stated(api, f"{where}: {KEY} = {api!r}, and this is {ours}")
    except (ValueError, AttributeError):
        return Stated(
            str(api), f"{where}: {KEY} = {api!r}: write it like '>={API[0]},<{API[0] + 1}'"
        )
    if unknown := sorted(set(table) - {KEY}):
        hint = closest(unknown[0], [KEY], f"the one that there is, is {KEY}")
        return Stated(api, f"{where}: no such key: {unknown[0]} ({hint})")
    return Stated(api)
