"""GRD001 guard-latency-high."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.frames.guard_entries import GuardedEntry, by_function
from tracelens.logs.guards import GuardLatency
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.grd._data import (
    MIN_US,
    GuardData,
    calls_of,
    guard_data,
    is_lost_in,
    modules_changed,
    slow_guards,
)

if TYPE_CHECKING:
    from tracelens.logs.graph_breaks import GraphBreak
    from tracelens.logs.recompiles import Recompile

__all__ = ["GuardLatencyHigh"]

#: From here on it is a part of most steps; below, only the length of a step tells.
GRAVE_US = 5_000.0
#: Readings from which on they confirm each other.
SEVERAL = 2


class GuardLatencyHigh(Rule):
    """Checking the guards of a compiled function takes long, at every call.

    ## Why it matters
    Before a compiled function runs, its guards are checked in the thread that calls it; meanwhile a
    GPU waits for its next kernel. A UNet of diffusers with 3,000 guards takes 0.85 ms for it, which
    is 16 % of a step of 5 ms. Several entries of one function are tried one after the other.

    ## What it looks like
    Torch checks the guards of a new entry once, and says how long it took (2.6 and later):

        [0/0] [__guards] TREE_GUARD_MANAGER:
        [0/0] [__guards] +- RootGuardManager
        [0/0] [__guards] | +- GLOBAL_STATE: ___check_global_state()
        [0/0] [__guards] Guard eval latency = 901.50 us

    ## When it is harmless
    When a call takes a hundred times longer than its guards: where oneDNN's lines of the entry or
    regions of a trace tell that a call takes 50 times as long, nothing is reported. Else only the
    length of a step tells. Below 0.8 ms nothing is reported; a UNet is there, most language models
    of a few layers are not. Below 5 ms, which is 2 % of a step of a quarter of a second, it is
    information, and so is a single reading. Each entry is measured once: of several of one
    function, the quickest per guard counts for all, since a busy machine, or memory that was not
    at hand, makes the others slow. A time of more than 1.5 us per guard is always left out. Up to
    torch 2.7 the figure is too small, since the guards were in the cache when they were measured.

    ## What to do
    Compile a larger region, so that one check covers more work; remove breaks and entries. Guards
    that cannot fail in this program can be left out: this is unsafe, a change that a left-out guard
    would have seen gives wrong results without a word.

    ## How a live run confirms it
    The program runs with a profiler, with and without the guards on modules. Confirmed when both
    ``TorchDynamo Cache Lookup`` and the step get shorter by as much; the results are compared.

    ## See also
    TRC004 (the same, measured in a trace), GRD002 (how many guards), GRD004 (slow ones).
    <https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_guard_overhead.html>
    """

    code = "GRD001"
    name = "guard-latency-high"
    severity = Severity.INFO
    claim = "time"
    unconfirmable = IN_THE_PROGRAM

    Data = GuardData
    remedies = (
        Remedy(
            "larger-region",
            "Compile a larger region, so that one check of the guards covers more work.",
            when="several functions are compiled, and no graph break makes them",
            applies=lambda data: data.functions > 1 and not data.broken,
            proof="https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_guard_overhead.html",
        ),
        Remedy(
            "skip-module-guards",
            "If no module changes after the first call, leave out the guards on modules. Unsafe: a "
            "change gives wrong results without a word. A `mode=` raises beside `options=`: put "
            "`**torch._inductor.list_mode_options(mode)` into the options in its place.",
            code="skip = torch.compiler.skip_guard_on_all_nn_modules_unsafe\n"
            'model = torch.compile(model, options={"guard_filter_fn": skip})',
            when="most guards are on modules, or the log does not have them; none of them failed",
            applies=lambda data: (data.modules or data.values is None) and not data.changed,
            since="2.8",
            proof="tests/advice/GRD001/skip-module-guards.py",
            basis="tested",
        ),
        Remedy(
            "skip-guard-eval",
            "After a warm-up with all inputs that will come, check only what tells entries "
            "apart. Unsafe: a change that is not looked at gives wrong results without a word.",
            when="a check takes 5 ms or more: of less, nothing could be seen in a step",
            applies=lambda data: (data.us or 0.0) >= GRAVE_US,
            code="torch.compiler.set_stance(skip_guard_eval_unsafe=True)",
            since="2.6",
            proof="https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_guard_overhead.html",
        ),
    )

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell how many guards there are: it is why they take so long."""
        yield slow_guards(finding)

    def check(
        self,
        entries: Table[GuardedEntry],
        *,
        latencies: Table[GuardLatency],
        recompiles: Table[Recompile],
        breaks: Table[GraphBreak],
        frames: Table[Frame],
    ) -> Iterator[Finding]:
        """Yield one finding per function."""
        functions = by_function(entries)
        run = {
            "functions": len(functions),
            "changed": modules_changed(recompiles),
            "broken": len(breaks) > 0,
        }
        calls = calls_of(frames)
        for group in functions:
            measured = [one for one in group if one.record.plausible_us]
            slow = [
                one for one in _slow(measured) if not is_lost_in(one.record.us or 0.0, one, calls)
            ]
            if slow:
                yield self._finding(slow, latencies, run, single=len(measured) < SEVERAL)

    def _finding(
        self,
        group: list[Seen[GuardedEntry]],
        latencies: Table[GuardLatency],
        run: dict[str, int],
        *,
        single: bool,
    ) -> Finding:
        quickest = min(group, key=lambda entry: entry.record.us or 0.0)
        entry = quickest.record
        us = entry.us or 0.0
        others = f" {len(group)} entries of it take as long." if len(group) > 1 else ""
        if single:
            others = " It is a single reading, which a busy machine makes too long."
        quotes = [
            row.quote(f"entry {place.frame}", place=place)
            for place, row in latencies.events()
            if row.record.us == us and place.frame == entry.id
        ]
        data = guard_data(entry).model_copy(update=run)
        return self.finding(
            *entry.subject,
            title=f"the guards of {entry.label} take {us / 1000:.2g} ms at every call",
            message=f"Torch checked the {entry.checks:,} guards of {entry.id or 'the entry'} in "
            f"{us:.0f} us right after it was compiled. A call that takes less than "
            f"{us / 20:.0f} ms spends more than 2 % of its time there.{others}",
            severity=Severity.WARNING if us >= GRAVE_US and not single else None,
            confidence=Confidence.LOW if single else Confidence.MEDIUM,
            count=len(group),
            where=entry.where,
            evidence=quotes[:1] or [quickest.quote(f"guard_latency_us: {us:.0f}")],
            advice=self.advise(data),
            data=data,
        )


def _slow(measured: list[Seen[GuardedEntry]]) -> list[Seen[GuardedEntry]]:
    """Return the entries of one function that take long at the pace of the quickest of them."""
    paces = ((one.record.us or 0.0) / max(one.record.checks, 1) for one in measured)
    pace = min(paces, default=0.0)
    return [one for one in measured if pace * one.record.checks >= MIN_US]
