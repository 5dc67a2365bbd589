"""The what-if table: the standard settings, one at a time, and then the best of them together.

All settings are timed in the same rounds as the unchanged program, which runs twice in each, so
that every row is judged as a finding's experiment is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tracelens.experiment import UNCHANGED, Knob
from tracelens.live import clocks, conditions, load
from tracelens.live.lab import Lab, OutOfTime, Recorded, RunFailed, driven
from tracelens.live.runs import Run
from tracelens.live.statistics import LOOKS, Block, Judgement, judge
from tracelens.live.workload import Side, Workload
from tracelens.report import Report

__all__ = ["TABLE", "explore", "levers"]

#: Name of the table in the report.
TABLE = "explore"
EAGER = Knob("eager", config={"torch._dynamo.config.disable": True})
#: How crowded it was around one run is looked at for all runs of a call together.
NOTHING = conditions.Strain(0.0, load.Usage(0.0, 0))
Row = dict[str, Any]


def levers(threads: int, *, gpu: bool) -> list[Knob]:
    """Return the settings that are worth trying on any model.

    Args:
        threads: What the unchanged program uses.
        gpu: Whether the machine has an accelerator.
    """
    found = [
        Knob("freezing", config={"torch._inductor.config.freezing": True}),
        Knob("max-autotune", compile={"mode": "max-autotune"}),
        Knob("dynamic sizes", compile={"dynamic": True}),
        Knob("C++ wrapper", config={"torch._inductor.config.cpp_wrapper": True}),
        Knob(
            "lower float32 precision",
            config={"torch.set_float32_matmul_precision": "high" if gpu else "medium"},
            changes_results=True,
        ),
    ]
    found.append(Knob("channels_last", layout="channels_last"))
    if gpu:
        found.append(Knob("reduce-overhead", compile={"mode": "reduce-overhead"}))
    counts = {1, threads // 2, load.processors()} - {0, threads}
    found += [Knob(f"threads: {n}", env={"OMP_NUM_THREADS": str(n)}) for n in sorted(counts)]
    return found


@dataclass
class _Try:
    """One row in the making."""

    knob: Knob
    recorded: Recorded | None = None
    note: str = ""
    error: float | None = None
    judgement: Judgement | None = None
    runs: list[Run] = field(default_factory=list)


def explore(
    lab: Lab, workload: Workload, *, on_rows: Callable[[list[Row]], None] | None = None
) -> list[Row]:
    """Time the standard settings on one workload and return the table's rows.

    Raises:
        RunFailed: The unchanged program did not end well.
        OutOfTime: The time does not even suffice for that.
    """
    told = on_rows or (lambda _: None)
    base = _Try(UNCHANGED, recorded=lab.record(Side(workload)))
    threads = int((base.recorded.about if base.recorded else {}).get("threads", "1"))
    tries = [_Try(knob) for knob in levers(threads, gpu=bool(conditions.accelerators()))]
    eager = _Try(EAGER)
    everything = [eager, *tries]
    rounds = _Rounds(lab, workload, threads)
    try:
        for one in everything:
            rounds.look(one)
        rounds.look(base)
        rounds.run(base, [one for one in everything if not one.note], LOOKS[1])
        told(_rows(base, everything))
        together = _Try(_together([one for one in tries if _helps(one)]))
        if together.knob is not UNCHANGED:
            rounds.look(together)
            everything.append(together)
            rounds.run(base, [together] if not together.note else [], LOOKS[0])
    except OutOfTime:
        for one in everything:
            if one.judgement is None and not one.note:
                one.note = "not tried: the time was up"
    rows = _rows(base, everything)
    told(rows)
    return rows


class _Rounds:
    """Runs every setting once per round, in an order that changes from round to round."""

    def __init__(self, lab: Lab, workload: Workload, threads: int) -> None:
        self.lab = lab
        self.workload = workload
        self.threads = threads

    def look(self, one: _Try) -> None:
        """Record one setting, and compare its results where they are known."""
        side = Side(self.workload, one.knob)
        try:
            one.recorded = self.lab.record(side)
            unset = [
                note for note in one.recorded.steps.notes if note.split(":")[0] in one.knob.settings
            ]
            if unset:
                one.note = f"had no effect: {unset[0]}"
            elif driven(side) and one.knob is not EAGER:
                one.error = self.lab.compare(side)["max_abs"]
        except RunFailed as failed:
            one.note = f"failed: {failed}"

    def run(self, base: _Try, tries: Sequence[_Try], count: int) -> None:
        """Add rounds until ``count`` are made, and judge after each."""
        pairs: list[tuple[Run, Run]] = []
        rows = [base, *tries, base]
        sides = [(Side(self.workload, one.knob), one.recorded) for one in rows]
        known = [(side, recorded) for side, recorded in sides if recorded is not None]
        rounds = self.lab.keeper.blocks("rounds", known)
        for number in range(count):
            if number == len(rounds):
                rounds.append(self._round([side for side, _ in sides], number))
                self.lab.keeper.keep_blocks("rounds", known, rounds)
            found = rounds[number]
            pairs.append((found[0], found[-1]))
            for place, one in enumerate(tries, start=1):
                one.runs.append(found[place])
                one.judgement = self._judged(base, one, pairs)
            base.judgement = tries[0].judgement if tries else None

    def _judged(self, base: _Try, one: _Try, pairs: Sequence[tuple[Run, Run]]) -> Judgement:
        known = [each.recorded for each in (base, one) if each.recorded is not None]
        blocks = [(*pair, run) for pair, run in zip(pairs, one.runs, strict=True)]
        read, clock = clocks.read(blocks, clocks.choose(one.knob, known))
        times = [Block(*(run.times for run in block)) for block in clocks.aligned(read)]
        busy = self.lab.busy(self.threads)
        return judge(times, floor=clocks.floor_of(clock, busy=busy))

    def _round(self, sides: Sequence[Side], number: int) -> tuple[Run, ...]:
        """Run every side once."""
        found: dict[int, Run] = {}
        for step in range(len(sides)):
            place = (step + number) % len(sides)
            found[place] = replace(self.lab.timed(sides[place]), strain=NOTHING)
        return tuple(found[place] for place in range(len(sides)))


def _helps(one: _Try) -> bool:
    return one.judgement is not None and one.judgement.answer == "faster"


def _together(tries: Sequence[_Try]) -> Knob:
    """Return the settings that help, as one; the better of two that exclude each other."""
    ranked = sorted(tries, key=lambda one: -(one.judgement.ratio if one.judgement else 0))
    env: dict[str, str | None] = {}
    config: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    names: list[str] = []
    layout = ""
    for one in ranked:
        knob = one.knob
        if env.keys() & knob.env.keys() or arguments.keys() & knob.compile.keys():
            continue
        env |= knob.env
        config |= knob.config
        arguments |= knob.compile
        layout = layout or knob.layout
        names.append(knob.text)
    if len(names) < 2:
        return UNCHANGED
    changes = any(one.knob.changes_results for one in ranked)
    return Knob(" + ".join(names), env, config, arguments, layout, changes_results=changes)


def _rows(base: _Try, tries: Sequence[_Try]) -> list[Row]:
    return [_row(base, unchanged=True), *map(_row, tries)]


def _row(one: _Try, *, unchanged: bool = False) -> Row:
    """Return one row; times in milliseconds, compile time in seconds."""
    said = one.judgement
    row: Row = {
        "setting": one.knob.text,
        "how": ", ".join(_pasted(*setting) for setting in one.knob.settings.items()),
    }
    if said is not None:
        row["step_ms"] = float(f"{said.before_ms if unchanged else said.after_ms:.3g}")
        row["speedup"] = 1.0 if unchanged else round(said.ratio, 3)
        row["interval"] = "" if unchanged else f"{said.low:.2f} to {said.high:.2f}"
        row["verdict"] = "" if unchanged else said.answer
    if one.recorded is not None:
        steps = one.recorded.steps
        row["compile_s"] = round(steps.compile_seconds, 2)
        row["recompiles"] = _count(one.recorded.report, "recompiles")
        row["graph_breaks"] = _count(one.recorded.report, "graph_breaks")
    if one.error is not None:
        row["error"] = float(f"{one.error:.2g}")
    row["note"] = one.note or (said.reason if said and not unchanged else "")
    return row


def _pasted(name: str, value: str) -> str:
    return f"{name[:-1]}{value})" if name.endswith("=)") else f"{name}={value}"


def _count(report: Report, table: str) -> int:
    return sum(int(row.get("count") or 1) for row in report.tables.get(table, ()))
