"""From generated code to oneDNN: which call of which compiled frame an execution belongs to.

oneDNN's lines name no process and no frame. What they have in common with generated code is the
operation, the data type and the sizes. An execution belongs to all calls that agree in these; where
that is one line of the user's program, it is the line, and where it is one frame, it is the frame.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from pydantic import ConfigDict, SkipValidation

from tracelens.evidence import Seen, Table
from tracelens.evidence.tables import Part
from tracelens.inductor.origins import Lines
from tracelens.inductor.tasks import tasks
from tracelens.inductor.weights import Unpackable, unpackable
from tracelens.logs import Joined, Record
from tracelens.logs._problems import Task, task_of
from tracelens.logs._stack import StackFrame
from tracelens.logs.onednn_verbose import PrimitiveExec
from tracelens.logs.output_code import OutputModule

if TYPE_CHECKING:
    from tracelens.logs.graph_code import FxGraph

__all__ = ["LibraryCall", "LibraryRun"]

Process = tuple[str, str]


class _OfCalls(Joined):
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )

    @classmethod
    def walks(cls) -> tuple[type[Record], ...]:
        """Without generated code there is no call, and nothing comes from one."""
        return (OutputModule,)


class LibraryCall(_OfCalls):
    """A product or a convolution that generated code leaves to a library, once per compilation."""

    #: Line within the text of the module.
    at: int
    target: str
    task: SkipValidation[Task]
    #: Data type of the first factor in oneDNN's words; empty where the module does not say.
    dtype: str = ""
    #: The user's lines that it computes, that of the operation itself first; none without graphs.
    lines: tuple[StackFrame, ...] = ()
    #: Why freezing would not pack its weights.
    unpackable: Unpackable = ""

    @classmethod
    def join(
        cls, modules: Table[OutputModule], *, graphs: Table[FxGraph]
    ) -> Iterator[Seen[LibraryCall]]:
        """Yield the calls of every module whose sizes are known."""
        lines = graphs.derived(Lines)
        for row in modules:
            given = lines.given(row)
            for step, code, task, dtype in tasks(row.record):
                why = unpackable(row.record.flow, step, given)
                for place in row.places:
                    one = row.about(row.record, [place])
                    record = cls(
                        at=step.at,
                        target=code.target,
                        task=task,
                        dtype=dtype,
                        lines=lines.product(one, step.comment),
                        unpackable=why,
                    )
                    yield row.about(record, [place])


class LibraryRun(_OfCalls):
    """The executions of one primitive in one input, and the calls that they may come from."""

    run: SkipValidation[Seen[PrimitiveExec]]
    part: SkipValidation[Part]
    calls: SkipValidation[tuple[Seen[LibraryCall], ...]]

    @property
    def compilation(self) -> tuple[str, str, str] | None:
        """The compilation that makes the calls; None where several do."""
        found = {call.first.compilation for call in self.calls}
        return next(iter(found)) if len(found) == 1 else None

    @property
    def line(self) -> StackFrame | None:
        """The user's line; None where the calls stand in several lines, or in unknown ones."""
        found = {call.record.lines[:1] for call in self.calls}
        return next(iter(next(iter(found))), None) if len(found) == 1 else None

    @classmethod
    def join(
        cls, calls: Table[LibraryCall], execs: Table[PrimitiveExec]
    ) -> Iterator[Seen[LibraryRun]]:
        """Yield the executions that some call agrees with."""
        made: defaultdict[tuple[Process, Task], list[Seen[LibraryCall]]] = defaultdict(list)
        for call in calls:
            made[call.first.process, call.record.task].append(call)
        processes = {process for process, _ in made}
        if not processes:
            return
        for row in execs:
            task = task_of(row.record)
            if task is None:
                continue
            for part in row.split():
                process = _process_of(part, processes)
                found = made.get((process, task), []) if process is not None else []
                dtype = row.record.dtypes.get("src", "")
                same = [call for call in found if call.record.dtype in {"", dtype}]
                if same:
                    record = cls(run=row, part=part, calls=tuple(same))
                    yield row.about(record, [part.place], part.count, part.times)


def _process_of(part: Part, processes: set[Process]) -> Process | None:
    """Return the process that printed the lines of a part; None where it may be one of several."""
    source, writer = part.place.input, part.place.writer
    here = [p for p in processes if p[0] == source]
    if writer:
        here = [p for p in here if p[1] == writer]
    elif not here:
        here = list(processes)
    return here[0] if len(here) == 1 else None
