"""What a long live run is doing, on standard error: a bar with the time left, or plain lines.

On a terminal, the what-if table so far stands above the bar and is drawn anew with every change.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracelens.cli._terminal import say
from tracelens.report import Confirmation, Finding

if TYPE_CHECKING:
    from tracelens.live.budget import Forecast

__all__ = ["Watch", "duration"]

#: Findings of which is said why they were not tested.
MAX_UNTESTED = 3
#: Cells of the bar.
CELLS = 16


class Watch:
    """Shows which finding is tested, what is being run, and how much of the time is left."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._what = ""
        self._rows: dict[str, str] = {}
        self._table: list[str] = []
        self._drawn = 0

    def plan(self, forecast: Forecast) -> None:
        """Say what is to come, before it starts."""
        known = "" if forecast.program else ", as far as can be said before it has run once"
        findings = "1 finding" if forecast.findings == 1 else f"{forecast.findings} findings"
        say(
            f"{findings}, about {duration(forecast.whole)}; "
            f"structure in {duration(forecast.structure)}{known}. Ctrl-C keeps what is known."
        )
        self._clock()

    def untested(self, findings: Sequence[Finding]) -> None:
        """Say why no run was made for findings: the change is one of the program itself."""
        notes = [
            (one.code, one.confirmation.note)
            for one in findings
            if one.confirmation.state == "not_tried" and one.confirmation.note
        ]
        self.clear()
        for code, note in notes[:MAX_UNTESTED]:
            say(f"{code} was not tested: {note}")

    def _clock(self) -> None:
        """Say once what steps are compared by where instructions cannot be counted."""
        from tracelens.live import counters

        if not counters.available():
            say("hardware counters unavailable: steps are compared by CPU time")

    def finding(self, finding: Finding, number: int, count: int) -> None:
        """Begin a finding."""
        self._what = f"{finding.code} ({number} of {count})"
        if not self._terminal:
            say(f"{number} of {count}: {finding.id} {finding.title}")

    def part(self, what: str) -> None:
        """Begin something else."""
        self._what = what
        if not self._terminal:
            say(what)

    def doing(self, text: str) -> None:
        """Say what is being run now."""
        if not self._terminal:
            return
        used = min((time.monotonic() - self._began) / self._seconds, 1.0)
        full = int(used * CELLS)
        left = max(self._seconds * (1 - used), 0)
        line = f"[{'#' * full}{'.' * (CELLS - full)}] {duration(left)} left  {self._what}: {text}"
        columns, rows = shutil.get_terminal_size()
        # Lines that a terminal wraps could not be taken off again.
        table = [one[: columns - 1] for one in self._table[: max(rows - 2, 0)]]
        shown = "".join(f"{one}\x1b[K\n" for one in table) if not self._drawn else ""
        self._drawn = len(table)
        print(f"\r{shown}\x1b[K{line[: columns - 1]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the bar and the table off the terminal."""
        if self._terminal:
            up = f"\x1b[{self._drawn}A" if self._drawn else ""
            print(f"\r{up}\x1b[J", end="", file=sys.stderr, flush=True)
            self._drawn = 0

    def said(self, finding: Finding, confirmation: Confirmation) -> None:
        """Tell a verdict."""
        self.clear()
        if not confirmation.note:
            return
        state = confirmation.state.replace("_", " ")
        say(f"{finding.id} {state}: {confirmation.note}")

    def rows(self, rows: list[dict[str, object]]) -> None:
        """Draw the what-if table; without a terminal, tell each answer that is new."""
        if self._terminal:
            self.clear()
            self._table = _drawing(rows)
            self.doing("")
            return
        for row in rows:
            name, verdict = str(row["setting"]), str(row.get("verdict") or "")
            if name not in self._rows and name != "unchanged":
                self._rows[name] = ""
                say(f"{name}: {_structure(row)}")
            if verdict and self._rows.get(name) != verdict:
                self._rows[name] = verdict
                interval = f" ({row['interval']})" if row.get("interval") else ""
                say(f"{name}: {row['speedup']} times as fast{interval}, {verdict}")


def _drawing(rows: Sequence[dict[str, object]]) -> list[str]:
    """Return the table so far in aligned columns, its heading first."""
    from tracelens.render._words import milliseconds

    grid = [("setting", "step", "times as fast", "compile", "")]
    for row in rows:
        step, seconds = row.get("step_ms"), row.get("compile_s")
        interval = f" ({row['interval']})" if row.get("interval") else ""
        speedup = row.get("speedup")
        said = row.get("verdict") or row.get("note") or ""
        grid.append(
            (
                str(row["setting"]),
                milliseconds(step) if isinstance(step, int | float) else "-",
                f"{speedup:.2f}{interval}" if isinstance(speedup, int | float) else "-",
                f"{seconds} s" if seconds is not None else "-",
                str(said),
            )
        )
    widths = [max(len(line[at]) for line in grid) for at in range(4)]
    return [
        "  ".join([*map(str.ljust, line, widths), "".join(filter(str.isprintable, line[4]))])
        for line in grid
    ]


def _structure(row: dict[str, object]) -> str:
    """Return what the first run of a row showed."""
    if row.get("compile_s") is None:
        return str(row["note"])
    counts = ((row["recompiles"], "recompilations"), (row["graph_breaks"], "graph breaks"))
    counted = "".join(f", {count} {what}" for count, what in counts if count)
    parts = [f"{row['compile_s']} s of compiling{counted}"]
    if row.get("speedup") and row.get("interval") and not row.get("verdict"):
        parts.append(f"about {row['speedup']} times as fast ({row['interval']})")
    return "; ".join([*parts, *filter(None, [str(row.get("note") or "")])])


def duration(seconds: float) -> str:
    """Return ``40 s`` or ``2 min 10 s``."""
    whole = max(round(seconds), 1)
    minutes, rest = divmod(whole if whole < 60 else round(whole / 10) * 10, 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
