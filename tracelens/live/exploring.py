"""The what-if table: settings, one at a time, and then the best of them together.

The time is shared out up front: every row gets one run before any gets a second, the settings that
help are tried together as soon as all have theirs, and what is left narrows the intervals, the most
promising row first. A row is told after its first run, and again after every other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tracelens.experiment import UNCHANGED, Knob
from tracelens.live import conditions, rows
from tracelens.live.lab import Lab, OutOfTime, RunFailed, driven
from tracelens.live.numerics import difference
from tracelens.live.rows import EAGER, Row, levers
from tracelens.live.runs import refuse_few_steps
from tracelens.live.sampling import Sampler
from tracelens.live.statistics import LOOKS
from tracelens.live.workload import Workload

__all__ = ["TABLE", "TOGETHER", "explore", "levers"]

#: Name of the table in the report.
TABLE = "explore"
#: Name of the row of all that helps, where there is no such row.
TOGETHER = "what helps, together"
#: How the note of a row begins that got no run.
LEFT_OUT = "not tried"
#: Ratio from which on a setting is taken to help, before its interval is narrow.
HELPS = 1.05
#: Times longer than the longest row that the row of all that helps may take, at least.
MARGIN = 1.5
#: Rows between two unchanged runs, at most.
ROWS = 5


@dataclass
class _Try:
    """One row in the making."""

    knob: Knob
    note: str = ""
    error: float | None = None
    is_together: bool = False


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
    table = _Table(lab, workload, on_rows or (lambda _: None), together=standard)
    usual = levers(table.threads, gpu=bool(conditions.accelerators()))
    knobs = [rows.named(text, usual) for text in asked]
    known = {knob.text for knob in knobs}
    more = [knob for knob in (EAGER, *usual) if knob.text not in known] if standard else []
    with contextlib.suppress(OutOfTime):
        table.run([*knobs, *more])
    table.end()
    table.tell()
    return table.rows()


class _Table:
    """What is known of all settings at any moment."""

    def __init__(
        self,
        lab: Lab,
        workload: Workload,
        on_rows: Callable[[list[Row]], None],
        *,
        together: bool,
    ) -> None:
        self._lab = lab
        self._on_rows = on_rows
        self._sampler = Sampler(lab, workload)
        self._base = _Try(UNCHANGED)
        self._sampler.run(UNCHANGED)
        self._look(self._base)
        self._tries: list[_Try] = []
        self._wants_together = self._is_standard = together
        self._is_over = False

    @property
    def threads(self) -> int:
        """The threads of the unchanged program."""
        recorded = self._sampler.sheet(UNCHANGED).recorded
        return int(recorded.about.get("threads", "1")) if recorded else 1

    def run(self, knobs: Sequence[Knob]) -> None:
        """Run all settings in turn until all have their answers.

        Raises:
            OutOfTime: Before that.
        """
        self._tries += [_Try(knob) for knob in knobs]
        for one in self._tries:
            self._look(one)  # what an earlier call has seen
        while True:
            batch = self._next()
            if self._wants_together and not any(map(self._is_missing, batch)):
                self._add_together()
                batch = self._next()
            if not batch:
                return
            begun = self._sampler.begin([one.knob for one in batch if self._is_missing(one)])
            for one in batch:
                self._once(one, ran=one.knob.text in begun)
                self.tell()
            if not begun >= {UNCHANGED.text, *(one.knob.text for one in batch)}:
                self._sampler.run(UNCHANGED)  # who began at once had it beside them
                self.tell()

    def _is_missing(self, one: _Try) -> bool:
        """Return whether a row still has to get its first run."""
        return not one.note and not self._sampler.runs(one.knob)

    def _add_together(self) -> None:
        self._wants_together = False
        kept = self._lab.run_cache.table().get("together")
        names = kept if isinstance(kept, list) else [knob.text for knob in self._helpful()]
        self._lab.run_cache.keep_table(together=names)
        known = {one.knob.text: one.knob for one in self._tries}
        found = rows.combined([known[name] for name in names if name in known])
        if found is not UNCHANGED:
            self._tries.append(_Try(found, is_together=True))
            self._look(self._tries[-1])

    def _helpful(self) -> list[Knob]:
        """Return the settings that help as far as can be seen, the best first."""
        ranked = sorted(filter(self._helps, self._tries), key=lambda one: -self._gain(one))
        return [one.knob for one in ranked]

    def _gain(self, one: _Try) -> float:
        """Return by what a setting is faster, as far as is known; 1 where nothing is."""
        said = self._sampler.timing(one.knob)
        if said is not None and said.judgement.answer in {"same", "slower"}:
            return 1.0
        guess = self._sampler.guess(one.knob)
        return guess.ratio if guess is not None else 1.0

    def _next(self) -> list[_Try]:
        """Return the rows to run before the next unchanged run: those with the fewest runs."""
        waiting = [one for one in self._tries if not one.note and not self._is_settled(one)]
        groups: dict[int, list[_Try]] = {}
        for one in sorted(waiting, key=self._turn):
            groups.setdefault(len(self._sampler.runs(one.knob)), []).append(one)
        batches = (self._fitting(groups[count], -(-len(groups[count]) // 2)) for count in groups)
        return next(filter(None, batches), [])

    def _turn(self, one: _Try) -> tuple[int, bool, float]:
        """Return the place of a row: all that helps first, then by what it promises."""
        runs = len(self._sampler.runs(one.knob))
        return runs, not one.is_together, -self._gain(one) if runs else 0.0

    def _fitting(self, ranked: Sequence[_Try], most: int) -> list[_Try]:
        """Return the first rows for which, with an unchanged run after them, there is time."""
        left = self._lab.left - self._sampler.seconds(UNCHANGED) - self._reserve()
        found: list[_Try] = []
        for one in ranked:
            needed = self._sampler.seconds(one.knob)
            if needed <= left and len(found) < min(ROWS, most):
                found.append(one)
                left -= needed
        return found

    def _reserve(self) -> float:
        """Return the seconds that the row of all that helps will need, while it may come."""
        may_come = len(self._helpful()) > 1 or any(map(self._is_missing, self._tries))
        if not self._wants_together or not may_come:
            return 0.0
        usual, *others = (self._first(one) for one in (self._base, *self._tries))
        # Each of what helps adds what it takes to compile.
        more = sum(max(0.0, self._first(one) - usual) for one in self._tries if self._helps(one))
        return max(MARGIN * max([usual, *others]), usual + more) + self._sampler.seconds(UNCHANGED)

    def _first(self, one: _Try) -> float:
        recorded = self._sampler.sheet(one.knob).recorded
        return recorded.seconds if recorded is not None else 0.0

    def _helps(self, one: _Try) -> bool:
        return not one.note and one.knob is not EAGER and self._gain(one) > HELPS

    def _is_settled(self, one: _Try) -> bool:
        return self._sampler.is_settled(one.knob)

    def _once(self, one: _Try, *, ran: bool = False) -> None:
        """Run a row once more, unless it just ``ran``; where it fails, its note says how."""
        try:
            if not ran:
                self._sampler.run(one.knob)
            self._look(one)
            if len(runs := self._sampler.runs(one.knob)) == 1:
                refuse_few_steps([*self._sampler.runs(UNCHANGED)[:1], *runs])
        except RunFailed as failed:
            one.note = f"failed: {failed}"

    def _look(self, one: _Try) -> None:
        """See what a row's first run showed: whether the setting took effect, and the results."""
        recorded = self._sampler.sheet(one.knob).recorded
        if recorded is None or one.note or one.error is not None:
            return
        notes = recorded.steps.notes
        unset = [note for note in notes if note.split(":")[0] in one.knob.settings]
        if unset:
            one.note = f"had no effect: {unset[0]}"
        elif driven(self._sampler.side(one.knob)) and one.knob is not EAGER:
            one.error = self._lab.compare(self._sampler.side(one.knob))["max_abs"]

    def end(self) -> None:
        """Say of what was not tried that the time was up."""
        self._is_over = True
        for one in self._tries:
            if self._is_missing(one):
                one.note = f"{LEFT_OUT}: too little time was left"

    def tell(self) -> None:
        """Tell the rows as they are now."""
        self._on_rows(self.rows())

    def rows(self) -> list[Row]:
        """Return the unchanged program and every setting, as far as they are known."""
        shown = [one for one in self._tries if one.note or self._sampler.runs(one.knob)]
        found = [self._row(self._base), *map(self._row, shown)]
        eager = next((row for row in found if row["setting"] == EAGER.text), {})
        for row in found:
            if row is not eager:
                row["break_even_calls"] = rows.break_even(row, eager)
        return [*found, *self._lacking_together()]

    def _lacking_together(self) -> Iterator[Row]:
        """Yield a row that says why there is none of all that helps."""
        is_there = any(one.is_together for one in self._tries)
        if is_there or not self._is_over or not self._is_standard:
            return
        helpful = [knob.text for knob in self._helpful()]
        is_whole = any(self._sampler.runs(one.knob) for one in self._tries) and not any(
            one.note.startswith(LEFT_OUT) for one in self._tries
        )
        said = "too little time was left" if self._wants_together else "no setting helps"
        if not helpful and not is_whole:
            said = "of those that ran, none helps"
        if helpful:
            said = f"of those that ran, only {helpful[0]} helps" if len(helpful) == 1 else said
        yield {"setting": TOGETHER, "note": f"not tried: {said}"}

    def _row(self, one: _Try) -> Row:
        """Return one row; times in milliseconds, compile time in seconds."""
        is_base, runs = one is self._base, self._sampler.runs(one.knob)
        row: Row = {"setting": one.knob.text, "how": ", ".join(rows.pasted(one.knob))}
        row |= rows.times(runs)
        recorded = self._sampler.sheet(one.knob).recorded
        if recorded is not None:
            row |= rows.counted(recorded)
        if (error := self._error(one)) is not None:
            row["error"] = float(f"{error:.2g}")
        said = self._sampler.timing(one.knob) if not one.note and not is_base else None
        if is_base:
            row |= rows.unchanged(runs)
        elif said is not None:
            row |= rows.timed(said.judgement)
        elif not one.note and (guess := self._sampler.guess(one.knob)) is not None:
            row |= rows.guessed(guess)
        row["note"] = one.note or (said.judgement.reason if said else self._lacking(one))
        return row

    def _error(self, one: _Try) -> float | None:
        """Return how far results are from eager; None where that is not known."""
        if one.error is not None or one.knob is EAGER:
            return one.error
        mine, eager = (self._sampler.sheet(knob).recorded for knob in (one.knob, EAGER))
        if mine is None or eager is None:
            return None
        found = difference(mine.steps.outputs, eager.steps.outputs)
        return found["max_abs"] if found else None

    def _lacking(self, one: _Try) -> str:
        """Return why a row that was run has no answer yet."""
        count = len(self._sampler.runs(one.knob))
        if one is self._base or not count:
            return ""
        return f"{count} run{'s' * (count != 1)}, and an answer needs {LOOKS[0]}"
