"""RCP010 global-state-changed."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import GlobalState, Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._states import MODES, advice, statement
from tracelens.rules.rcp._tell import tell

__all__ = ["GlobalStateChanged"]


class GlobalStateChanged(RecompileRule):
    """Grad mode, autocast or another global mode of torch changed between compiled calls.

    ## Why it matters
    Grad mode, autocast, the number of threads, the default dtype and a few more are guarded in
    every entry. Each combination that occurs needs an entry, times the entries for sizes. A warm-up
    in another mode than the one that serves warms up nothing.

    ## What it looks like
    The guard on the global state fails, on most entries at once:

        [0/1] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:645
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: GLOBAL_STATE changed: grad_mode

    Torch 2.3 to 2.5 print ``___check_global_state()`` and do not say what changed.

    ## When it is harmless
    One validation pass under ``no_grad`` costs one entry per function: a note, however many
    functions the model is cut into. One change of threads or of the default dtype is a remark. From
    the second change in one function on, it is a warning.

    ## What to do
    Warm up in the mode that serves, use one of ``no_grad`` and ``inference_mode``, and set the
    number of threads and the default dtype once, at the start.

    ## How a live run confirms it
    The same calls under one context manager: the recompiles are gone.

    ## See also
    RCP011 (inference tensors), RCP012 (``requires_grad``), RCP019 (``training``).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP010"
    name = "global-state-changed"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:modes",
        confirms="always in one mode, nothing is compiled again",
        refutes="it is compiled again all the same",
        leaves_open="the change was not one of gradients",
    )

    remedies = (
        Remedy(
            "one-state",
            advice,
            code=statement,
            basis="tested",
            proof="tests/advice/RCP010/one-state.py",
        ),
    )

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
    ) -> Iterator[Finding]:
        """Yield one finding per function that the change reached first."""
        for group in groups(self.code, recompiles, limits, by_function=True):
            fields = _fields(group)
            expected = group.most == 1 and MODES.issuperset(
                part.partition("(")[0] for part in fields
            )
            named = ", ".join(fields) or "which one, this version does not say"
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"the global state of torch changed once ({named}): expected"
                if expected
                else f"`{group.history.function}` runs under several global states ({named})",
                message=f"Changed: {named}. Every entry is valid for one state only, so each "
                f"state that occurs is compiled once: {group.times}.",
                severity=_severity(group),
                harmless="each mode needs an entry, and there are two" if expected else None,
            )


def _fields(group: Group) -> list[str]:
    checks = [step.check for _, step in group.steps]
    fields = [name for check in checks if isinstance(check, GlobalState) for name in check.changed]
    return list(dict.fromkeys(fields))


def _severity(group: Group) -> Severity:
    return Severity.WARNING if group.most > 1 else Severity.INFO
