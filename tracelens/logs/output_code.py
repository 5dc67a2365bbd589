"""The modules that Inductor generates: kernels, buffers, calls into libraries, and their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from tracelens import grammars
from tracelens.logs import Log, Record

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = [
    "Alias",
    "Allocation",
    "Check",
    "Checks",
    "CodeFile",
    "Constant",
    "Deletion",
    "ExternCall",
    "Function",
    "KernelCall",
    "KernelDef",
    "Origin",
    "Other",
    "OutputCode",
    "OutputModule",
    "Parameter",
    "Returned",
    "Source",
    "Statement",
    "Step",
    "Unpack",
    "Value",
]

#: Distinct statements whose models are kept.
MEMO = 50_000
#: Rows of the report's table.
MAX_ROWS = 200

Dim = int | str


def _size(children: object) -> object:
    """Return sizes from ``(128, 512)``, or from the tokens of each symbolic size."""
    if not isinstance(children, list):
        return children
    if len(children) == 1 and isinstance(children[0], str):
        return tuple(int(dim) for dim in children[0].strip("()[]").split(",") if dim.strip())
    texts = ["".join(child) for child in children]
    return tuple(int(text) if text.isdecimal() else text for text in texts)


def _offset(children: object) -> object:
    found = _size(children)
    return found[0] if isinstance(found, tuple) else found


def _sizes(children: object) -> object:
    return tuple(map(_size, children)) if isinstance(children, list) else children


def _words(text: object) -> object:
    return tuple(text.split(", ")) if isinstance(text, str) else text


Size = Annotated[tuple[Dim, ...], BeforeValidator(_size)]
Sizes = Annotated[tuple[tuple[Dim, ...], ...], BeforeValidator(_sizes)]
DType = Annotated[str, BeforeValidator(lambda text: text.removeprefix("torch."))]
Texts = Annotated[
    tuple[str, ...], BeforeValidator(lambda texts: [text.strip("'\"") for text in texts])
]


class OutputCode(Log):
    """The generated code of every graph, and the files it was written to."""

    name = "output_code"
    switch = 'TORCH_LOGS="output_code"'
    artifacts = frozenset({"__output_code"})
    cuts = re.compile(r"Output code(?: written to)?:")

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``kernels``: every generated kernel, what it fuses and how often it is called."""
        rows = [
            {"frame": seen.first.frame, "graph": module.aot_id, **row}
            for seen in evidence.table(OutputModule)
            for module in (seen.record,)
            for row in module.kernel_rows()
        ]
        return {"kernels": rows[:MAX_ROWS]} if rows else {}


class Origin(Record):
    """Which nodes of the traced graph, and which ATen operators, a statement computes."""

    nodes: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()
    ops: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()


class Statement(Record):
    """One statement of a generated module, with its text."""

    text: str = ""


class Mention(Statement):
    """A statement with arguments: what stands in them, each kind in its order."""

    names: tuple[str, ...] = ()
    strings: Texts = ()
    numbers: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    #: The name after ``out=``.
    out: str = ""


class Function(Statement):
    """``def call(args):``."""

    function: str


class Unpack(Statement):
    """``arg0_1, arg1_1 = args``: the inputs of the graph."""

    names: tuple[str, ...]


class Deletion(Statement):
    """``del buf0``."""

    names: tuple[str, ...]


class Returned(Mention):
    """``return (buf1, )``: the outputs of the graph, in ``names``."""


class Constant(Statement):
    """``_frozen_param1 = None  # device(type='cpu') torch.float32 (256,) (1,) ...``."""

    result: str
    device: str
    dtype: DType
    size: Size = ()
    stride: Size = ()


class Allocation(Statement):
    """``buf0 = empty_strided_cpu((32, 256), (256, 1), torch.float32)``, or ``rand_strided``."""

    result: str
    allocator: str
    size: Size = ()
    stride: Size = ()
    dtype: DType = ""
    #: ``cpu`` or ``cuda:0`` where the call names it.
    device: str = ""

    @property
    def where(self) -> str:
        """``cpu``, ``cuda`` and so on: the device's type."""
        named = self.device or self.allocator.removeprefix("empty_strided").strip("_")
        return named.partition(":")[0].removesuffix("_pinned")


class Alias(Statement):
    """A second name for a buffer, for a part of it, or for one of several results."""

    result: str
    name: str
    size: Size | None = None
    stride: Size | None = None
    #: Where a view begins, in elements.
    offset: Annotated[Dim, BeforeValidator(_offset)] = 0
    index: int | None = None
    dtype: DType = ""
    #: The name that ends here: the buffer is used again under the new one.
    deleted: str = ""


class Value(Mention):
    """A number: ``s0 = 7`` or ``ps0 = 16*s0``."""

    result: str


class Check(Statement):
    """``assert_size_stride(buf0, (32, 256), (256, 1), ...)``."""

    name: str
    size: Size = ()
    stride: Size = ()
    dtype: DType = ""


class Checks(Statement):
    """The same for several tensors at once."""

    names: tuple[str, ...]
    sizes: Sizes = ()
    strides: Sizes = ()


class ExternCall(Mention):
    """A call into a library or an ATen operator, such as ``extern_kernels.addmm``."""

    target: str
    result: str = ""

    @property
    def op(self) -> str:
        """The operator without namespace and overload, such as ``_linear_pointwise``."""
        parts = self.target.split(".")
        if self.target.startswith("torch.ops.") and len(parts) > 3:
            return parts[3]
        return parts[-1]

    @property
    def in_place(self) -> bool:
        """Whether it writes into its first argument."""
        return not self.result and not self.out and self.op.endswith("_")


class KernelCall(Mention):
    """A call of a generated kernel. ``names`` are its buffers, then symbolic sizes and streams."""

    kernel: str


class Other(Statement):
    """A statement that the grammar does not know."""


def _origin(children: object) -> object:
    """Read the comment above a statement; one that the grammar refuses says nothing."""
    if not isinstance(children, list):
        return children
    try:
        return grammars.load(OutputCode.name, __name__).nested("origin", str(children[0]))
    except grammars.Unreadable:
        return None


@lru_cache(maxsize=MEMO)
def _read(text: str) -> Statement:
    try:
        found = grammars.load(OutputCode.name, __name__).parse(text, "statement")
    except grammars.Unreadable:
        return Other(text=text)
    return found.model_copy(update={"text": text}) if isinstance(found, Statement) else Other()


def _statement(text: object) -> object:
    return _read(text.rstrip()) if isinstance(text, str) else text


class Step(Record):
    """One statement in its place; ``at`` is the line within the record's text."""

    at: int = 0
    comment: Annotated[Origin | None, BeforeValidator(_origin)] = None
    code: Annotated[Statement, BeforeValidator(_statement)]


class Parameter(Record):
    """One parameter of a kernel."""

    name: str
    reads: bool
    writes: bool


def _parameters(text: object) -> object:
    """Split a parameter list; names and ``const`` say what is read and what is written."""
    if not (isinstance(text, list) and len(text) == 1 and isinstance(text[0], str)):
        return text
    found = []
    for part in text[0].split(","):
        typed, _, name = part.partition(": ")[0].strip().rpartition(" ")
        both = name.startswith("in_out")
        only_read = "const" in typed or name.startswith(("in_ptr", "arg_"))
        is_output = name.startswith("out") or ("*" in typed and not only_read)
        found.append(Parameter(name=name, reads=both or not is_output, writes=both or is_output))
    return tuple(found)


class Source(Record):
    """What a kernel's source says about its parameters and its threads."""

    parameters: Annotated[tuple[Parameter, ...], BeforeValidator(_parameters)] = ()
    #: The thread counts that are compiled in, one per parallel region.
    threads: tuple[int, ...] = ()


class KernelDef(Record):
    """A generated kernel. Its name lists the operators that it comes from, not what it computes."""

    at: int = 0
    comment: Annotated[Origin | None, BeforeValidator(_origin)] = None
    kernel: str
    #: ``cpp``, ``cpp_pybinding``, ``triton``, ``cuda`` ...
    language: str
    #: The C++ parameter types, as they are printed.
    signature: str = ""
    source: str

    @property
    def device(self) -> str:
        """``cpu`` or ``gpu``."""
        return "cpu" if self.language.startswith("cpp") else "gpu"

    @property
    def fused(self) -> str:
        """The operators in the name, such as ``addmm_relu``; empty when it names none."""
        stem = self.kernel.rpartition("_")[0]
        return stem.partition("fused_")[2].strip("_")

    @property
    def is_template(self) -> bool:
        """Whether a matrix product is computed in it."""
        return "micro_gemm" in self.source or "triton_tem_" in self.kernel

    @property
    def is_reduction(self) -> bool:
        """Whether it folds many elements into one, as a sum, a maximum or a norm does."""
        if self.device == "cpu":
            return "tmp_acc" in self.source or "welford" in self.source
        return "reduction(" in self.source

    @property
    def is_copy(self) -> bool:
        """Whether it only moves data: nothing is computed from what it loads."""
        return not self.is_template and "tmp1 = " not in self.source

    @property
    def is_pointwise(self) -> bool:
        """Whether it computes each element of its result on its own."""
        return not (self.is_template or self.is_reduction or self.is_copy)

    @property
    def vectorised(self) -> bool:
        """Whether it is C++ that uses vector registers."""
        return "at::vec::" in self.source

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it reads and what it writes, in order."""
        return self._body.parameters

    @property
    def threads(self) -> int | None:
        """The thread count that is compiled in; None when it runs on the calling thread."""
        return max(self._body.threads, default=None)

    @property
    def _body(self) -> Source:
        return _source(self.source)


class CodeFile(Record):
    """The file that holds a module."""

    path: str


class OutputModule(Record):
    """The generated module of one graph; or what a cut log still holds of it."""

    #: ``0_inference``, ``3_forward``; not unique: a module from the cache keeps its old one.
    aot_id: str = ""
    kernel_defs: tuple[KernelDef, ...] = ()
    steps: tuple[Step, ...] = ()
    #: The C++ text of a module that is not Python.
    wrapper: str = ""

    @property
    def graph(self) -> str:
        """``inference``, ``forward`` or ``backward``; empty when the module does not say."""
        kind = self.aot_id.rpartition("_")[2]
        if kind in {"inference", "forward", "backward"}:
            return kind
        inputs = self.inputs
        if any(name.startswith("tangents_") for name in inputs):
            return "backward"
        if any(name.startswith("primals_") for name in inputs):
            return "forward"
        return "inference" if inputs else ""

    @cached_property
    def kernels(self) -> dict[str, KernelDef]:
        """The kernels by name."""
        return {kernel.kernel: kernel for kernel in self.kernel_defs}

    @cached_property
    def body(self) -> tuple[Step, ...]:
        """The statements that run at each call, in order."""
        found: list[Step] = []
        inside, entered = True, False
        for step in self.steps:
            if isinstance(step.code, Function):
                inside = step.code.function == "call" or step.code.function.startswith("partition_")
                if inside and not entered:
                    found.clear()
                entered = entered or inside
            elif inside:
                found.append(step)
        return tuple(found)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The graph's inputs."""
        found = (step.code.names for step in self.body if isinstance(step.code, Unpack))
        return next(found, ())

    @property
    def constants(self) -> tuple[Constant, ...]:
        """Frozen parameters and constants."""
        return tuple(step.code for step in self.steps if isinstance(step.code, Constant))

    @property
    def others(self) -> tuple[Step, ...]:
        """The statements that the grammar does not know."""
        return tuple(step for step in self.steps if isinstance(step.code, Other))

    @property
    def device(self) -> str:
        """``cpu``, ``cuda``, ...: where the buffers are; empty when nothing says so."""
        for step in self.steps:
            if isinstance(step.code, Allocation) and step.code.where:
                return step.code.where
        return next((constant.device for constant in self.constants), "")

    def extern_calls(self) -> Iterator[tuple[Step, ExternCall]]:
        """Yield the calls into libraries, in order."""
        for step in self.body:
            if isinstance(step.code, ExternCall):
                yield step, step.code

    def kernel_calls(self) -> Iterator[tuple[Step, KernelCall]]:
        """Yield the calls of generated kernels, in order."""
        for step in self.body:
            if isinstance(step.code, KernelCall):
                yield step, step.code

    def kernel_rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row of the report's ``kernels`` table per kernel."""
        calls: dict[str, int] = {}
        for _, call in self.kernel_calls():
            calls[call.kernel] = calls.get(call.kernel, 0) + 1
        for name, kernel in self.kernels.items():
            yield {
                "kernel": name,
                "language": "c++" if kernel.device == "cpu" else kernel.language,
                "fused": kernel.fused,
                "template": kernel.is_template,
                "calls": calls.get(name, 0),
            }


@lru_cache(maxsize=4096)
def _source(text: str) -> Source:
    try:
        found = grammars.load(OutputCode.name, __name__).parse(text, "source")
    except grammars.Unreadable:
        return Source()
    return found if isinstance(found, Source) else Source()
