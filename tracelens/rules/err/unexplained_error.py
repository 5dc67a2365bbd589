"""ERR000 unexplained-error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import facts_of
from tracelens.evidence import Seen, Table
from tracelens.failures import Failure
from tracelens.failures.causes import ELSEWHERE
from tracelens.failures.refusals import refusal
from tracelens.inductor.autotune_drops import no_choice
from tracelens.logs import compile_errors
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity, stories
from tracelens.rules.err._changed_buffers import (
    CHANGED_BUFFER,
    changed,
    of_buffer,
    with_changed_buffer,
)
from tracelens.rules.err._failure_rule import (
    FailureData,
    FailureRule,
    gist,
    in_backward,
    stages_in_turn,
    words,
)
from tracelens.rules.err._known import KNOWN, TITLES, title_of
from tracelens.rules.err._known_messages import (
    SAID,
    final,
    known,
    made_by_torch,
    refused,
    settled,
    unless,
)
from tracelens.rules.err._known_recompiles import RECOMPILED, recompiled
from tracelens.rules.err._known_uses import MISUSED
from tracelens.rules.err._leave_out import leave_out
from tracelens.rules.err._of_packages import raised_in
from tracelens.words import first_line

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs.graph_breaks import GraphBreak
    from tracelens.logs.guards import GuardTree
    from tracelens.logs.onednn_verbose import DispatchRejection, PrimitiveExec
    from tracelens.logs.recompile_limits import RecompileLimit
    from tracelens.logs.shared_libraries import RuntimeClash
    from tracelens.logs.warnings import TorchWarning

__all__ = ["UnexplainedError"]

#: Causes that a rule of another family reads from the same record.
_OWN_READERS = frozenset({"constraint", "data-dependent", "no-openmp", "output-overwritten"})
#: What autograd says of an eager graph, and of a compiled one that is differentiated again.
_UNUSED = "appears to not have been used in the graph"
#: Torch's words where a graph breaks at it.
_GRAD = "torch.autograd.grad"
#: What a class of tensors does instead of an operator.
OVERRIDES = frozenset({"__torch_function__", "__torch_dispatch__"})
#: Topics of exceptions from which rules of other families explain a cause.
_TOPICS = {
    "not-close": "not-close",
    "skipped-guards": "skipped-guards",
}


def _of_machine(data: FailureData) -> bool:
    """Tell whether the message is known to be about what the program runs on."""
    found = known(data)
    return found is not None and found.of == "machine"


#: What leaves out what a class of tensors does by itself.
_PLAIN = Remedy(
    "plain-tensors",
    lambda d: (
        "Compile modules that take and return plain tensors, and leave out what makes or "
        f"takes tensors of the class whose `{d.function}` fails"
        + (f", a class of `{package}`." if (package := user_code.package(d.file)) else ".")
    ),
    applies=lambda d: d.function in OVERRIDES and not d.is_apart,
    when="in what a class of tensors does instead of an operator",
    proof="https://docs.pytorch.org/docs/stable/notes/extending.html",
)
#: What tells whose it is.
_EAGER = Remedy(
    "eager",
    "See whether it is the compiler at all: run it once without compiling.",
    env="TORCHDYNAMO_DISABLE=1",
    applies=lambda d: (
        not (d.is_apart or d.cause in MISUSED or d.facts.get("eager") or _of_machine(d))
    ),
    basis="untestable",
    proof="it tells whose the error is, and removes nothing",
)
#: What narrows down an error that nothing is known of.
_GENERAL = (
    Remedy(
        "bisect",
        "If it is gone then, find the stage: the first of these backends that fails is it. One "
        "that runs, also a later one, is a way to go on meanwhile.",
        code=stages_in_turn,
        applies=lambda d: not d.facts.get("own") and (d.cause not in TITLES or d.cause == "crash"),
        proof="https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
    ),
    leave_out(lambda d: bool(d.facts.get("own")) or d.cause in TITLES or in_backward(d)),
    Remedy(
        "search",
        lambda d: f"Search the issues of pytorch/pytorch for: {words(d)}",
        applies=lambda d: not d.facts.get("own") and d.cause not in TITLES,
        basis="untestable",
        proof="it is a search",
    ),
)


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
    Where no frame of a compiler is in the traceback, it is an error of the program's own, or of a
    package that it calls: mend it there; no setting of torch.compile removes it. It stays open
    whose it is where autograd raised what compiled graphs make it raise, too. Else compile with
    ever more stages, until the error comes: the first that fails is where it arises.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR017 and ERR018 (known bugs' shapes), GBR013 (errors that were suppressed).
    """

    code = "ERR000"
    name = "unexplained-error"
    of_causes: ClassVar[frozenset[str]] = frozenset({"unknown", *TITLES}) | ELSEWHERE
    may_be_meant = True
    remedies = (
        Remedy(
            "limit",
            "The function was compiled too often. See what changes from call to call, and mend it; "
            "the records that this prints let RCP001 name it.",
            env='TORCH_LOGS="recompiles"',
            applies=lambda d: d.cause == "recompile-limit",
            when="the recompile limit under fullgraph=True",
            basis="untestable",
            proof="it records more",
        ),
        CHANGED_BUFFER,
        *unless(of_buffer, SAID),
        *KNOWN,
        *RECOMPILED,
        *unless(lambda data: final(data) or of_buffer(data), (_PLAIN, _EAGER)),
        *unless(settled, _GENERAL),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        name = data.exception.rpartition(".")[2] or "an error"
        first = first_line(data.message.removeprefix(f"{data.exception}: ")).lstrip("=-")
        if of_buffer(data):
            return changed(data)
        if meant := refused(data):
            return f"{meant}: {first}" if first else meant
        if meant := recompiled(data):
            return meant
        if title := title_of(data):
            return f"{title}: {first}" if first else title
        told = first if not first or first.startswith(name) else f"{name}: {first}"
        if data.facts.get("alone") and not data.exception and first:
            return f"the message of an error: {first}"
        ended = "the program ended in an error" if data.ended_program else "an error in the log"
        if package := raised_in(data):
            ended = f"{ended}, in `{package}`"
        return f"{ended}: {told or name}"

    def why(self, data: FailureData) -> str:
        """Say what it means."""
        if data.is_apart and _of_machine(data):
            return "No frame of a compiler is in its traceback."
        if data.is_apart:
            whose = raised_in(data)
            told = f"`{whose}` raised it" if whose else "It is an error of the program's own"
            told += ": no frame of a compiler is in its traceback"
            before = ", and nothing had been compiled" if data.facts.get("compiled") else ""
            where = " A worker of the data loader raised it." if data.facts.get("worker") else ""
            return f"{told}{before}.{where}"
        if data.facts.get("own") and data.stage == "unknown":
            return (
                "A line of the program's raised it; whether compiled code had a part in it, the"
                " traceback does not tell."
            )
        if data.facts.get("own"):
            return "The program's own code raised it, called by compiled code."
        return _unseen(data)

    def check(  # type: ignore[override]
        self,
        failures: Table[Failure],
        *,
        limits: Table[RecompileLimit],
        errors: Table[compile_errors.Failure],
        clashes: Table[RuntimeClash],
        said: Table[TorchWarning],
        run: Table[RunFacts],
        breaks: Table[GraphBreak],
        trees: Table[GuardTree],
        execs: Table[PrimitiveExec],
        refused: Table[DispatchRejection],
    ) -> Iterator[Finding]:
        """Yield one finding per failure; what a rule of another family explains is left to it."""
        topics = {row.record.topic for row in errors if not _is_bare_comparison(row)}
        told = {cause for cause, topic in _TOPICS.items() if topic in topics}
        limited = len(limits) or any(row.record.is_limit for row in errors)
        told |= {"recompile-limit"} if limited else set()
        met = len(clashes) or any(row.record.topic == "openmp-runtime" for row in said)
        told |= {"two-openmp"} if met else set()
        told |= {"no-choices"} if any(no_choice(row.record) for row in errors) else set()
        told |= _OWN_READERS
        # The way to an error that another line names.
        named = {row.record.cause for row in failures} - {"cut", "unknown"}
        told |= {"cut"} if named else set()
        compiled = facts_of(run).is_compiled
        rows = failures.where(lambda one: one.cause not in told)
        if any(row.record.exception for row in failures):
            rows = rows.where(lambda one: not _is_sentence(one))
        if compiled is not None:
            rows = Table(map(_of_either if compiled else _before_compiling, rows))
        if any(_GRAD in row.record.text for row in breaks):
            rows = Table(map(_with_broken_grad, rows))
        rows = Table(with_changed_buffer(row, trees) for row in rows)
        if engines := {row.record.engine for row in (*execs, *refused)}:
            engine = "gpu" if "gpu" in engines else "cpu"
            rows = Table(_noted(row, "engine", engine) for row in rows)
        if len(refused):
            rows = Table(_noted(row, "printed", "yes") for row in rows)
        yield from super().check(rows)

    def causes(self, finding: Finding) -> Iterable[stories.Story]:
        """Cause the graph breaks of the line, where torch refuses what it does."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, FailureData) and settled(data) and data.file and not _of_machine(data):
            yield stories.graph_break(data.file, data.line)

    def grade(self, failure: Failure) -> Severity:
        """Grade it: what comes when the program has ended is no end of it."""
        found = refusal(failure.message)
        if found is not None and found.name == "workers-at-exit":
            return Severity.WARNING
        return super().grade(failure)

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each message is an error of its own."""
        return (failure.exception, gist(failure.message), failure.function)

    def data(self, failure: Failure) -> FailureData:
        """Return what the finding holds, and whether the error is the program's own."""
        data = super().data(failure)
        own = {"own": "yes"} if failure.own else {}
        return data.model_copy(update={"facts": data.facts | own})

    def confidence(self, failure: Failure) -> Confidence:
        """That it ended the program is sure where nothing comes after it."""
        return Confidence.HIGH if failure.ended else Confidence.MEDIUM


def _unseen(data: FailureData) -> str:
    """Say what follows from a failure whose line is not the one that failed, or not told."""
    if made_by_torch(data) and not known(data):
        if "around" in data.facts:
            return (
                "It is what AOTAutograd does around a compiled graph, such as writing results back"
                " into the program's tensors: no line of the program calls it."
            )
        return (
            "It is an operator of the backward graph, which torch made of the program: no line of"
            " the program calls it."
        )
    if not data.facts.get("alone") or data.stage != "unknown" or final(data):
        return ""
    if "beside" in data.facts:
        return "The lines above it name files of the compiler, which was at work when it failed."
    return (
        "The message alone does not tell whether compiled code had a part in it; its traceback"
        " does."
    )


def _is_bare_comparison(row: Seen[compile_errors.Failure]) -> bool:
    """Tell whether results differ in a few lines without a traceback, and not by rounding."""
    rounds = any(words in row.text for words in compile_errors.TOLERANCES)
    return row.record.topic == "not-close" and not (row.record.stack_frames or rounds)


def _is_sentence(failure: Failure) -> bool:
    """Tell whether it only sounds like an error: a person may have written it above the error."""
    return (
        failure.cause == "unknown"
        and failure.fact("alone") != ""
        and not (failure.exception or refusal(failure.message))
    )


def _noted(row: Seen[Failure], name: str, value: str) -> Seen[Failure]:
    """Return a failure with another fact, which other records tell."""
    facts = (*row.record.facts, (name, value))
    return Seen(row.record.model_copy(update={"facts": facts}), row.count, row.places, row.text)


def _before_compiling(row: Seen[Failure]) -> Seen[Failure]:
    """Note on a failure that the logs of compiling were on and that there are none."""
    return _noted(row, "compiled", "no")


def _with_broken_grad(row: Seen[Failure]) -> Seen[Failure]:
    """Note on a failure that `torch.autograd.grad` broke a graph."""
    return _noted(row, "grad-broke", "yes")


def _of_either(row: Seen[Failure]) -> Seen[Failure]:
    """Leave open whose a failure is that autograd tells of: what was compiled has a graph, too.

    The traceback ends where the program asks for a gradient, whichever graph was gone through.
    """
    if row.record.stage != "program" or _UNUSED not in row.record.message:
        return row
    return Seen(row.record.model_copy(update={"stage": "unknown"}), row.count, row.places, row.text)
