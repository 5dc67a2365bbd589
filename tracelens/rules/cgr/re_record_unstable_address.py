"""CGR005 re-record-unstable-address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracelens.dynamo import user_code
from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.logs.cudagraphs import FunctionRun, MovedInputs, PointerChange, RerecordLimit
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, FindingData, Severity
from tracelens.rules import Rule
from tracelens.words import and_more

__all__ = ["ReRecordUnstableAddress"]

#: Recordings of one function again from which on it is no accident. Where the log does not show
#: them, each line may be one of several graphs that did not fit.
MANY, MANY_LINES = 4, 8
MAX_QUOTED = 3
MAX_NAMED = 3
#: What torch says when a tensor moved, in all versions.
MOVED = "data pointer changed"


class ReRecordUnstableAddress(Rule):
    """A graph is recorded again and again, because tensors change their address.

    ## Why it matters
    A recording holds the addresses of parameters, of tensors marked as static, and of outputs of
    other recordings. When one of them moves, the graph is recorded again for the new address, which
    takes longer than running it. After 128 recordings torch gives up, and the function runs without
    CUDA graphs. Replacing ``parameter.data`` or ``.grad`` in each step does it.

    ## What it looks like
    A warning that needs no switch, once the limit is hit, with the input that moved last:

        W1120 14:52:08.171000 14340 torch/_inductor/cudagraph_utils.py:380] [__cudagraphs] skipping cudagraph due to function 0 exceeding max re-recording limit (=128) on cudagraph node 0 due to static input data pointer changed.
        W1120 14:52:08.171000 14340 torch/_inductor/cudagraph_utils.py:380] [__cudagraphs] input name: primals_3. data pointer changed from 139988 to 139990. input stack trace:   File "/home/ana/proj/model.py", line 35, in forward
        W1120 14:52:08.171000 14340 torch/_inductor/cudagraph_utils.py:380] [__cudagraphs]     keys = self.project(x)

    ``TORCH_LOGS="+cudagraphs"`` shows each time: ``Re-recording function=...``. Newer versions
    (2.13) do not count parameters and marked tensors towards the limit; they are recorded again
    without end, and only this log tells.

    ## When it is harmless
    A few times at the start, when a model is loaded or moved: up to seven recordings again of one
    function are not reported.

    ## What to do
    Write new values into the old tensor (``copy_``), keep gradients with
    ``zero_grad(set_to_none=False)``, and do not mark as static what moves.

    ## How a live run confirms it
    The same steps with the tensor updated in place: no recording after the warm-up.

    ## See also
    CGR004 (recorded once per size), CGR010 (gradients that are copied).
    <https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html>
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "CGR005"
    name = "re-record-unstable-address"
    severity = Severity.WARNING
    unconfirmable = IN_THE_PROGRAM

    class Data(FindingData):
        """A function that was recorded again and again."""

        function: str
        recordings: int
        #: An input moved; else outputs of an earlier call are still in use.
        has_moved: bool
        #: What moved, as far as the log names it.
        inputs: tuple[str, ...] = ()
        #: torch gave up, and launches the kernels one by one.
        is_given_up: bool
        #: All that is known is that it moved: what was recorded again is not in the text.
        is_quoted: bool = False

    remedies = (
        Remedy(
            id="write-into",
            text="Write new values into the tensor instead of putting another one in its place: "
            "parameter.data.copy_(new), not parameter.data = new.",
            when="an input moved",
            applies=lambda data: data.has_moved,
            basis="tested",
            proof="tests/advice/CGR005/write-into.py",
        ),
        Remedy(
            id="load-into",
            text="Load other weights into those that are there, too: `load_state_dict(...)` "
            "without `assign=True`, and a LoRA by copying its tensors, not by another adapter's.",
            when="an input moved, and no more of it is in the text",
            applies=lambda data: data.is_quoted,
            code="with torch.no_grad(): parameter.copy_(new)",
            basis="untestable",
            proof="needs a GPU; https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
        ),
        Remedy(
            id="keep-gradients",
            text="Keep the gradients, if it is they that move.",
            when="an input moved",
            applies=lambda data: data.has_moved and not data.is_quoted,
            code="optimizer.zero_grad(set_to_none=False)",
            basis="tested",
            proof="tests/advice/CGR005/keep-gradients.py",
        ),
        Remedy(
            id="mark-step",
            text="Release the outputs of the step before, or mark where a step begins.",
            when="nothing moved",
            applies=lambda data: not data.has_moved,
            code="torch.compiler.cudagraph_mark_step_begin()",
            since="2.1",
            basis="untestable",
            proof="needs a GPU",
        ),
    )

    def check(
        self,
        *,
        limits: Table[RerecordLimit],
        runs: Table[FunctionRun],
        moved: Table[MovedInputs],
    ) -> Iterator[Finding]:
        """Yield one finding per function that hit the limit, or that is recorded often."""
        for place, seen in limits.events():
            yield self._limit(place, seen)
        if len(limits):
            return
        again, recorded = _again(runs)
        for target, events in again.items():
            if len(events) >= (MANY if target in recorded else MANY_LINES):
                yield self._often(target, events)
        if not len(runs):
            yield from (self._quoted(*event) for event in moved.events()[:1])

    def _quoted(self, place: Place, seen: Seen[MovedInputs]) -> Finding:
        """Return what the lines mean that people quote: what moved, and not how often."""
        changes = seen.record.pointer_changes
        frame = user_code.best(f for change in changes for f in change.stack_frames)
        what = _named(changes) if changes else "A parameter, a buffer or a tensor marked as static"
        data = self.Data(
            function="",
            recordings=0,
            has_moved=True,
            inputs=tuple(dict.fromkeys(change.input for change in changes)),
            is_given_up=False,
            is_quoted=True,
        )
        return self.finding(
            "quoted",
            title="a CUDA graph is recorded again, since an input that was to stay has moved",
            message=f"{what} had new storage when the graph was called: a recording holds "
            "addresses, and is made anew for others. How often that is, the text does not tell.",
            confidence=Confidence.MEDIUM,
            count=seen.count,
            where=user_code.where(frame),
            evidence=[seen.quote(place=place)],
            advice=self.advise(data),
            data=data,
        )

    def _limit(self, place: Place, seen: Seen[RerecordLimit]) -> Finding:
        limit = seen.record
        changes = limit.pointer_changes
        moved = MOVED in limit.reason
        why = f": {_named(changes)} moved" if changes else f": {limit.reason}"
        frame = user_code.best(f for change in changes for f in change.stack_frames)
        data = self.Data(
            function=str(limit.function_id),
            recordings=limit.limit,
            has_moved=moved,
            inputs=tuple(dict.fromkeys(change.input for change in changes)),
            is_given_up=True,
        )
        return self.finding(
            limit.reason,
            *(change.input for change in changes[:MAX_NAMED]),
            title=f"a graph was recorded {limit.limit} times, and runs without CUDA graphs now",
            message=f"Function {limit.function_id} was recorded again each time{why}. From here on "
            f"its kernels are launched one by one.",
            count=seen.count,
            where=user_code.where(frame),
            evidence=[seen.quote(place=place)],
            advice=self.advise(data),
            data=data,
        )

    def _often(self, target: str, events: Sequence[tuple[Place, Seen[FunctionRun]]]) -> Finding:
        changes = [change for _, seen in events for change in seen.record.pointer_changes]
        how = events[-1][1].record.how
        moved = MOVED in how or bool(changes)
        frame = user_code.best(f for change in changes for f in change.stack_frames)
        named = f" What moved: {_named(changes)}." if changes else ""
        data = self.Data(
            function=target,
            recordings=len(events),
            has_moved=moved,
            inputs=tuple(dict.fromkeys(change.input for change in changes)),
            is_given_up=False,
        )
        return self.finding(
            target,
            title=f"`{target}` was recorded again {len(events)} times",
            message=f"Each time a CUDA graph was made that fits the new addresses only. Making one "
            f"takes longer than running the kernels.{named}",
            count=len(events),
            where=user_code.where(frame),
            evidence=[
                seen.quote(at=seen.record.at, place=place) for place, seen in events[:MAX_QUOTED]
            ],
            advice=self.advise(data),
            data=data,
        )


def _again(
    runs: Table[FunctionRun],
) -> tuple[dict[str, list[tuple[Place, Seen[FunctionRun]]]], set[str]]:
    """Return by function where it was recorded again, and of which the recordings are shown.

    Torch prints a line for each graph that did not fit: those before the next recording are one.
    """
    again: dict[str, list[tuple[Place, Seen[FunctionRun]]]] = {}
    last: dict[str, str] = {}
    recorded = {run.record.target for _, run in runs.events() if run.record.run == "Recording"}
    for place, run in runs.events():
        target, what = run.record.target, run.record.run
        is_first = last.get(target) != what or target not in recorded
        if what == "Re-recording" and is_first:
            again.setdefault(target, []).append((place, run))
        last[target] = what
    return again, recorded


def _named(changes: Sequence[PointerChange]) -> str:
    names = list(dict.fromkeys(change.input for change in changes))
    more = and_more(len(names), MAX_NAMED)
    return ", ".join(f"`{name}`" for name in names[:MAX_NAMED]) + more
