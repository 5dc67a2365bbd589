"""What a bundle holds: the report in three forms, logs, scripts, and a page that says so."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from tracelens.cli._saving import MAX_NAME, replacing
from tracelens.errors import TracelensError
from tracelens.render import Options, Redact
from tracelens.render._redact_log import LogNames
from tracelens.render._strings import map_strings
from tracelens.render._words import plural
from tracelens.render.html import Html
from tracelens.render.markdown import Markdown
from tracelens.report import Report
from tracelens.source.files import Stream
from tracelens.source.places import real

__all__ = ["Bundle", "made", "write"]

#: Scripts, of the findings that come first.
MAX_SCRIPTS = 12
#: The day that every member was made, so that equal inputs give equal bytes.
_DAY = (1980, 1, 1, 0, 0, 0)
_PAGE = """A bundle of tracelens {version}.

report.html   the report, to be opened in a browser
report.md     the same, to be pasted into an issue
report.json   the same, for programs
{rest}
{names}

    pip install torch-tracelens
    tracelens analyze {name}     reads the logs again
    tracelens render {name}      shows the report
    tracelens compare OTHER {name}
"""

#: What the page of a bundle says about names, by how far they are replaced.
_SAID = {
    "False": "",
    "True": "Names of users, hosts and directories are replaced.",
    "paths": "Names of users, hosts, directories and files are replaced.",
    "source": "Names of users, hosts, directories and files and lines of code are replaced.",
    "all": "Names of users, hosts, files and functions and lines of code are replaced.",
}


class Log(NamedTuple):
    """A log of the bundle: where it lies, and what it is called there."""

    path: str
    name: str


class Bundle(NamedTuple):
    """What is to be written."""

    #: By name: its text, or the log that it is.
    files: dict[str, bytes | tuple[Log, LogNames | None]]
    contents: str
    replaced: int
    notes: list[str]


def made(
    report: Report, beside: Path, *, words: Sequence[str], logs: bool, redact: Redact
) -> Bundle:
    """Return what goes into the bundle of a report.

    Args:
        report: As it was made, with the paths of its inputs.
        beside: The folder in which the inputs of a saved report may lie.
        words: Further texts to replace.
        logs: Whether the inputs belong to it.
        redact: Whether names are replaced, in the report and in the logs; or how much more, in the
            report.
    """
    found, notes = _logs(report, beside, redact=bool(redact)) if logs else ([], [])
    names = LogNames(words) if redact else None
    data = json.loads(report.to_json())
    if names is not None:
        notes += _learn(names, found, data)
    called = {path: log.name for path, log in found}
    moved = Report.model_validate(map_strings(data, lambda text: called.get(text, text)))
    drawn, options = moved, Options(redact=False)
    count = 0
    if redact:
        from tracelens.render._redact import redact as without_names

        drawn, count = without_names(moved, words, redact)
    files: dict[str, bytes | tuple[Log, LogNames | None]] = {}
    for renderer, suffix in ((Html, "html"), (Markdown, "md")):
        files[f"report.{suffix}"] = renderer.render(drawn, options).encode(errors="replace")
    files["report.json"] = drawn.to_json().encode(errors="replace")
    scripts = dict(_scripts(moved, redact, words))
    files |= scripts
    files |= {log.name: (log, names) for _, log in found}
    parts = ["report.html, report.md, report.json"]
    parts += [plural(len(scripts), "script")] if scripts else []
    parts += [plural(len(found), "log")] if found else []
    return Bundle(files, ", ".join(parts), count, notes)


def _logs(report: Report, beside: Path, *, redact: bool) -> tuple[list[tuple[str, Log]], list[str]]:
    """Return the inputs that are there, with their names in the bundle, and what is not."""
    there: dict[str, str] = {}
    notes = []
    for source in report.inputs:
        places = (source.path, str(beside / source.path))
        path = next((one for one in places if one != "-" and real(one).is_file()), None)
        if path is None:
            what = "standard input" if source.path == "-" else source.path
            notes.append(f"{what}: not there any more, and not in the bundle")
        else:
            there[source.path] = path
    folders = [os.path.dirname(os.path.abspath(path)) for path in there]  # noqa: PTH100, PTH120
    common = os.path.commonpath(folders) if folders else ""
    out = []
    for said, path in there.items():
        name = os.path.relpath(os.path.abspath(said), common)  # noqa: PTH100
        if redact:  # what is rewritten is no longer compressed
            for suffix in (".gz", ".xz", ".zst"):
                name = name.removesuffix(suffix)
        out.append((said, Log(path, f"logs/{Path(name).as_posix()[-MAX_NAME:]}")))
    return out, notes


def _learn(names: LogNames, found: list[tuple[str, Log]], data: object) -> list[str]:
    """Learn all names; take away the logs whose lines are too long to be rewritten."""
    map_strings(data, names.learn)
    notes = []
    for said, log in list(found):
        stream = Stream(log.path)
        names.learn_all(_lines(stream))
        if any("cut after" in note for note in stream.notes):
            found.remove((said, log))
            notes.append(f"{said}: its lines are too long to replace names in; --no-redact has it")
    names.ready()
    return notes


def _lines(stream: Stream) -> Iterator[str]:
    with stream.open() as reader:
        for lines in stream.blocks(reader):
            yield from (line.decode("utf-8", "replace") for line in lines)


def _scripts(report: Report, redact: Redact, words: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield a script for each of the first findings that a small program can show."""
    from tracelens.live.repro import script

    for finding in report.told[:MAX_SCRIPTS]:
        try:
            text = script(report, finding, redact=redact, words=words)
        except TracelensError:
            continue
        yield f"repro/{finding.run}-{finding.id}.py", text.encode(errors="replace")


def write(
    target: Path, files: Mapping[str, bytes | tuple[Log, LogNames | None]], *, redact: Redact
) -> int:
    """Write the bundle whole or not at all; return its size.

    Raises:
        SourceError: It cannot be written, or a log cannot be read.
    """
    with replacing(target) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr(_member("README.txt"), _page(target.name, files, _SAID[str(redact)]))
            for name, held in sorted(files.items()):
                with archive.open(_member(name), "w", force_zip64=True) as member:
                    _fill(member, held)
        return file.tell()


def _fill(member: IO[bytes], held: bytes | tuple[Log, LogNames | None]) -> None:
    if isinstance(held, bytes):
        member.write(held)
        return
    log, names = held
    if names is None:
        with real(log.path).open("rb") as source:
            while data := source.read(1 << 20):
                member.write(data)
        return
    for line in _lines(Stream(log.path)):
        member.write(names.line(line).encode("utf-8", "replace"))


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _DAY)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _page(name: str, files: Mapping[str, object], said: str) -> str:
    from tracelens.version import __version__

    rest = []
    if any(one.startswith("repro/") for one in files):
        rest.append("repro/        a script for a finding each, which needs nothing but torch")
    if any(isinstance(held, tuple) for held in files.values()):
        rest.append("logs/         what the report was made of")
    return _PAGE.format(version=__version__, rest="\n".join(rest), names=said, name=name)
