"""RCP012 requires-grad-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.dynamo.breaks import lost_around
from tracelens.dynamo.entry_guards import entry_called, entry_of, flags_of
from tracelens.dynamo.recompile_history import Step
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment, Knob
from tracelens.frames import Frame
from tracelens.late import late
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, TensorMismatch
from tracelens.remedies import Remedy, apart
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.rcp._changes import Group, about
from tracelens.rules.rcp._data import USUAL_LIMIT, RecompileData
from tracelens.rules.rcp._tensor_rule import TensorRule
from tracelens.rules.rcp._written import is_written
from tracelens.words import plural

__all__ = ["RequiresGradMismatch"]


_ARGUMENT = late(r"L\['(?!self'|___)\w{1,80}'\]")


def _is_parameter(source: str) -> bool:
    """Whether it is a parameter of a module."""
    return "_parameters[" in source


def _is_kept(source: str) -> bool:
    """Whether a module holds the tensor, and no parameter: no call changes the flag of those.

    Torch's own wrapper calls the module ``fn``.
    """
    return not _is_parameter(source) and (source.startswith("self.") or "_buffers[" in source)


def _is_state(data: RecompileData) -> bool:
    """Whether a module keeps the tensor, and its first call found it without a gradient."""
    first = data.guards[0].expected if data.guards else ""
    return _is_kept(data.source) and first.endswith("0")


def _is_first(data: RecompileData) -> bool:
    """Whether it is what layers hand on, by a module that is the first compiled."""
    is_module = data.is_variable and data.function == "forward"
    without = bool(data.guards) and data.guards[0].expected.endswith("0")
    if not (is_module and without and isinstance(data, RequiresGradMismatch.Data)):
        return False
    return data.frame == 0 and data.is_alone and not (data.is_beside or data.is_mixed)


class RequiresGradMismatch(TensorRule):
    """A function is called with a tensor that requires a gradient, and with one that does not.

    ## Why it matters
    Whether an input requires a gradient decides what is compiled: with a backward graph or without.
    The first layer gets the data, which does not; every later layer of the same class gets an
    activation, which does. So the layers' common code is compiled twice.

    A module that keeps a tensor from call to call, as the membrane of a spiking neuron, finds one
    without a gradient in its first call only.

    ## What it looks like
    The flag of the entry, which has two values only:

        [0/1] [__recompiles] Recompiling function block in /home/ana/proj/model.py:8
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0

    ## When it is harmless
    Always bounded: two entries per tensor, times the entries for sizes. Layers that are unfrozen
    one after another are one finding, with an entry for each stage. A parameter that is frozen
    once, as before fine-tuning, is a note.

    ## What to do
    Nothing in most programs: a tensor that was given the other flag for the entry's sake gained
    nothing, and a gradient more was computed in each step. Where start-up time or the number of
    entries matters, compile the model and not its layers. Where the model is compiled, and a graph
    break leaves its layers to be compiled one by one, remove the break.

    ## How a live run confirms it
    The same calls with the flag set alike: the recompile is gone.

    ## See also
    RCP010 (grad mode), RCP024 (why layers are compiled apart).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP012"
    name = "requires-grad-mismatch"
    by_caller = True
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:gradients",
        confirms="detached before the call, nothing is compiled again",
        refutes="it is compiled again all the same",
    )

    class Data(RecompileData):
        """A tensor with and without a gradient."""

        #: Number of the compiled frame, in the order in which Dynamo met them.
        frame: int | None = None
        #: Parameters have another flag in the same calls: the flag of the tensor alone is no help.
        is_mixed: bool = False
        #: Another tensor without a gradient is passed in beside it: a state, and no layer's input.
        is_beside: bool = False
        #: Nothing else recompiled the function: a model of which calls differ has more reasons.
        is_alone: bool = False

    remedies = (
        Remedy(
            "call-first",
            lambda data: (
                f"Where nothing sets `{data.source}` back between the calls, call the model once "
                "before it is compiled, with a batch as it comes in training: that call leaves "
                "there what later calls find. Where each sequence begins anew, begin with zeros "
                "that require a gradient: `torch.zeros(..., requires_grad=True)`."
            ),
            when="a tensor that a module keeps, without a gradient in the first call",
            applies=_is_state,
            code="model(x)  # then torch.compile(model)",
            basis="tested",
            proof="tests/advice/RCP012/call-first.py",
            knob=Knob("called once before it is compiled", call={"eager_first": True}),
        ),
        Remedy(
            "raise-limit",
            "Raise the limit above the number of layers that are unfrozen: each set of layers that "
            "learn is then compiled once, and later ones do not run eagerly. It pays where each "
            "learns for many steps.",
            when="flags of parameters that are set one after another used up the entries",
            applies=lambda data: data.is_hit and _is_parameter(data.source) and data.recompiles > 1,
            setting=lambda data: f"torch._dynamo.config.recompile_limit = {data.limit * 8}",
            since="2.7",
            basis="tested",
            proof="tests/advice/RCP012/raise-limit.py",
        ),
        Remedy(
            "one-optimizer-group",
            "Each set of layers that learn needs an entry of its own. Where start-up time matters "
            "more than the steps, let all parameters have their gradient from the start, and "
            "give the optimizer those that learn when they are to learn; clear the gradients with "
            "`model.zero_grad()`.",
            when="flags of parameters that are set one after another",
            applies=lambda data: _is_parameter(data.source) and data.recompiles > 1,
            code="optimizer.add_param_group({'params': layer.parameters()})"
            "  # in place of layer.requires_grad_(True)",
            basis="tested",
            proof="tests/advice/RCP012/one-optimizer-group.py",
        ),
        Remedy(
            "compile-model",
            "Compile the model and not its layers: only the first of them gets inputs without "
            "a gradient.",
            when="an argument of a module that is the first compiled: nothing around it is; it "
            "came without a gradient first, and nothing else recompiled the module; not where "
            "another tensor without a gradient is passed in beside it, as with a state",
            applies=_is_first,
            basis="tested",
            proof="tests/advice/RCP012/compile-model.py",
        ),
        Remedy(
            "leave-flags",
            lambda data: (
                "No change is named: "
                + (
                    f"`{data.function}` of `{data.package}` is called with tensors of both kinds, "
                    "and a"
                    if data.package
                    else "each flag needs an entry, and where one flag was given to all of them, a"
                )
                + " gradient for those that need none is paid in every step."
            ),
            when="an argument, no parameters beside it, and not of the first module compiled",
            applies=lambda data: (
                data.is_variable and not (getattr(data, "is_mixed", False) or _is_first(data))
            ),
            basis="untestable",
            proof="it says what is known, and asks for no change",
            says=True,
        ),
    )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to what made Dynamo give up the function around the layers."""
        yield from super().follows(finding)
        data = self.data_of(finding)
        if isinstance(data, RecompileData) and data.lost:
            yield from (lost_around(one.file) for one in data.functions)

    def merged(self, found: list[Group]) -> list[Group]:
        """Join what is about parameters of one function: layers are unfrozen one after another."""
        joined: dict[tuple[str, str, int], Group] = {}
        rest = [group for group in found if not _is_parameter(about(group.first))]
        for group in found:
            if _is_parameter(about(group.first)):
                whole = joined.setdefault(group.history.definition, Group(group.cause))
                whole.limit, whole.is_hit = group.limit, group.is_hit
                whole.steps += group.steps
        return [*joined.values(), *rest]

    def named(self, group: Group) -> str:
        """Count the parameters or tensors, where there are several: one stands for its layer."""
        names = {about(step) for _, step in group.steps}
        if len(names) == 1:
            return about(group.first) + "`"
        others = names - {about(group.first)}
        kind = "parameter" if all(map(_is_parameter, others)) else "tensor"
        return f"{about(group.first)}` and {plural(len(names) - 1, f'more {kind}')}"

    title = "`{function}` is compiled with and without a gradient for `{source}"

    def harmless(self, group: Group, trees: Table[GuardTree]) -> str | None:
        """Leave out parameters that were frozen, as before fine-tuning: once is all there is."""
        check = group.first.check
        if (
            isinstance(check, TensorMismatch)
            and check.expected.endswith("1")
            and _is_parameter(str(check.source))
            and len(group.steps) == 1
        ):
            return "it is a parameter, with a gradient and without one: two entries, and no more"
        if _is_mixed(group, trees) and group.most == 1:
            return "parameters learn in some calls alone: two entries of each part, and no more"
        if _is_parameter(about(group.first)) and group.most >= USUAL_LIMIT and not group.is_hit:
            return "each set of parameters that learn is compiled once: the limit was raised"
        return super().harmless(group, trees)

    def message(self, group: Group, check: TensorMismatch) -> str:
        """Say what differed."""
        kept = _is_kept(str(check.source))
        flags = {about(step) for _, step in group.steps}
        ends = (
            "There are two values, so it ends there."
            if len(flags) == 1 or not all(map(_is_parameter, flags))
            else "Every set of parameters that learn is compiled once, so it ends there."
        )
        return (
            f"An entry was compiled for `{check.source}` with {check.expected}, and then "
            f"the flag was the other one: {group.times}. {ends}"
            + (" The module keeps the tensor from call to call." if kept else "")
        )

    def completed(self, finding: Finding, group: Group, trees: Table[GuardTree]) -> Finding:
        """Add which frame it is: something is compiled around all but the first."""
        frame = group.history.frame
        number = int(frame) if frame.isdecimal() else None
        data = self.Data(
            **finding.data,
            frame=number,
            is_mixed=_is_mixed(group, trees),
            is_beside=_is_beside(group, trees),
            is_alone=all(len(own.steps) == len(group.steps) for own, _ in group.steps),
        )
        advice, _ = apart(self.advise(data), self.remedies)  # what it says is in the message
        update = {"data": data.model_dump(mode="json"), "advice": advice}
        if is_written(data):
            update["message"] = finding.message + _WRITTEN
        return finding.model_copy(update=update)

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
        breaks: Table[GraphBreak],
    ) -> Iterator[Finding]:
        """Yield one finding per function and tensor; a note where nothing is to be changed."""
        found = super().check(recompiles, frames=frames, trees=trees, limits=limits, breaks=breaks)
        for finding in found:
            data = self.Data.model_validate(finding.data)
            is_layer = data.function == "forward" and len(breaks)  # of a model that is in pieces
            rest = data.is_hit or data.most > 1 or data.lost or data.callers or is_layer
            if data.is_variable and not (finding.advice or rest or finding.harmless):
                harmless = {"harmless": _EITHER, "severity": Severity.NONE}
                yield finding.model_copy(update=harmless)
            else:
                yield finding


_EITHER = "each of the two flags needs an entry, and both are kept"
_WRITTEN = " The line writes into it, which a tensor that requires a gradient refuses."


def _is_mixed(group: Group, trees: Table[GuardTree]) -> bool:
    """Whether a tensor and parameters of the function had another flag in the same calls.

    A recompile tells the first of them; the guards of both entries tell of all.
    """
    kinds = {_is_parameter(about(step)) for _, step in group.steps}
    return len(kinds) > 1 or any(_differ(step, trees) for _, step in group.steps)


def _is_beside(group: Group, trees: Table[GuardTree]) -> bool:
    """Whether the entry takes another tensor that requires no gradient: layers hand on one."""
    flags = flags_of(entry_of(group.first.place, trees))
    others = {source for source, flag in flags.items() if flag == "False"}
    others.discard(f"L['{about(group.first)}']")
    return any(_ARGUMENT.fullmatch(source) for source in others)


def _differ(step: Step, trees: Table[GuardTree]) -> bool:
    """Whether parameters have another flag in the entry that failed than in the new one."""
    if step.failure is None or _is_parameter(about(step)):
        return False
    old = flags_of(entry_called(step.failure.entry, step.place, trees))
    new = flags_of(entry_of(step.place, trees))
    return any(_is_parameter(one) and old[one] != new[one] for one in old.keys() & new.keys())
