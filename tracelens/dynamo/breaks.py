"""Graph breaks by place: many records, and two forms of one record, are one thing to fix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import msgspec

from tracelens.dynamo import user_code
from tracelens.dynamo.break_effect import note_resumed
from tracelens.dynamo.class_bodies import in_class_body, leave_out_bodies
from tracelens.dynamo.reporting import reports
from tracelens.dynamo.setup_breaks import SetupBreak
from tracelens.dynamo.wrapped import outside_of
from tracelens.evidence import Place, Seen, Table
from tracelens.logs.graph_breaks import GraphBreak, StackFrame
from tracelens.report import EvidenceLine
from tracelens.report.stories import Story, as_written

__all__ = [
    "BACKEND_EXCEPTION",
    "BreakSite",
    "by_place",
    "cuts",
    "lost_around",
    "once",
    "records",
    "sites",
]

MAX_QUOTED = 3
#: How torch calls the break that it makes where a backend fails.
BACKEND_EXCEPTION = "Backend compiler exception"
#: Python that Dynamo traces instead of C: one line of it makes all objects of all programs.
_POLYFILLS = "torch/_dynamo/polyfills/"
#: A call of something that an object holds; whether it is a module, the next frame says.
_HELD = re.compile(r"\bself((?:\.\w+|\[\w+\])+)\(")
#: Methods of a context manager that is a class.
_ENTERS = frozenset({"__enter__", "__exit__", "__aenter__", "__aexit__"})
#: Every optimizer's ``step`` is called through a wrapper in this file.
_OPTIMIZER = "torch/optim/optimizer.py"
#: What torch 2.11 and later print before the reason.
_WRAPPER = "Encountered graph break when attempting to trace"


class BreakSite(msgspec.Struct, dict=True):
    """One line of the program at which the graph breaks for one reason; no record comes later."""

    family: str
    events: list[tuple[Place, Seen[GraphBreak]]] = msgspec.field(default_factory=list)
    #: The longest stack that any of the records prints.
    stack: tuple[StackFrame, ...] = ()
    #: Whether Dynamo gave up a function at this line for another reason that follows from it.
    unresumed: bool = False
    #: The line of an earlier break of the same call that was resumed; what came behind is given up.
    resumed: int = 0
    #: The modules that are called beside the one that leads here, such as ``self.encoder``.
    beside: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()  #: Such modules in which the graph breaks as well.
    #: The modules that lead there, where the stack leaves them out and the guards name them.
    led: tuple[str, ...] = ()
    guarded: bool = True  #: Whether the log holds guards, which name such modules.
    #: There are none, or single layers alone and several functions that break below that module.
    alone: bool = False
    #: Modules that the function at :attr:`top` calls, such as ``encoder`` or ``layers.0``, and
    #: their classes, where it is given up and each of them has no break.
    parts: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    #: Modules that the program's own function with a call of the package calls beside that call.
    others: tuple[str, ...] = ()
    held_by_numpy: str = ""  #: The attribute that the line reads a NumPy number from.
    reads_float: bool = False  #: Whether it reads a float that the module holds as a tensor.
    #: By the guards: gradients are off; Python decides by the number read, or needs it itself.
    inference: bool | None = None
    decides: bool = False
    needs_number: bool = False
    used: str = ""  #: A later line of the same function that computes with it.
    steers: bool = False  #: Whether Python decides by numbers of the list that it leaves.
    flagged: str = ""  #: The argument that gets its ``requires_grad`` in the line.
    shared: bool = False  #: Whether other code of the run fails with a symbol for a number read.
    listed: bool = False  #: Whether code behind it loops over the list that the line leaves.
    is_helper: bool = False  #: Whether a compiled function calls the one of the line.
    helper_at: str = ""  #: What that returns, what is before it.
    bounds: bool = False  #: Whether the number bounds a slice of what attention is computed of.
    sized: str = ""  #: A later line that makes a size of it.
    cut: str = ""  #: A later line with a slice that begins or ends at it.
    state: str = ""  #: A float that code of the same file keeps, changes and reads when compiled.
    varies: bool = False  #: Whether sizes of inputs vary, or one is 1.
    inside: str = ""  #: The first line of the side that a branch took, where the log shows it.
    known: bool = False  #: Whether what is called with alone tells which side a branch takes.
    rest: str = ""  #: The loop over a range for which what comes behind the line is given up.
    only_if: str = ""  #: The value of a flag with which alone it breaks.
    passes: bool = False  #: Whether that passes for good.

    @cached_property
    def record(self) -> GraphBreak:
        """The record that says most."""
        return max((seen.record for _, seen in self.events), key=_told)

    @property
    def count(self) -> int:
        """How many records there are; the announcement of a break is the same break."""
        return sum(not seen.record.announced for _, seen in self.events) or len(self.events)

    @property
    def skipped(self) -> int:
        """In how many of them the whole frame was given up."""
        return sum(seen.record.skips_frame for _, seen in self.events)

    @property
    def lost(self) -> tuple[str, ...]:
        """The functions that were given up, the innermost first, where the records name them."""
        names = [
            cause.context.function
            for _, seen in self.events
            for cause in seen.record.causes
            if cause.context is not None and cause.context.function
        ]
        return tuple(dict.fromkeys(names))

    @property
    def leaves(self) -> bool:
        """Whether the function that holds the line was given up, not only one that calls it."""
        line = self.line
        loops = {
            (cause.context.file, as_written(cause.context.function))
            for _, seen in self.events
            for cause in seen.record.causes[1:]
            if cause.family == "loop" and cause.context is not None
        }
        return self.unresumed or (line.file, line.function) in loops

    @cached_property
    def line(self) -> StackFrame:
        """The innermost line of the program or of a model, with its code."""
        inner = StackFrame(file=self.record.file, line=self.record.line)
        return user_code.best([inner, *self.stack]) or inner

    @cached_property
    def caller(self) -> StackFrame | None:
        """The user's own line that leads there, if the break is in a package."""
        return user_code.caller(self.stack, self.line.file)

    @property
    def callers(self) -> tuple[StackFrame, ...]:
        """The user's own lines that lead there by any of the records, if it is in a package."""
        file = self.line.file
        found = [user_code.caller(seen.record.stack, file) for _, seen in self.events]
        return tuple({(one.file, one.line): one for one in found if one is not None}.values())

    @property
    def elsewhere(self) -> bool:
        """Whether more functions break there than are on the ways that are printed: once each."""
        numbers = {place.frame.partition("/")[0] for place, _ in self.events if place.frame}
        printed = {
            (frame.file, frame.function)
            for _, seen in self.events
            for frame in seen.record.stack
            if frame.function != "<module>" and user_code.distance(frame.file, frame.function) < 2
        }
        return len(numbers) > len(printed) > 0

    @cached_property
    def outside(self) -> int:
        """How many frames of the stack lead to a compiled module, and are not of it."""
        return outside_of(self.stack)

    @property
    def top(self) -> StackFrame | None:
        """The line of the compiled module's own ``forward``, if no module leads on to the break."""
        inner = self.stack[self.outside + 1 :] if self.outside else ()
        if not inner or inner[0].function != "forward":
            return None
        led = any(user_code.is_module_call(frame) for frame in inner)
        deeper = any(frame.function == "forward" for frame in inner[1:])
        return None if led or deeper else inner[0]

    @property
    def via(self) -> tuple[tuple[str, StackFrame], ...]:
        """The calls of held modules that lead there, such as ``self.head``, the outermost first.

        What a compiled object is called by does not count: nothing beside it is compiled.
        """
        found = []
        traced = self.stack[self.outside :]
        for frame, inner in pairwise(traced):
            if user_code.distance(frame.file, frame.function) > 1:
                continue
            called = user_code.is_module_call(inner) or inner.function == "forward"
            if called and len(names := _HELD.findall(frame.code)) == 1:
                found.append((f"self{names[0].removesuffix('.forward')}", frame))
        return tuple(found)

    @property
    def in_module(self) -> bool:
        """Whether a module is called on the way there; true where the way is not known."""
        return not self.stack or user_code.calls_module(self.stack)

    @property
    def direct(self) -> bool:
        """Whether the program's own line calls the package, and no module of that leads there."""
        caller = self.caller
        if caller is None:
            return False
        return not user_code.calls_module(self.stack[self.stack.index(caller) + 1 :])

    @property
    def reporting(self) -> StackFrame | None:
        """The innermost line of the program on the way there that only reports something.

        What it calls to report leads there, and no argument: ``print(compiled(x))`` is outside.
        """
        entered = [*(frame.function for frame in self.stack[1:]), ""]
        for frame, inner in reversed(list(zip(self.stack, entered, strict=False))):
            is_own = not user_code.package(frame.file)
            near = is_own and user_code.distance(frame.file, frame.function) == 0
            if near and (name := reports(frame.code)) and inner in {"", name}:
                return frame
        return None

    @property
    def entered(self) -> StackFrame | None:
        """The program's ``with`` that runs the line, where that is in a context manager's own."""
        found = [
            frame
            for frame, inner in zip(self.stack, self.stack[1:], strict=False)
            if (
                inner.file.replace("\\", "/").endswith("/contextlib.py")
                or inner.function in _ENTERS
            )
            and frame.code.startswith(("with ", "async with "))
            and user_code.distance(frame.file, frame.function) == 0
        ]
        return found[-1] if found and not self.caller else None

    @property
    def in_optimizer(self) -> bool:
        """Whether the step of an optimizer leads there."""
        return any(frame.file.replace("\\", "/").endswith(_OPTIMIZER) for frame in self.stack)

    @property
    def identity(self) -> tuple[str, str, str]:
        """What the break is about, without line numbers."""
        return user_code.short((line := self.line).file), line.function, line.code

    def quotes(self) -> list[EvidenceLine]:
        """Return the records, the line that names the place and the one that names the type."""
        lines = []
        for place, seen in self.events[:MAX_QUOTED]:
            cause = seen.record.cause
            lines.append(seen.quote(place=place))
            if cause is not None and cause.at and len(lines) < MAX_QUOTED + 1:
                lines.append(seen.quote(place=place, at=cause.at))
        return lines


def sites(
    breaks: Table[GraphBreak],
    families: Iterable[str] = (),
    *,
    setup: Iterable[Seen[SetupBreak]] = (),
) -> list[BreakSite]:
    """Return the places of the breaks of some families (all when empty), in order of appearance.

    Those of the first call, ``setup``, are left out: GBR021 tells about them. The warning that
    announces ``Tensor.item()`` and the record of the same break are one. Torch 2.4 does not say
    where the announced break is; it is left out where other breaks of its kind are. What breaks at
    torch's own call of a module is told apart by the line that calls it. A record without a stack
    at a line of torch's polyfills belongs to the last that had one. What breaks within Python's own
    library, in a call that breaks the graph for the same reason, is the break of that line.
    """
    wanted = frozenset(families)
    passing = {(seen.record.file, seen.record.line, seen.record.family) for seen in setup}
    placing = breaks.derived(_placing)
    found = [
        (site.record, BreakSite(site.family, [*site.events], site.stack, resumed=site.resumed))
        for key, site in placing.sites.items()
        if (not wanted or site.family in wanted) and key[:3] not in passing
    ]
    placed = {site.family for record, site in found if record.file}
    for record, site in found:
        at = (record.file, record.line)
        site.unresumed = site.family not in placing.given_up.get(at, {site.family})
    every = [
        (record, site)
        for record, site in found
        if record.file or not (site.family in placed or _is_told(record, placing.called))
    ]
    return [site for record, site in every if not _is_first_line(record)] or [
        site for _, site in every
    ]


class _Placing(NamedTuple):
    """What all who ask for places of breaks have in common."""

    #: The places of all breaks, in order of appearance.
    sites: dict[tuple[object, ...], BreakSite]
    #: By file and line, for what whole frames were given up there.
    given_up: dict[tuple[str, int], set[str]]
    #: The functions that the records name.
    called: set[str]


def _placing(breaks: Table[GraphBreak]) -> _Placing:
    """Return the places of all breaks, whatever their families."""
    placing = _Placing({}, {}, set())
    made: dict[int, tuple[object, ...]] = {}
    inside: dict[tuple[object, ...], tuple[object, ...]] = {}
    for place, seen in breaks.events():
        record = seen.record
        family = record.family
        context = record.cause.context if record.file and record.cause else None
        if context and context.qualname:
            placing.called.add(context.qualname)
        key: tuple[object, ...] = (record.file, record.line, family)
        if record.skips_frame and not in_class_body(record):
            placing.given_up.setdefault((record.file, record.line), set()).add(family)
        forwarded = bool(record.stack) and user_code.forwards(record.stack[-1])
        if forwarded or _POLYFILLS in record.file:
            if line := user_code.best(record.stack):
                made[record.line] = key = (*key, line.file, line.line)
            elif record.duplicate:
                key = made.get(record.line, key)
        key = inside.get(key, key)
        line = user_code.best(record.stack) if user_code.is_standard(record.file) else None
        if line and (line.file, line.line, family) in placing.sites:
            inside[key] = key = line.file, line.line, family
        site = placing.sites.setdefault(key, BreakSite(str(key[2])))
        site.events.append((place, seen))
        if len(record.stack) > len(site.stack):
            site.stack = record.stack
    leave_out_bodies(placing.sites.values())
    note_resumed(placing.sites.values())
    return placing


def cuts(breaks: Table[GraphBreak]) -> Counter[tuple[str, str]]:
    """Return at how many lines of its own each compiled ``forward`` breaks, by its file and name.

    What a line of it calls may break at several: that cuts other functions, and it once.
    """
    tops = [site.top for site in breaks.derived(_placing).sites.values()]
    lines = {(top.file, top.function, top.line) for top in tops if top is not None}
    return Counter((file, function) for file, function, _ in lines)


def _is_told(record: GraphBreak, called: set[str]) -> bool:
    """Whether a warning announces the break at a function, and a record says where it is called."""
    name = record.cause.kind.skipped_name if record.announced and record.cause else ""
    parts = name.strip(".").split(".")
    return any(".".join(parts[at:]) in called for at in range(len(parts)))


def _is_first_line(record: GraphBreak) -> bool:
    """Whether it is the first line of a record alone, whose others were pasted in another dress."""
    return not record.file and record.text.startswith(_WRAPPER)


def by_place(found: Iterable[BreakSite]) -> list[list[BreakSite]]:
    """Return the breaks of each line together, the line with most records first.

    Every rule that says at how many places the graph breaks counts these.
    """
    groups: dict[tuple[str, int], list[BreakSite]] = {}
    for site in found:
        groups.setdefault((site.record.file, site.record.line), []).append(site)
    return sorted(groups.values(), key=lambda group: -records(group))


def records(found: Iterable[BreakSite]) -> int:
    """Return how many breaks all of them are."""
    return sum(site.count for site in found)


def once(site: BreakSite) -> str:
    """Return where the break is, for a sentence: the line, its code, and who called it."""
    line, caller = site.line, site.caller
    code = f": `{line.code}`" if line.code else ""
    via = f", reached from {user_code.short(caller.file, caller.line)}" if caller else ""
    place = user_code.short(line.file, line.line)
    return f"{place}{code}{via}" if code or not place else f"It breaks at {place}{via}"


def lost_around(file: str) -> Story:
    """Return the story of a function that was given up, and of what it called.

    The functions that it called are most often in the same package, else in the same file.
    """
    return "lost", user_code.package(file) or file


def _told(record: GraphBreak) -> tuple[bool, int, int]:
    cause = record.cause
    return not record.announced, len(record.stack), len(cause.hints) if cause else 0
