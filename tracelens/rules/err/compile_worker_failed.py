"""ERR024 compile-worker-failed."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule
from tracelens.words import first_line

__all__ = ["CompileWorkerFailed"]

#: What each compilation raises after the pool has ended; it may be quoted in a sentence.
_CLOSED = "Attempting to use a closed pool"


class CompileWorkerFailed(FailureRule):
    """A process that compiles for the program died, or raised.

    ## Why it matters
    Inductor compiles kernels in worker processes. What fails there stands in an inner
    traceback, or nowhere, when the system killed the worker.

    ## What it looks like
        concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending.
        torch._inductor.exc.InductorError: SubprocException: An exception occurred in a subprocess:

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Compile in the process itself to see the error; give it memory.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    CMP004 (compiling in one process is slow), ERR009, ERR026.
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR024"
    name = "compile-worker-failed"
    of_causes: ClassVar[frozenset[str]] = frozenset({"worker"})
    remedies = (
        Remedy(
            "one-thread",
            "Compile in the process itself: the error then comes where it arises.",
            env="TORCHINDUCTOR_COMPILE_THREADS=1",
            basis="untestable",
            proof="needs a worker that is killed from outside",
        ),
        Remedy(
            "memory",
            "A worker that dies without a word was mostly killed for memory: see the system's log,"
            " raise the container's limit, or use fewer workers.",
            code="dmesg -T | grep -iE 'killed process|out of memory'",
            env="TORCHINDUCTOR_COMPILE_THREADS=4",
            basis="untestable",
            proof="needs a machine short of memory",
        ),
        Remedy(
            "start",
            "Workers that do not inherit the process (CUDA cannot be initialized again in a forked"
            " one).",
            env="TORCHINDUCTOR_WORKER_START=spawn",
            since="2.4",
            basis="untestable",
            proof="needs a worker that cannot be forked",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        first = _CLOSED if _CLOSED in data.message else first_line(data.message)
        return f"a compile worker failed{': ' + first if first else ''}"
