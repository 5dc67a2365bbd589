"""TRC026 blocking-copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.measured import Step, Window
from tracelens.traces.rows import CopyTime, SyncTime, Timeline
from tracelens.traces.views import View, stories, views, where_of
from tracelens.words import length, percent, share_of

__all__ = ["BlockingCopy"]

#: Share of the time in which the device is idle because of such copies, and its least amount.
MIN_SHARE = 0.05
MIN_MS = 0.5


class Blocking(FindingData):
    """Copies that keep the host, and what that costs."""

    calls: int
    held_ms: float
    idle_ms: float
    #: Copies of the trace from or to pageable memory; None where it does not say.
    pageable: bool | None
    to_device: bool
    to_host: bool
    frames: tuple[str, ...]


class BlockingCopy(Rule):
    """A copy keeps the host until the device is done, and then the device waits for the host.

    ## Why it matters
    ``cudaMemcpyAsync`` from or to pageable memory, and ``hipMemcpyWithStream``, return when the copy is
    over: the host waits for all work before it, and launches nothing meanwhile. When it goes on,
    the device has run dry.

    ## What it looks like
    A call that takes as long as the work that it waits for:

        {"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyWithStream", "ts": 100.0, "dur": 42000.0, "pid": 1, "tid": 1}

    ## When it is harmless
    At the end of a program, or where the device still has work queued: less than 5 % of idle time in
    and after such copies does not count.

    ## What to do
    Pin the memory and copy with ``non_blocking=True``; create tensors on the device; keep ``.cpu()``
    and ``.item()`` out of the loop.

    ## How a live run confirms it
    The program runs with pinned memory. Confirmed when the calls and the gaps after them get shorter.

    ## See also
    TRC007 for how fast such copies are, TRC006 for other waits.
    <https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC026"
    name = "blocking-copy"
    severity = Severity.WARNING
    claim = "time"
    unconfirmable = IN_THE_PROGRAM
    Data = Blocking
    remedies = (
        Remedy(
            id="pin",
            text="Pin the memory, and copy without waiting.",
            code="DataLoader(dataset, pin_memory=True); batch.to(device, non_blocking=True)",
            when="data is copied to the device, and memory is pageable or the trace does not say",
            applies=lambda data: data.pageable is not False and data.to_device,
            proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
        ),
        Remedy(
            id="later",
            text="Copy results without waiting, launch the next step, and read them after a wait.",
            code='result = result.to("cpu", non_blocking=True)',
            when="data is copied to the host",
            applies=lambda data: data.to_host,
            proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
        ),
        Remedy(
            id="device",
            text="Create tensors on the device instead of copying them there.",
            code="torch.zeros(n, device=device)",
            when="data is copied to the device",
            applies=lambda data: data.to_device,
            proof="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
        ),
    )

    def check(
        self,
        windows: Table[Window],
        timelines: Table[Timeline],
        *,
        steps: Table[Step],
        syncs: Table[SyncTime],
        copies: Table[CopyTime],
    ) -> Iterator[Finding]:
        """Yield one finding per trace whose device is idle because of copies."""
        for view in views(windows, steps, timelines):
            rows = [row.record for row in syncs.within(view.source) if "emcpy" in row.record.call]
            rows.sort(key=lambda row: (-row.idle_after_ms, -row.ms))
            blocked = view.total("idle_blocked_ms") if rows else 0.0
            every = view.run.window.record.ms
            part = min(1.0, share_of(view.window_ms, every))
            after = part * sum(row.idle_after_ms for row in rows)
            waits = part * sum(
                row.record.ms for row in syncs.within(view.source) if "emcpy" not in row.record.call
            )
            within = min(max(0.0, blocked - waits), part * sum(row.ms for row in rows))
            idle = min(after + within, view.total("idle_ms"))
            if idle >= max(MIN_MS, MIN_SHARE * view.window_ms):
                kinds = [row.record for row in copies.within(view.source)]
                yield self._finding(view, rows, idle, kinds)

    def follows(self, finding: Finding) -> Iterable[Story]:
        """After a wait for data a copy is late anyway; while graphs are captured, all is."""
        return stories(["capture", "data"], finding)

    def _finding(
        self, view: View, rows: list[SyncTime], idle: float, kinds: list[CopyTime]
    ) -> Finding:
        pinned = {kind.pinned for kind in kinds} - {None}
        pageable = (False in pinned) if pinned else None
        frames = tuple(dict.fromkeys(row.user_frame for row in rows if row.user_frame))[:3]
        data = Blocking(
            calls=sum(row.count for row in rows),
            held_ms=sum(row.ms for row in rows),
            idle_ms=idle,
            pageable=pageable,
            to_device=any(kind.direction == "HtoD" for kind in kinds),
            to_host=any(kind.direction == "DtoH" for kind in kinds),
            frames=frames,
        )
        share = idle / view.window_ms
        names = ", ".join(dict.fromkeys(f"`{row.call}`" for row in rows))
        most = f" Most of it in `{frames[0]}`." if frames else ""
        return self.finding(
            *dict.fromkeys(row.call for row in rows),
            title=f"copies that wait leave the GPU idle for {percent(share)} of {view.of}",
            message=(
                f"{data.calls:,} calls of {names} keep the host for {length(data.held_ms)}; in "
                f"them and after them nothing runs on the GPU for {length(idle)}.{most}"
            ),
            confidence=Confidence.HIGH if pageable else Confidence.MEDIUM,
            count=data.calls,
            where=where_of(frames[0]) if frames else None,
            evidence=[view.quote(f"{length(idle)} idle in and after copies")],
            cost=Cost(ms=idle, share=share, basis="upper_bound", of=view.of),
            advice=self.advise(data),
            data=data,
        )
