"""TRC022 profiler-without-device."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Seen, Table
from tracelens.logs.chrome_trace import Collective, Operator, RuntimeCall
from tracelens.logs.key_averages import Requested
from tracelens.logs.kineto import ProfilerLine
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.rules.trc._cupti import ERROR, NOT_RECORDED, REFUSED
from tracelens.rules.trc._tables import of_table
from tracelens.traces.apple import MPS
from tracelens.traces.measured import Window
from tracelens.traces.printed import AnyRecording, PrintedProfile, is_of_xpu
from tracelens.traces.unanswered import Unanswered
from tracelens.words import length

__all__ = ["ProfilerWithoutDevice"]

#: Words of operators that run on a GPU and nowhere else.
ON_GPU = (
    "cudnn_",
    "miopen_",
    "_efficient_attention",
    "_flash_attention_forward",
    "_fused_sdp_cuda",
)
#: Operators that only ask whether it would, on the CPU too: those of LSTM and CTC loss.
ASKS = frozenset({"cudnn_is_acceptable", "_use_cudnn_ctc_loss", "_use_cudnn_rnn_flatten_weight"})
#: Libraries of collectives that move data between GPUs.
LIBRARIES = frozenset({"nccl", "rccl"})
MAX_QUOTED = 3
#: Kernels whose hardware counters were read, one by one.
COUNTED = "cuda_profiler_range"
#: What the profiler up to torch 1.8 wrote of the device: operators, and no kernels.
OLDER = "CUDA functions"

_UNREAD_TITLE = "the device of this trace is of a kind that is not read"
_UNREAD_TEXT = (
    "They are counted and no more: which of host and device waits for the other cannot be told "
    "from this report."
)
_OLDER_TITLE = "the trace is of the profiler up to torch 1.8, which records no kernels"
_OLDER_TEXT = (
    "Each is an operator from its first kernel to its last; they lie inside each other and hold "
    "what the device waited for. They are counted and no more: `torch.profiler`, since 1.8.1, "
    "records kernels."
)
_MPS_TITLE = "the trace holds nothing that ran on Apple's GPU"
_MPS_TEXT = (
    "The profiler records none of its work: times of operators are those of handing it over, and "
    "what reads a result waits for all that was handed over before."
)
#: The operator that reads one element.
_READS = "aten::item"


class Undevised(FindingData):
    """What shows that a GPU was used."""

    launches: int
    operators: tuple[str, ...]
    #: Category of events of a device that cannot be read; empty for none.
    unread: str = ""
    #: The profiler itself says that it cannot record the GPU.
    refused: bool = False
    #: The error that it names then, such as ``CUPTI_ERROR_NOT_INITIALIZED``.
    error: str = ""
    #: The device is Intel's.
    xpu: bool = False
    #: Launches from one moment on that have no kernel.
    missing: int = 0
    #: The program, which is in the text, asked for CUDA already.
    asked: bool = False


def _on_gpu(data: Undevised) -> bool:
    known = data.unread in {"", COUNTED, OLDER}
    return known and not (data.refused or data.xpu or data.missing or data.asked)


class ProfilerWithoutDevice(Rule):
    """The program used a GPU, and the trace holds nothing that ran on it.

    ## Why it matters
    Without kernels and copies nothing can be said of the device: neither how long it worked nor
    why it waited. The operators' times on the host are times of launching, not of computing.

    ## What it looks like
    Collectives of NCCL, or calls that launch kernels, and no event of the category ``kernel``; or
    events of a device that is not read (MTIA, NPU), which is information:

        {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "ts": 100.0, "dur": 60.0, "pid": 1, "tid": 1}

    Or the profiler says so itself:

        WARNING:2025-02-26 09:43:38 68350:68350 init.cpp:179] CUPTI initialization failed - CUDA profiler activities will be missing

    Or it has the kernels of the first launches only: then shares are of these, which is information.

    ## When it is harmless
    Where the host alone is of interest. A trace of a program on the CPU has none of these events, and
    the rule keeps quiet.

    ## What to do
    Record the device too. Where that is asked for already, the profiler could not, and a warning of
    Kineto says why: another tool uses CUPTI, the driver restricts counters to administrators, or
    `LD_LIBRARY_PATH` leads to another CUPTI or to a libcuda that only links.

    ## How a live run confirms it
    The program is profiled with the activity. Confirmed when the trace has kernels.

    ## See also
    <https://docs.pytorch.org/docs/stable/profiler.html>
    """  # noqa: E501 -- the excerpt is an event of a trace

    code = "TRC022"
    name = "profiler-without-device"
    severity = Severity.WARNING
    unconfirmable = "it is about how the trace was recorded, not about the program"
    Data = Undevised
    remedies = (
        Remedy(
            id="activities",
            text="Record the device too.",
            when="the device is a GPU",
            applies=_on_gpu,
            code=(
                "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, "
                "torch.profiler.ProfilerActivity.CUDA])"
            ),
            proof="https://docs.pytorch.org/docs/stable/profiler.html",
        ),
        Remedy(
            id="fewer",
            text="Record fewer steps at a time, and let the profiler end after them: it waits for "
            "what was launched.",
            when="the kernels of the last launches are missing",
            applies=lambda data: data.missing > 0,
            code="torch.profiler.profile("
            "schedule=torch.profiler.schedule(wait=1, warmup=2, active=3))",
            proof="https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule",
        ),
        Remedy(
            id="xpu-activities",
            text="Record the device too, after a step or two, which make its kernels. Where that "
            "is asked for already, this torch records no Intel GPU: "
            "`torch.profiler.supported_activities()` tells.",
            when="the device is an Intel GPU",
            applies=lambda data: data.xpu,
            code=(
                "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, "
                "torch.profiler.ProfilerActivity.XPU])"
            ),
            since="2.6",
            proof="https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html",
        ),
        Remedy(
            id="signposts",
            text="Record its kernels with Instruments: these signposts name the operators there.",
            when="the device is Apple's GPU",
            applies=lambda data: data.unread == MPS,
            code='torch.mps.profiler.profile(mode="interval", wait_until_completed=False)',
            since="2.0",
            proof="https://docs.pytorch.org/docs/stable/generated/torch.mps.profiler.profile.html",
        ),
        *REFUSED,
        NOT_RECORDED,
        Remedy(
            id="supported",
            text="See what the profiler of this machine can record; without CUDA in it, CUPTI is "
            "missing, in use, or for administrators only.",
            when="the activity was asked for already, and no counters instead",
            applies=lambda data: (
                not (data.unread or data.refused or data.xpu or data.missing or data.asked)
            ),
            code="print(torch.profiler.supported_activities())",
            since="1.8.1",
            proof="https://docs.pytorch.org/docs/stable/profiler.html",
        ),
    )

    def check(
        self,
        profiles: Table[AnyRecording],
        *,
        windows: Table[Window],
        printed: Table[PrintedProfile],
        said: Table[ProfilerLine],
        calls: Table[RuntimeCall],
        collectives: Table[Collective],
        operators: Table[Operator],
        unanswered: Table[Unanswered],
        requested: Table[Requested],
    ) -> Iterator[Finding]:
        """Yield one finding per trace, or printed table, that lacks the device."""
        del profiles
        for each in unanswered:
            yield self._cut(each, list(calls.within(each.first.input)))
        refused = list(said.where(lambda line: line.lacks_cuda))
        if refused:
            yield self._refused(refused, said)
            return
        for row in printed:
            one = row.record
            if one.no_device:
                yield self._empty(row)
            elif one.by_torch and one.device_ms is None and not (one.is_foot or one.is_part):
                yield self._printed(row, requested)
        for window in windows:
            if window.record.kernels or window.record.busy_ms:
                continue
            source = window.first.input
            launches = [row for row in calls.within(source) if row.record.launches]
            shown: list[Seen[Collective] | Seen[Operator]] = [
                row for row in collectives.within(source) if row.record.communicator in LIBRARIES
            ]
            shown += [
                row
                for row in operators.within(source)
                if row.record.op not in ASKS and any(word in row.record.op for word in ON_GPU)
            ]
            unread = dict(window.record.unread)
            if OLDER in unread:
                yield self._unread(window, OLDER, _OLDER_TITLE, _OLDER_TEXT)
            elif launches or shown or COUNTED in unread:
                yield self._finding(window, launches, shown)
            elif MPS in unread:
                yield self._on_mps(window, list(operators.within(source)))
            elif unread:
                most = max(window.record.unread, key=lambda pair: pair[1])[0]
                yield self._unread(window, most, _UNREAD_TITLE, _UNREAD_TEXT)

    def _cut(self, row: Seen[Unanswered], calls: list[Seen[RuntimeCall]]) -> Finding:
        """Return that what the last launches brought the device is missing."""
        cut = row.record
        data = Undevised(launches=cut.launches, operators=(), missing=cut.missing)
        return self.finding(
            "part",
            title=f"{cut.missing:,} of {cut.launches:,} launches have no kernel in the trace",
            message=(
                f"From {length(cut.from_ms)} of {length(cut.to_ms)} of launching on, nothing is "
                "known of the GPU: times and shares of kernels are those of the first "
                f"{cut.launches - cut.missing:,} launches. The recording ended before the rest "
                "ran, the profiler's buffer ran over, or the file was cut."
            ),
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            count=cut.missing,
            evidence=[each.quote(f"{each.count} times") for each in calls if each.record.launches][
                :MAX_QUOTED
            ]
            or [row.quote()],
            advice=self.advise(data),
            data=data,
        )

    def _refused(self, rows: list[Seen[ProfilerLine]], said: Table[ProfilerLine]) -> Finding:
        """Return what it means that CUPTI, through which kernels are recorded, did not start."""
        errors = [row for row in said if ERROR.search(row.record.message)]
        names = [match[0] for row in errors if (match := ERROR.search(row.record.message))]
        error = names[0] if names else ""
        why = f" ({error})" if error else ""
        data = Undevised(launches=0, operators=(), refused=True, error=error)
        return self.finding(
            "refused",
            title="the profiler cannot record the GPU: CUPTI did not start",
            message=(
                f"CUPTI, through which kernels and copies are recorded, did not start{why}: "
                "profiles of this process hold nothing that ran on the GPU."
            ),
            confidence=Confidence.HIGH,
            count=sum(row.count for row in rows),
            evidence=[row.quote() for row in (*errors, *rows)][:MAX_QUOTED],
            advice=self.advise(data),
            data=data,
        )

    def _printed(self, row: Seen[PrintedProfile], requested: Table[Requested]) -> Finding:
        """Return what a table without columns of a device means; on a CPU there are none."""
        shown = row.record.on_gpu
        beside = next((one.record for one in requested.within(row.first.input)), Requested())
        asked = beside.wants_cuda and (beside.on_cuda or bool(beside.activities))
        uses = bool(shown) or beside.on_cuda
        xpu = any(is_of_xpu(name) for name in shown)
        data = Undevised(launches=row.record.launches, operators=shown, xpu=xpu, asked=asked)
        return self.finding(
            "printed",
            title=(
                "the profiler was to record the GPU, and the table has no columns of one"
                if asked
                else "the table has no columns of a GPU"
            ),
            message=of_table(row.record, beside, asked=asked),
            severity=None if uses else Severity.INFO if asked else Severity.NONE,
            confidence=Confidence.HIGH if shown else Confidence.MEDIUM if uses else Confidence.LOW,
            evidence=[row.record.table.quote()],
            advice=self.advise(data),
            data=data,
        )

    def _empty(self, row: Seen[PrintedProfile]) -> Finding:
        """Return that a table has columns of a GPU, and no time in any of them."""
        return self.finding(
            "empty",
            title="no time on a GPU stands in the profiler's table",
            message=(
                "It has columns of a GPU, which are all zero: the program ran on the CPU, or the "
                "profiler did not record the GPU, for want of CUPTI or of CUDA among its "
                "activities. Which of both, `next(model.parameters()).device` tells."
            ),
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            evidence=[row.record.table.quote()],
            advice=self.advise(Undevised(launches=0, operators=())),
            data=Undevised(launches=0, operators=()),
        )

    def _unread(self, window: Seen[Window], category: str, title: str, text: str) -> Finding:
        """Return that what the device did is in events that are not read."""
        count = dict(window.record.unread)[category]
        data = Undevised(launches=0, operators=(), unread=category)
        return self.finding(
            "unread",
            title=title,
            message=f"{count:,} events of `{category}` are what it did. {text}",
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            count=count,
            evidence=[window.quote(f"{count:,} events of {category}")],
            advice=self.advise(data),
            data=data,
        )

    def _on_mps(self, window: Seen[Window], rows: list[Seen[Operator]]) -> Finding:
        """Return that a trace is of Apple's GPU, and what waits for it."""
        reads = [row for row in rows if str(row.record) == _READS]
        waits = "".join(
            f" `{row.record}` takes {length(row.ms)} of {length(window.record.ms)} in "
            f"{row.count:,} calls."
            for row in reads
        )
        data = Undevised(launches=0, operators=(), unread=MPS)
        longest = sorted(rows, key=lambda row: -row.ms)[:1]
        return self.finding(
            "mps",
            title=_MPS_TITLE,
            message=f"{_MPS_TEXT}{waits}",
            confidence=Confidence.HIGH,
            count=dict(window.record.unread)[MPS],
            evidence=[
                row.quote(f"{row.count:,} times, {length(row.ms)} in all")
                for row in reads or longest
            ],
            advice=self.advise(data),
            data=data,
        )

    def _finding(
        self,
        window: Seen[Window],
        launches: list[Seen[RuntimeCall]],
        shown: list[Seen[Collective] | Seen[Operator]],
    ) -> Finding:
        data = Undevised(
            launches=sum(row.count for row in launches),
            operators=tuple(str(row.record) for row in shown),
            unread=COUNTED if (counted := dict(window.record.unread).get(COUNTED)) else "",
        )
        replayed = (
            f" Hardware counters of {counted:,} kernels were read instead (`{COUNTED}`): for that "
            "they run one by one, and the times of the host are not those of the program."
            if counted
            else ""
        )
        names = [f"`{row.record}`" for row in (*launches, *shown)][:MAX_QUOTED]
        return self.finding(
            "device",
            title="the trace holds nothing that ran on the GPU",
            message=(
                f"{', '.join(names)} show that a GPU was used, but there is no kernel and no copy: "
                f"how long it worked, and why it waited, is not in this trace.{replayed}"
            ),
            confidence=Confidence.HIGH if launches else Confidence.MEDIUM,
            count=sum(row.count for row in (*launches, *shown)),
            evidence=[row.quote(f"{row.count} times") for row in (*launches, *shown)][:MAX_QUOTED],
            advice=self.advise(data),
            data=data,
        )
