"""What printed tables of profilers say of launches: key_averages, and those of Nsight Systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

from pydantic import ConfigDict, SkipValidation

from tracelens.evidence import Seen, Table
from tracelens.late import late
from tracelens.logs import Joined
from tracelens.logs.chrome_trace import DataLoading
from tracelens.logs.key_averages import DEVICES, Average, KeyAverages
from tracelens.logs.kineto import ProfilerLine
from tracelens.logs.nsys_stats import NsysRow, NsysTable
from tracelens.traces.measured import Window
from tracelens.traces.rows import Timeline

__all__ = [
    "AnyLoading",
    "AnyProfile",
    "AnyRecording",
    "DeviceProfile",
    "PrintedProfile",
    "PrintedRow",
    "is_loading",
    "is_of_xpu",
]

#: Columns that a table has of a device.
_OF_DEVICE = tuple(how for one in sorted(DEVICES) for how in (f"Self {one}", f"{one} total"))
#: Calls that start a kernel, and calls that wait for the device.
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "hipLaunchKernel", "hipModuleLaunchKernel")
WAITS = ("Synchronize", "cudaEventQuery", "cudaMemcpy")
#: Operators that move and convert data, and compute nothing.
COPYING = frozenset({"aten::copy_", "aten::clone", "aten::contiguous", "aten::_to_copy"})
#: Copies in tables of Nsight Systems and nvprof.
_COPIES = ("[CUDA mem", "[CUDA Unified")
#: Names that only a program on a GPU has.
ON_GPU = ("cuda", "cudnn", "hipLaunch", "nccl:", "Memcpy HtoD", "Memcpy DtoH", "miopen")
#: Calls of Level Zero and of Unified Runtime, through which Intel's GPUs are driven.
_ON_XPU = late(r"(?:ze|ur)(?:Command|Module|Kernel|Mem|Event|Context|Queue|Enqueue|USM)[A-Z]")


class PrintedRow(NamedTuple):
    """One row: what itself took, without what it called. Times in milliseconds."""

    name: str
    calls: int
    host_ms: float
    device_ms: float


class PrintedProfile(Joined):
    """One printed table, or those of one report. Times in milliseconds."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )

    launches: int = 0
    launch_ms: float = 0.0
    #: Of the host in all, and of it waiting for the device.
    host_ms: float = 0.0
    wait_ms: float = 0.0
    #: Of the device; None where the table does not say.
    device_ms: float | None = None
    #: What took time on either side.
    rows: tuple[PrintedRow, ...] = ()
    #: Whether it has columns of a device, in which no time stands at all.
    no_device: bool = False
    #: Of that device, else of the host: what operators spend on copying and converting.
    copy_ms: float = 0.0
    #: Names in it that only a program on a GPU has.
    on_gpu: tuple[str, ...] = ()
    #: Whether some of the code was compiled.
    compiled: bool = False
    table: SkipValidation[Seen[KeyAverages] | Seen[NsysTable]]

    @property
    def by_torch(self) -> bool:
        """Whether torch's own profiler printed it."""
        return isinstance(self.table.record, KeyAverages)

    @property
    def is_part(self) -> bool:
        """Whether it is some rows of a table, whose head was not pasted."""
        return bool(self.table.record.rows) and not self.table.record.header

    @property
    def is_foot(self) -> bool:
        """Whether it is the totals below a table, without its columns."""
        return not (self.table.record.header or self.table.record.rows)

    @property
    def host_to_gpu(self) -> float:
        """How many times as long as the GPU the host works, by the totals below a table.

        0 where one is missing, or is of a device without CUDA graphs.
        """
        table = self.table.record
        if not isinstance(table, KeyAverages):
            return 0.0
        totals = {one.total.strip(): one.duration for one in table.totals}
        host, device = totals.get("Self CPU"), totals.get("Self CUDA")
        return host / device if host and device else 0.0

    def of(self, named: Callable[[str], bool]) -> list[PrintedRow]:
        """Return the rows that have such names, the longest on the device first."""
        rows = (row for row in self.rows if named(row.name))
        return sorted(rows, key=lambda row: (-row.device_ms, -row.host_ms, row.name))

    @classmethod
    def join(
        cls, *, averages: Table[KeyAverages], reports: Table[NsysTable]
    ) -> Iterator[Seen[PrintedProfile]]:
        """Yield one per table of torch, and one for all tables of Nsight Systems."""
        for seen in (row for row in averages if row.record.rows or row.record.totals):
            yield Seen(_of_torch(seen), seen.count, seen.places, seen.text)
        tables = list(reports)
        if tables:
            first = next((row for row in tables if not row.record.of_kernels), tables[0])
            yield Seen(_of_nsys(tables, first), first.count, first.places, first.text)


class DeviceProfile(Joined):
    """Some profile that holds launches: a trace, or a printed table."""

    switch: ClassVar[str] = "torch.profiler.profile(...)"

    @classmethod
    def join(
        cls, *, timelines: Table[Timeline], printed: Table[PrintedProfile]
    ) -> Iterator[Seen[DeviceProfile]]:
        """Yield one if there is any."""
        rows = [*timelines, *(row for row in printed if row.record.launches)]
        for row in rows[:1]:
            yield Seen(cls(), 1, row.places, row.text)


class AnyLoading(Joined):
    """Batches that are waited for: spans of a trace, or rows of a printed table."""

    switch: ClassVar[str] = "torch.profiler.profile(...)"

    @classmethod
    def join(
        cls, *, loads: Table[DataLoading], printed: Table[PrintedProfile]
    ) -> Iterator[Seen[AnyLoading]]:
        """Yield one if there is any."""
        tables = (row for row in printed if row.record.of(is_loading))
        for row in [*loads, *tables][:1]:
            yield Seen(cls(), 1, row.places, row.text)


class AnyProfile(Joined):
    """Some profile: a trace, or a printed table."""

    switch: ClassVar[str] = "torch.profiler.profile(...)"

    @classmethod
    def join(
        cls, *, windows: Table[Window], printed: Table[PrintedProfile]
    ) -> Iterator[Seen[AnyProfile]]:
        """Yield one if there is any."""
        for row in [*windows, *printed][:1]:
            yield Seen(cls(), 1, row.places, row.text)


class AnyRecording(Joined):
    """Some profile, or the profiler's word that it cannot record a GPU."""

    switch: ClassVar[str] = "torch.profiler.profile(...)"

    @classmethod
    def join(
        cls,
        *,
        windows: Table[Window],
        printed: Table[PrintedProfile],
        said: Table[ProfilerLine],
    ) -> Iterator[Seen[AnyRecording]]:
        """Yield one if there is any."""
        refused = said.where(lambda line: line.lacks_cuda)
        for row in [*windows, *printed, *refused][:1]:
            yield Seen(cls(), 1, row.places, row.text)


def is_loading(name: str) -> bool:
    """Tell whether a row is that of a DataLoader which makes, or waits for, a batch."""
    return name.startswith("enumerate(DataLoader)#")


def is_of_xpu(name: str) -> bool:
    """Tell whether a row is a call of the driver of Intel's GPUs."""
    return _ON_XPU.match(name) is not None


def _of_torch(seen: Seen[KeyAverages]) -> PrintedProfile:
    rows = list(seen.record.averages())
    totals = {total.total.strip(): total.duration for total in seen.record.totals}
    host = next((ms for name, ms in totals.items() if name == "Self CPU" and ms), None)
    devices = [ms for name, ms in totals.items() if name != "Self CPU" and ms is not None]
    columns = any(name.endswith(_OF_DEVICE) for name in seen.record.columns)
    timed = [row for row in rows if row.self_device_ms]
    of_host, _ = seen.record.whole()
    return PrintedProfile(
        launches=sum(row.calls or 0 for row in rows if row.name.startswith(LAUNCHES)),
        launch_ms=sum(row.self_cpu_ms or 0 for row in rows if row.name.startswith(LAUNCHES)),
        host_ms=host or of_host or sum(row.self_cpu_ms or 0.0 for row in rows),
        wait_ms=sum(row.self_cpu_ms or 0.0 for row in rows if any(w in row.name for w in WAITS)),
        device_ms=devices[0] if devices else _of_device(seen.record, timed) if columns else None,
        no_device=columns and not timed and _is_whole(seen.record),
        rows=tuple(
            PrintedRow(
                row.name.rstrip(".…"), row.calls or 0, row.self_cpu_ms or 0, row.self_device_ms or 0
            )
            for row in rows
        ),
        copy_ms=sum(
            (row.self_device_ms if timed else row.self_cpu_ms) or 0.0
            for row in rows
            if row.name in COPYING
        ),
        on_gpu=tuple(dict.fromkeys(row.name for row in rows if _is_on_gpu(row.name)))[:5],
        compiled=any("CompiledFxGraph" in r.name or "triton_" in r.name for r in rows),
        table=seen,
    )


def _of_device(table: KeyAverages, timed: list[Average]) -> float | None:
    """Return the device's milliseconds; of some rows that are the host's alone, None."""
    known = table.whole()[1] or sum(row.self_device_ms or 0.0 for row in timed)
    return known or (0.0 if table.header else None)


def _is_whole(table: KeyAverages) -> bool:
    """Tell whether its device took no time in all, or a share of none, which is no number."""
    totals = [one.duration for one in table.totals if one.total != "Self CPU"]
    nothing = bool(totals) and not any(totals)
    return nothing or any(cell == "NaN" for row in table.rows for cell in row.cells)


def _is_on_gpu(name: str) -> bool:
    if "_for_cpu" in name:  # long names are cut
        return False
    library = "cudnn_" in name or "_flash_attention" in name
    return library or name.startswith(ON_GPU) or is_of_xpu(name)


def _by_share(rows: list[NsysRow]) -> float:
    """Return the milliseconds of a whole table, of which some rows were pasted; 0 if unknown."""
    largest = max(rows, key=lambda row: row.ms, default=None)
    if largest is None or largest.percent is None or largest.percent < 1:
        return 0.0
    return 100 * largest.ms / largest.percent


def _of_nsys(tables: list[Seen[NsysTable]], first: Seen[NsysTable]) -> PrintedProfile:
    others = [row for seen in tables if not seen.record.of_kernels for row in seen.record.typed()]
    calls = [row for row in others if row.name.startswith(("cu", "hip"))]
    kernels = [row for seen in tables if seen.record.of_kernels for row in seen.record.typed()]
    on_device = [*kernels, *(row for row in others if row.name.startswith(_COPIES))]
    return PrintedProfile(
        launches=sum(row.calls for row in calls if row.name.startswith(LAUNCHES)),
        launch_ms=sum(row.ms for row in calls if row.name.startswith(LAUNCHES)),
        host_ms=sum(row.ms for row in calls),
        wait_ms=sum(row.ms for row in calls if any(word in row.name for word in WAITS)),
        device_ms=max(sum(row.ms for row in on_device), _by_share(kernels)) if kernels else None,
        copy_ms=sum(row.ms for row in on_device if kernels and row.name.startswith(_COPIES)),
        rows=(
            *(PrintedRow(row.name, row.calls, row.ms, 0.0) for row in calls),
            *(PrintedRow(row.name, row.calls, 0.0, row.ms) for row in kernels),
        ),
        on_gpu=tuple(row.name for row in calls[:3]),
        compiled=any(row.name.startswith("triton_") for row in kernels),
        table=first,
    )
