"""The entry points of ours and of packs.

``importlib.metadata`` takes 15 ms to import, which is more than all else about them. Where no
package but ours says a word of them, which is nearly everywhere, it is not needed: a look into the
folders that Python imports from tells that.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

__all__ = ["DISTRIBUTION", "GROUPS", "Entry", "everybodys", "normal", "of_ours_alone", "readable"]

#: The package that we are in, and the groups of entry points that are walked.
DISTRIBUTION = "torch-tracelens"
GROUPS = ("logs", "rules", "renderers")
_PREFIX = "tracelens."
_SECTION = re.compile(r"^\[([^\]\n]+)\]([^\[]*)", re.MULTILINE)


class Entry(NamedTuple):
    """A name in a group of entry points, and the module that it stands for."""

    name: str
    value: str
    group: str
    #: The package that has it.
    owner: str


def of_ours_alone() -> list[Entry] | None:
    """Return our own entry points; None where others may have some, or nobody has."""
    finders = (one for one in sys.meta_path if one is not PathFinder)
    if any(hasattr(one, "find_distributions") for one in finders):
        return None
    found: dict[Entry, None] = {}
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 -- the names are enough
        except FileNotFoundError:
            continue
        except OSError:  # an archive, say
            return None
        for name in names:
            kind = name.lower().rpartition(".")[2]
            if kind == "egg":
                return None
            if kind not in {"dist-info", "egg-info"}:
                continue
            try:
                text = Path(folder, name, "entry_points.txt").read_text(encoding="utf-8")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, UnicodeDecodeError):
                return None
            if _PREFIX not in text:
                continue
            if normal(name.partition("-")[0]) != DISTRIBUTION:
                return None
            found |= dict.fromkeys(_entries(text))
    return list(found) or None


def _entries(text: str) -> list[Entry]:
    return [
        Entry(name.strip(), value.strip(), group, DISTRIBUTION)
        for group, lines in _SECTION.findall(text)
        if group in {f"{_PREFIX}{one}" for one in GROUPS}
        for name, between, value in (line.partition("=") for line in lines.splitlines())
        if between
    ]


def everybodys() -> list[Entry]:
    """Return the entry points of all packages, each looked at once.

    Raises:
        Exception: Those of some package cannot be read.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 -- see above

    every = entry_points()  # asked for by group, it would look at every package each time
    groups = [every.select(group=f"{_PREFIX}{group}") for group in GROUPS]
    return [
        Entry(one.name, one.value, one.group, one.dist.name if one.dist else one.value)
        for group in groups
        for one in group
    ]


def readable() -> tuple[list[Entry], list[tuple[str, Exception]]]:
    """Return those that can be read, and the packages of which they cannot, with the reason."""
    from importlib.metadata import distributions  # noqa: PLC0415 -- see above

    entries: list[Entry] = []
    broken: list[tuple[str, Exception]] = []
    for one in {normal(one.name): one for one in reversed(list(distributions()))}.values():
        try:
            entries += [
                Entry(entry.name, entry.value, entry.group, one.name)
                for entry in one.entry_points
                if entry.group.startswith(_PREFIX)
            ]
        except Exception as error:
            if _PREFIX in (one.read_text("entry_points.txt") or ""):
                broken.append((one.name, error))
    return entries, broken


def normal(name: str) -> str:
    """Return a package's name as one name that is written in several ways."""
    return re.sub(r"[-_.]+", "-", name).lower()
