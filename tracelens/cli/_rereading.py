"""``analyze --watch``: read the inputs again when they change, and say what is different."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracelens.cli._terminal import say
from tracelens.errors import SourceError

if TYPE_CHECKING:
    from tracelens.report import Report
    from tracelens.report.compare import Comparison

__all__ = ["begin", "follow", "said", "state"]

#: Seconds between two looks at the files.
PERIOD = 1.0
#: Seconds after which a file is read that never stays the same, as the log of a program that runs.
PATIENCE = 5.0
_STATES = ("new", "worse", "fixed", "better")


def begin(paths: Sequence[str], again: Callable[[], Report]) -> Report:
    """Return the first report, once there is something to read: a program may not have begun."""
    told = ""
    while True:
        seen = state(paths)
        try:
            return again()
        except SourceError as error:
            if str(error) != told:
                say(f"{error}; waiting for it", hint="Ctrl-C ends")
            told = str(error)
        while state(paths) == seen:
            time.sleep(PERIOD)


def follow(
    first: Report,
    paths: Sequence[str],
    again: Callable[[], Report],
    show: Callable[[Report, str], None],
    seen: list[tuple[str, int, int]],
) -> Report:
    """Show what is different each time the files have changed; return the last report.

    ``seen`` is how the files were before they were read the first time.
    A file that is being written is read once it has stayed the same for a period, or has been
    written for long enough: at least as long as reading it takes. Ctrl-C ends it.
    """
    from tracelens.report.compare import compare

    report, took = first, 0.0
    if sys.stderr.isatty():
        say(f"watching {', '.join(paths)}", hint="Ctrl-C ends")
    try:
        while True:
            time.sleep(PERIOD)
            now = state(paths)
            if now == seen:
                continue
            until = time.monotonic() + max(PATIENCE, took)
            while (later := state(paths, after=PERIOD)) != now and time.monotonic() < until:
                now = later
            seen, began = now, time.monotonic()
            try:
                newer = again()
            except SourceError:  # it is being replaced
                continue
            took = time.monotonic() - began
            if text := said(compare([report, newer])):
                show(newer, text)
            report = newer
    except KeyboardInterrupt:
        return report


def state(paths: Sequence[str], after: float = 0.0) -> list[tuple[str, int, int]]:
    """Return size and time of every file that the inputs name now."""
    from tracelens.source.places import expand

    time.sleep(after)
    found = []
    try:
        files = expand(tuple(paths))
    except SourceError:
        return []
    for path in files:
        try:
            facts = Path(path).stat()
        except OSError:
            continue
        found.append((path, facts.st_size, facts.st_mtime_ns))
    return found


def said(comparison: Comparison) -> str:
    """Return a line for each finding that is new, worse, fixed or better; empty for none."""
    from tracelens.render import Options
    from tracelens.render.compare._prepare import prepare

    comparison, _ = prepare(comparison, Options())
    lines = []
    found = comparison.findings
    # A log that grows shows evidence that it did not have: what comes with it is new, too.
    shown = [("new", entry) for entry in found.not_judged if entry.after is not None]
    shown += [(word, entry) for word in _STATES for entry in getattr(found, word)]
    for word, entry in shown:
        if entry.after is None or entry.after.severity.value != "none":
            facts = ", ".join(
                f"{one.name.replace('_', ' ')} {one.before} -> {one.after}"
                for one in entry.changes[:3]
            )
            title = " ".join(entry.title.split())
            lines.append(f"{word}: {entry.code} {title}{f' ({facts})' if facts else ''}")
    return "".join(f"{line}\n" for line in lines)
