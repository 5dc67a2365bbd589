"""TRC007 pageable-h2d-copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Transfer, Window
from tracelens.traces.printed import AnyProfile, PrintedProfile
from tracelens.traces.runs import Run, runs
from tracelens.traces.views import stories
from tracelens.words import length, percent

__all__ = ["PageableH2DCopy"]

#: Bytes per step below which copies are scalars, indices and such.
MIN_BYTES = 1 << 20
MIN_SHARE = 0.01
#: Share of the GPU's time in a printed table, which holds no bytes.
MIN_PRINTED = 0.1
PAGEABLE = "Memcpy HtoD (Pageable"
#: What a copy from pinned memory over PCIe 4 reaches: bytes per millisecond.
PINNED = 20e6


class Pageable(FindingData):
    """Copies from pageable memory."""

    #: None where a printed table tells the time alone.
    bytes: int | None
    ms: float
    gbs: float | None


class PageableH2DCopy(Rule):
    """Inputs are copied to the GPU from pageable memory.

    ## Why it matters
    The driver first copies pageable memory into a pinned buffer of its own: the copy reaches a quarter
    of the bus, and the program waits for it although it said ``non_blocking=True``.

    ## What it looks like
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "ts": 100.0, "dur": 6422.0, "pid": 0, "tid": 7, "args": {"bytes": 38535168}}

    ## When it is harmless
    Less than 1 MiB per step: scalars, indices, lengths. Copies that take less than 1 % of the time.
    Traces of ROCm say ``Host -> Device`` of pinned and of pageable memory alike, and both come from
    ``hipMemcpyWithStream``: nothing is said of them here, and TRC026 tells of those that the host waits in.

    ## What to do
    ``DataLoader(..., pin_memory=True)`` and ``batch.to(device, non_blocking=True)``; create constants
    on the device.

    ## How a live run confirms it
    The program runs with pinned memory. Confirmed when the trace says ``Pinned -> Device`` and the
    copies take less time.

    ## See also
    <https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC007"
    name = "pageable-h2d-copy"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    Data = Pageable
    remedies = (
        Remedy(
            id="pin",
            text="Let the DataLoader pin its batches, and copy without waiting.",
            code="DataLoader(dataset, pin_memory=True); batch.to(device, non_blocking=True)",
            proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
        ),
    )

    def check(
        self,
        profiles: Table[AnyProfile],
        *,
        windows: Table[Window],
        transfers: Table[Transfer],
        steps: Table[Step],
        printed: Table[PrintedProfile],
    ) -> Iterator[Finding]:
        """Yield one finding per trace, or printed table, that copies much from pageable memory."""
        del profiles
        for told in printed:
            yield from self._printed(told)
        for run in runs(windows, steps):
            n = max(1, len(run.all_steps))
            for row in transfers.within(run.window.first.input):
                copy = row.record
                if not copy.name.startswith(PAGEABLE):
                    continue
                whole = run.window.record.ms
                if copy.bytes >= MIN_BYTES * n and copy.ms >= MIN_SHARE * whole:
                    yield self._finding(run, row, n)

    def follows(self, finding: Finding) -> Iterable[Story]:
        """Where nothing is computed meanwhile, that is what they cost."""
        return stories(["pageable"], finding)

    def _printed(self, row: Seen[PrintedProfile]) -> Iterator[Finding]:
        told = row.record
        rows = told.of(lambda name: name.startswith(PAGEABLE))
        ms, whole = sum(one.device_ms for one in rows), told.device_ms
        if not whole or ms < MIN_PRINTED * whole:
            return
        share, of = min(1.0, ms / whole), "the GPU's time in the table"
        calls = sum(one.calls for one in rows)
        data = Pageable(bytes=None, ms=ms, gbs=None)
        yield self.finding(
            "printed",
            title=f"copies from pageable memory take {percent(share)} of {of}",
            message=f"{calls:,} copies of {length(ms / max(1, calls))} each come from memory that "
            "is not pinned: the driver copies it once more, and the program waits meanwhile.",
            confidence=Confidence.MEDIUM,
            count=max(1, calls),
            evidence=[told.table.quote()],
            cost=Cost(ms=ms, share=share, basis="upper_bound", of=of),
            advice=self.advise(data),
            data=data,
        )

    def _finding(self, run: Run, row: Seen[Transfer], n: int) -> Finding:
        copy, whole = row.record, run.window.record.ms
        per = "per step" if run.all_steps else "in the trace"
        saved = max(0.0, copy.ms - copy.bytes / PINNED)
        data = Pageable(bytes=copy.bytes, ms=copy.ms, gbs=copy.bytes / copy.ms / 1e6)
        return self.finding(
            "pageable",
            title=f"{copy.bytes / n / 1e6:.3g} MB {per} come from pageable memory",
            message=(
                f"{copy.bytes / n / 1e6:.3g} MB {per} are copied to the GPU from pageable memory "
                f"in {length(copy.ms / n)}: {copy.bytes / copy.ms / 1e6:.3g} GB/s, "
                f"{percent(copy.ms / whole)} of the trace. From pinned memory some 20 GB/s are "
                "usual."
            ),
            confidence=Confidence.HIGH,
            count=n,
            evidence=[row.quote(f"{copy.bytes / 1e6:.3g} MB, {length(copy.ms)} in all")],
            cost=Cost(ms=saved, share=saved / whole, basis="estimated", of="the trace"),
            advice=self.advise(data),
            data=data,
        )
