"""Read what a short text holds of torch's messages without the prefix that torch logs them behind.

Who pastes a line leaves the time, the process and the source file out. Behind a prefix the
beginning of a message tells its kind; without one it does where no other program would say it, and
so do some lines within records, which are named where nothing more can be read in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracelens.evidence import Evidence, Place
from tracelens.late import late
from tracelens.logs import Log, believed, kind
from tracelens.logs.torch_log import Site
from tracelens.source.closing import own
from tracelens.source.excerpts import hand_over_excerpts
from tracelens.source.kinds import TELLING, Kinds
from tracelens.source.prefixes import undressed
from tracelens.source.quoted import hand_over_quoted
from tracelens.source.requested import hand_over_requested
from tracelens.source.watch import MAX_BRIEF, Watch

__all__ = ["hand_over_left"]

#: Shortest beginning of a message that is believed behind a compile id.
BEHIND_ID = 8
#: A compile id: what is left of the prefix.
_ID = late(r"\[(?P<frame>\d{1,6}/\d{1,6}(?:_\d{1,3})?)\] (?=\S)")
#: Beginnings that other programs' messages have as well.
_OF_ANYONE = (
    "Skipping frame ",
    "Skipping guard ",
    "Cannot write to ",
    "Invalid value of ",
    "Recording function ",
    "failed while running ",
    "could not evaluate ",
    "Specializing ",
    "Failed during launch ",
    "Failed to get ",
    "empty checkpoint",
    "Precompilation timeout",
    "Profiler function ",
    "Generating code for ",
    "out of resource: ",
    "to include these operations",
    "OpenMP support ",
    "TensorFloat32 ",
    "Baseline peak memory",
    "Running eager of ",
    "Running warmup of ",
    "Error while creating ",
    "Cache Metrics",
    "Created at:",
    "Generated ",
    "Skip config ",
    "Step ",
    "create_env",
    "lowering ",
    "marking ",
    "scheduling ",
    "skipping: ",
)
_WORD = late(r"[A-Za-z]{3}")
CODE, FAILURES = "output_code", "failures"
#: Lines that only torch writes, by the kind of log whose records they are of.
_LINES = {
    "recompiles": r"\(['\"]Recompiling function ",
    "guards": r"___check_\w{2,30}\(|(?:not )?___(?:is|are)_\w{2,40}_enabled\(\)|check_tensor\(L\["
    r"|hasattr\([LG]\[[^\n]{1,200}, '_dynamo_dynamic_indices'\)|utils_device\.CURRENT_DEVICE == "
    r"|[^\s#][^\n#]{0,300}  # [^\n]{1,200}  # [^\s:]{1,200}\.py:\d+ in \w",
    "graph_code": r'\s{0,16}\w{1,80}: "[a-z]{1,5}\d{1,3}\[[^"\n]{0,200}\]\w{0,20}" = \w',
    "graph_breaks": r"Graph break in user code at \S"
    r'|Graph break: [^\n]{1,400} from user code at(?::$| {2,3}File ")'
    r"|WONT CONVERT (?:<[^>\n]{1,200}>|\S{1,200}) \S{1,300} +\d{1,7} *$"
    r"| {0,4}Stack variable source attribution:$"
    r"| {0,4}For more details about this graph break, please visit: ",
    "trace_source": r"TRACE (?:starts_line \S{1,300}|FX call \S{1,200} from \S{1,300}):\d",
    "bytecode": r"(?:ORIGINAL|MODIFIED) BYTECODE \S"
    r"|TRACE [A-Z][A-Z_]{2,30} \S{1,300} \[(?:\]$|\w{0,60}Variable)",
    "cudagraphs": r"Non-static input pos \d|static input (?:idxs|indices) |Re-recording function=",
    "fusion": r" {0,4}\w{0,20}SchedulerNode\((?:name|nodes)=|found \d+ possible fusions"
    r"|fusing (?:op|buf)\d\w{0,80} with (?:op|buf)\d",
    "schedule": r"Disabled vectorization: |BUFFER USER LIST$|=+ (?:BEFORE|AFTER) SCHEDULING =+"
    r"|(?:op|buf)\d+(?:_\w{1,80})?(?:: \w{0,40}SchedulerNode\("
    r"|\.(?:writes|unmet_dependencies|met_dependencies|users|outputs|group\.\w{1,12}) = )",
    "dynamic": r"track_symint |set_replacement [suz]\d+ = "
    r"|eval [^\n]{1,300} \[(?:statically known|trivial|guard (?:added|suppressed))\]",
    "dynamo_debug": r"skipping: \S{1,200} \(reason: [^\n]{1,200}, file: |Step \d: torch",
    "inductor_debug": r"Skip(?:ped)? layout opt|FX graph cache hash details"
    r"|lowering %\w{1,80} : \[num_users=|aten\.\w{1,40} +\| "
    r"|model__\w{1,40} debug trace: ",
    "warnings": r"using triton random, expect|OpenMP support not found\. Please try"
    r"|TensorFloat32 tensor cores for float32 matrix",
    "perf_hints": r"Skip comprehensive padding|Found optimal tiling with|\('Grad tensors \[",
    "benchmarking": r"Best config for triton_\w|[XYR]\w{0,6}BLOCK: \d+, [^\n]{0,300}num_warps: \d",
    CODE: r"\s{0,60}(?:auto tmp\d+ = (?:in_ptr|out_ptr|tmp\d)|tmp_acc\d{1,3}\w{0,12} = "
    r"|tmp\d+\.store\(|(?:in_)?out_ptr\d+\[static_cast<|inductor_ops = torch\.ops\."
    r"|async_compile(?:\.wait| = AsyncCompile)\(|empty_strided_\w{2,20} = torch\._C"
    r"|assert_size_stride(?:\(| = )|_frozen_param\d+ = "
    r"|def benchmark_compiled_module\(|(?:cpp_fused|triton)_\w{1,300} = async_compile\."
    r"|aten\.\w{1,40}\.\w{1,20}\(buf\d|buf\d+\.copy_\((?:arg|primals_)\d"
    r"|tmp\d+ = tl\.load\(in_(?:out_)?ptr\d|tl\.store\((?:in_)?out_ptr\d"
    r"|[xyr]\w?offset = tl\.program_id\()",
}
#: What stands in lines of generated code, and in no other program's.
_IN_CODE = late(
    r"\bat::vec::Vec|\bVectorized(?:::loadu|\(static_cast<)|\bkernel_micro_gemm|\bc10::ForcedUnroll"
    r"|\binductor_cpu_integer_div|\b(?:Kr_blocks|num_Kt_blocks|_local_acc_buf)\b"
    r"|\btorch/csrc/inductor/|\brecursively_apply_fns\b|\btorch\._inductor\.(?:utils|wrapper_bench)"
)
_FENCE = "```"
_PATTERNS = {name: late(pattern) for name, pattern in _LINES.items()}


class _Begun(NamedTuple):
    """The first line of a message."""

    log: type[Log]
    frame: str = ""
    #: Characters of what is left of a prefix.
    skip: int = 0
    #: Whether the line is certainly torch's, even if no more can be read in it.
    certain: bool = False

    @property
    def is_code(self) -> bool:
        """Whether it is a line of generated code, which follow one another."""
        return self.certain and self.log.name == CODE


class _Line(NamedTuple):
    number: int
    text: str
    rank: str
    begun: _Begun | None


def hand_over_left(watch: Watch, kinds: Kinds, name: str, lines: int, evidence: Evidence) -> None:
    """Add what no kind claims of the input ``name``, which has ``lines`` lines: failures, messages.

    A failure's text is read as a whole, and may hold any line of torch's.
    """
    if not watch.orphans:
        _hand_over_messages(watch, kinds, name, lines, evidence)
    hand_over_excerpts(watch, name, lines, evidence)
    hand_over_requested(watch.brief, name, evidence)
    if watch.orphans and FAILURES not in evidence.kinds:
        _hand_over_messages(watch, kinds, name, lines, evidence)
    if lines <= MAX_BRIEF and not (evidence.kinds or evidence.known or evidence.unread):
        hand_over_quoted(watch, kinds, name, evidence)


def _hand_over_messages(
    watch: Watch, kinds: Kinds, name: str, lines: int, evidence: Evidence
) -> None:
    if lines > MAX_BRIEF or not watch.left:
        return
    left = [_line(kinds, number, raw) for number, raw in watch.brief if number in watch.left]
    for at, end in _spans(left):
        begun = left[at].begun
        assert begun is not None  # noqa: S101 -- a span begins with one
        texts = [left[at].text[begun.skip :], *(one.text for one in left[at + 1 : end])]
        place = Place(name, left[at].number, left[at].rank, begun.frame)
        number, records = own(begun.log, texts)
        if records and believed(begun.log, records):
            text = "\n".join(texts[:number])
            evidence.add(begun.log, text, place, lines=number, records=records)
        elif begun.certain:
            some = texts if begun.is_code else texts[:1]
            evidence.add(begun.log, "\n".join(some), place, lines=len(some))


def _line(kinds: Kinds, number: int, raw: bytes) -> _Line:
    """Return a line without transport, and what message it begins."""
    bare, rank, _ = undressed(raw.rstrip(b"\r\n"))
    text = bare.decode("utf-8", "replace")
    return _Line(number, text, rank, _begun(kinds, text))


def _begun(kinds: Kinds, text: str) -> _Begun | None:
    found = _ID.match(text)
    skip, frame = (found.end(), found["frame"]) if found else (0, "")
    message = text[skip:]
    for name, pattern in _PATTERNS.items():
        if pattern.match(message):
            return _Begun(kind(name), frame, skip, certain=True)
    if _IN_CODE.search(message):
        return _Begun(kind(CODE), frame, skip, certain=True)
    mark = next((one for one in kinds.messages if message.startswith(one)), "")
    least = BEHIND_ID if found else TELLING
    if len(mark) < least or message.startswith(_OF_ANYONE) or not _WORD.search(mark):
        return None
    log = kinds.of_record(Site(), message)
    return None if log is None else _Begun(log, frame, skip)


def _spans(left: Sequence[_Line]) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of each line that begins a message and those that go on with it."""
    end = 0
    for at, first in enumerate(left):
        if at < end or first.begun is None:
            continue
        end = at + 1
        while end < len(left) and _goes_on(first.begun, left[end - 1], left[end]):
            end += 1
        yield at, end


def _goes_on(begun: _Begun, before: _Line, line: _Line) -> bool:
    """Tell whether ``line`` stands right behind a part of a message, and begins no other."""
    if line.number != before.number + 1 or line.rank != before.rank:
        return False
    if line.text.startswith(_FENCE):
        return False
    return line.begun is None or (begun.is_code and line.begun.is_code)
