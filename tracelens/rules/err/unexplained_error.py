"""ERR000 unexplained-error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.evidence import Table
from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding
from tracelens.rules.err._failure_rule import FailureData, FailureRule, gist, words

if TYPE_CHECKING:
    from tracelens.logs.recompile_limits import RecompileLimit

__all__ = ["UnexplainedError"]


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
    of_causes: ClassVar[frozenset[str]] = frozenset({"unknown", "recompile-limit"})
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
            applies=lambda d: not d.facts.get("own"),
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
            applies=lambda d: not d.facts.get("own"),
        ),
        Remedy(
            "search",
            lambda d: f"Search the issues of pytorch/pytorch for: {words(d)}",
            applies=lambda d: not d.facts.get("own"),
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        name = data.exception.rpartition(".")[2] or "an error"
        first = data.message.partition("\n")[0][:140]
        return (
            f"the program ended in an error: {name}: {first}"
            if first
            else f"the program ended in an error: {name}"
        )

    def why(self, data: FailureData) -> str:
        """Say what it means."""
        if data.facts.get("own"):
            return (
                "No frame of the compiler is in the traceback: it looks like an error of the"
                " program's own."
            )
        return ""

    def check(  # type: ignore[override]
        self, failures: Table[Failure], *, limits: Table[RecompileLimit]
    ) -> Iterator[Finding]:
        """Yield one finding per failure; where the record of a recompile limit is, RCP001 tells."""
        told = len(limits) > 0
        yield from super().check(
            failures.where(lambda one: one.cause != "recompile-limit" or not told)
        )

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
