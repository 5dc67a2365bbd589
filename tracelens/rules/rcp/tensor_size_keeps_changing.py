"""RCP002 tensor-size-keeps-changing."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.frames import Frame
from tracelens.dynamo.recompile_cost import cost_of
from tracelens.dynamo.recompile_history import Series, histories, series, settles
from tracelens.dynamo.recompile_variants import is_size
from tracelens.evidence import Table
from tracelens.experiment import Experiment, Knob
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile, Source, TensorMismatch
from tracelens.report import Advice, Confidence, Finding, Severity
from tracelens.rules import Rule

__all__ = ["TensorSizeKeepsChanging"]

#: Changes from which on it is certain that the size is held static.
CERTAIN = 3
#: Lines quoted, and values listed, per finding.
MAX_QUOTED = 5
MAX_VALUES = 8


class TensorSizeKeepsChanging(Rule):
    """A function is compiled again for every new size of one dimension of a tensor.

    ## Why it matters
    Dynamo makes a size dynamic when it changes for the first time: one more compilation, and then
    none. Where the size is held static instead, every new size costs a compilation of seconds, and
    after eight of them the function runs eagerly.

    ## What it looks like
    The newest entry fails on the same dimension again:

        [0/1] [__recompiles] Recompiling function f in /home/ana/proj/model.py:8
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 8
        [0/2] [__recompiles] Recompiling function f in /home/ana/proj/model.py:8
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: tensor 'x' size mismatch at index 0. expected 8, actual 16
        [0/2] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 16

    Lines about older entries, and about entries that belong to another model or mode, say nothing:
    those would not have fitted anyway. They are not counted.

    ## When it is harmless
    One change per dimension is how automatic dynamic shapes work (RCP003), and the sizes 0 and 1
    get an entry of their own (RCP016). Two changes can come from two variants of a call that the
    log does not tell apart: the finding is then a remark of low confidence, without a cost.

    ## What to do
    Compile with ``dynamic=True``, or mark the dimension with ``torch._dynamo.mark_dynamic`` before
    the first call; remove ``dynamic=False`` and ``mark_static``. Where a kernel needs constant
    sizes, pad to a few sizes.

    ## How a live run confirms it
    The same calls with the dimension marked dynamic: recompiles fall to at most one, and the time
    of the calls with new sizes falls.

    ## See also
    RCP001 (what happens after the eighth size), RCP003, RCP016.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP002"
    name = "tensor-size-keeps-changing"
    severity = Severity.WARNING
    experiment = Experiment(
        Knob("dynamic sizes from the first call", compile={"dynamic": True}),
        of="run",
        micro="recompile",
        confirms="the size is compiled once, and the run takes less time",
        refutes="another guard fails instead",
        leaves_open="the sizes of the run do not change as those of the log did",
    )

    def check(
        self, recompiles: Table[Recompile], *, frames: Table[Frame], trees: Table[GuardTree]
    ) -> Iterator[Finding]:
        """Yield one finding per function, tensor and dimension."""
        groups: dict[tuple[object, ...], list[Series]] = {}
        for values in series(histories(recompiles)):
            check = values.checks[0]
            if is_size(check) and not settles(values):
                groups.setdefault(values.subject, []).append(values)
        for group in groups.values():
            yield self._finding(group, frames, trees)

    def _finding(
        self, group: list[Series], frames: Table[Frame], trees: Table[GuardTree]
    ) -> Finding:
        longest = max(group, key=lambda values: len(values.steps))
        steps = [step for values in group for step in values.steps]
        certain = len(longest.steps) >= CERTAIN
        history, (_, _, _, source, index) = longest.history, longest.subject
        place = history.code(longest.steps[0], trees)
        sizes = longest.values
        more = ", ..." if len(sizes) > MAX_VALUES else ""
        changed = f"Dimension {index} of `{source}` was {', '.join(sizes[:MAX_VALUES])}{more}"
        if certain:
            title = f"`{history.function}` is compiled again for every size of `{source}`"
            why = "that it did not means that this one is held static, by dynamic=False, "
        else:
            title = f"`{source}` changed its size twice; `{history.function}` was compiled for each"
            why = "a second time happens where the size is held static, by dynamic=False, "
        return self.finding(
            history.function,
            user_code.short(history.file),
            place.code,
            source,
            index,
            title=title,
            message=f"{changed}: {len(steps)} recompiles. Dynamo makes a size dynamic when it "
            f"changes for the first time; {why}mark_static, or code that needs a constant.",
            severity=self.severity if certain else Severity.INFO,
            confidence=Confidence.HIGH if certain else Confidence.LOW,
            count=len(steps),
            where=user_code.where(place),
            evidence=[step.quote() for step in steps[:MAX_QUOTED]],
            cost=cost_of(steps, frames) if certain else None,
            advice=_advice(longest),
        )


def _advice(values: Series) -> list[Advice]:
    check = values.checks[0]
    source = check.source if isinstance(check, TensorMismatch) else Source(name="tensor")
    local = f"L['{source.name}']{source.path}"
    name = str(source) if source.is_variable else "tensor"
    return [
        Advice(
            text="Mark the dimension dynamic before the first call, or compile with dynamic=True.",
            code=f"torch._dynamo.mark_dynamic({name}, {values.subject[-1]})",
            since="2.1",
        ),
        Advice(
            text="Or name the tensor to Dynamo without editing the program.",
            env=f'TORCH_COMPILE_DYNAMIC_SOURCES="{local}"',
            since="2.8",
        ),
        Advice(text="Where the kernels need constant sizes, pad the input to a few sizes."),
    ]
