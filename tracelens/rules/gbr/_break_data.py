"""What the findings about one line at which the graph breaks hold."""

from __future__ import annotations

import ast

from tracelens.dynamo import user_code
from tracelens.dynamo.breaks import BreakSite
from tracelens.dynamo.lost_loops import Loop, is_open, loop_of
from tracelens.logs.graph_breaks import StackFrame
from tracelens.report import FindingData
from tracelens.rules.gbr._later import branches_on
from tracelens.rules.gbr._values import named, old_call, value_of

__all__ = ["BreakData", "Code", "Line", "break_data"]


#: What Dynamo traces of torch's where an autograd.Function is applied.
_FUNCTION = "torch/_functorch/autograd_function.py"


class Line(FindingData):
    """A line of code."""

    file: str
    line: int
    function: str = ""


class Code(Line):
    """The same, with what stands there."""

    code: str = ""


class LoopCode(Code):
    """A loop; one that goes over modules, as of a ModuleList, has no code."""

    #: Whether how often it goes round is a matter of what the function is called with.
    is_open: bool = False
    #: Modules or functions of the object that it calls.
    calls: tuple[str, ...] = ()


class BreakData(FindingData):
    """A line at which the graph breaks."""

    #: What kind of break it is: ``scalar``, ``branch``, ``context_manager`` ...
    family: str
    #: The innermost line of the program or of a library, and its code.
    file: str
    line: int
    function: str = ""
    code: str = ""
    #: The function, operator, builtin or attribute that the record names.
    name: str = ""
    #: The type of break as torch words it, and the class of what no graph can hold.
    reason: str = ""
    value: str = ""
    #: Torch says no more than what it met, as up to 2.6.
    terse: bool = False
    #: A method that is called with a number before its tensors, as torch took it before 1.5.
    old_call: str = ""
    #: The installed package that the line is in; empty for the program's own code.
    package: str = ""
    #: The user's own line that leads there, where the line is in a package.
    caller: Line | None = None
    #: All such lines that the records name, and whether further calls lead there, unnamed.
    callers: tuple[Line, ...] = ()
    elsewhere: bool = False
    #: The modules through which the line is reached, such as ``self.head``, and the first call.
    via: tuple[str, ...] = ()
    via_line: Line | None = None
    #: Modules that are called beside the first of them, and do not lead to a break.
    beside: tuple[str, ...] = ()
    #: Others that are called there, in which the graph breaks as well.
    torn: tuple[str, ...] = ()
    #: Whether the log holds guards, which name such modules.
    guarded: bool = True
    #: There are none, or single layers alone and several functions that break below the first.
    alone: bool = False
    #: Modules that the compiled module's own ``forward`` calls, where the line is in that.
    parts: tuple[str, ...] = ()
    #: The classes of those, where it is given up and each of them is compiled without a break.
    classes: tuple[str, ...] = ()
    #: An attribute in the line that holds a NumPy number, which Dynamo traces as a tensor.
    held_by_numpy: str = ""
    #: The line reads a float that the module holds as a tensor: it counts nothing.
    reads_float: bool = False
    #: Whether all that is compiled demands that gradients are off; None where no guard says.
    inference: bool | None = None
    #: Python needs the number that is read, as for a range: each value is an entry.
    needs_number: bool = False
    #: The step of an optimizer leads there.
    in_optimizer: bool = False
    #: Whether a module is called on the way there; true where the way is not known.
    in_module: bool = True
    #: The program's own line calls the package, and no module of the package leads there.
    direct: bool = False
    #: The program's own line is outside of compiled code, or returns what the package's call does.
    is_all: bool = False
    #: All lines that lead to the break, the outermost first.
    stack: tuple[Line, ...] = ()
    #: How many of them lead to the compiled module.
    outside: int = 0
    #: Functions that lead there and are compiled by themselves since the graph breaks on their way.
    behind: tuple[Line, ...] = ()
    records: int = 1
    #: In how many of them a whole function was given up, and which.
    skipped: int = 0
    lost: tuple[str, ...] = ()
    #: Whether the function that holds the line is one that was given up.
    leaves: bool = False
    #: The ``with`` that enters the context manager of the program's own that holds the line.
    entered: Code | None = None
    #: The program's own line on the way that only reports something.
    reporting: Code | None = None
    #: Whether Python decides by what the line assigns, in a later line that the log shows.
    decides: bool = False
    #: A compiled function of the program's own calls the one that it is in.
    is_helper: bool = False
    #: ``end`` where that returns what this does, ``later`` where other lines stand before it.
    helper_at: str = ""
    #: The loop that a function was given up for.
    loop: LoopCode | None = None
    #: The value of a flag that passes with the first call, with which alone the graph breaks.
    until: str = ""

    @property
    def in_function(self) -> bool:
        """Whether an autograd.Function leads there: no symbol leaves it, and no extra result."""
        return any(one.file.replace("\\", "/").endswith(_FUNCTION) for one in self.stack)

    @property
    def broken_in(self) -> str:
        """The installed package where tracing stopped, if a line of the program's own is told."""
        return user_code.package(self.stack[-1].file) if self.stack else ""

    @property
    def told_at(self) -> str:
        """The line that is told; empty where none is."""
        return user_code.short(self.file, self.line) if self.file else ""


def break_data(site: BreakSite, name: str = "") -> BreakData:
    """Return what the findings about ``site`` hold."""
    line, caller, record, via = site.line, site.caller, site.record, site.via
    stack = [Line(file=f.file, line=f.line, function=f.function) for f in site.stack]
    loop = loop_of(site)
    if record.file and (record.file, record.line) not in {(f.file, f.line) for f in stack}:
        stack.append(Line(file=record.file, line=record.line))
    return BreakData(
        terse=record.cause is not None and not record.cause.told,
        family=site.family,
        file=line.file,
        line=line.line,
        function=line.function,
        code=line.code,
        name=name or named(site),
        reason=record.text,
        value=value_of(site),
        old_call=old_call(site),
        package=user_code.package(line.file),
        caller=_line(caller),
        callers=tuple(Line(file=f.file, line=f.line, function=f.function) for f in site.callers),
        elsewhere=site.elsewhere,
        via=tuple(name for name, _ in via) or site.led,
        via_line=Line(file=via[0][1].file, line=via[0][1].line, function=via[0][1].function)
        if via
        else None,
        beside=site.beside,
        torn=site.torn,
        guarded=site.guarded,
        alone=site.alone,
        parts=site.parts,
        classes=site.classes,
        held_by_numpy=site.held_by_numpy,
        reads_float=site.reads_float,
        inference=site.inference,
        needs_number=site.needs_number,
        in_optimizer=site.in_optimizer,
        in_module=site.in_module,
        direct=site.direct,
        is_all=caller is not None and not site.others and _is_all(caller, _entered(site, caller)),
        stack=tuple(stack),
        outside=site.outside,
        records=site.count,
        skipped=site.skipped,
        lost=site.lost,
        leaves=site.leaves,
        entered=_code(site.entered),
        reporting=_code(site.reporting),
        decides=site.decides or branches_on(site),
        is_helper=site.is_helper,
        helper_at=site.helper_at,
        loop=_loop(loop),
        until=site.only_if if site.passes else "",
    )


def _entered(site: BreakSite, caller: StackFrame) -> str:
    """Return the function of the package that a line of the program calls."""
    inner = site.stack[site.stack.index(caller) + 1 :] if caller in site.stack else ()
    return inner[0].function if inner else ""


def _is_all(caller: StackFrame, entered: str) -> bool:
    """Whether nothing of what is compiled is left without the call in a line of the program.

    What is returned must be of that call, and not of one around it: ``self.head(pool(x))``.
    """
    if caller.function == "<module>":  # never compiled
        return True
    try:
        line = ast.parse(caller.code.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    returned = line[0].value if line and isinstance(line[0], ast.Return) else None
    if not isinstance(returned, ast.Call):
        return False
    outer, *inner = [
        ast.unparse(one.func) for one in ast.walk(returned) if isinstance(one, ast.Call)
    ]
    is_around = any(_last(one) == entered for one in inner) and _last(outer) != entered
    return not is_around and not any(one.startswith("self.") for one in (outer, *inner))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _line(frame: StackFrame | None) -> Line | None:
    if frame is None:
        return None
    return Line(file=frame.file, line=frame.line, function=frame.function)


def _loop(loop: Loop | None) -> LoopCode | None:
    if loop is None:
        return None
    return LoopCode(
        file=loop.file,
        line=loop.line,
        code=loop.code,
        is_open=is_open(loop.code),
        calls=loop.calls,
    )


def _code(frame: StackFrame | None) -> Code | None:
    if frame is None:
        return None
    return Code(file=frame.file, line=frame.line, function=frame.function, code=frame.code)
