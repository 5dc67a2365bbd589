"""ERR017 internal-compiler-error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.dynamo import user_code
from tracelens.dynamo.run_facts import facts_of
from tracelens.evidence import Table
from tracelens.failures import Failure
from tracelens.failures.words import spoken
from tracelens.remedies import Remedy
from tracelens.report import Finding
from tracelens.rules.err._classes_of_tensors import FROZEN, is_elsewhere
from tracelens.rules.err._failure_rule import (
    OWNERS,
    FailureData,
    FailureRule,
    gist,
    in_backward,
    stages_in_turn,
)
from tracelens.rules.err._in_recompile import (
    IN_RECOMPILE,
    failed_in,
    recompile_of,
    said_of,
    with_facts,
)
from tracelens.rules.err._known_messages import REMAINDER, SAID, known, settled
from tracelens.rules.err._leave_out import calls, disabled, is_above
from tracelens.rules.err._refused_kernels import KERNELS, in_passes, refused_kernel, written
from tracelens.rules.err._refused_sizes import SYMBOLS, of_constexpr
from tracelens.words import first_line

if TYPE_CHECKING:
    from tracelens.dynamo.run_facts import RunFacts
    from tracelens.logs._stack import StackFrame
    from tracelens.logs.graph_code import FxGraph
    from tracelens.logs.guards import GuardTree
    from tracelens.logs.recompiles import Recompile
    from tracelens.report.stories import Story

__all__ = ["InternalCompilerError"]

#: The newest release of torch.
NEWEST = (2, 15)
#: The line that Triton points at, with nothing below it that says why.
_CAST = re.compile(r"\.to\(tl\.b?float\d\d\)\n\^\s*$")
#: A remainder of a size whose sign is not known, in the type of what a line of a graph computes.
_MOD = "PythonMod("


def _is_foreign(data: FailureData) -> bool:
    """Whether a backend raised that is none of torch's stages, and the log names it."""
    return data.stage == "backend" and bool(data.facts.get("backend"))


def _is_own(data: FailureData) -> bool:
    """Whether the compiler called a function of the program's own, which raised."""
    return "hook" in data.facts and not _is_foreign(data)


def _called(data: FailureData) -> str:
    """Name that function."""
    if not _is_own(data):  # the page that lists all advice
        return "the function"
    at = user_code.short(data.facts.get("hook_file", ""), int(data.facts.get("hook_line", "0")))
    return f"`{data.facts['hook']}` ({at})"


def _of_torch(data: FailureData) -> bool:
    return not _is_foreign(data) and not _is_own(data)


def _is_nameless(data: FailureData) -> bool:
    """Tell whether it ended the program in a stage of torch, and no function is named."""
    staged = data.ended_program and data.stage in {"aot", "inductor"} and not _is_own(data)
    return staged and (is_above(data) or not data.function.isidentifier())


def _is_solved(data: FailureData) -> bool:
    """Tell whether a setting, or a newer release, mends it, and torch has had the report."""
    found = known(data)
    return found is not None and found.name == "combo-kernels"


def _is_older(data: FailureData) -> bool:
    """Tell whether the log names a torch, and there is a newer one."""
    told = data.facts.get("torch", "")
    return bool(told) and tuple(int(part) for part in told.split(".")) < NEWEST


def _is_open(data: FailureData) -> bool:
    """Tell whether neither a frame nor a name tells which part of the compiler failed."""
    return "frameless" in data.facts and data.stage == "inductor" and not spoken(data.message)


def _remainder(graphs: Table[FxGraph]) -> StackFrame | None:
    """Return the line of the last graph that holds a remainder of a size which may be negative."""
    last = None
    for row in graphs:
        if _MOD in row.record.body:
            lines = (
                origin.frame
                for node, origin in row.record.calls()
                if origin and " % " in node.expression and _MOD in getattr(node.type, "symbol", "")
            )
            last = next(lines, last)
    return last


class InternalCompilerError(FailureRule):
    """AOTAutograd, Inductor or a backend failed on a graph: a bug of the compiler.

    ## Why it matters
    The program was traced, and compiling what came out failed. The program runs without
    compiling; the compiler, or a backend of one's own, has a bug that its authors can mend when
    they see it.

    ## What it looks like
        torch._inductor.exc.InductorError: AssertionError:

        Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to PyTorch).

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Find out which stage fails, leave that function out, and report it.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    ERR018 (Dynamo's own), ERR007 (generated C++).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR017"
    name = "internal-compiler-error"
    of_causes: ClassVar[frozenset[str]] = frozenset(
        {"internal-compiler", "internal-triton", "lost-size", "triton-passes"}
    )
    remedies = (
        *FROZEN,
        *SAID,
        IN_RECOMPILE,
        Remedy(
            "own",
            lambda data: f"Mend {_called(data)}: the compiler called it, and it raised.",
            when="a pass, a lowering or the backward of an operator of the program's own",
            applies=_is_own,
            basis="tested",
            proof="tests/advice/ERR017/own.py",
        ),
        Remedy(
            "cast",
            "Triton refuses a cast. Mostly what is cast is float8_e4m3fn"
            " (fp8e4nv), which needs compute capability 8.9 (RTX 40, L4, H100): use weights in"
            " float8_e5m2, float16 or another quantization there, or leave these layers out.",
            when="a cast of what a kernel loads",
            applies=lambda data: (
                _CAST.search(data.message) is not None
                or "Unsupported rounding mode for conversion" in data.message
            ),
            basis="untestable",
            proof="needs a GPU before compute capability 8.9",
        ),
        *KERNELS,
        Remedy(
            "ddp",
            lambda data: (
                "DistributedDataParallel's own way of splitting the graph failed on it: switch it"
                " off. Gradients are then sent in fewer, later pieces."
                if "DDPOptimizer" in data.message
                else "In a program with DistributedDataParallel, `compile_fn` is its own way of"
                " splitting the graph: see whether it fails without. Gradients are then sent in"
                " fewer, later pieces."
            ),
            setting="torch._dynamo.config.optimize_ddp = False",
            since="2.0",
            when="DDPOptimizer",
            applies=lambda data: (
                data.facts.get("backend") == "compile_fn" or "DDPOptimizer" in data.message
            ),
            basis="untestable",
            proof="needs several ranks",
        ),
        Remedy(
            "random",
            "Inductor's own random numbers do not fit what a backend made of the graph (DeepCompile"
            " and other passes put `rand` back into it): let it call eager's.",
            setting="torch._inductor.config.fallback_random = True",
            since="2.0",
            when="random operators that were to be replaced",
            applies=lambda data: "replace_random" in data.message,
            basis="source",
            proof="torch/_inductor/fx_passes/replace_random.py, torch/_inductor/config.py",
        ),
        Remedy(
            "no-patterns",
            "Inductor failed where it replaces patterns of the graph by others: switch that off "
            "until it is mended. Replacements that make it faster, as of attention, go with it.",
            setting="torch._inductor.config.pattern_matcher = False",
            since="2.1",
            when="the traceback ends in Inductor's pattern matcher",
            applies=lambda data: "replaces" in data.facts and _of_torch(data),
            basis="tested",
            proof="tests/advice/ERR017/no-patterns.py",
        ),
        Remedy(
            "out-of-place",
            "The line changes a view of a tensor in place: do it out of place, or on a clone.",
            when="AOTAutograd cannot make a view again",
            applies=lambda data: data.message.startswith("Cannot view a tensor with shape"),
            code="x = x.masked_fill(mask, 0.0)  # not x.masked_fill_(mask, 0.0)",
            basis="tested",
            proof="tests/advice/ERR017/out-of-place.py",
            edits=True,
        ),
        *SYMBOLS,
        Remedy(
            "other-backend",
            lambda data: (
                f"The backend `{data.facts.get('backend', 'name')}` raised: that is its author's "
                "to mend. Inductor compiles where no backend is named."
            ),
            when="a backend other than Inductor",
            applies=_is_foreign,
            code="torch.compile(model)",
            since="2.0",
            basis="tested",
            proof="tests/advice/ERR017/other-backend.py",
        ),
        Remedy(
            "disable",
            lambda d: (
                f"Leave the function out meanwhile, and report the bug: `{d.function}`."
                # else it is the backend's, or leads to compiled code
                if d.function.isidentifier() and d.stage != "backend" and not is_above(d)
                else f"Leave the function that fails out meanwhile, and report the bug.{calls(d)}"
            ),
            code=disabled,
            since="2.1",
            when="not in `backward()`, and suppressing is not told",
            applies=lambda data: (
                not (in_backward(data) or _is_own(data) or _is_nameless(data) or is_elsewhere(data))
            ),
            proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html",
        ),
        Remedy(
            "suppress",
            "Until it is mended, let what fails run eagerly, and keep the rest compiled. What "
            "fails in `backward()`, or under `fullgraph=True`, raises all the same.",
            setting="torch._dynamo.config.suppress_errors = True",
            env="TORCHDYNAMO_SUPPRESS_ERRORS=1",
            since="2.0",
            when="the failure ended the program, in AOTAutograd or Inductor, not in `backward()`, "
            "and the log does not name the function",
            applies=lambda data: (
                _is_nameless(data)
                and not (in_backward(data) or is_elsewhere(data) or _is_solved(data))
            ),
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
        ),
        Remedy(
            "by-parts",
            "It failed in `backward()`, where `suppress_errors` does not hold, and the traceback "
            "does not name the function. Compile the parts of the model one by one, and leave "
            "out the one with which it fails.",
            when="the failure came in `backward()`",
            applies=lambda data: in_backward(data) and _of_torch(data),
            basis="tested",
            proof="tests/advice/ERR017/by-parts.py",
        ),
        Remedy(
            "bisect",
            lambda data: (
                "Find the stage: the first of these that fails is it, and one that runs is a way "
                "to go on meanwhile."
                + (
                    " In Inductor, `python -m torch._inductor.compiler_bisector run python "
                    "program.py` names the pass as well, in a dozen runs."
                    if data.stage == "inductor"
                    else ""
                )
            ),
            code=stages_in_turn,
            when="the stages of torch, and the message does not say what to do",
            applies=lambda d: _of_torch(d) and not (settled(d) or in_passes(d)),
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
        ),
        Remedy(
            "minifier",
            lambda data: (
                "Report it, if torch's issues do not have the message yet: the minifier writes a "
                "small program that shows it, and runs what fails many times for it."
                + (
                    ""
                    if _is_older(data)
                    else " A newer torch, if there is one, may have it mended."
                )
            ),
            env='TORCHDYNAMO_REPRO_AFTER="aot"',
            since="2.0",
            when="the stages of torch",
            applies=lambda d: _of_torch(d) and not (is_elsewhere(d) or _is_solved(d)),
            proof="https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
        ),
        Remedy(
            "newer",
            "Try a newer torch.",
            code="python -m pip install -U torch",
            when="the log names its torch, and there is a newer one",
            applies=lambda data: not (_is_own(data) or of_constexpr(data)) and _is_older(data),
            basis="untestable",
            proof="it depends on the release",
        ),
    )

    def check(  # type: ignore[override]  # it asks for more tables
        self,
        failures: Table[Failure],
        *,
        graphs: Table[FxGraph],
        recompiles: Table[Recompile],
        trees: Table[GuardTree],
        run: Table[RunFacts],
    ) -> Iterator[Finding]:
        """Yield one finding per failure, with what the rest of the log tells of it."""
        torch = ".".join(map(str, facts_of(run).torch or ()))
        for told in super().check(failures):
            data = self.data_of(told)
            if not isinstance(data, FailureData):
                yield told
                continue
            again = recompile_of(told, data, recompiles, trees, graphs)
            full = with_facts(data, *again) if again else data
            found = known(full)
            line = graphs.derived(_remainder) if found and found.name == REMAINDER else None
            more = {"remainder": line.file, "remainder_line": str(line.line)} if line else {}
            more |= {"torch": torch} if torch else {}
            if not (again or more):
                yield told
                continue
            full = full.model_copy(update={"facts": full.facts | more})
            update = {"data": full.model_dump(mode="json"), "advice": self.advise(full)}
            said = {"message": f"{told.message} {said_of(full)}"} if again else {}
            yield told.model_copy(update=update | said)

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Cause what a recompile that failed is told for."""
        yield from super().causes(finding)
        data = self.data_of(finding)
        if isinstance(data, FailureData):
            yield from failed_in(data)

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        name = data.exception.rpartition(".")[2] or "an error"
        first = first_line(data.message)
        name += f" at `{data.facts['asserted']}`" if "asserted" in data.facts else ""
        told = f"{name}: {first}" if first else name
        if (found := known(data)) and found.of != "library":
            return f"{found.what}: {first}"
        if (backend := data.facts.get("backend", "inductor")) != "inductor":
            return f"the backend `{backend}` failed on a graph: {told}"
        if _is_own(data):
            return f"the compiler called {_called(data)}, which failed: {told}"
        if refuses := refused_kernel(data):
            return refuses
        graph = "the backward graph" if in_backward(data) else "a graph"
        if _is_open(data):
            return f"the compiler failed on {graph}: {told}"
        return (
            f"the compiler failed on {graph} (a bug of {OWNERS.get(data.stage, 'the compiler')}):"
            f" {told}"
        )

    def why(self, data: FailureData) -> str:
        """Say whose it may be."""
        if written(data):
            return (
                "Inductor wrote code that this Triton does not take: it is a bug of torch's, or"
                " the two do not fit."
            )
        if _is_open(data):
            return (
                "No frame of the compiler is in the text: which part of it failed, and whose bug"
                " it is, the traceback above it tells (TORCHDYNAMO_VERBOSE=1 prints all of it)."
            )
        return ""

    def identity(self, failure: Failure) -> tuple[str, ...]:
        """Each message is a bug of its own."""
        return (failure.cause, failure.exception, gist(failure.message))
