"""Which inputs there are, what they are called, and where they lie."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from types import ModuleType
from typing import IO

from tracelens.errors import SourceError

__all__ = ["expand", "is_url", "lying", "opened", "place_of", "real", "shown", "size_of"]

_ZIP = b"PK\x03\x04"
#: Members of archives: where they lie, by ``ARCHIVE/MEMBER``.
_UNPACKED: dict[str, Path] = {}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_ESCAPED = re.compile(r"\\u(dc[89a-f][0-9a-f])")
_ENDLESS = {"/dev/zero", "/dev/random", "/dev/urandom", "/dev/full"}


def expand(patterns: tuple[str, ...]) -> list[str]:
    """Return the input files that ``patterns`` name, each once, in order.

    ``-`` is standard input, and a URL what fsspec finds there. A directory stands for the files
    below it, hidden ones left out, and those of a recording that are no logs. A zip file stands
    for its members; of a bundle, its logs.

    Raises:
        SourceError: A pattern names nothing.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        if is_url(pattern) and not Path(pattern).exists():
            from tracelens.source import remote  # noqa: PLC0415 -- seldom asked for

            found.update(dict.fromkeys(remote.found(pattern)))
            continue
        try:
            there = pattern == "-" or real(pattern).exists()
        except (OSError, ValueError) as error:  # a name that no file can have
            what = getattr(error, "strerror", None) or error
            raise SourceError(f"{pattern[:80]}: {what}") from error
        names = [pattern] if there else sorted(glob(pattern))  # noqa: PTH207 -- the pattern may be absolute
        if not names:
            raise SourceError(f"{pattern}: no such file or directory")
        for name in names:
            if name != "-" and Path(name).is_dir():
                below = sorted(path for path in Path(name).rglob("*") if path.is_file())
                keep = {path for path in below if not _is_hidden(path.relative_to(name))}
                keep -= _beside_a_log(below)
                if not keep:
                    raise SourceError(f"{name}: no files in this directory")
                found.update(dict.fromkeys(shown(path) for path in below if path in keep))
            elif name != "-" and _is_zip(name):
                found.update(dict.fromkeys(_members(shown(Path(name)))))
            else:
                found[shown(Path(name)) if name != "-" else name] = None
    return list(found)


def _is_zip(name: str) -> bool:
    try:
        path = real(name)
        if name in _UNPACKED or not path.is_file():
            return False
        with path.open("rb", buffering=0) as file:
            return file.read(len(_ZIP)) == _ZIP
    except OSError:  # whoever reads it says so
        return False


def _members(name: str) -> list[str]:
    """Return what the archive ``name`` holds; it is unpacked once."""
    from tracelens.source.archives import unpacked  # noqa: PLC0415 -- seldom needed

    held = [member for member in _UNPACKED if member.startswith(f"{name}/")]
    if not held:
        found = unpacked(name)
        if found is None:  # whoever reads it says what it is
            return [name]
        _UNPACKED.update(found)
        held = list(found)
    return held


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def shown(path: Path) -> str:
    """Return the name of a file as text; bytes that are no UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def real(name: str) -> Path:
    """Return the file that :func:`shown` has named, or where a member of an archive lies."""
    if name in _UNPACKED:
        return _UNPACKED[name]
    if "\\udc" not in name or Path(name).exists():
        return Path(name)
    return Path(_ESCAPED.sub(lambda match: chr(int(match[1], 16)), name))


def place_of(name: str) -> dict[str, str]:
    """Return where an input lies, by its name, for a reader in another folder."""
    if name == "-":
        return {}
    return {name: remote.place_of(name) if (remote := _elsewhere(name)) else _absolute(name)}


def _absolute(name: str) -> str:
    return str(real(name).absolute())


def size_of(name: str) -> int | None:
    """Return the stored bytes of an input; None where that is not known before it is read."""
    if name == "-":
        return None
    if remote := _elsewhere(name):
        size: int | None = remote.size_of(name)
        return size
    try:
        return real(name).stat().st_size
    except OSError:  # whoever reads it says so
        return None


@contextmanager
def lying(places: Mapping[str, str]) -> Iterator[None]:
    """Let inputs lie in ``places``, by their names, in a ``with`` block."""
    urls = {name: place for name, place in places.items() if is_url(place)}
    if urls:
        from tracelens.source import remote  # noqa: PLC0415 -- seldom asked for

        with remote.lying(urls):
            yield
        return
    before = {name: _UNPACKED[name] for name in places if name in _UNPACKED}
    _UNPACKED.update({name: Path(place) for name, place in places.items()})
    try:
        yield
    finally:
        for name in places:
            if name in before:
                _UNPACKED[name] = before[name]
            else:
                del _UNPACKED[name]


def is_url(name: str) -> bool:
    """Tell whether a name is a URL."""
    return _URL.match(name) is not None


def _elsewhere(name: str) -> ModuleType | None:
    """Return who reads a URL that the user has named; None for everything else."""
    if not is_url(name):
        return None
    from tracelens.source import remote  # noqa: PLC0415 -- seldom asked for

    return remote if remote.asked(name) else None


def opened(name: str) -> IO[bytes]:
    """Open an input by its name.

    Raises:
        OSError: It cannot be opened, or is a device that never ends.
    """
    if remote := _elsewhere(name):
        file: IO[bytes] = remote.opened(name)
        return file
    path = real(name)
    if stat.S_ISCHR(path.stat().st_mode) and os.path.realpath(path) in _ENDLESS:
        raise OSError(errno.EINVAL, "a device that never ends")
    return path.open("rb", buffering=0)


def _beside_a_log(files: Iterable[Path]) -> set[Path]:
    """Return what stands beside the log of a recording and is no log: facts, and reports."""
    names = set(files)
    return {
        path
        for path in names
        if (path.name == "environment.json" or path.stem == "report")
        and {path.with_name("log.txt.gz"), path.with_name("environment.json")} <= names
    }
