"""``tracelens baseline``: what was accepted, so that only what is new or worse fails a run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracelens.cli._analysis import analyzed
from tracelens.cli._app import app
from tracelens.cli._saving import save
from tracelens.cli._terminal import emit, say
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.report import Report
    from tracelens.report.baseline import Entry

__all__ = ["baseline"]


class Action(StrEnum):
    """What to do with a baseline."""

    UPDATE = "update"
    SHOW = "show"
    PRUNE = "prune"


@app.command()
def baseline(
    action: Annotated[
        Action,
        typer.Argument(
            help="update: accept what is found now. prune: forget what is fixed. show: list it."
        ),
    ],
    file: Annotated[str, typer.Argument(metavar="FILE.json", help="The baseline.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...", help="A saved report, or logs to analyze.", show_default=False
        ),
    ] = None,
) -> None:
    """Write, tidy or list a baseline for ``analyze --baseline``.

    Names of users and hosts are left out of it, for it belongs into the repository.
    """
    from tracelens.report import saved
    from tracelens.report.baseline import Baseline
    from tracelens.report.known import pruned

    if action is Action.SHOW:
        if inputs:
            raise UsageError("baseline show takes no input")
        accepted = saved.load_baseline(file)
        emit("".join(f"{_line(entry)}\n" for entry in accepted.entries) or "nothing is accepted\n")
        return
    if not inputs:
        raise UsageError(
            f"baseline {action}: no input", hint=f"tracelens baseline {action} {file} LOG"
        )
    report = _shareable(_report(inputs))
    if action is Action.UPDATE:
        new = Baseline.of(report)
        before = len(saved.load_baseline(file).entries) if Path(file).exists() else 0
    else:
        held = saved.load_baseline(file)
        new, before = pruned(held, report), len(held.entries)
    save(Path(file), new.to_json())
    say(f"{file}: {len(new.entries)} accepted, {before} before")


def _report(inputs: list[str]) -> Report:
    from tracelens.cli._loading import is_report
    from tracelens.config import load
    from tracelens.report import saved

    path = Path(inputs[0])
    path = path / "report.json" if (path / "report.json").is_file() else path
    if is_report(path):
        if len(inputs) > 1:
            raise UsageError(f"{path} is a report: it is the only input then")
        return saved.load(str(path))
    return analyzed(inputs, load(Path.cwd()))


def _shareable(report: Report) -> Report:
    from tracelens.render._redact import redact

    return redact(report)[0]


def _line(entry: Entry) -> str:
    where = ""
    if entry.where is not None:
        function = f" in {entry.where.function}" if entry.where.function else ""
        where = f" ({entry.where.file}{function})"
    return f"{entry.severity.value:8}{entry.id}  {entry.count:,} x  {entry.title}{where}"
