"""Stored bytes as text in UTF-8: decompressed, and in whatever encoding, as the first ones tell."""

from __future__ import annotations

import codecs
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Protocol, cast

from isal import igzip_lib

from tracelens.errors import SourceError
from tracelens.traces.readers import Reader

__all__ = ["CHUNK", "Pushback", "Stored", "decoded"]

#: Bytes asked of the operating system at a time; with their lines they stay in a processor's cache.
CHUNK = 1 << 18
#: Most bytes that one compressed byte may become, over the whole stream, past the first 64 MiB.
MAX_RATIO = 300
#: Most memory that an xz stream may ask for: ``xz -9`` takes 65 MiB.
MAX_DICTIONARY = 128 << 20
_FREE = 64 << 20
_CORRUPT: tuple[type[Exception], ...] = (
    zlib.error,
    cast("type[Exception]", igzip_lib.IsalError),
    lzma.LZMAError,
    EOFError,
)


class Stored(Reader, Protocol):
    """An input as it is stored, which notes what is wrong with it."""

    path: str
    #: How many were read.
    bytes: int
    truncated: bool
    notes: list[str]


def decoded(stream: Stored) -> Reader:
    """Return the text bytes of ``stream``."""
    head = stream.read(CHUNK)
    reader: Reader = Pushback(stream, head)
    if head[:2] == b"\x1f\x8b":
        reader = _Inflated(reader, stream, _gzip)
    elif head[:6] == b"\xfd7zXZ\x00":
        reader = _Inflated(reader, stream, _xz)
    elif head[:4] == b"\x28\xb5\x2f\xfd":
        reader = _zstd(reader, stream)
    mark = reader.read(3)
    if mark[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        return _Recoded(Pushback(reader, mark), "utf-16")
    return reader if mark == codecs.BOM_UTF8 else Pushback(reader, mark)


class Pushback:
    """A reader with some bytes put back in front."""

    def __init__(self, reader: Reader, head: bytes) -> None:
        self._reader = reader
        self._head = head

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        if self._head:
            out, self._head = self._head[:size], self._head[size:]
            return out
        return self._reader.read(size)


class _Decompressor(Protocol):
    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class _Inflated:
    """A compressed stream of one or more members; gives back all that a cut one still holds."""

    def __init__(self, reader: Reader, stream: Stored, make: Callable[[], _Decompressor]) -> None:
        self._reader = reader
        self._stream = stream
        self._make = make
        self._object = make()
        self._raw = b""
        self._out = 0

    def read(self, size: int, /) -> bytes:
        while True:
            if self._object.eof:
                self._raw = self._object.unused_data or self._reader.read(CHUNK)
                if not self._raw.strip(b"\0"):
                    return b""
                self._object = self._make()
            raw = self._raw
            if not raw and self._object.needs_input:
                raw = self._reader.read(CHUNK)
                if not raw:
                    self._stream.truncated = True
                    return b""
            self._raw = b""
            try:
                out = self._object.decompress(raw, size)
            except _CORRUPT as error:
                if "limit" in str(error):  # of all the errors, the one about memory
                    most = MAX_DICTIONARY >> 20
                    self._stream.notes.append(f"{self._stream.path}: needs more than {most} MiB")
                self._stream.truncated = True
                return b""
            self._out += len(out)
            if _is_bomb(self._stream, self._out):
                return b""
            if out:
                return out


def _is_bomb(stream: Stored, out: int) -> bool:
    """Tell whether ``out`` bytes are too many for what was stored, and note it."""
    if out <= _FREE + MAX_RATIO * stream.bytes:
        return False
    stream.notes.append(f"{stream.path}: expands more than {MAX_RATIO} times; cut")
    stream.truncated = True
    return True


class _Recoded:
    """A stream in another encoding, as UTF-8."""

    def __init__(self, reader: Reader, encoding: str) -> None:
        self._reader = reader
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(self, size: int, /) -> bytes:
        while raw := self._reader.read(size):
            if text := self._decoder.decode(raw):
                return text.encode("utf-8", "replace")
        return self._decoder.decode(b"", final=True).encode("utf-8", "replace")


def _gzip() -> _Decompressor:
    return cast("_Decompressor", igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP))


def _xz() -> _Decompressor:
    return cast("_Decompressor", lzma.LZMADecompressor(memlimit=MAX_DICTIONARY))


class _Guarded:
    """A stream that ends where its decompressor gives up."""

    def __init__(self, reader: Reader, stream: Stored, error: type[Exception]) -> None:
        self._reader = reader
        self._stream = stream
        self._error = error
        self._out = 0

    def read(self, size: int, /) -> bytes:
        try:
            data = self._reader.read(size)
        except self._error:
            self._stream.truncated = True
            return b""
        self._out += len(data)
        return b"" if _is_bomb(self._stream, self._out) else data


def _zstd(reader: Reader, stream: Stored) -> Reader:
    try:
        import zstandard  # noqa: PLC0415 -- optional
    except ImportError:
        raise SourceError(
            f"{stream.path}: compressed with zstd",
            hint="pip install 'torch-tracelens[zstd]', or pipe it through zstd -dc",
        ) from None
    inner = zstandard.ZstdDecompressor().stream_reader(
        cast("IO[bytes]", reader), read_across_frames=True
    )
    return _Guarded(inner, stream, zstandard.ZstdError)
