"""RCP015 stride-mismatch."""

from __future__ import annotations

from tracelens.dynamo.entry_guards import entry_of, takes_any_stride, tensor_of
from tracelens.dynamo.recompile_history import Step
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import TensorMismatch, ValueCheck
from tracelens.remedies import Remedy
from tracelens.report import Finding
from tracelens.rules.rcp._changes import Group
from tracelens.rules.rcp._data import RecompileData
from tracelens.rules.rcp._tensor_rule import TensorRule
from tracelens.rules.rcp._written import is_written

__all__ = ["StrideMismatch"]


class LayoutData(RecompileData):
    """A tensor in several layouts."""

    #: Whether the entry is for a tensor that requires a gradient: a copy of it has no ``.grad``.
    has_gradient: bool = False
    #: The object that the tensor is in, where that is ``None`` in calls that make it.
    made: str = ""


def _made(data: RecompileData) -> str:
    return data.made if isinstance(data, LayoutData) else ""


def _has_gradient(data: RecompileData) -> bool:
    return isinstance(data, LayoutData) and data.has_gradient


class StrideMismatch(TensorRule):
    """A function is called with tensors of the same size but another memory layout.

    ## Why it matters
    Strides are guarded. A transposed or expanded tensor, or a slice of a bigger one, needs an entry
    of its own, and the compiled kernel for it reads memory in another order. A growing cache
    changes the strides of its views with its length.

    ## What it looks like
    The stride of the entry, and that of the call:

        [0/1] [__recompiles] Recompiling function block in /home/ana/proj/model.py:8
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'kwargs['past_key_values'].layers[0].keys' stride\
 mismatch at index 1. expected 16, actual 208

    ## When it is harmless
    One more layout, one more entry. Strides become symbolic together with sizes, so it ends soon:
    where the guards of the new entry take any stride there, nothing need be done.

    ## What to do
    Make the tensor contiguous before the call. ``.contiguous()`` does nothing to a tensor whose
    batch is 1: ``clone`` it.

    ## How a live run confirms it
    The same calls with contiguous tensors: the recompile is gone.

    ## See also
    RCP002 (sizes), RCP014 (rank).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP015"
    name = "stride-mismatch"
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:strides",
        confirms="made contiguous before the call, nothing is compiled again",
        refutes="it is compiled again all the same",
        leaves_open="the log does not tell the strides",
    )

    Data = LayoutData
    remedies = (
        Remedy(
            "contiguous",
            "Give the tensor one layout before the call, unless the function writes into it, which "
            "would then change the copy; `.contiguous()` is not enough where a size is 1.",
            when="an argument of a function of the program's, which the line does not write into, "
            "and which requires no gradient",
            applies=lambda data: (
                data.is_variable
                and not (data.is_of_library or _has_gradient(data) or is_written(data))
            ),
            code=lambda data: (
                f"{data.source} = {data.source}.clone(memory_format=torch.contiguous_format)"
            ),
            basis="tested",
            proof="tests/advice/RCP015/contiguous.py",
        ),
        Remedy(
            "after-making",
            lambda data: (
                f"Calls with `{_made(data)}` None make it, as a prompt makes a cache, in a layout "
                "of their own. After such a call, and no other, replace each of its tensors, "
                "`t`, by `t.clone(memory_format=torch.contiguous_format)`."
            ),
            when="part of what is None in calls of the function that make it",
            applies=lambda data: bool(_made(data)) and not is_written(data),
            basis="tested",
            proof="tests/advice/RCP015/after-making.py",
        ),
        Remedy(
            "one-layout",
            lambda data: (
                "Make the tensor in one memory layout where it is made"
                + (
                    "; if its `.grad` is read, before it is made to require a gradient."
                    if _has_gradient(data)
                    else "."
                )
            ),
            when="part of an object, an argument of a library's function, or one that requires a "
            "gradient, which no call of the function makes",
            applies=lambda data: (
                not _made(data)
                and (not data.is_variable or data.is_of_library or _has_gradient(data))
                and not is_written(data)
            ),
            basis="tested",
            proof="tests/advice/RCP015/one-layout.py",
        ),
    )

    title = "`{function}` gets `{source}` in another memory layout"

    def message(self, group: Group, check: TensorMismatch) -> str:
        """Say what differed, in each of its dimensions."""
        values: dict[str, list[str]] = {}
        for one in (step.check for _, step in group.steps):
            if isinstance(one, TensorMismatch) and one.source == check.source:
                values.setdefault(_at(one), []).extend((one.expected, one.actual))
        each = (f"{', then '.join(dict.fromkeys(v))}{at}" for at, v in values.items())
        was = f"{_at(check)} was {', then '.join(dict.fromkeys(values[_at(check)]))}"
        if len(values) > 1:
            was = f" was {', and '.join(each)}"
        return f"The stride of `{check.source}`{was}: {group.times}, one per layout."

    def completed(self, finding: Finding, group: Group, trees: Table[GuardTree]) -> Finding:
        """Add whether it requires a gradient, and say where a copy of it would not do."""
        guard = tensor_of(entry_of(group.first.place, trees), str(finding.data["source"]))
        data = self.Data(
            **finding.data, has_gradient="requires_grad=True" in guard, made=_made_by_calls(group)
        )
        update = {"data": data.model_dump(mode="json"), "advice": self.advise(data)}
        if is_written(data):
            update["message"] = finding.message + _WRITTEN
        return finding.model_copy(update=update)

    def harmless(self, group: Group, trees: Table[GuardTree]) -> str | None:
        """Say that the new entry takes further strides, where its guards do."""
        if all(_is_free(step, trees) for _, step in group.steps):
            return "further strides fit the entry with the symbol"
        return super().harmless(group, trees)


_WRITTEN = " The line writes into it, so that a copy would not do, and no change is named."


def _made_by_calls(group: Group) -> str:
    """Return the object that the tensor is in, if an entry is for calls with ``None`` for it."""
    source = str(getattr(group.first.check, "source", ""))
    for step in group.history.steps:
        for check in (one.check for one in step.seen.record.failures):
            if not isinstance(check, ValueCheck) or check.constant != "None":
                continue
            name = str(check.source)
            if check.source.name != "self" and source.startswith((f"{name}.", f"{name}[")):
                return name
    return ""


def _is_free(step: Step, trees: Table[GuardTree]) -> bool:
    check = step.check
    if not isinstance(check, TensorMismatch) or check.index is None:
        return False
    return takes_any_stride(entry_of(step.place, trees), str(check.source), check.index)


def _at(check: TensorMismatch) -> str:
    return "" if check.index is None else f" in dimension {check.index}"
