"""Say what an input is in which nothing was recognised. Looks at the first bytes, opens nothing."""

from __future__ import annotations

import codecs
import lzma
import re
import zlib
from typing import NamedTuple

from tracelens.source.places import opened, real

__all__ = ["HEAD", "UNRECOGNISED", "Look", "look", "look_at"]

#: Bytes that are looked at.
HEAD = 1 << 16

_ANALYZE = "give it the log of the run, not its files"
_AS_TEXT = "give it the log as text"
_UNPACK = "unpack it first"
_RECORD = (
    'record it with TORCH_LOGS="graph_breaks,recompiles,guards,graph_code,output_code" '
    "ONEDNN_VERBOSE=1 python app.py > run.log 2>&1"
)
#: Where it was: the log of a program that compiles holds something, with these.
_UNCALLED = (
    f"{_RECORD}; if it was, nothing was compiled: see that the program calls what torch.compile "
    "returned (tracelens explain CMP007)"
)
#: What it is where few lines speak of torch: nobody can say what was run, or whether.
UNRECOGNISED = "a text that speaks of torch, in which no line that torch prints was recognised"
_POST = (
    "give it what torch itself prints: its warnings and records with their beginnings, and"
    f" tracebacks whole; or {_RECORD}"
)
#: Lines of such a text, and the words.
MAX_PROSE = 80
_TORCHS = re.compile(
    r"(?i)(?<![a-z])(?:py)?torch|inductor|dynamo\b|triton|onednn|mkl_?dnn|cuda ?graph|vllm"
)


class Look(NamedTuple):
    """What the bytes look like, and what to do instead."""

    what: str
    hint: str


#: Beginnings of files, as patterns; the more special ones first.
_BINARY = (
    (rb"PK\x03\x04(?s:.{26,60}data\.pkl)", "a PyTorch checkpoint", _ANALYZE),
    (rb"PK\x03\x04", "a zip archive", _UNPACK),
    (rb"\x80\x02\x8a\x0al\xfc\x9cF\xf9", "a PyTorch checkpoint", _ANALYZE),
    (rb"\x80[\x02-\x05]", "a Python pickle", _ANALYZE),
    (rb"(?s:.{8})\{\"__metadata__|(?s:.{8})\{\"[^\"]{1,300}\":\{\"dtype", "safetensors", _ANALYZE),
    (rb"\x93NUMPY", "a NumPy array", _ANALYZE),
    (rb"\x89HDF\r\n", "an HDF5 file", _ANALYZE),
    (rb"GGUF", "a GGUF model", _ANALYZE),
    (rb"PAR1", "a Parquet table", _ANALYZE),
    (rb"\x89PNG\r\n", "a PNG image", _AS_TEXT),
    (rb"\xff\xd8\xff", "a JPEG image", _AS_TEXT),
    (rb"GIF8[79]a", "a GIF image", _AS_TEXT),
    (rb"RIFF(?s:.{4})WEBP", "a WebP image", _AS_TEXT),
    (rb"%PDF-", "a PDF document", _AS_TEXT),
    (rb"\x7fELF|MZ(?s:.{50,400})PE\0\0|\xcf\xfa\xed\xfe", "an executable", _ANALYZE),
    (rb"SQLite format 3\0", "an SQLite database, as Nsight Systems writes them", _ANALYZE),
    (rb"(?s:.{257})ustar", "a tar archive", _UNPACK),
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (rb"BZh[1-9]", "a bzip2 file", _UNPACK),
    (rb"\x04\x22\x4d\x18", "an LZ4 file", _UNPACK),
)
_BINARIES = [(re.compile(pattern), Look(what, hint)) for pattern, what, hint in _BINARY]

_HTML = re.compile(r"\s*<(?:!doctype html|!--|html|head|body)\b", re.IGNORECASE)
_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*(?:[\[{\"\]]|-?\d[\d.]{0,30}\s*[,\]]))")
_IMPORT = re.compile(r"^(?:import|from) torch\b", re.MULTILINE)


def look(path: str) -> Look:
    """Return what the file ``path`` looks like; standard input has been read and is not known."""
    if path == "-":
        return Look("plain program output", _UNCALLED)
    try:
        with opened(path) as file:
            head = _inflated(file.read(HEAD))
    except OSError as error:
        return Look(f"a file that cannot be read again ({error.strerror})", _ANALYZE)
    if not head.strip() and _is_cut_short(path):
        return Look("an empty log: its recording was cut short", "record it once more")
    return look_at(head)


def _is_cut_short(path: str) -> bool:
    """Tell whether a log is of a recording that has not come to its end."""
    file = real(path)
    try:
        with file.with_name("environment.json").open("rb") as facts:
            return file.name == "log.txt.gz" and b'"complete": false' in facts.read(HEAD)
    except OSError:
        return False


def look_at(head: bytes) -> Look:
    """Return what bytes that begin like ``head`` are."""
    if not head.strip():
        return Look("an empty file", f"logs go to standard error; {_RECORD}")
    for pattern, found in _BINARIES:
        if pattern.match(head):
            return found
    if head[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        text = head.decode("utf-16", "replace")
    elif b"\0" in head:
        return Look("binary data", _ANALYZE)
    else:
        text = head.decode("utf-8-sig", "replace")
    return _look_at_text(text)


def _look_at_text(text: str) -> Look:
    if _HTML.match(text):
        return Look("an HTML page", "download the raw log instead of the page that shows it")
    if _JSON.match(text):
        return _look_at_json(text)
    if _IMPORT.search(text):
        return Look("a Python program", _RECORD.replace("app.py", "FILE"))
    if "Traceback (most recent call last):" in text:
        return Look("the output of a program that failed", _RECORD)
    if text.count("\n") < MAX_PROSE and _TORCHS.search(text):
        return Look(UNRECOGNISED, _POST)
    return Look("plain program output", _UNCALLED)


def _look_at_json(text: str) -> Look:
    if '"traceEvents"' in text or ('"ph"' in text and '"ts"' in text):
        return Look("a Chrome trace", "give it the log of the same run")
    if '"schema_version"' in text and '"tracelens"' in text:
        return Look("a report of tracelens", "tracelens render FILE")
    if '"cells"' in text and '"cell_type"' in text:
        return Look("a Jupyter notebook", "save the output of its kernel as a log")
    return Look("JSON, but neither a trace nor a report", _ANALYZE)


def _inflated(head: bytes) -> bytes:
    """Return the beginning of what is inside a compressed file."""
    try:
        if head[:2] == b"\x1f\x8b":
            return zlib.decompressobj(31).decompress(head, HEAD)
        if head[:6] == b"\xfd7zXZ\x00":
            return lzma.LZMADecompressor().decompress(head, HEAD)
    except (zlib.error, lzma.LZMAError, EOFError):
        return b"\0"
    return head
