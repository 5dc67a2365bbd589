"""Rules about one property of a tensor that differs from call to call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tracelens.dynamo.user_code import is_torch_wrapper
from tracelens.evidence import Table
from tracelens.frames import Frame
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile, TensorMismatch
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._changes import Group, about, groups
from tracelens.rules.rcp._data import RecompileRule
from tracelens.rules.rcp._lost import callers_of
from tracelens.rules.rcp._tell import tell

__all__ = ["TensorRule"]

#: A module of torch's own that is compiled by itself runs in a wrapper, as all of its kind do.
_SHARED = "modules that are compiled one by one share this wrapper of torch's, an entry for each"


class TensorRule(RecompileRule):
    """Base of the rules about tensors that a guard tells apart by anything but their size."""

    severity = Severity.INFO
    #: What the title says, of ``{function}``, ``{source}`` and the ``{values}`` that came.
    title: ClassVar[str]

    def message(self, group: Group, check: TensorMismatch) -> str:
        """Say what differed, by the first guard of ``group`` that failed."""
        raise NotImplementedError

    def is_another_module(self, group: Group) -> bool:
        """Tell whether no single module would be given what came."""
        del group
        return False

    def merged(self, found: list[Group]) -> list[Group]:
        """Return the groups of which each is one finding."""
        return found

    def harmless(self, group: Group, trees: Table[GuardTree]) -> str | None:
        """Say why nothing can be done about it; None where something can."""
        del trees
        shared = is_torch_wrapper(group.history.file) and self.is_another_module(group)
        return _SHARED if shared else None

    def named(self, group: Group) -> str:
        """Return what the title calls the tensor."""
        return about(group.first)

    def completed(self, finding: Finding, group: Group, trees: Table[GuardTree]) -> Finding:
        """Return the finding with what the rule alone knows of ``group``."""
        del group, trees
        return finding

    def check(
        self,
        recompiles: Table[Recompile],
        *,
        frames: Table[Frame],
        trees: Table[GuardTree],
        limits: Table[RecompileLimit],
        breaks: Table[GraphBreak],
    ) -> Iterator[Finding]:
        """Yield one finding per function and tensor."""
        for group in self.merged(groups(self.code, recompiles, limits)):
            check = group.first.check
            if isinstance(check, TensorMismatch):
                named = {"function": group.history.function, "source": self.named(group)}
                title = self.title.format(**named, values=", ".join(group.values))
                message = self.message(group, check)
                told = tell(
                    *(self, group, frames, trees),
                    title=title,
                    message=message,
                    harmless=self.harmless(group, trees),
                    callers=callers_of(group, breaks),
                )
                yield self.completed(told, group, trees)
