"""TRC026 blocking-copy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from tracelens.evidence import Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.traces.host_work import Work, work_of
from tracelens.traces.measured import Step, Window
from tracelens.traces.rows import CopyTime, SyncTime, Timeline
from tracelens.traces.views import View, stories, views, where_of
from tracelens.words import length, percent, share_of

__all__ = ["BlockingCopy"]

#: Share of the time in which the device is idle because of such copies, and its least amount.
MIN_SHARE = 0.05
MIN_MS = 0.5
#: Share of the time in which copies between host and device run, and nothing else does.
MIN_ALONE = 0.1


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
    #: In which such copies are all that the device does.
    alone_ms: float = 0.0
    #: Whether they are waited for in a function that saves or reports.
    reports: bool = False


class BlockingCopy(Rule):
    """A copy keeps the host until the device is done, and then the device waits for the host.

    ## Why it matters
    ``cudaMemcpyAsync`` from or to pageable memory, and ``hipMemcpyWithStream``, return when the copy is
    over: the host waits for all work before it, and launches nothing meanwhile. When it goes on,
    the device has run dry. Where the copies themselves are long, and nothing is computed beside
    them, the device does nothing else meanwhile.

    ## What it looks like
    A call that takes as long as the work that it waits for:

        {"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyWithStream", "ts": 100.0, "dur": 42000.0, "pid": 1, "tid": 1}

    ## When it is harmless
    At the end of a program, or where the device still has work queued: less than 5 % of idle time in
    and after such copies does not count, nor do copies of less than 10 % of the time with nothing
    computed beside them.

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
            id="rarely",
            text="Do it every N steps only.",
            code="if step % 1000 == 0: save()",
            when="a function that saves or reports waits for most of the copies",
            applies=lambda data: data.reports and data.to_host,
            basis="untestable",
            proof="it depends on the program",
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
            id="ahead",
            text="Copy the next batch on a stream of its own while this one is computed, and let "
            "the stream that computes wait for the copy before it reads the batch.",
            code="with torch.cuda.stream(copies): following = batch.to(device, non_blocking=True)\n"
            "...  # the step on this batch\n"
            "torch.cuda.current_stream().wait_stream(copies)\n"
            "following.record_stream(torch.cuda.current_stream())",
            when="pinned memory is copied to the device, and nothing is computed meanwhile",
            applies=lambda data: data.alone_ms > 0 and data.to_device and data.pageable is False,
            proof="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
        ),
        Remedy(
            id="device",
            text="Create tensors on the device instead of copying them there.",
            code="torch.zeros(n, device=device)",
            when="data is copied to the device, and the host waits for it",
            applies=lambda data: data.to_device and not data.alone_ms,
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
                continue
            waited = [row.record for row in syncs.within(view.source)]
            if found := self._alone(view, list(copies.within(view.source)), waited):
                yield found

    def _alone(
        self, view: View, rows: list[Seen[CopyTime]], waited: list[SyncTime]
    ) -> Finding | None:
        """Return that the device does nothing but copy from and to the host for long."""
        rows = [row for row in rows if row.record.direction]
        mine = [row for row in rows if row.record.direction in {"HtoD", "DtoH"}]
        every, own = (sum(row.record.sum_ms for row in each) for each in (rows, mine))
        alone = view.total("exposed_copy_ms") * share_of(own, every)
        if alone < max(MIN_MS, MIN_ALONE * view.window_ms):
            return None
        mine.sort(key=lambda row: -row.record.sum_ms)
        directions = {row.record.direction for row in mine if row.record.sum_ms >= own / 3}
        pinned = {row.record.pinned for row in mine[:1]} - {None}
        told = "; ".join(_rate(row.record) for row in mine[:2])
        share = alone / view.window_ms
        frame = _waiting(waited, own)
        where = where_of(frame) if frame else None
        there = f" The host waits for most of them in `{where.function}`." if where else ""
        data = Blocking(
            calls=sum(row.record.n for row in mine),
            held_ms=0.0,
            idle_ms=0.0,
            pageable=(False in pinned) if pinned else None,
            to_device="HtoD" in directions,
            to_host="DtoH" in directions,
            frames=(frame,) if where else (),
            alone_ms=alone,
            reports=work_of(frame, "") == Work.REPORTS,
        )
        return self.finding(
            "alone",
            title=f"the GPU only copies from or to the host for {percent(share)} of {view.of}",
            message=(
                f"For {length(alone)} of {length(view.window_ms)} copies between host and GPU run "
                f"and nothing is computed meanwhile: {told}.{there}"
            ),
            confidence=Confidence.HIGH,
            count=data.calls,
            where=where,
            evidence=[
                row.quote(f"{row.record.n} times, {length(row.record.sum_ms)} in all")
                for row in mine[:2]
            ],
            cost=Cost(ms=alone, share=share, basis="upper_bound", of=view.of),
            advice=self.advise(data),
            data=data,
        )

    def causes(self, finding: Finding) -> Iterable[Story]:
        """How fast pageable copies are is part of what they cost while nothing is computed."""
        data = Blocking.model_validate(finding.data)
        pageable = data.alone_ms > 0 and data.to_device and data.pageable
        return stories(["pageable"], finding) if pageable else ()

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
                f"{data.calls:,} calls of {names} keep the host for {length(data.held_ms)}"
                f"{view.beyond}; in them and after them nothing runs on the GPU for "
                f"{length(idle)}.{most}"
            ),
            confidence=Confidence.HIGH if pageable else Confidence.MEDIUM,
            count=data.calls,
            where=where_of(frames[0]) if frames else None,
            evidence=[view.quote(f"{length(idle)} idle in and after copies")],
            cost=Cost(ms=idle, share=share, basis="upper_bound", of=view.of),
            advice=self.advise(data),
            data=data,
        )


def _waiting(waited: list[SyncTime], copied: float) -> str:
    """Return the line of the program that waits for at least half of what is copied."""
    sums: defaultdict[str, float] = defaultdict(float)
    for row in waited:
        if "emcpy" in row.call:  # other calls wait for what is computed as well
            sums[row.user_frame] += row.ms
    sums.pop("", None)
    most = max(sums, key=lambda frame: sums[frame], default="")
    alone = 2 * sums[most] >= sum(sums.values()) if most else False
    return most if alone and 2 * sums[most] >= copied else ""


def _rate(row: CopyTime) -> str:
    rate = f" at {row.gbs:.3g} GB/s" if row.gbs else ""
    return f"`{row.name}` {length(row.sum_ms)}{rate}"
