"""Who writes and who reads each buffer of a generated module.

Inductor reuses memory: ``buf1 = buf0; del buf0  # reuse`` gives an old buffer a new name, and a
kernel may overwrite what it has read. So the unit here is not a name but a :class:`Content`: what a
buffer holds from the statement that writes it to the one that overwrites it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from tracelens.logs._kernels import Parameter
from tracelens.logs._statements import (
    Alias,
    Allocation,
    Check,
    Checks,
    Constant,
    Dim,
    ExternCall,
    KernelCall,
    Returned,
    Unpack,
)
from tracelens.logs.output_code import OutputModule, Step
from tracelens.words import is_whole

__all__ = ["Content", "Dataflow", "item_size"]

_BITS = {"bool": 8, "complex32": 32, "complex64": 64, "complex128": 128, "bfloat16": 16}


def item_size(dtype: str) -> int | None:
    """Return the bytes of one element of ``float32``, ``int8`` ...; None if unknown."""
    if dtype in _BITS:
        return _BITS[dtype] // 8
    if dtype.startswith("float8"):
        return 1
    digits = dtype.lstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits) // 8 if is_whole(digits) and int(digits) >= 8 else None


#: Elements that no memory holds: the number was damaged.
IMPOSSIBLE = 1 << 60


def _is_given(code: Constant | Allocation) -> bool:
    """Whether it declares a parameter or an input, not a buffer of the graph."""
    return isinstance(code, Constant) or code.allocator.startswith("rand")


def _count(size: Sequence[Dim] | None) -> int | None:
    numbers = [dim for dim in size or () if isinstance(dim, int)]
    if size is None or len(numbers) != len(size):
        return None
    count = math.prod(numbers)
    return count if count < IMPOSSIBLE else None


class Content(msgspec.Struct, eq=False):
    """What one statement wrote into one buffer."""

    #: The name that the statement uses for the buffer.
    name: str
    #: None for an input of the graph, a parameter or a constant.
    producer: Step | None
    size: tuple[Dim, ...] | None = None
    dtype: str = ""
    #: The statements that read it, in order, each once; ``return`` is not one of them.
    readers: list[Step] = msgspec.field(default_factory=list)
    #: Whether it is a result of the graph.
    returned: bool = False
    #: Older contents of the same memory that a write into a part of it left alive.
    under: tuple[Content, ...] = ()
    #: The size of the name, where the memory was allocated with another one.
    view: tuple[Dim, ...] | None = None
    #: The steps between the elements of that name, in elements; None where nothing tells them.
    stride: tuple[Dim, ...] | None = None

    @property
    def count(self) -> int | None:
        """How many elements it has; None for symbolic sizes."""
        return _count(self.size)

    @property
    def bytes(self) -> int | None:
        """How many bytes it occupies; None for symbolic sizes and unknown types."""
        count, item = self.count, item_size(self.dtype)
        return None if count is None or item is None else count * item


class _Memory(msgspec.Struct, eq=False):
    """A piece of memory, whatever it is called, and what it holds now."""

    size: tuple[Dim, ...] | None = None
    dtype: str = ""
    holds: Content | None = None


class _Name(msgspec.Struct):
    """A name and the memory it stands for; a view may cover a part of it."""

    memory: _Memory
    size: tuple[Dim, ...] | None = None
    is_part: bool = False
    stride: tuple[Dim, ...] | None = None


class Dataflow:
    """The contents of one module's buffers, from a single pass over its statements."""

    def __init__(self, module: OutputModule) -> None:
        self._kernels = module.kernels
        self._names: dict[str, _Name] = {}
        self._written: dict[int, list[Content]] = {}
        self._read: dict[int, list[Content]] = {}
        for step in module.steps:
            code = step.code
            if isinstance(code, Constant | Allocation) and _is_given(code):
                self._given(code.result, code.size, code.dtype)
        for step in module.body:
            self._step(step)

    def results(self, step: Step) -> tuple[Content, ...]:
        """Return what ``step`` wrote."""
        return tuple(self._written.get(id(step), ()))

    def operands(self, step: Step) -> tuple[Content, ...]:
        """Return what ``step`` read, in the order of its arguments, each once."""
        return tuple(self._read.get(id(step), ()))

    def _step(self, step: Step) -> None:
        code = step.code
        if isinstance(code, ExternCall):
            self._extern(step, code)
        elif isinstance(code, KernelCall):
            self._kernel(step, code)
        elif isinstance(code, Alias):
            self._alias(code)
        elif isinstance(code, Allocation):
            memory = _Memory(code.size, code.dtype)
            self._names[code.result] = _Name(memory, code.size, stride=code.stride)
        elif isinstance(code, Check | Checks):
            self._check(code)
        elif isinstance(code, Unpack):
            for name in code.names:
                if name not in self._names:
                    self._given(name, None, "")
        elif isinstance(code, Returned):
            for name in code.names:
                for content in self._contents(name):
                    content.returned = True

    def _check(self, code: Check | Checks) -> None:
        if isinstance(code, Check):
            self._learn(code.name, code.size, code.dtype)
        else:
            for name, size in zip(code.names, code.sizes, strict=False):
                self._learn(name, size, "")

    def _given(self, name: str, size: tuple[Dim, ...] | None, dtype: str) -> None:
        content = Content(name, None, size, dtype)
        self._names[name] = _Name(_Memory(size, dtype, content), size)

    def _alias(self, code: Alias) -> None:
        held = self._names.get(code.name)
        if held is None:
            return
        if code.index is not None:  # one of several results: memory of its own
            self._names[code.result] = _Name(_Memory(holds=held.memory.holds))
            return
        whole, part = _count(held.memory.size), _count(code.size)
        is_part = held.is_part or (code.size is not None and not code.deleted and whole != part)
        stride = code.stride if code.size else held.stride
        self._names[code.result] = _Name(held.memory, code.size or held.size, is_part, stride)

    def _learn(self, name: str, size: tuple[Dim, ...], dtype: str) -> None:
        held = self._names.get(name)
        if held is None:
            return
        held.size = held.size or size
        if not held.is_part:
            held.memory.size = held.memory.size or size
        held.memory.dtype = dtype or held.memory.dtype
        content = held.memory.holds
        if content is not None:
            content.size = content.size or size
            content.dtype = dtype or content.dtype

    def _extern(self, step: Step, code: ExternCall) -> None:
        # ``buf0.copy_(...)`` is a call of a buffer's method.
        read = [code.target.partition(".")[0], *code.names]
        self._reads(step, read)
        operands = self.operands(step)
        dtype = next((content.dtype for content in operands if content.dtype), "")
        if code.in_place:
            first = next((name for name in read if name in self._names), "")
            self._writes(step, first, dtype)
        if code.out:
            self._writes(step, code.out, dtype)
        if code.result:
            self._names[code.result] = _Name(_Memory(dtype=dtype))
            self._writes(step, code.result, dtype)

    def _kernel(self, step: Step, code: KernelCall) -> None:
        kernel = self._kernels.get(code.kernel)
        known = kernel.parameters if kernel is not None else ()
        unknown = Parameter(name="", reads=True, writes=True)
        used = [
            (name, known[place] if place < len(known) else unknown)
            for place, name in enumerate(code.names)
        ]
        self._reads(step, [name for name, parameter in used if parameter.reads])
        for name, parameter in used:
            if parameter.writes:
                self._writes(step, name, "")

    def _reads(self, step: Step, names: Iterable[str]) -> None:
        read = self._read.setdefault(id(step), [])
        for name in names:
            for content in self._contents(name):
                if content not in read:
                    read.append(content)
                    content.readers.append(step)

    def _contents(self, name: str) -> Iterable[Content]:
        held = self._names.get(name)
        content = held.memory.holds if held is not None else None
        return () if content is None else (content, *content.under)

    def _writes(self, step: Step, name: str, dtype: str) -> None:
        held = self._names.get(name)
        if held is None:
            return
        memory = held.memory
        memory.dtype = memory.dtype or dtype
        old = memory.holds
        under = (old, *old.under) if old is not None and held.is_part else ()
        size = held.size if held.is_part else memory.size
        memory.holds = Content(
            name, step, size, memory.dtype, under=under, view=held.size, stride=held.stride
        )
        self._written.setdefault(id(step), []).append(memory.holds)
