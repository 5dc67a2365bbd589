"""What Dynamo logs of its own work, without an artifact."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

from tracelens.late import late
from tracelens.logs import Log, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs._text import Stripped

__all__ = [
    "CompilationMetrics",
    "CompilerStep",
    "DynamoDebug",
    "DynamoNote",
    "FrameCompiled",
    "FrameSkipped",
    "GraphCompiled",
    "Restarted",
    "StackFrame",
    "TraceStep",
    "TracedFrames",
]


#: The instructions, and other reasons, that Dynamo names when it stops a graph at them.
COMPILED_AT = (
    "CALL",
    "CALL_FUNCTION",
    "CALL_FUNCTION_EX",
    "CALL_FUNCTION_KW",
    "CALL_KW",
    "CALL_METHOD",
    "CONTAINS_OP",
    "DELETE_ATTR",
    "DELETE_SUBSCR",
    "LOAD_ATTR",
    "RETURN_CONST",
    "RETURN_GENERATOR",
    "RETURN_VALUE",
    "SEND",
    "STORE_ATTR",
    "STORE_SUBSCR",
    "UNPACK_EX",
    "UNPACK_SEQUENCE",
    "YIELD_VALUE",
    "comprehension",
    "generic_jump",
    "step",
)


#: What torch up to 2.6 says of a function that it gives up, and the line that it names.
LOOP = "Skipping frame because there is a graph break in a for/while loop"
_LINE_OF = late(
    r'\n  File "(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7}), in (?P<function>[^\n]{1,200})'
    r"(?:\n    (?P<code>[^\n]{1,400}))?"
)


class DynamoDebug(Log):
    """Records without artifact of Dynamo, except those on symbols."""

    name = "dynamo_debug"
    switch = 'TORCH_LOGS="+dynamo"'
    marks = (
        "torchdynamo start compiling ",
        "Step 1: ",
        "Step 2: ",
        "COMPILING GRAPH due to ",
        "skipping: ",
        "Restarting analysis due to ",
        "TorchDynamo attempted to trace ",
        "CompilationMetrics(",
        "BwdCompilationMetrics(",
        "torch._dynamo.reset",
        "run_gc_after_compile",
        "ChromiumEventLogger initialized",
        "create_graph_input ",
        "wrap_to_fake ",
        "create_node ",
        "return triggered compile",
        *(f"{what} triggered compile" for what in COMPILED_AT),
        "_lift_symbols_in_symint ",
        "track_produced_symints ",
        "Compiling backend specialized graph ",
        "Detected a package bypass",
        "compiler_collective ",
        "error in verify_correctness",
        "empty checkpoint",
        "break_graph_if_unsupported triggered compile",
        "Unsupported break in user code at ",
        "Skipping frame ",
        "Received signal to skip frame ",
        "_track_unbacked_symbols ",
        "Cannot write to ",
        "skipping because no torch",
        "bind_symint ",
        "inserting runtime assert ",
        "needed_symbols = ",
        "symbol_to_proxy[",
        "restore_graphstate: ",
        "Ignoring inner dynamo compile config",
        "Saving dynamo config and hash ",
        "Setting top-level compile config hash",
        "Unsetting top-level compile config hash",
        "Failed to exec guard at line ",
        "Observed exception DURING INLING ",
        "format_tensor_computation_trace failed",
        "No graph captured with export",
        "Dynamo captured graph:",
        "Failed to capture a graph during tracing",
        "Summary of dimension constraints:",
        "guard_collective ",
        "could not determine __code__ for ",
        "Failed to load entry from dynamo cache",
        "Failed to visit expr at line ",
        "Failure in guard_fail_fn callback",
        "Untracked tensor used in export constraints",
        "dropping the annotations of ",
        "guard_nn_modules is turned off",
        "invalid var name: ",
        "### Cprofile for ",
        "Raw profile at ",
        "Failed to generate SVG from profile",
        "failed to enable cProfile",
        "dynamo ",
        "dynamic produce_guards",
        "INLINING ",
        "DONE INLINING ",
        "FAILED INLINING ",
        "REMOVE UNUSED GRAPHARG ",
        "REMOVE DEAD",
        "LazyTraceHandler",
        "FakeTensor cache stats",
        "  cache_hits: ",
        "  cache_misses: ",
        "  cache_bypass",
        "FakeTensorMode.",
        "maybe_propagate_real_tensors ",
        "create_mode ",
        "Successfully registered DSL",
    )
    prefixed = True
    #: Pasted without the prefix.
    begins = re.compile(
        r"Step [12]: (?:torchdynamo (?:start|done) tracing|(?:calling|done) compiler function)"
    )

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return what Dynamo notes; that it gives a function up for a loop is a break, too."""
        records = super().parse(text)
        if not text.startswith(LOOP):
            return records
        from tracelens.logs.explain import broken  # noqa: PLC0415 -- of few logs

        stack = tuple(StackFrame(**found.groupdict("")) for found in _LINE_OF.finditer(text))
        lost = broken("graph break in loop", [], stack)
        return (*records, *(one.model_copy(update={"skips_frame": True}) for one in lost))


class FrameCompiled(Record):
    """Dynamo begins to compile a function; the stack is where it was called from."""

    function: str
    file: Stripped
    line: int
    stack_frames: tuple[StackFrame, ...] = ()


class TraceStep(Record):
    """Dynamo begins or finished tracing a function."""

    #: ``start`` or ``done``.
    step: str
    function: str
    file: Stripped = ""
    line: int = 0
    #: The instruction that ended it, such as ``RETURN_VALUE``.
    how: Annotated[str, BeforeValidator(lambda text: text.strip(")"))] = ""


class CompilerStep(Record):
    """Dynamo calls its backend, or the backend is done."""

    #: ``calling`` or ``done``.
    doing: str
    compiler: str


class GraphCompiled(Record):
    """Why a graph ended: the function returned, or a break."""

    reason: Annotated[str, BeforeValidator(lambda text: text.strip("'\""))]
    user_stack: str = ""


class FrameSkipped(Record):
    """A function that Dynamo does not look at."""

    at: int = 0
    function: str
    reason: str
    file: Stripped = ""


class Restarted(Record):
    """A compilation begins again, with what the first attempt taught."""

    reason: str


class TracedFrames(Record):
    """Every function that Dynamo tried to trace, as ``name file:line``."""

    frames: tuple[Annotated[str, BeforeValidator(lambda text: text.strip("\n *"))], ...] = ()


class CompilationMetrics(Record):
    """The numbers of one compilation, as printed."""

    metrics: str


class DynamoNote(Record):
    """Another record of Dynamo."""

    note: str
    text: str = ""
