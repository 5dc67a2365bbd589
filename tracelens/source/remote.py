"""Inputs that lie elsewhere: URLs that the user has named, read block by block through fsspec.

Only what :func:`found` has returned is ever opened, so that no URL in a log or a report is. Keys in
a URL stay out of its name: the report shows the name.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import has_magic
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import IO, Any, NamedTuple, cast

from tracelens.errors import SourceError

__all__ = ["asked", "found", "lying", "opened", "place_of", "size_of"]

#: Bytes that are asked for at a time; a store answers slowly, and a block stays in memory.
BLOCK = 4 << 20
_USER = re.compile(r"(://)[^/@\s]+@")
#: What may be a key; a ``?`` in a glob stands for one character.
_QUERY = re.compile(r"(?:\?[^/?\s]*=|#)\S*")
_EXTRAS = {"s3": "s3", "s3a": "s3"}


class _Place(NamedTuple):
    """Where an input lies."""

    url: str
    #: Stored bytes; None where nobody says.
    size: int | None = None


#: What the user has named, by the names of inputs.
_ASKED: dict[str, _Place] = {}


def asked(name: str) -> bool:
    """Tell whether an input is one that the user has named by a URL."""
    return name in _ASKED


def found(url: str) -> list[str]:
    """Return the names of what a URL stands for: a file, those below a directory, or of a glob.

    Raises:
        SourceError: There is nothing, or it cannot be asked for.
    """
    name = _named(url)
    if url in _ASKED:
        return [url]
    try:
        fs, path = _system(url)
        if not (infos := _listed(fs, path)):
            raise SourceError(f"{name}: no such file or directory")
    except SourceError:
        raise
    except Exception as error:
        raise SourceError(f"{name}: {_said(error, url)}") from error
    if not (files := {path: size for path, size in infos.items() if path is not None}):
        raise SourceError(f"{name}: no files in this directory")
    web = fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0]
    if web in {"http", "https"}:
        return [_kept(name, _Place(url, size)) for size in files.values()]
    out = []
    for path, size in sorted(files.items()):
        whole = fs.unstrip_protocol(path)
        place = _USER.search(url)  # the key is needed once more, to open it
        whole = whole.replace("://", place[0], 1) if place and "@" not in whole else whole
        out.append(_kept(_named(whole), _Place(whole, size)))
    return out


def _kept(name: str, place: _Place) -> str:
    """Keep where an input lies; another one of that name has a number."""
    number, told = 1, name
    while told in _ASKED and _ASKED[told].url != place.url:
        number += 1
        told = f"{name}#{number}"
    _ASKED[told] = place
    return told


def _listed(fs: Any, path: str) -> dict[Any, int | None]:
    """Return what is at ``path``, with the sizes; an entry for None where it is a directory."""
    if has_magic(path) and not fs.exists(path):
        infos = list(fs.glob(path, detail=True).values())
    else:
        try:
            infos = [fs.info(path)]
        except FileNotFoundError:
            return {}
    out: dict[Any, int | None] = {}
    for info in infos:
        if info["type"] != "directory":
            out[info["name"]] = info.get("size")
            continue
        out[None] = None
        base = info["name"]
        for file, about in fs.find(base, detail=True).items():
            below = PurePosixPath(file.removeprefix(base).lstrip("/")).parts
            if not file.endswith("/") and not any(part.startswith(".") for part in below):
                out[file] = about.get("size")
    return {file: size for file, size in out.items() if file not in _beside_logs(out)}


def _beside_logs(files: Mapping[Any, object]) -> set[str]:
    """Return what stands beside the log of a recording and is no log: facts, and reports."""
    folders = {file.rpartition("/")[0] for file in files if file and file.endswith("/log.txt.gz")}
    return {
        file
        for file in files
        if file and file.rpartition("/")[0] in folders
        if re.fullmatch(r"environment\.json|report\.[^.]*", file.rpartition("/")[2])
    }


def opened(name: str) -> IO[bytes]:
    """Open an input that the user has named.

    Raises:
        OSError: It cannot be opened.
    """
    url = _ASKED[name].url
    try:
        fs, path = _system(url)
        file = fs.open(path, "rb", block_size=BLOCK)
    except Exception as error:
        raise OSError(errno.EIO, _said(error, url)) from error
    return cast("IO[bytes]", _Remote(file, url))


class _Remote:
    """A file elsewhere, whose troubles are those of a file."""

    def __init__(self, file: Any, url: str) -> None:
        self._file = file
        self._url = url

    def read(self, size: int = -1, /) -> bytes:
        try:
            return bytes(self._file.read(size))
        except Exception as error:
            raise OSError(errno.EIO, _said(error, self._url)) from error

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> _Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def size_of(name: str) -> int | None:
    """Return the stored bytes of an input; None where nobody says."""
    return _ASKED[name].size


def place_of(name: str) -> str:
    """Return the URL of an input, with its keys."""
    return _ASKED[name].url


@contextmanager
def lying(places: Mapping[str, str]) -> Iterator[None]:
    """Let inputs lie where another process has found them, in a ``with`` block."""
    before = {name: _ASKED[name] for name in places if name in _ASKED}
    _ASKED.update({name: _Place(url) for name, url in places.items()})
    try:
        yield
    finally:
        for name in places:
            del _ASKED[name]
        _ASKED.update(before)


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises:
        SourceError: Nothing that is installed knows how to read it.
    """
    scheme = url.partition("://")[0].lower()
    hint = f"pip install 'torch-tracelens[{_EXTRAS.get(scheme, 'fleet')}]'"
    if find_spec("fsspec") is None:
        raise SourceError(f"{_named(url)}: fsspec is not installed", hint=hint)
    from fsspec.core import url_to_fs  # noqa: PLC0415 -- an extra

    try:
        fs, path = url_to_fs(url)
    except ImportError as error:
        raise SourceError(f"{_named(url)}: {_said(error, url)}", hint=hint) from error
    except ValueError as error:
        raise SourceError(f"{_named(url)}: {_said(error, url)}") from error
    return fs, path


def _named(url: str) -> str:
    """Return a URL without what may be a key."""
    return _QUERY.sub("", _USER.sub(r"\1", url))


def _said(error: Exception, url: str) -> str:
    """Return what went wrong, as files say it, and without keys."""
    if isinstance(error, FileNotFoundError):
        return "No such file or directory"
    if isinstance(error, PermissionError):
        return "Permission denied"
    text = str(getattr(error, "strerror", None) or error).strip().partition("\n")[0]
    text = _named(text.replace(url, _named(url)))
    return text.rstrip(".") or type(error).__name__
