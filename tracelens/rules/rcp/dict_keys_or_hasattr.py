"""RCP027 dict-keys-or-hasattr."""

from __future__ import annotations

from collections.abc import Iterator

from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules.rcp._changes import groups
from tracelens.rules.rcp._data import RecompileData, RecompileRule
from tracelens.rules.rcp._state import is_made_by_the_first_call
from tracelens.rules.rcp._tell import tell

__all__ = ["DictKeysOrHasattr"]


def _asks_for_attributes(data: RecompileData) -> bool:
    return any(guard.kind == "attributes" for guard in data.guards)


#: So many first keys are kinds of calls, and no optional entry.
MIN_KINDS = 3


def _are_kinds(data: RecompileData) -> bool:
    return not _asks_for_attributes(data) and len(set(data.values)) >= MIN_KINDS


class DictKeysOrHasattr(RecompileRule):
    """A function is compiled again because a dict has other keys, or an object other attributes.

    ## Why it matters
    Which keys a dict holds, in which order, and which attributes an object has, decide what the
    code does: both are guarded. Batches whose keys vary make one entry per set of keys.

    ## What it looks like
    The guard lists keys, or asks for an attribute:

        [0/1] [__recompiles] Recompiling function collected in /home/ana/proj/model.py:45
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: list(dict.keys(batch))[1] == 'b'

    ## When it is harmless
    Two sets of keys, with and without an optional entry, need two entries: a note.

    ## What to do
    Use the same keys in the same order in every call, and the same attributes on every object, with
    a tensor that changes nothing for what is missing; None instead would be guarded as well.

    ## How a live run confirms it
    The same calls with stable keys: the recompiles are gone.

    ## See also
    RCP017 (how many items), RCP006 (a key that is passed).
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP027"
    name = "dict-keys-or-hasattr"
    severity = Severity.INFO
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:keys",
        confirms="always the same keys, nothing is compiled again",
        refutes="it is compiled again all the same",
    )

    remedies = (
        Remedy(
            "loop-outside",
            "Where the keys tell calls apart, as tasks with heads of their own, take the loop over "
            "them out of the compiled function, and compile the modules that it calls, each by "
            "itself: their entries serve every key.",
            when="three first keys or more, and the line is the program's own",
            applies=lambda data: _are_kinds(data) and not data.package,
            basis="tested",
            proof="tests/advice/RCP027/loop-outside.py",
        ),
        Remedy(
            "same-keys",
            lambda data: (
                f"{'Or u' if _are_kinds(data) else 'U'}se the same keys, in the same order, in "
                "every call" + (", where all of them mean the same." if _are_kinds(data) else ".")
            ),
            when="keys were guarded",
            applies=lambda data: not _asks_for_attributes(data),
            basis="tested",
            proof="tests/advice/RCP027/same-keys.py",
        ),
        Remedy(
            "same-attributes",
            "Set the attribute on every such object, where there is none to a tensor that changes "
            "nothing (zeros to add, ones to multiply): hasattr() then has one answer.",
            when="attributes were asked for",
            applies=_asks_for_attributes,
            basis="tested",
            proof="tests/advice/RCP027/same-attributes.py",
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
        """Yield one finding per function and dict or object."""
        for group in groups(self.code, recompiles, limits):
            if is_made_by_the_first_call(group):
                continue  # RCP031 tells it
            again = group.most > 1
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` is compiled again when {group.cause.what} change"
                if again
                else f"{group.cause.what} changed once: expected",
                message=f"An entry is valid for one set of them: "
                f"{group.times}." + ("" if again else " Two sets do no harm."),
                severity=Severity.INFO,
                harmless=None if again else "two sets need two entries",
            )

    def follows(self, finding: Finding) -> Iterator[Story]:
        """Belong to the length of the same dict, which changes with its keys."""
        yield from super().follows(finding)
        data = self.data_of(finding)
        if isinstance(data, RecompileData):
            yield from (("keys", one.file, one.line, data.source) for one in data.functions)
