"""Kernels whose results nothing reads: a buffer is filled after what should have read it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from tracelens.evidence.tables import Seen
from tracelens.logs._kernels import KernelDef, Parameter
from tracelens.logs._statements import (
    Alias,
    Allocation,
    Check,
    Checks,
    Deletion,
    ExternCall,
    Function,
    KernelCall,
    Other,
    Returned,
    Statement,
)
from tracelens.logs.output_code import OutputModule, Step

__all__ = ["NeverRead", "never_read"]

#: Memory that another process reads, or hardware, is not only a graph's own.
_OWN = re.compile(r"empty(?:_strided)?(?:_(?:cpu|cuda|xpu|mps))?\Z")
_GENERATED = re.compile(r"(?:cpp|triton_(?:poi|red|per))_fused_")
_POINTER = re.compile(r"(?:in|out|in_out)_ptr\d+\Z")
#: What a kernel does beside writing: it prints, or checks something else than its own indices.
_DOES = re.compile(
    r"(?:device_assert|TORCH_CHECK)\((?![^\n]{0,999}index out of bounds)"
    r"|device_print|printf|_assert_"
)
#: Words of which one stands in a kernel that does: most have none, and need no such pattern.
_SIGNS = ("_assert", "TORCH_CHECK", "print")
_WORD = re.compile(r"[A-Za-z_]\w*")


class NeverRead(msgspec.Struct, frozen=True):
    """A call of a kernel, and the buffers that it writes for nobody."""

    seen: Seen[OutputModule]
    step: Step
    kernel: KernelDef
    buffers: tuple[str, ...]
    #: An earlier call that computes with one of them, before it is filled.
    early: Step | None


class _Memory(msgspec.Struct, eq=False):
    """A piece of memory of the graph's own, by whatever name."""

    #: Whether another name may stand for it that is not known.
    escaped: bool = False
    #: The statements that mention it last, and last before that.
    last: Step | None = None
    before: Step | None = None
    #: What held the same memory before, where no statement has mentioned this one yet.
    was: _Memory | None = None


def never_read(row: Seen[OutputModule]) -> Iterator[NeverRead]:
    """Yield the calls of a module all of whose results are neither read nor returned.

    Any mention in a later statement counts as reading, also a second name for the memory; so does
    whatever is not understood. A name under which the memory is used again, as `del` of the first
    one tells, reads what it held where the first kernel that is called with it reads it, or may.
    """
    module = row.record
    for steps in _functions(module):
        yield from _of_function(row, steps)


def _functions(module: OutputModule) -> Iterator[list[Step]]:
    """Yield the statements of each function that is whole, and all of which is understood."""
    steps: list[Step] = []
    for step in module.body:
        if isinstance(step.code, Other):
            return
        steps.append(step)
    begun: list[Step] = []
    for step in steps:
        if isinstance(step.code, Returned):
            yield [*begun, step]
            begun = []
        elif isinstance(step.code, Function):
            begun = []
        else:
            begun.append(step)


def _of_function(row: Seen[OutputModule], steps: list[Step]) -> Iterator[NeverRead]:
    kernels = row.record.kernels
    names: dict[str, _Memory] = {}
    writing: list[tuple[Step, KernelDef, dict[str, _Memory]]] = []
    for step in steps:
        code = step.code
        if isinstance(code, Allocation | Alias):
            _named(code, step, names)
            continue
        if isinstance(code, Check | Checks | Deletion):
            continue
        overwritten = _overwritten(code, kernels)
        for name, memory in _mentioned(code, names):
            if name not in overwritten:
                _read_before(memory, step)
            memory.was = None
            _mention(memory, step)
            memory.escaped = memory.escaped or not _is_known(code)
        if isinstance(code, KernelCall) and (kernel := kernels.get(code.kernel)) is not None:
            written = _written(code, kernel)
            if written and all(name in names for name in written):
                writing.append((step, kernel, {name: names[name] for name in written}))
        elif isinstance(code, ExternCall) and code.result:
            names.pop(code.result, None)
    for step, kernel, buffers in writing:
        held = list(buffers.values())
        if all(memory.last is step and not memory.escaped for memory in held):
            before = (memory.before for memory in held if memory.before is not None)
            early = next((one for one in before if _computes(one, tuple(buffers), kernels)), None)
            yield NeverRead(row, step, kernel, tuple(buffers), early)


def _named(code: Allocation | Alias, step: Step, names: dict[str, _Memory]) -> None:
    """Note what a new name stands for, and that the old one is mentioned."""
    held = names.get(code.name) if isinstance(code, Alias) else None
    names.pop(code.result, None)
    if isinstance(code, Alias):
        if held is not None and code.deleted == code.name:
            names[code.result] = _Memory(escaped=held.escaped, was=held)
        elif held is not None:
            _mention(held, step)
            names[code.result] = held
    elif _OWN.match(code.allocator):
        names[code.result] = _Memory()


def _mention(memory: _Memory, step: Step) -> None:
    if memory.last is not step:
        memory.before, memory.last = memory.last, step


def _read_before(memory: _Memory, step: Step) -> None:
    """Note that what the same memory held under its former names is read."""
    while (held := memory.was) is not None:
        _mention(held, step)
        memory = held


def _computes(step: Step, names: tuple[str, ...], kernels: dict[str, KernelDef]) -> bool:
    """Tell whether a call does more with buffers of these names than to set them to zero."""
    code = step.code
    if not isinstance(code, KernelCall) or (kernel := kernels.get(code.kernel)) is None:
        return False
    pairs = list(zip(code.names, kernel.parameters, strict=False))
    return any(one.writes and name not in names for name, one in pairs)


def _mentioned(code: Statement, names: dict[str, _Memory]) -> list[tuple[str, _Memory]]:
    words = dict.fromkeys(_WORD.findall(code.text))
    return [(word, names[word]) for word in words if word in names]


def _overwritten(code: Statement, kernels: dict[str, KernelDef]) -> list[str]:
    """Return the buffers that a call fills without looking at what they held."""
    if not isinstance(code, KernelCall) or (kernel := kernels.get(code.kernel)) is None:
        return []
    if len(code.names) < len([one for one in kernel.parameters if _is_pointer(one)]):
        return []
    pairs = zip(code.names, kernel.parameters, strict=False)
    return [name for name, one in pairs if _is_pointer(one) and one.writes and not one.reads]


def _is_known(code: Statement) -> bool:
    """Tell whether nothing keeps, or returns, another name for what a statement reads."""
    if isinstance(code, ExternCall):
        return bool(code.out) and not code.result
    return isinstance(code, KernelCall | Returned)


def _written(code: KernelCall, kernel: KernelDef) -> list[str]:
    """Return the buffers that a call writes; none where that is not known, or not all it does."""
    known = kernel.parameters
    if not _GENERATED.match(kernel.kernel) or kernel.is_template or _does_more(kernel.source):
        return []
    if len(code.names) < len([one for one in known if _POINTER.match(one.name)]):
        return []
    pairs = list(zip(code.names, known, strict=False))
    if any(parameter.writes and not _is_pointer(parameter) for _, parameter in pairs):
        return []
    return [name for name, parameter in pairs if parameter.writes]


def _does_more(source: str) -> bool:
    return any(sign in source for sign in _SIGNS) and _DOES.search(source) is not None


def _is_pointer(parameter: Parameter) -> bool:
    return _POINTER.match(parameter.name) is not None
