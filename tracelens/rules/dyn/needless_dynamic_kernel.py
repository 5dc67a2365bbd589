"""DYN003 needless-dynamic-kernel."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.guard_facts import without_gradients
from tracelens.dynamo.recompile_history import histories
from tracelens.evidence import Place, Seen, Table
from tracelens.experiment import Experiment, Knob
from tracelens.frames import Frame
from tracelens.frames.recompile_cost import cost_of
from tracelens.logs._stack import StackFrame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import MAX_DIGITS, GuardFailure, Recompile, Source, TensorMismatch
from tracelens.logs.recording import CalledWith
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Cost, Finding, FindingData, Severity
from tracelens.report.stories import Story, last_batch
from tracelens.rules import Rule
from tracelens.words import plural

__all__ = ["NeedlessDynamicKernel"]

MAX_QUOTED = 3


class RemainderData(FindingData):
    """A size that changed once, to a smaller one."""

    source: str
    usual: int
    last: int
    #: The source is a variable of the compiled function.
    is_variable: bool = False
    #: Whether all that was compiled ran without gradients; None where the log does not say.
    is_inference: bool | None = None
    #: The functions that the batch recompiled: file and line of each.
    functions: tuple[tuple[str, int], ...] = ()


def _padded(data: RemainderData) -> str:
    """Return the line that adds rows of zeros, for a tensor of any number of dimensions."""
    x = data.source
    return f"{x} = torch.cat([{x}, {x}.new_zeros({data.usual} - len({x}), *{x}.shape[1:])])"


class NeedlessDynamicKernel(Rule):
    """One smaller batch turned a function dynamic for good.

    ## Why it matters
    The last batch of a data set is mostly smaller. It makes Dynamo compile the function once more,
    with the size as a symbol. From then on that entry may serve all calls, and its code is somewhat
    slower: loops without known lengths, no tuning for the size that nearly all batches have.

    ## What it looks like
    In the whole log one size changes, once, in the first dimension, to a smaller one, and the
    recording of ``tracelens run`` notes that the usual size came again, and no other:

        [0/2] [__recompiles] Recompiling function forward in /home/ana/proj/train.py:12
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: tensor 'x' size mismatch at index 0. expected 8, actual 4
        # tracelens: sizes at /home/ana/proj/train.py:30: 8, 4, 8, 4

    ## When it is harmless
    When the size really varies: calls with further sizes fit the new entry and leave no line of
    torch. So without the recording's line nothing is reported, nor with any other change of a size.

    ## What to do
    In training, drop the last batch. Where every row counts, as in inference, mark the dimension as
    dynamic before the first call, or pad the batch.

    ## How a live run confirms it
    The program runs with ``dynamic=False``. Confirmed when the steps after the change get faster;
    refuted when they take the same time.

    ## See also
    RCP003 (the same recompile, as the normal price of sizes that vary).
    <https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html>
    """

    code = "DYN003"
    name = "needless-dynamic-kernel"
    severity = Severity.INFO
    experiment = Experiment(Knob("sizes stay static", compile={"dynamic": False}))

    Data = RemainderData
    remedies = (
        Remedy(
            "drop-last",
            lambda data: (
                f"Drop the batch of {data.last}, with `drop_last=True` of the DataLoader or by "
                f"leaving it out of your loop; or pad it to {data.usual}."
            ),
            when="the log does not show inference",
            applies=lambda data: not data.is_inference,
            code="DataLoader(dataset, batch_size=batch_size, drop_last=True)",
            basis="tested",
            proof="tests/advice/DYN003/drop-last.py",
        ),
        Remedy(
            "mark-dynamic",
            lambda data: (
                ("Mark" if data.is_inference else "Where the last batch must count: mark")
                + " the dimension before the first call, and one compilation serves both sizes."
            ),
            when="a tensor that the compiled function is given",
            applies=lambda data: data.is_variable,
            code=lambda data: f"torch._dynamo.maybe_mark_dynamic({data.source}, 0)",
            since="2.3",
            basis="tested",
            proof="tests/advice/DYN003/mark-dynamic.py",
        ),
        Remedy(
            "pad",
            lambda data: (
                f"Or pad the batch of {data.last} to {data.usual}, and leave out the rows of the "
                "result that it did not have: this changes nothing where rows do not depend on "
                "each other."
            ),
            when="inference",
            applies=lambda data: bool(data.is_inference),
            code=lambda data: _padded(data) if data.is_variable else None,
            basis="tested",
            proof="tests/advice/DYN003/pad.py",
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        sizes: Table[CalledWith],
        frames: Table[Frame],
        guards: Table[GuardTree],
    ) -> Iterator[Finding]:
        """Yield one finding for the whole log, however many functions the batch went through."""
        steps = [
            (place, row, failure)
            for place, row in recompiles.events()
            if (failure := row.record.newest) is not None and _is_size(failure)
        ]
        pairs = {_pair(failure) for _, _, failure in steps}
        calls = [(at.writer, row.record.function, row.record.file) for at, row, _ in steps]
        listed = any(not _is_argument(failure) for _, _, failure in steps)
        if (
            not listed
            and len(pairs) == 1
            and len(calls) == len(set(calls))
            and _is_remainder(*pairs)
            and (back := _return(sizes, next(iter(pairs)))) is not None
        ):
            every = [step for history in histories(recompiles) for step in history.steps]
            inference = guards.derived(without_gradients)
            yield self._finding(steps, back, cost_of(every, frames), inference)

    def causes(self, finding: Finding) -> Iterator[Story]:
        """Tell why each of the functions was compiled for another size."""
        data = self.data_of(finding)
        if isinstance(data, RemainderData):
            yield from (last_batch(file, line) for file, line in data.functions)

    def _finding(
        self,
        steps: list[tuple[Place, Seen[Recompile], GuardFailure]],
        back: Seen[CalledWith],
        cost: Cost | None,
        is_inference: bool | None,
    ) -> Finding:
        _, first, failure = steps[0]
        record = first.record
        _, expected, actual = _pair(failure)
        source = failure.check.source if isinstance(failure.check, TensorMismatch) else "the input"
        more = f" and {plural(len(steps) - 1, 'more function')}" if len(steps) > 1 else ""
        own = StackFrame(file=record.file, line=record.line, function=record.function)
        data = RemainderData(
            source=str(source),
            usual=int(expected),
            last=int(actual),
            is_variable=isinstance(source, Source) and source.is_variable,
            is_inference=is_inference,
            functions=tuple(dict.fromkeys((s.record.file, s.record.line) for _, s, _ in steps)),
        )
        return self.finding(
            record.function,
            user_code.short(record.file),
            str(source),
            title=f"one batch of {actual} instead of {expected} made `{record.function}`{more} "
            f"dynamic",
            message=f"The first dimension of `{source}` changed from {expected} to {actual} and "
            f"back, and had no other size: as with the last batch of a data set. Since then the "
            f"dynamic entry serves the batches of {expected}, too, with slower code.",
            confidence=Confidence.MEDIUM,
            count=len(steps),
            where=user_code.where(user_code.best([own, *_line(failure, own), *failure.stack])),
            evidence=[
                row.quote(f"entry {at.frame}", at=why.at, place=at)
                for at, row, why in steps[:MAX_QUOTED]
            ]
            + [back.quote("the usual size comes again")],
            cost=cost,
            advice=self.advise(data),
            data=data,
        )


def _line(failure: GuardFailure, own: StackFrame) -> list[StackFrame]:
    if failure.comment is None:
        return []
    line = user_code.located(failure.comment, own.function, [own.file])
    return [line] if line else []


def _is_remainder(change: tuple[int | None, str, str]) -> bool:
    """Whether it is the first dimension that got smaller; 1 gets an entry of its own by design."""
    index, expected, actual = change
    known = all(n.isdecimal() and len(n) < MAX_DIGITS for n in (expected, actual))
    return index == 0 and known and 1 < int(actual) < int(expected)


def _return(
    sizes: Table[CalledWith], change: tuple[int | None, str, str]
) -> Seen[CalledWith] | None:
    """Return the line that shows the usual size again after the smaller one, and no other size."""
    change_back = int(change[1]), int(change[2]), int(change[1])
    for row in sizes:
        if (seen := row.record.sizes)[:3] == change_back and set(seen) == set(change_back):
            return row
    return None


def _is_size(failure: GuardFailure) -> bool:
    return isinstance(failure.check, TensorMismatch) and failure.check.what == "size"


def _is_argument(failure: GuardFailure) -> bool:
    """Whether it is a tensor itself, and not the element of a list."""
    check = failure.check
    if not isinstance(check, TensorMismatch):
        return False
    path = check.source.path
    if check.source.name in {"args", "kwargs"}:  # of a function that takes whatever it is given
        path = path.partition("]")[2]
    return not any(part[:1].isdecimal() for part in path.split("["))


def _pair(failure: GuardFailure) -> tuple[int | None, str, str]:
    check = failure.check
    if not isinstance(check, TensorMismatch):
        return None, "", ""
    return check.index, check.expected, check.actual
