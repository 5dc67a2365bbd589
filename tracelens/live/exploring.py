"""The what-if table: settings, one at a time, and then the best of them together.

All settings are timed in the same rounds as the unchanged program, which runs twice in each, so
that every row is judged as a finding's experiment is. A row is told as soon as its recorded run is
read, and again after every round.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracelens.experiment import UNCHANGED, Knob
from tracelens.live import conditions, rows
from tracelens.live.lab import Lab, OutOfTime, Recorded, RunFailed, Timing, driven
from tracelens.live.rows import EAGER, Row, levers
from tracelens.live.runs import Run
from tracelens.live.statistics import LOOKS, Judgement
from tracelens.live.workload import Side, Workload

__all__ = ["TABLE", "explore", "levers"]

#: Name of the table in the report.
TABLE = "explore"


@dataclass
class _Try:
    """One row in the making."""

    knob: Knob
    recorded: Recorded | None = None
    note: str = ""
    error: float | None = None


def explore(
    lab: Lab,
    workload: Workload,
    *,
    asked: Sequence[str] = (),
    standard: bool = True,
    on_rows: Callable[[list[Row]], None] | None = None,
) -> list[Row]:
    """Time settings on one workload and return the table's rows.

    Args:
        lab: Where to run things, with its time budget.
        workload: What to run.
        asked: Rows of the user's own, or names of standard ones.
        standard: Whether the standard settings are tried as well.
        on_rows: Called with all rows whenever one of them says more.

    Raises:
        RunFailed: The unchanged program did not end well.
        OutOfTime: The time does not even suffice for that.
        UsageError: There is no setting of a name that was asked for.
    """
    table = _Table(lab, workload, on_rows or (lambda _: None))
    usual = levers(table.threads, gpu=bool(conditions.accelerators()))
    knobs = [rows.named(text, usual) for text in asked]
    known = {knob.text for knob in knobs}
    more = [knob for knob in (EAGER, *usual) if knob.text not in known] if standard else []
    try:
        table.add([*knobs, *more], least=max(len(knobs), 1))
        if standard:
            table.add(table.together())
    except OutOfTime:
        pass
    table.end()
    table.tell()
    return table.rows()


class _Table:
    """What is known of all settings at any moment."""

    def __init__(self, lab: Lab, workload: Workload, on_rows: Callable[[list[Row]], None]) -> None:
        self._lab = lab
        self._workload = workload
        self._on_rows = on_rows
        self._base = _Try(UNCHANGED, lab.record(Side(workload)))
        self._tries: list[_Try] = []
        self._is_over = False

    @property
    def threads(self) -> int:
        """The threads of the unchanged program."""
        about = self._base.recorded.about if self._base.recorded else {}
        return int(about.get("threads", "1"))

    def add(self, knobs: Sequence[Knob], *, least: int = 1) -> None:
        """Record as many settings as there is time for, time those that work, and go on.

        How long a run takes is known better with every batch: those that did not fit may fit then.

        Args:
            knobs: The settings, the most wanted first.
            least: How many of them are recorded even where the time may not suffice for answers.

        Raises:
            OutOfTime: Before it was through.
        """
        wanted = [_Try(knob) for knob in knobs]
        known = [one for one in wanted[least:] if self._lab.is_known(self._side(one))]
        waiting = [*wanted[:least], *known, *(w for w in wanted[least:] if w not in known)]
        self._tries += waiting
        while waiting:
            batch = self._recorded(waiting, least)
            if not batch:
                return
            self._time(batch)
            waiting, least = waiting[len(batch) :], 0

    def _recorded(self, waiting: Sequence[_Try], least: int) -> list[_Try]:
        """Record the first settings, one by one, as long as there is room for their answers."""
        done: list[_Try] = []
        for number, one in enumerate(waiting):
            is_free = number < least or self._lab.is_known(self._side(one))
            if not is_free and not self._has_room([*done, one]):
                break
            coming = (at for at in range(number, len(waiting)) if self._has_room(waiting[: at + 1]))
            self._lab.ahead([self._side(waiting[at]) for at in coming])
            self._look(one)
            done.append(one)
            self.tell()
        return done

    def _time(self, batch: Sequence[_Try]) -> None:
        sides = [self._side(one) for one in batch if one.recorded is not None and not one.note]
        if not sides:
            return
        if driven(Side(self._workload)) and self._base.error is None:
            self._base.error = self._error(Side(self._workload))
        for _ in self._lab.together(Side(self._workload), sides, "step", self.tell):
            self.tell()

    def _has_room(self, rows: Sequence[_Try]) -> bool:
        """Return whether the last of these rows would leave the time that all answers need."""
        is_known = self._lab.is_known(self._side(rows[-1]))
        each = 0.0 if is_known or self._base.recorded is None else self._base.recorded.seconds
        count = sum(not one.note for one in rows)
        return self._lab.left > each + LOOKS[0] * (2 + count) * self._usual()

    def _usual(self) -> float:
        """Return the seconds of a timed run: those that were made tell it, else a guess."""
        blocks = (block for one in self._tries for block in self._runs(one))
        made = [run.seconds for block in blocks for run in block]
        if made:
            return statistics.median(made)
        return self._base.recorded.timed_seconds if self._base.recorded else 0.0

    def _look(self, one: _Try) -> None:
        """Record one setting, and compare its results where they are known."""
        side = self._side(one)
        try:
            one.recorded = self._lab.record(side)
            unset = [
                note for note in one.recorded.steps.notes if note.split(":")[0] in one.knob.settings
            ]
            if unset:
                one.note = f"had no effect: {unset[0]}"
            elif driven(side) and one.knob is not EAGER:
                one.error = self._error(side)
        except RunFailed as failed:
            one.note = f"failed: {failed}"

    def _error(self, side: Side) -> float:
        return self._lab.compare(side)["max_abs"]

    def end(self) -> None:
        """Say of what was not tried that the time was up."""
        self._is_over = True
        for one in self._tries:
            if one.recorded is None and not one.note:
                one.note = "not tried: too little time was left"

    def together(self) -> list[Knob]:
        """Return the settings that help, as one."""
        answers = [(one, self._judgement(one)) for one in self._tries if one.knob is not EAGER]
        helpful = [(one.knob, said.ratio) for one, said in answers if said and _helps(said)]
        found = rows.combined([knob for knob, _ in sorted(helpful, key=lambda pair: -pair[1])])
        return [found] if found is not UNCHANGED else []

    def _side(self, one: _Try) -> Side:
        return Side(self._workload, one.knob)

    def _runs(self, one: _Try) -> tuple[tuple[Run, ...], ...]:
        return self._lab.so_far(Side(self._workload), self._side(one)).runs

    def _judgement(self, one: _Try) -> Judgement | None:
        answer = self._lab.so_far(Side(self._workload), self._side(one)).answer
        return answer.judgement if isinstance(answer, Timing) else None

    def tell(self) -> None:
        """Tell the rows as they are now."""
        self._on_rows(self.rows())

    def rows(self) -> list[Row]:
        """Return the unchanged program and every setting, as far as they are known."""
        longest = max((self._runs(one) for one in self._tries), key=len, default=())
        judged = (self._judgement(one) for one in self._tries if not one.note)
        said = next((each for each in judged if each is not None), None)
        unchanged = [run for block in longest for run in block[:2]]
        found = [self._row(self._base, unchanged, said)]
        for one in self._tries:
            if one.recorded is None and not one.note:
                continue  # not begun yet
            runs = [block[2] for block in self._runs(one)]
            found.append(self._row(one, runs, self._judgement(one)))
        eager = next((row for row in found if row["setting"] == EAGER.text), {})
        for row in found:
            if row is not eager:
                row["break_even_calls"] = rows.break_even(row, eager)
        return found

    def _row(self, one: _Try, runs: Sequence[Run], said: Judgement | None) -> Row:
        """Return one row; times in milliseconds, compile time in seconds."""
        is_base = one is self._base
        row: Row = {"setting": one.knob.text, "how": ", ".join(rows.pasted(one.knob))}
        row |= rows.times(runs)
        row["step_ms"] = row.get("p50_ms")
        row |= rows.timed(said, unchanged=is_base)
        if one.recorded is not None:
            row |= rows.counted(one.recorded)
        if one.error is not None:
            row["error"] = float(f"{one.error:.2g}")
        reason = said.reason if said is not None and not is_base else ""
        row["note"] = one.note or reason or self._lacking(one, is_base=is_base)
        return row

    def _lacking(self, one: _Try, *, is_base: bool) -> str:
        """Return why a row that was recorded has no answer."""
        answer = self._lab.so_far(Side(self._workload), self._side(one)).answer
        if isinstance(answer, RunFailed):
            return f"failed: {answer}"
        if is_base or answer is not None or one.recorded is None:
            return ""
        count = len(self._runs(one))
        if not count:
            return "not timed: the time was up" if self._is_over else "not timed yet"
        return f"timed in {count} block{'s' * (count != 1)}, and an answer needs 3"


def _helps(said: Judgement) -> bool:
    return said.answer == "faster"
