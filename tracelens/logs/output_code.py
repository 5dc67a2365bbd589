"""The modules that Inductor generates: kernels, buffers, calls into libraries, and their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from pydantic import ConfigDict, model_validator

from tracelens.instances import STRUCTS, made
from tracelens.logs import HeadedLog, Record
from tracelens.logs._cpp_parts import CppPart, Definition, Guarded, Wrapper
from tracelens.logs._generated import Code, Comment
from tracelens.logs._kernels import KernelDef, Parameter, Source
from tracelens.logs._loops import Block, Header, Loop, Nest
from tracelens.logs._modules import parts_of
from tracelens.logs._statements import (
    Alias,
    Allocation,
    Check,
    Checks,
    Constant,
    Deletion,
    ExternCall,
    Function,
    KernelCall,
    Origin,
    Other,
    Returned,
    Statement,
    Unpack,
    Value,
)

if TYPE_CHECKING:
    from tracelens.evidence import Evidence
    from tracelens.logs._dataflow import Dataflow

__all__ = [
    "Alias",
    "Allocation",
    "Block",
    "Check",
    "Checks",
    "CodeFile",
    "Constant",
    "CppPart",
    "Definition",
    "Deletion",
    "ExternCall",
    "Function",
    "Guarded",
    "Header",
    "KernelCall",
    "KernelDef",
    "Loop",
    "Nest",
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
    "Wrapper",
]

#: Rows of the report's table.
MAX_ROWS = 200


class OutputCode(HeadedLog):
    """The generated code of every graph, and the files it was written to."""

    name = "output_code"
    switch = 'TORCH_LOGS="output_code"'
    artifacts = frozenset({"__output_code"})
    cuts = re.compile(r"Output code(?: written to)?:")
    opens = ("Output code: ", "Output code:\n", "Output code written to: ")
    opens_always = True
    ends = re.compile(r"    compiled_module_main\(|Output code written to: ")

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the module, cut line by line, or what the grammar makes of the text."""
        parts = parts_of(text, _step)
        if parts is None:
            return super().parse(text)
        values: dict[str, Any] = {
            "aot_id": parts.aot_id,
            "kernel_defs": tuple(parts.kernels),
            "steps": tuple(parts.steps),
        }
        held = {name: value for name, value in values.items() if value}
        if parts.commented:
            held["comment"] = parts.comment
        return (made(OutputModule, held),)

    @classmethod
    def believes(cls, records: Sequence[Record]) -> bool:
        """Tell whether the text is a module that Inductor wrote, or where it wrote one."""
        return any(
            record.aot_id or record.kernel_defs or record.wrapper
            if isinstance(record, OutputModule)
            else True
            for record in records
        )

    @classmethod
    def environment(cls, evidence: Evidence) -> Mapping[str, Any]:
        """Return the type of the device that the code was generated for."""
        devices = (seen.record.device for seen in evidence.table(OutputModule))
        return {"device": next((device for device in devices if device), None)}

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


class Step(msgspec.Struct, frozen=True, gc=False):
    """One statement in its place; ``at`` is the line within the record's text.

    No model: a job of many ranks has them by the ten thousand.
    """

    code: Statement
    at: int = 0
    comment: Origin | None = None


class StepLine(Record):
    """A :class:`Step` as the grammar reads it."""

    at: int = 0
    comment: Comment = None
    code: Code

    @property
    def step(self) -> Step:
        """The step."""
        return Step(self.code, self.at, self.comment)


def _step(values: dict[str, Any]) -> Step:
    return Step(**values)


class CodeFile(Record):
    """The file that holds a module."""

    path: str


class OutputModule(Record):
    """The generated module of one graph; or what a cut log still holds of it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True
    )

    #: ``0_inference``, ``3_forward``; not unique: a module from the cache keeps its old one.
    aot_id: str = ""
    kernel_defs: tuple[KernelDef, ...] = ()
    steps: Annotated[tuple[Step, ...], STRUCTS] = ()
    #: What the grammar reads them from; empty once they are made.
    lines: tuple[StepLine, ...] = ()
    #: The C++ text of a module that Python loads.
    cpp_parts: tuple[CppPart, ...] = ()
    #: What a module that was cut off ends with: its statement is missing.
    comment: Comment = None
    #: The C++ text of a module that is not Python.
    wrapper: str = ""

    @model_validator(mode="before")
    @classmethod
    def _made(cls, values: Any) -> Any:
        """Make the steps of their lines."""
        if isinstance(values, dict) and "lines" in values:
            others = {name: value for name, value in values.items() if name != "lines"}
            return {**others, "steps": [line.step for line in values["lines"]]}
        return values

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
        """The kernels by name, those of C++ wrappers too."""
        wrapped = (kernel for part in self.cpp_parts for kernel in part.kernels)
        return {kernel.kernel: kernel for kernel in (*self.kernel_defs, *wrapped)}

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

    @cached_property
    def flow(self) -> Dataflow:
        """Who writes and who reads each buffer."""
        from tracelens.logs._dataflow import Dataflow  # noqa: PLC0415 -- it is made of modules

        return Dataflow(self)

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

    @cached_property
    def device(self) -> str:
        """``cpu``, ``cuda``, ...: where the buffers are; empty when nothing says so."""
        for step in self.steps:
            if isinstance(step.code, Allocation) and step.code.where:
                return step.code.where
        return next((constant.device for constant in self.constants), "")

    @cached_property
    def _calls(self) -> tuple[list[tuple[Step, ExternCall]], list[tuple[Step, KernelCall]]]:
        """The calls into libraries, and those of generated kernels."""
        extern: list[tuple[Step, ExternCall]] = []
        kernel: list[tuple[Step, KernelCall]] = []
        for step in self.body:
            code = step.code
            if isinstance(code, ExternCall):
                extern.append((step, code))
            elif isinstance(code, KernelCall):
                kernel.append((step, code))
        return extern, kernel

    def extern_calls(self) -> Iterator[tuple[Step, ExternCall]]:
        """Return the calls into libraries, in order."""
        return iter(self._calls[0])

    def kernel_calls(self) -> Iterator[tuple[Step, KernelCall]]:
        """Return the calls of generated kernels, in order."""
        return iter(self._calls[1])

    def wrapped_calls(self, kernel: str) -> tuple[Guarded, ...]:
        """Return the calls of a kernel that C++ wrappers make."""
        return tuple(call for part in self.cpp_parts for call in part.calls(kernel))

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
                "calls": calls.get(name, 0) + len(self.wrapped_calls(name)),
            }
