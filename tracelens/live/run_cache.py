"""Runs that are kept from one call to the next, so that the next goes on with what is missing.

Kept beside a report in ``.NAME.runs``: what each side's recorded run showed, and the times of each
whole block. A run is used again only where nothing has changed that could change it: the command
and the files that it names, the Python code that it read, torch, the environment, the machine, and
tracelens itself.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tracelens.live import environment, load
from tracelens.live.conditions import Strain
from tracelens.live.numerics import Output
from tracelens.live.runs import Recorded, Run
from tracelens.live.steps import Steps
from tracelens.live.workload import Side, Workload
from tracelens.report import Report
from tracelens.version import __version__

__all__ = ["RunCache", "Sheet", "beside", "hashes"]

#: Raised when files of another layout must not be read.
LAYOUT = 4
#: Variables that say nothing about a program: they differ from terminal to terminal. Those that end
#: in an underscore are beginnings.
_IDLE = frozenset(
    {
        "COLORTERM", "COLUMNS", "DBUS_", "DESKTOP_", "DISPLAY", "GNOME_", "GPG_", "HISTFILE",
        "INVOCATION_", "JOURNAL_", "LINES", "LS_COLORS", "OLDPWD", "PS1", "PWD", "PYTEST_",
        "SESSION_", "SHLVL", "SSH_", "STY", "SYSTEMD_", "TERM", "TERM_", "TMPDIR", "TMUX", "TMUX_",
        "VSCODE_", "WINDOWID", "XDG_", "_",
    }
)  # fmt: skip
#: Bytes of a file that are hashed; of a larger one, its size and time count.
LARGE = 64 << 20


def beside(report: Path) -> Path:
    """Return the directory in which the runs for a report are kept."""
    return report.with_name(f".{report.name}.runs")


def hashes(paths: Iterable[str]) -> dict[str, str]:
    """Return what is in files, shortened to a hash each; those that cannot be read are left out."""
    found = ((path, _hash(Path(path))) for path in paths)
    return {path: known for path, known in found if known}


def _hash(path: Path) -> str:
    try:
        facts = path.stat()
        if facts.st_size > LARGE:
            return f"{facts.st_size} bytes of {facts.st_mtime_ns}"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@dataclass
class Sheet:
    """The runs of one row of the what-if table."""

    #: What its first run showed.
    recorded: Recorded | None = None
    #: Of each its number among all runs, the call of the command that made it, and its times.
    runs: list[tuple[int, str, Run]] = field(default_factory=list)


class RunCache:
    """Keeps runs in a directory, and gives back those that still hold.

    Args:
        folder: Where they are kept; None keeps nothing.
        base: The environment that programs start from.
        own: The directory of programs of our own: their names say nothing, what is in them counts.
    """

    def __init__(self, folder: Path | None, base: Mapping[str, str], own: Path) -> None:
        self._folder = folder
        self._own = own
        telling = {name: text for name, text in base.items() if not _is_idle(name)}
        facts = environment.machine(base)
        self._here = [
            [LAYOUT, __version__, platform.node(), facts.get("machine"), facts.get("cpu")],
            [load.processors(), facts.get("cpu_quota"), facts.get("memory"), telling],
        ]

    def signature(self, workload: Workload | None, sources: Mapping[str, str]) -> str:
        """Return what stands for a workload as it is now, here, with these sources."""
        parts = self._workload(workload) if workload is not None else None
        return _digest([self._here, parts, sorted(sources.items())])

    def recorded(self, side: Side) -> Recorded | None:
        """Return what the recorded run of a side showed; None where none is kept that holds."""
        return _recorded(self._read(self._named(side)))

    def keep(self, side: Side, recorded: Recorded) -> None:
        """Keep what the recorded run of a side showed."""
        self._write(self._named(side), _plain(recorded))

    def sheet(self, side: Side) -> Sheet | None:
        """Return what is kept of a row of the what-if table, if it still holds."""
        kept = self._read(f"row-{self._key(side)}")
        recorded = _recorded(kept)
        try:
            rows = kept["runs"] if recorded is not None else []
            runs = [(int(row["place"]), str(row["call"]), _run(row["run"])) for row in rows]
        except (KeyError, TypeError, ValueError):
            return None
        return Sheet(recorded, runs) if recorded is not None else None

    def keep_sheet(self, side: Side, sheet: Sheet) -> None:
        """Keep a row of the what-if table."""
        if sheet.recorded is None:
            return
        runs = [
            {"place": place, "call": call, "run": asdict(run)} for place, call, run in sheet.runs
        ]
        self._write(f"row-{self._key(side)}", _plain(sheet.recorded) | {"runs": runs})

    def table(self) -> dict[str, Any]:
        """Return what is kept of the what-if table as a whole."""
        return self._read("table")

    def keep_table(self, **what: Any) -> None:
        """Keep something of the what-if table as a whole."""
        self._write("table", self.table() | what)

    def blocks(self, name: str, sides: Sequence[tuple[Side, Recorded]]) -> list[tuple[Run, ...]]:
        """Return the blocks that are kept of these sides, in their order.

        Args:
            name: What else tells them from other blocks of the same sides.
            sides: The sides, with what their recorded runs showed.
        """
        kept = self._read(self._blocks(name, sides))
        try:
            return [tuple(map(_run, block)) for block in kept["blocks"]]
        except (KeyError, TypeError, ValueError):
            return []

    def keep_blocks(
        self,
        name: str,
        sides: Sequence[tuple[Side, Recorded]],
        blocks: Sequence[Sequence[Run]],
    ) -> None:
        """Keep the blocks of these sides."""
        plain = [[asdict(run) for run in block] for block in blocks]
        self._write(self._blocks(name, sides), {"blocks": plain})

    def keep_recording(self, workload: Workload, sources: Iterable[str]) -> None:
        """Note that the recording that this is beside is one of a workload, unchanged."""
        plain = {"of": self._key(Side(workload)), "sources": hashes(sources)}
        self._write("recording", plain)

    def recording(self, workload: Workload) -> dict[str, str] | None:
        """Return the sources of the recording that this is beside, if it would be the same now."""
        kept = self._read("recording")
        sources = kept.get("sources")
        if kept.get("of") != self._key(Side(workload)) or not isinstance(sources, dict):
            return None
        return sources if hashes(sources) == sources else None

    def verdicts(self) -> dict[str, str]:
        """Return for findings the signature of the workload that their verdict is from."""
        kept = self._read("verdicts")
        return {str(key): str(value) for key, value in kept.items()}

    def keep_verdict(self, finding: str, signature: str) -> None:
        """Keep what a finding's verdict is from."""
        self._write("verdicts", self.verdicts() | {finding: signature})

    def _named(self, side: Side) -> str:
        return f"side-{self._key(side)}"

    def _blocks(self, name: str, sides: Sequence[tuple[Side, Recorded]]) -> str:
        keys = [[self._key(side), sorted(known.sources.items())] for side, known in sides]
        return f"blocks-{_digest([name, keys])}"

    def _key(self, side: Side) -> str:
        changes = sorted(side.knob.settings.items())
        return _digest([self._here, self._workload(side.workload), changes])

    def _workload(self, workload: Workload) -> list[object]:
        cwd = workload.cwd or Path.cwd()
        words = [self._word(word, cwd) for word in workload.argv]
        program = shutil.which(workload.argv[0]) or workload.argv[0]
        given = _hash(workload.stdin) if workload.stdin else ""
        return [program, str(cwd), words, sorted(workload.env.items()), given]

    def _word(self, word: str, cwd: Path) -> list[str]:
        path = cwd / word
        try:
            known = _hash(path) if path.is_file() else ""
        except (OSError, ValueError):
            known = ""
        return ["", known] if self._own in path.parents else [word, known]

    def _read(self, name: str) -> dict[str, Any]:
        if self._folder is None:
            return {}
        try:
            with gzip.open(self._folder / f"{name}.json.gz") as file:
                found = json.load(file)
        except (OSError, EOFError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, name: str, what: Mapping[str, Any]) -> None:
        """Write a file whole or not at all; what cannot be written is made again another time."""
        if self._folder is None:
            return
        part = self._folder / f".{name}.{os.getpid()}.part"
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            part.write_bytes(gzip.compress(json.dumps(what).encode(), 5, mtime=0))
            part.replace(self._folder / f"{name}.json.gz")


def _plain(recorded: Recorded) -> dict[str, Any]:
    """Return what a recorded run showed, as JSON has it."""
    return {
        "sources": dict(recorded.sources),
        "steps": asdict(recorded.steps),
        "seconds": recorded.seconds,
        "about": dict(recorded.about),
        "compiles": recorded.compiles,
        "force": recorded.force,
        "notes": recorded.notes,
        "told": recorded.told,
        "memory": recorded.memory,
        "report": recorded.report.model_dump(mode="json"),
    }


def _recorded(kept: dict[str, Any]) -> Recorded | None:
    """Return what :func:`_plain` was given, where it still holds."""
    try:
        sources = dict(kept["sources"])
        if hashes(sources) != sources:
            return None
        return Recorded(
            Report.model_validate(kept["report"]),
            _steps(kept["steps"]),
            kept["seconds"],
            kept["about"],
            sources,
            kept["compiles"],
            tuple((str(a), bool(b), str(c)) for a, b, c in kept["force"]),
            tuple(kept["notes"]),
            kept["told"],
            int(kept.get("memory", 0)),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ValidationError):
        return None


def _steps(kept: dict[str, Any]) -> Steps:
    outputs = tuple(
        Output(one["callable"], one["call"], one["given"], tuple(map(tuple, one["numbers"])))
        for one in kept.get("outputs", ())
    )
    plain = {key: _frozen(value) for key, value in kept.items()}
    return Steps(**plain | {"outputs": outputs})


def _is_idle(variable: str) -> bool:
    begins = f"{variable.partition('_')[0]}_"
    return variable in _IDLE or (begins != "_" and begins in _IDLE)


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _run(plain: Mapping[str, Any]) -> Run:
    strain = plain["strain"]
    usage = load.Usage(**strain["usage"])
    return Run(
        tuple(plain["times"]),
        plain["seconds"],
        Strain(strain["elsewhere"], usage),
        plain["calls"],
        tuple(plain["cpu"]),
        plain["first"],
        plain["first_ms"],
        plain["peak_bytes"],
    )
