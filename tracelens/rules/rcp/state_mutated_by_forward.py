"""RCP031 state-mutated-by-forward."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment, Knob
from tracelens.frames import Frame
from tracelens.frames.compile_seconds import CompileSeconds
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import RecompileData, RecompileRule
from tracelens.rules.rcp._marks import dimensions
from tracelens.rules.rcp._state import (
    StateData,
    is_filled,
    is_made_by_the_first_call,
    is_placeholder,
    is_set_back,
    placeholder,
    sized_with,
)
from tracelens.rules.rcp._tell import listed, tell
from tracelens.rules.rcp._weight import Weight

__all__ = ["StateMutatedByForward"]


#: What is known of the value: later calls find it as the first one did.
SET_BACK = "set back"


def _is_gradient(data: RecompileData) -> bool:
    """Whether it is the gradient of a tensor: a backward pass leaves it, and no call alone."""
    return data.source.endswith(".grad")


def _fills(data: RecompileData) -> bool:
    return any(guard.kind == "keys" for guard in data.guards)


def _also_mark(data: RecompileData) -> str:
    """Name the sizes that changed in the same call, for which it is compiled again otherwise."""
    sized = data.sized if isinstance(data, StateData) else ()
    if not sized:
        return ""
    return (
        f" Mark {dimensions(sized)}, too, with `torch._dynamo.maybe_mark_dynamic`, before each "
        "call: the size changed in the same call, for which the function is compiled again "
        "otherwise."
    )


def _is_flag(data: RecompileData) -> bool:
    """Whether it was ``False``: what the first call does for it must be done all the same."""
    return data.values[:1] == ("False",)


class StateMutatedByForward(RecompileRule):
    """A model changes an attribute of its own in its first call, so that the second compiles again.

    ## Why it matters
    Whatever a forward sets up on first use, ``if self.mask is None: self.mask = ...``, is guarded
    at its old value. The first entry is then of no use: every run compiles the model twice before
    it is warm.

    ## What it looks like
    The first entry fails on an attribute that was ``None`` or ``False``, once and never again:

        [0/1] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:54
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: self.ready == False

    A cache that it fills is guarded, too: ``not ___dict_contains((8, 8), self.cache)``, and so is
    an object that stands for "not set yet": ``___check_obj_id(self.types, 140072861252112)``.

    Values of a config and of caches that are passed in are told by RCP006; this page is about what
    the module itself keeps.

    ## When it is harmless
    It costs one compilation per start: information, and a warning where that took 20 s, and a tenth
    of all compile time. Where the program really toggles the attribute, it is one of two variants.

    ## What to do
    Set the state up before compiling: in ``__init__``, or by one call of the model before
    ``torch.compile``.

    ## How a live run confirms it
    The same run with one eager call before it: one recompile less.

    ## See also
    RCP006 (config values, flags and strings), RCP019 (``training``), RCP007 (counters).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP031"
    name = "state-mutated-by-forward"
    Data = StateData
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:states",
        confirms="the attribute set before the first call, nothing is compiled again",
        refutes="it is compiled again all the same",
    )

    remedies = (
        Remedy(
            "first-call",
            lambda data: (
                f"Where nothing sets `{data.source}` back later, as a `reset()` would, call the "
                "model once before it is compiled"
                + (", with an input of each size that will come" if _fills(data) else "")
                + ": that call sets the state up. Where it also changes running statistics or "
                "counts, let it be the first step itself." + _also_mark(data)
            ),
            when="no gradient, and nothing that a later call finds set back",
            applies=lambda data: not (_is_gradient(data) or data.held == SET_BACK),
            basis="tested",
            proof="tests/advice/RCP031/first-call.py",
            knob=Knob("called once before it is compiled", call={"eager_first": True}),
        ),
        Remedy(
            "first-step",
            "Do one whole training step, with its backward pass, before the function is compiled: "
            "gradients are then there, as later steps find them.",
            when="the gradient of a parameter, `None` before the first backward pass",
            applies=_is_gradient,
            basis="tested",
            proof="tests/advice/RCP031/first-step.py",
        ),
        Remedy(
            "in-init",
            lambda data: (
                f"Or, where it does not depend on the input, set `{data.source}` up in `__init__`; "
                "where it is reset, then to a tensor and not to None."
            ),
            when="code of your own, and it was neither False, as a flag is, nor an object that the "
            "line compares it with",
            applies=lambda data: (
                not (data.is_of_library or data.package or _is_gradient(data) or _is_flag(data))
                and not any(guard.kind == "identity" for guard in data.guards)
                and data.held != SET_BACK
            ),
            basis="tested",
            proof="tests/advice/RCP031/in-init.py",
        ),
        Remedy(
            "reset-to-tensor",
            lambda data: (
                f"Where `{data.source}` is set up and reset, set it to a tensor as the calls leave "
                "it, not to None: zeros of its size, with `requires_grad=True` where it has a "
                "gradient. One entry then serves all calls."
            ),
            when="code of your own, and later calls find it set back",
            applies=lambda data: data.held == SET_BACK and not (data.is_of_library or data.package),
            basis="tested",
            proof="tests/advice/RCP031/reset-to-tensor.py",
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
        seconds: Table[CompileSeconds],
    ) -> Iterator[Finding]:
        """Yield one finding per function and attribute."""
        weight = Weight.of(recompiles, frames, seconds)
        for finding in self._each(recompiles, frames, trees, limits):
            severity = Severity.WARNING if weight.is_dear(finding.cost) else finding.severity
            yield finding.model_copy(update={"severity": severity})

    def _each(
        self,
        recompiles: Table[Recompile],
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
    ) -> Iterator[Finding]:
        kinds = ("RCP006", "RCP009", "RCP027")
        for group in groups("RCP008", recompiles, limits):
            if is_placeholder(group, trees):
                yield _unset(self, group, frames, trees)
        changed = (group for code in kinds for group in groups(code, recompiles, limits))
        for group in filter(is_made_by_the_first_call, changed):
            if is_filled(group.first.check):
                yield _filled(self, group, frames, trees)
                continue
            dropped = group.cause.code == "RCP009"
            held = "a tensor" if dropped else listed(group.values)
            name = group.cause.what.removeprefix("the type of ")
            back = is_set_back(group)
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` is compiled twice: {name} "
                + ("is set back between calls" if back else "changes after its first call"),
                message=f"{name} was {held} in the first call, "
                + (
                    f"then not, and {held} again: the program sets it back, as a `reset()` does. "
                    "Both entries are used, and sizes that change need two more."
                    if back
                    else "and then no more. The entry for it is not used again, unless the program "
                    "sets it back."
                ),
                held=SET_BACK if back else "",
                sized=() if back else sized_with(group, trees),
                confidence=Confidence.MEDIUM,
            )


def _filled(
    rule: RecompileRule, group: Group, frames: Table[Frame], trees: Table[GuardTree]
) -> Finding:
    """Return the finding about a dict that the first call fills."""
    name = f"`{getattr(group.first.check, 'source', '')}`"
    return tell(
        rule,
        group,
        frames,
        trees,
        title=f"`{group.history.function}` is compiled twice: its first call fills {name}",
        message=f"{name} lacked a key in the first call, and holds it since. The entry for a dict "
        "without it is not used again, unless the program takes the key out.",
        sized=sized_with(group, trees),
        confidence=Confidence.MEDIUM,
    )


def _unset(
    rule: RecompileRule, group: Group, frames: Table[Frame], trees: Table[GuardTree]
) -> Finding:
    """Return the finding about an object that stands for "not set yet"."""
    name = f"`{getattr(group.first.check, 'source', '')}`"
    return tell(
        rule,
        group,
        frames,
        trees,
        title=f"`{group.history.function}` is compiled twice: its first call sets {name}",
        message=f"{name} was `{placeholder(group)}` in the first call, and then no more. The entry "
        "for it is not used again.",
        sized=sized_with(group, trees),
        confidence=Confidence.MEDIUM,
    )
