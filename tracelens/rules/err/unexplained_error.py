"""ERR000 unexplained-error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.evidence import Table
from tracelens.failures import Failure
from tracelens.failures.causes import ELSEWHERE
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding
from tracelens.rules.err._failure_rule import FailureData, FailureRule, gist, words

if TYPE_CHECKING:
    from tracelens.logs import compile_errors
    from tracelens.logs.recompile_limits import RecompileLimit
    from tracelens.logs.shared_libraries import RuntimeClash

__all__ = ["UnexplainedError"]

#: Causes that this rule knows the remedy of, and which no stage of compiling has.
KNOWN = frozenset({"kernel-image", "cache-dir", "changed-in-place"})
#: Causes that a rule of another family reads from the same record.
_OWN_READERS = frozenset({"constraint", "data-dependent", "no-openmp", "output-overwritten"})
#: Topics of exceptions from which rules of other families explain a cause.
_TOPICS = {
    "not-close": "not-close",
    "skipped-guards": "skipped-guards",
}


def _is_illegal_access(data: FailureData) -> bool:
    said = data.message
    return "illegal memory access" in said or "device-side assert" in said


class UnexplainedError(FailureRule):
    """The program or a compilation ended in an error that no other rule explains.

    ## Why it matters
    Nothing else in the report matters until this is mended. The cause is not one that the rules
    know; what the log says about it is quoted, with the next steps that narrow it down.

    ## What it looks like
        Traceback (most recent call last):
          File "/home/ana/proj/model.py", line 12, in <module>
            step(x)
          File "/tmp/torchinductor_ana/ab/cabc.py", line 40, in call
            raise RuntimeError('x')
        RuntimeError: CUDA error: an illegal memory access was encountered

    ## When it is harmless
    An error that the program catches and that has nothing to do with compiling is left to the
    program.

    ## What to do
    Compile with ever more stages, until the error comes: the first that fails is where it
    arises.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR017 and ERR018 (known bugs' shapes), GBR013 (errors that were suppressed).
    """

    code = "ERR000"
    name = "unexplained-error"
    of_causes: ClassVar[frozenset[str]] = frozenset({"unknown"}) | KNOWN | ELSEWHERE
    may_be_meant = True
    remedies = (
        Remedy(
            "limit",
            "The function was compiled too often. See what changes from call to call, and mend it; "
            "the records that this prints let RCP001 name it.",
            env='TORCH_LOGS="recompiles"',
            applies=lambda d: d.cause == "recompile-limit",
            when="the recompile limit under fullgraph=True",
        ),
        Remedy(
            "built-for",
            "Compare the GPU with those that this torch was built for; if it is not among them,"
            " install one that was built for it (a newer torch, of a newer CUDA, for a new GPU).",
            code=(
                'python -c "import torch; print(torch.cuda.get_device_capability(),'
                ' torch.cuda.get_arch_list(), torch.version.cuda)"'
            ),
            applies=lambda d: d.cause == "kernel-image",
            when="the kernel is for another GPU",
        ),
        Remedy(
            "driver",
            "If it is, the driver is older than the CUDA that made the kernel: update the driver"
            " (`nvidia-smi` names the newest CUDA that it can load), or let Triton use the ptxas of"
            " a CUDA that is no newer than that.",
            env="TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",
            applies=lambda d: d.cause == "kernel-image",
            when="the driver is too old",
        ),
        Remedy(
            "clear",
            "Kernels that another machine or another version left in the cache look like this, too:"
            " delete them.",
            code="rm -rf ~/.triton/cache /tmp/torchinductor_$USER",
            applies=lambda d: d.cause == "kernel-image",
            when="a cache that moved with the program",
        ),
        Remedy(
            "cache-folder",
            "Name folders for what is generated that the program may write to, that have room, and"
            " whose path is short; /tmp is often shared, full, or another user's.",
            env="TORCHINDUCTOR_CACHE_DIR=/var/tmp/inductor TRITON_CACHE_DIR=/var/tmp/triton",
            applies=lambda d: d.cause == "cache-dir" and not d.on_windows,
            when="the cache cannot be written",
        ),
        Remedy(
            "cache-folder-windows",
            "Give what is generated a short path (Windows refuses long ones), and keep virus"
            " scanners off it; compile in one process, since two that write one file clash there.",
            env=(
                r"TORCHINDUCTOR_CACHE_DIR=C:\ti TRITON_CACHE_DIR=C:\tt"
                " TORCHINDUCTOR_COMPILE_THREADS=1"
            ),
            applies=lambda d: d.cause == "cache-dir" and d.on_windows,
            when="the same on Windows",
        ),
        Remedy(
            "clone",
            "The program changes what a compiled function returned, and backward still needs it:"
            " clone it before it is changed, or change it out of place (`y = y + 1`).",
            code="y = compiled(x).clone()",
            applies=lambda d: d.cause == "changed-in-place",
            when="an output is changed in place",
        ),
        Remedy(
            "where",
            "A kernel read or wrote what is not its own; errors on a GPU come late. Run it so that"
            " they come where they arise, and check the indices that the program looks up.",
            env="CUDA_LAUNCH_BLOCKING=1",
            applies=_is_illegal_access,
            when="an illegal access, or an assert, on a GPU",
        ),
        Remedy(
            "eager",
            "See whether it is the compiler at all: run it once without compiling.",
            env="TORCH_COMPILE_DISABLE=1",
        ),
        Remedy(
            "bisect",
            "If it is gone then, find the stage: the first of these backends that fails is it.",
            code=(
                'for b in ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor"):'
                " torch._dynamo.reset(); torch.compile(model, backend=b)(*inputs)"
            ),
            applies=lambda d: not d.facts.get("own") and d.cause not in KNOWN,
        ),
        Remedy(
            "disable",
            lambda d: (
                f"Leave `{d.function}` out of what is compiled."
                if d.function
                else "Leave the function out of what is compiled."
            ),
            code="@torch.compiler.disable",
            since="2.1",
            applies=lambda d: not d.facts.get("own") and d.cause not in KNOWN,
        ),
        Remedy(
            "search",
            lambda d: f"Search the issues of pytorch/pytorch for: {words(d)}",
            applies=lambda d: not d.facts.get("own") and d.cause not in KNOWN,
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        name = data.exception.rpartition(".")[2] or "an error"
        first = data.message.partition("\n")[0][:140]
        if data.cause == "kernel-image":
            return f"the GPU's driver refuses the kernel that was built: {first}"
        if data.cause == "cache-dir":
            return f"the folder for what is generated cannot be used: {first}"
        told = first if not first or first.startswith(name) else f"{name}: {first}"
        ended = "the program ended in an error" if data.ended_program else "an error in the log"
        return f"{ended}: {told or name}"

    def why(self, data: FailureData) -> str:
        """Say what it means."""
        if data.facts.get("own"):
            return (
                "No frame of the compiler is in the traceback: it looks like an error of the"
                " program's own."
            )
        return ""

    def check(  # type: ignore[override]
        self,
        failures: Table[Failure],
        *,
        limits: Table[RecompileLimit],
        errors: Table[compile_errors.Failure],
        clashes: Table[RuntimeClash],
    ) -> Iterator[Finding]:
        """Yield one finding per failure; what a rule of another family explains is left to it."""
        topics = {row.record.topic for row in errors}
        told = {cause for cause, topic in _TOPICS.items() if topic in topics}
        told |= {"recompile-limit"} if len(limits) else set()
        told |= {"two-openmp"} if len(clashes) else set()
        told |= _OWN_READERS
        yield from super().check(failures.where(lambda one: one.cause not in told))

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each message is an error of its own."""
        return (failure.exception, gist(failure.message), failure.function)

    def data(self, failure: Failure) -> FailureData:
        """Return what the finding holds, and whether the error is the program's own."""
        data = super().data(failure)
        return data.model_copy(
            update={"facts": data.facts | ({"own": "yes"} if failure.own else {})}
        )

    def confidence(self, failure: Failure) -> Confidence:
        """That it ended the program is sure where nothing comes after it."""
        return Confidence.HIGH if failure.ended else Confidence.MEDIUM
