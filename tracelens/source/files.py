"""Bytes in: files and standard input, compressed or not, cut into lines."""

from __future__ import annotations

import codecs
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO, Protocol, cast

from isal import igzip_lib

from tracelens.errors import SourceError
from tracelens.source.digest import Digest
from tracelens.source.places import opened
from tracelens.traces.readers import Reader

__all__ = ["CHUNK", "MAX_LINE", "Pushback", "Reader", "Stream"]

#: Bytes asked of the operating system at a time; with their lines they stay in a processor's cache.
CHUNK = 1 << 18
#: Bytes of text kept from the beginning, to tell what an unknown input looks like.
SNIFF = 4096
#: Longest line kept; the rest of a longer one is dropped and noted.
MAX_LINE = 8 << 20
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


class Stream:
    """One input, read once: its lines, and after that its size, digest and state."""

    def __init__(self, path: str, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.bytes = 0
        self.lines = 0
        self.truncated = False
        self.head = b""
        #: The last line, when no newline ends it.
        self.tail = b""
        self.notes: list[str] = []
        self._digest = Digest()
        self._progress = progress
        self._file: IO[bytes] | None = None

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes as they are stored."""
        return self._digest.hexdigest()

    def read(self, size: int, /) -> bytes:
        """Read stored bytes, and account for them."""
        assert self._file is not None  # noqa: S101 -- only called while blocks() runs
        try:
            data = self._file.read(size)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror or error}") from error
        self._digest.update(data)
        self.bytes += len(data)
        if self._progress is not None:
            self._progress(len(data))
        return data

    def account_for(self, stored: Iterable[bytes]) -> None:
        """Count and digest bytes that somebody else reads."""
        for data in stored:
            self.head += data[: SNIFF - len(self.head)]
            self._digest.update(data)
            self.bytes += len(data)
            if self._progress is not None:
                self._progress(len(data))

    @contextmanager
    def open(self) -> Iterator[Reader]:
        """Open the input: a reader of its text, decompressed and in UTF-8, with ``head`` peeked at.

        Raises:
            SourceError: The input cannot be opened or read.
        """
        try:
            file = sys.stdin.buffer if self.path == "-" else opened(self.path)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}") from error
        self._file = file
        try:
            reader = self._decoded()
            while len(self.head) < SNIFF and (more := reader.read(SNIFF - len(self.head))):
                self.head += more
            yield Pushback(reader, self.head)
        finally:
            if self.path != "-":
                file.close()

    def _decoded(self) -> Reader:
        """Return the text bytes: decompressed and in UTF-8, as the first bytes tell."""
        head = self.read(CHUNK)
        reader: Reader = Pushback(self, head)
        if head[:2] == b"\x1f\x8b":
            reader = _Inflated(reader, self, _gzip)
        elif head[:6] == b"\xfd7zXZ\x00":
            reader = _Inflated(reader, self, _xz)
        elif head[:4] == b"\x28\xb5\x2f\xfd":
            reader = _zstd(reader, self)
        mark = reader.read(3)
        if mark[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
            return _Recoded(Pushback(reader, mark), "utf-16")
        return reader if mark == codecs.BOM_UTF8 else Pushback(reader, mark)

    def blocks(self, reader: Reader) -> Iterator[list[bytes]]:
        """Yield the lines of ``reader``, each with a newline at its end, some thousands at a time.

        The last one has it even where the input does not: ``tail`` says so.
        """
        tail: list[bytes] = []
        held = dropped = 0
        buffer = BytesIO()  # kept, since fresh memory is dear
        while chunk := reader.read(CHUNK):
            end = chunk.rfind(b"\n") + 1
            if not end:
                room = max(0, MAX_LINE - held)
                tail.append(chunk[:room])
                held += min(room, len(chunk))
                dropped += max(0, len(chunk) - room)
                continue
            if dropped:
                self.notes.append(f"line {self.lines + 1}: cut after {MAX_LINE >> 20} MiB")
            buffer.seek(0)
            buffer.writelines((*tail, memoryview(chunk)[:end]))
            buffer.truncate()
            buffer.seek(0)
            lines = buffer.readlines()  # finds newlines several times as fast as ``split`` does
            tail, held, dropped = [chunk[end:]], len(chunk) - end, 0
            self.lines += len(lines)
            yield lines
        last = b"".join(tail)
        if dropped:
            self.notes.append(f"line {self.lines + 1}: cut after {MAX_LINE >> 20} MiB")
        if last:
            self.lines += 1
            self.tail = last
            yield [last + b"\n"]


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

    def __init__(self, reader: Reader, stream: Stream, make: Callable[[], _Decompressor]) -> None:
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


def _is_bomb(stream: Stream, out: int) -> bool:
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

    def __init__(self, reader: Reader, stream: Stream, error: type[Exception]) -> None:
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


def _zstd(reader: Reader, stream: Stream) -> Reader:
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
