"""Zip files as inputs: their members are read as if they lay in a folder of that name."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
import zlib
from functools import cache
from pathlib import Path, PurePosixPath

from tracelens.errors import SourceError

__all__ = ["unpacked"]

#: The folder of logs in a bundle, and what marks it as one.
LOGS, REPORT = "logs/", "report.json"
#: What marks a checkpoint.
CHECKPOINT = "data.pkl"
#: Members of an archive; bytes of all of them, and of one for each that is stored.
MAX_MEMBERS, MAX_BYTES, MAX_RATIO = 10_000, 16 << 30, 300
_FREE = 64 << 20
_CHUNK = 1 << 20


def unpacked(name: str) -> dict[str, Path] | None:
    """Return where the members of the archive ``name`` lie, by ``ARCHIVE/MEMBER``.

    None of what only begins like an archive, and of a checkpoint of PyTorch, which is one.

    Of a bundle, those are its logs. They lie under names of ours in a folder of this process, which
    goes when it ends: no name in an archive is the name of a file.

    Raises:
        SourceError: It is damaged, encrypted, too large, or holds no file.
    """
    if not zipfile.is_zipfile(name):
        return None
    try:
        with zipfile.ZipFile(name) as archive:
            if any(PurePosixPath(one).name == CHECKPOINT for one in archive.namelist()):
                return None
            wanted = _wanted(archive, name)
            _check(wanted, name)
            folder = Path(tempfile.mkdtemp(dir=_scratch()))
            out = {}
            for number, info in enumerate(wanted):
                out[f"{name}/{_clean(info.filename)}"] = folder / str(number)
                _extract(archive, info, folder / str(number))
            return out
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise SourceError(f"{name}: cannot be unpacked: {error}") from error
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error


def _wanted(archive: zipfile.ZipFile, name: str) -> list[zipfile.ZipInfo]:
    files = [info for info in archive.infolist() if not info.is_dir()]
    names = {info.filename for info in files}
    logs = [info for info in files if info.filename.startswith(LOGS)]
    if REPORT in names:
        if not logs:
            hint = f"tracelens render {name} shows its report"
            raise SourceError(f"{name}: a bundle without logs", hint=hint)
        files = logs
    files = [info for info in files if not _is_hidden(info.filename)]
    if not files:
        raise SourceError(f"{name}: no files in this archive")
    return sorted(files, key=lambda info: info.filename)


def _is_hidden(name: str) -> bool:
    parts = [part for part in PurePosixPath(name).parts if part not in {".", ".."}]
    return any(part.startswith((".", "__MACOSX")) for part in parts)


def _check(wanted: list[zipfile.ZipInfo], name: str) -> None:
    """Refuse what would fill the disk.

    Raises:
        SourceError: It would, or it is encrypted.
    """
    if len(wanted) > MAX_MEMBERS:
        raise SourceError(f"{name}: more than {MAX_MEMBERS:,} files in it")
    if any(info.flag_bits & 1 for info in wanted):
        raise SourceError(f"{name}: encrypted", hint="unpack it, and name the folder")
    size = sum(info.file_size for info in wanted)
    stored = sum(info.compress_size for info in wanted)
    if size > min(MAX_BYTES, _FREE + MAX_RATIO * stored):
        raise SourceError(f"{name}: expands to {size / 1e6:,.0f} MB; not unpacked")


def _clean(name: str) -> str:
    """Return the name of a member without what leads out of the archive, and printable."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part.strip("./")]
    said = "/".join(parts).removeprefix(LOGS)
    return "".join(char if char.isprintable() else "?" for char in said)


def _extract(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    """Write one member; what it holds beyond the size that it says is not read."""
    left = info.file_size
    with archive.open(info) as source, target.open("xb") as file:
        while left > 0 and (data := source.read(min(_CHUNK, left))):
            file.write(data)
            left -= len(data)


@cache
def _scratch() -> str:
    """Return a folder of this process, which is removed when it ends."""
    folder = tempfile.mkdtemp(prefix="tracelens-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
