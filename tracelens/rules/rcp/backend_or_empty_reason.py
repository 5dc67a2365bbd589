"""RCP021 backend-or-empty-reason."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import IN_THE_PROGRAM
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, Unexplained
from tracelens.remedies import Remedy
from tracelens.report import Confidence, Finding, Severity
from tracelens.rules.rcp._changes import groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._tell import tell

__all__ = ["BackendOrEmptyReason"]


#: Recompiles from which on it is certain that every call makes a new backend.
CERTAIN = 3


class BackendOrEmptyReason(RecompileRule):
    """A function was compiled again although no guard failed that torch can name.

    ## Why it matters
    ``torch.compile`` called in a loop, or in every forward, makes a new backend object each time,
    and the entries of the old one do not count. So every call compiles, up to the limit. An empty
    reason, or one that torch itself calls unexpected, is a bug of torch.

    ## What it looks like
    No guard is named, but the backend:

        [0/1] [__recompiles] Recompiling function whole in /home/ana/proj/model.py:30
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: BACKEND_MATCH failure: torch.compile detected different\
 backend callables. Cached backend: a. New backend: b.

    Before torch 2.11 the reason is empty then.

    ## When it is harmless
    Two backends on purpose, such as a debugging one beside the default, cost an entry each.

    ## What to do
    Call ``torch.compile`` once, outside of the loop, and pass the same backend and options objects.

    ## How a live run confirms it
    The same program with ``torch.compile`` taken out of the loop: the recompiles are gone.

    ## See also
    RCP001 (what happens after the eighth entry), RCP008.
    <https://github.com/pytorch/pytorch/issues/168373>
    """

    code = "RCP021"
    name = "backend-or-empty-reason"
    severity = Severity.INFO
    unconfirmable = IN_THE_PROGRAM

    remedies = (
        Remedy(
            "compile-once",
            "Call torch.compile once, outside of the loop, with one backend object.",
            basis="tested",
            proof="tests/advice/RCP021/compile-once.py",
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
        """Yield one finding per function."""
        for group in groups(self.code, recompiles, limits, by_function=True):
            check = group.first.check
            reason = check.reason if isinstance(check, Unexplained) else ""
            is_backend = reason.startswith("BACKEND_MATCH")
            why = "torch names no guard that failed"
            if is_backend:
                why = "its backend is another object"
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` is compiled again because {why}",
                message=f"All guards of the entry hold: {group.times}. "
                + (
                    ""
                    if is_backend
                    else "Most often the backend or its options are another object. "
                )
                + "Each torch.compile call with a new backend or options object starts anew.",
                severity=Severity.WARNING if group.most >= CERTAIN else Severity.INFO,
                confidence=Confidence.HIGH if is_backend else Confidence.MEDIUM,
            )
