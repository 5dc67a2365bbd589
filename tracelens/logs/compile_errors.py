"""Exceptions of torch.compile, and of the program that uses it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator

from tracelens.logs import Log, Record
from tracelens.logs._stack import StackFrame
from tracelens.logs._text import Stripped

if TYPE_CHECKING:
    from tracelens.evidence import Evidence

__all__ = ["CompileErrors", "Failure", "LogError", "Specialized", "StackFrame", "Topic"]

Topic = Literal[
    "backend",
    "compiler-failed",
    "constraint-violated",
    "data-dependent",
    "no-compiler",
    "not-close",
    "other",
    "overwritten-output",
    "skipped-guards",
]
PHRASES: dict[str, Topic] = {
    "C++ compile error": "compiler-failed",
    "Constraints violated": "constraint-violated",
    "Could not extract": "data-dependent",
    "Could not guard": "data-dependent",
    "Error: accessing": "overwritten-output",
    "No working C++": "no-compiler",
    "Recompilation triggered with skip_guard": "skipped-guards",
    "Scalars are not": "not-close",
    "Tensor-likes are not": "not-close",
    "backend=": "backend",
}

#: The relative tolerance with which torch.testing compares, and the type that it is for.
TOLERANCES = {"up to 0.016 allowed": "bf16", "up to 0.001 allowed": "f16"}

#: Characters of a message that a table keeps.
MAX_MESSAGE = 300
#: Exceptions that only torch has; a notebook shows them without their module.
TORCHS_OWN = (
    "BackendCompilerFailed",
    "ConstraintViolationError",
    "CppCompileError",
    "FailOnCacheLimitHit",
    "FailOnRecompileLimitHit",
    "GuardOnDataDependentSymNode",
    "InductorError",
    "InternalTorchDynamoError",
    "LoweringException",
    "NoValidChoicesError",
    "TorchDynamoException",
    "TorchRuntimeError",
)


def _topic(phrase: str) -> str:
    return next((topic for start, topic in PHRASES.items() if phrase.startswith(start)), "other")


class CompileErrors(Log):
    """Tracebacks, and errors in the log that carry no artifact."""

    name = "compile_errors"
    switch = "printed by default"
    always = True
    marks = (
        "Backend compiler exception",
        "Runtime error during autotuning",
        "Runtime error for autotuning",
        "CUDA compilation error during autotuning",
        "All autotuning benchmarks failed",
        "Triton compilation failed",
        "Failed during launch ",
        "Precompilation timeout",
        "failed while attempting to run meta for ",
        "Error in codegen for ",
        "Error while creating guard:",
        "Created at:",
    )
    prefixed = True
    begins = re.compile(
        r"Traceback \(most recent call last\):|torch\.(?:_\w+|fx|export)\.[\w.]{1,100}: "
        r"|RuntimeError: Error: accessing (?:gradient )?tensor output of CUDAGraphs"
        rf"|(?:{'|'.join(TORCHS_OWN)}|Unsupported): "
        # A comparison that was printed without its traceback.
        r"|(?:AssertionError: )?(?:Scalars|Tensor-likes) are not (?:close|equal)!"
    )
    continues = re.compile(
        r"\s|$|[A-Za-z_][\w.]{0,100}(?:Error|Exception|Failed|Unsupported|Exit|Interrupt|Node)"
        r"(?::|$)|from user code:|Set TORCH|You can suppress|The above exception was"
        r"|Traceback \(most|During handling of|Caused by: |For more |For C\+\+ |User [Ss]tack"
        r"|To fix |While executing|The following call |Original traceback|Command:|Output:"
        r"|consider using |For extended |Potential framework code|If you suspect |\(These suggested"
        r"|Suggested fixes:"
        r"|Mismatched elements: |(?:Greatest |)(?:[Aa]bsolute|[Rr]elative) difference: "
        r"|In file included from|cc1plus:|collect2:|compilation terminated"
        r"|/[^\n:]{1,400}(?:: In |:\d+:\d+: )|\S{0,100}(?:g\+\+|clang\S{0,20}) "
    )
    cuts = re.compile(
        r"The above exception was the direct|During handling of the above exception"
        r"|Traceback \(most recent call last\):$"
    )
    ends = re.compile(r" +torch\._dynamo\.config\.suppress_errors = True$")

    @classmethod
    def owns(cls, records: Sequence[Record]) -> bool:
        """Leave the program's own tracebacks to the program."""
        failures = [record for record in records if isinstance(record, Failure)]
        return len(failures) < len(records) or any(failure.is_torch for failure in failures)

    @classmethod
    def tables(cls, evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
        """Return ``errors``: each exception once, with the user's line that it is about."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for seen in evidence.table(Failure):
            failure = seen.record
            if not failure.error:
                continue
            at = failure.user_stack[-1] if failure.user_stack else None
            row = rows.setdefault(
                (failure.error, failure.message),
                {
                    "error": failure.error,
                    "message": failure.message[:MAX_MESSAGE],
                    "count": 0,
                    "file": at.file if at else None,
                    "line": at.line if at else None,
                },
            )
            row["count"] += seen.count
        return {"errors": list(rows.values())} if rows else {}


class Specialized(Record):
    """A size that was marked as dynamic and that the code makes a constant."""

    source: str
    value: str


class Failure(Record):
    """One exception: the last of a chain is the one that ended the program."""

    #: ``torch._dynamo.exc.BackendCompilerFailed``; empty where the log was cut before it.
    error: Stripped = ""
    #: The exception that it wraps, such as ``CppCompileError``.
    cause: Stripped = ""
    topic: Annotated[Topic, BeforeValidator(_topic)] = "other"
    #: What follows in the first line; without the phrase of the topic.
    message: Stripped = ""
    details: tuple[Stripped, ...] = ()
    specialized: tuple[Specialized, ...] = ()
    #: The greatest absolute difference of two results that torch.testing compared.
    greatest: float | None = None
    #: The traceback, innermost last.
    stack_frames: tuple[StackFrame, ...] = ()
    #: The user's frames that Dynamo was at.
    user_stack: tuple[StackFrame, ...] = ()

    @property
    def gist(self) -> object:
        """What is the same in all logs of one exception: each has another part of the stack."""
        return self.error, self.topic, self.message

    @property
    def is_limit(self) -> bool:
        """Whether a function was compiled too often where it must not run eagerly."""
        return self.error.rpartition(".")[2] in {"FailOnRecompileLimitHit", "FailOnCacheLimitHit"}

    @property
    def is_torch(self) -> bool:
        """Whether torch raised it, or it is about what torch compiled."""
        return (
            self.error.startswith(("torch.", *TORCHS_OWN))
            or self.topic != "other"
            or bool(self.user_stack)
        )


class LogError(Record):
    """An error that torch wrote to its log and went on after."""

    title: str
    text: Stripped = ""
    details: tuple[Stripped, ...] = ()
