"""Read a report that an earlier run has saved."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tracelens.errors import SourceError
from tracelens.report import Report
from tracelens.report.baseline import Baseline
from tracelens.version import __version__

__all__ = ["is_bundle", "load", "load_baseline"]

_ZIP = b"PK\x03\x04"
#: The report in a bundle, and its largest size in bytes.
HELD, MAX_HELD = "report.json", 1 << 30

#: The version of the contract that this release reads and writes.
SCHEMA_VERSION: int = Report.model_fields["schema_version"].default
#: Tables within tables, and lists in them, of a report that somebody can read.
DEPTH = 64
BASELINE_VERSION: int = Baseline.model_fields["baseline_version"].default


def load(path: str) -> Report:
    """Return the report in the file ``path`` (``-``: standard input).

    Raises:
        SourceError: The file cannot be read, is no report, or is of another schema version.
    """
    data = _decoded(path)
    if not isinstance(data, dict) or "schema_version" not in data or "findings" not in data:
        raise SourceError(
            f"{path}: not a tracelens report", hint="tracelens analyze LOG -o report.json makes one"
        )
    tool = data.get("tool")
    writer = str(tool.get("version", "unknown")) if isinstance(tool, dict) else "unknown"
    if data["schema_version"] != SCHEMA_VERSION:
        raise SourceError(
            f"{path}: schema version {data['schema_version']!r}, written by tracelens {writer}; "
            f"tracelens {__version__} reads version {SCHEMA_VERSION}",
            hint=f"pip install torch-tracelens=={writer}",
        )
    try:
        return Report.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SourceError(
            f"{path}: {where}: {first['msg']}",
            hint=f"it was written by tracelens {writer}, and this is {__version__}",
        ) from None


def load_baseline(path: str) -> Baseline:
    """Return the baseline in a file; a report, as earlier versions took, is one, too.

    Raises:
        SourceError: The file cannot be read, is neither, or is of another version.
    """
    data = _decoded(path)
    if not isinstance(data, dict) or "baseline_version" not in data:
        return Baseline.of(load(path))
    if data["baseline_version"] != BASELINE_VERSION:
        raise SourceError(
            f"{path}: baseline version {data['baseline_version']!r}; tracelens {__version__} "
            f"reads version {BASELINE_VERSION}",
            hint=f"tracelens baseline update {path} LOG writes it anew",
        )
    try:
        return Baseline.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SourceError(f"{path}: {where}: {first['msg']}") from None


def is_bundle(path: Path) -> bool:
    """Tell whether a file is a bundle: an archive with a report in it."""
    try:
        with path.open("rb") as file:
            if file.read(len(_ZIP)) != _ZIP:
                return False
    except OSError:
        return False
    import zipfile  # noqa: PLC0415 -- seldom needed

    try:
        with zipfile.ZipFile(path) as archive:
            return HELD in archive.namelist()
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile):
        return False


def _of_bundle(path: Path) -> bytes:
    """Return the report in a bundle.

    Raises:
        SourceError: It cannot be unpacked, or is too large.
    """
    import zipfile  # noqa: PLC0415 -- seldom needed
    import zlib  # noqa: PLC0415

    try:
        with zipfile.ZipFile(path) as archive, archive.open(HELD) as file:
            text = file.read(MAX_HELD + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise SourceError(f"{path}: cannot be unpacked: {error}") from error
    if len(text) > MAX_HELD:
        raise SourceError(f"{path}: a report of more than {MAX_HELD >> 20} MiB")
    return text


def _decoded(path: str) -> Any:
    try:
        if path != "-" and is_bundle(Path(path)):
            text = _of_bundle(Path(path))
        else:
            text = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        data = json.loads(text)
        if _is_deep(data):
            raise SourceError(f"{path}: not a tracelens report: nested too deeply")
        return data
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise SourceError(f"{path}: not a tracelens report: not UTF-8 text") from None
    except json.JSONDecodeError as error:
        hint = "" if text.lstrip()[:1] in {b"{", b"["} else f"tracelens analyze {path} reads a log"
        raise SourceError(f"{path}:{error.lineno}: not JSON: {error.msg}", hint=hint) from None
    except RecursionError:
        raise SourceError(f"{path}: not a tracelens report: nested too deeply") from None


def _is_deep(data: Any) -> bool:
    """Tell whether a JSON value is nested so deeply that nobody means it."""
    level = [data]
    for _ in range(DEPTH):
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True
