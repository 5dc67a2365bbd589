"""RCP008 object-identity-guard."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracelens.dynamo import user_code
from tracelens.dynamo.token_caches import is_of_token_cache
from tracelens.evidence import Table
from tracelens.experiment import UNCHANGED, Experiment
from tracelens.frames import Frame
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.logs.recompiles import Deallocated, IdentityCheck, Recompile
from tracelens.remedies import Remedy
from tracelens.report import Finding, Severity
from tracelens.rules.rcp._by_cause import STATIC_CACHE
from tracelens.rules.rcp._changes import Group, groups
from tracelens.rules.rcp._data import RecompileData, RecompileRule
from tracelens.rules.rcp._state import is_placeholder
from tracelens.rules.rcp._tell import tell

__all__ = ["ObjectIdentityGuard"]


#: A line that compares the object: an enumeration's members take turns on purpose.
_CHOSEN = re.compile(
    r"^match\b|(?:\bis|\bis not|\bin|==|!=) [(\[{]?[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,8}\.[A-Za-z_]"
)

#: Objects that may take turns.
FEW = 2


def _same(data: RecompileData) -> str:
    if data.source.endswith("__code__"):
        return (
            "Define the function once, with one `def`, and pass the same one in every call: each "
            "time that it is made from source anew, its code is another object."
        )
    if _is_gone(data):
        return "Keep the object, and pass the same one in every call."
    return "Pass the same object in every call, or share one between the layers."


def _is_gone(data: RecompileData) -> bool:
    return any(guard.kind == "deallocated" for guard in data.guards[:1])


class ObjectIdentityGuard(RecompileRule):
    """A function is compiled again for every Python object that it is given.

    ## Why it matters
    An object whose content Dynamo does not look into is guarded by its identity. A new object in
    every call, or one per layer, makes one entry each; the ninth makes the function run eagerly.

    ## What it looks like
    The guard compares the ``id()`` of an object, each entry another one:

        [0/1] [__recompiles] Recompiling function attend in /home/ana/proj/model.py:70
        [0/1] [__recompiles]     triggered by the following guard failure(s):
        [0/1] [__recompiles]     - 0/0: ___check_obj_id(processor, 94296119093600), type=<class\
 'object'>
        [0/2] [__recompiles] Recompiling function attend in /home/ana/proj/model.py:70
        [0/2] [__recompiles]     triggered by the following guard failure(s):
        [0/2] [__recompiles]     - 0/1: ___check_obj_id(processor, 94296119093616), type=<class\
 'object'>
        [0/2] [__recompiles]     - 0/0: ___check_obj_id(processor, 94296119093600), type=<class\
 'object'>

    From torch 2.5 on, the reason may be that the object is gone:

        [2/1] [__recompiles]     - 2/0: Cache line invalidated because L['mask'] got deallocated

    ## When it is harmless
    Two objects that take turns need two entries: a note. Code objects of functions that share one
    decorator are told by RCP030, ``None`` and flags by RCP006, an object that stands for "not set
    yet" by RCP031.

    ## What to do
    Share one object between all calls and layers, or choose by it outside of the compiled function.
    Do not filter the guard away: the compiled code is that of the first object.

    ## How a live run confirms it
    The same calls with one shared object: the recompiles are gone.

    ## See also
    RCP030 (models that share a decorator), RCP009 (classes), RCP001.
    <https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html>
    """

    code = "RCP008"
    name = "object-identity-guard"
    severity = Severity.WARNING
    experiment = Experiment(
        UNCHANGED,
        micro="recompile:identities",
        confirms="always the same object, nothing is compiled again",
        refutes="it is compiled again all the same",
    )

    remedies = (
        Remedy(
            "same-object",
            _same,
            when="the line does not compare it with a member of a class, and it is no cache of keys"
            " and values",
            applies=lambda data: (
                not _CHOSEN.search(data.code) and not is_of_token_cache(data.source)
            ),
            basis="tested",
            proof="tests/advice/RCP008/same-object.py",
        ),
        STATIC_CACHE,
        Remedy(
            "one-per-object",
            "Or choose by it before the call: write one function per object, each a `def` of its "
            "own, and compile those. Two calls of `torch.compile` on one function share its "
            "entries.",
            when="objects that stay: one that is gone was made for the call",
            applies=lambda data: not (_is_gone(data) or is_of_token_cache(data.source)),
            basis="tested",
            proof="tests/advice/RCP008/one-per-object.py",
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
        """Yield one finding per function and object."""
        for group in groups(self.code, recompiles, limits):
            if is_placeholder(group, trees):
                continue  # RCP031
            name = group.cause.what
            gone = isinstance(group.first.check, Deallocated)
            objects = (group.most if gone else max(len(group.values), _listed(group))) + 1
            yield tell(
                self,
                group,
                frames,
                trees,
                title=f"`{group.history.function}` is compiled again for {name}",
                message=_gone(name, group) if gone else _turns(name, group, objects),
                severity=_severity(group, objects),
                harmless=_of_python(group) or (None if gone else _harmless(group, objects)),
            )


def _listed(group: Group) -> int:
    """Return how many objects entries were for, those before the log begins among them."""
    first = group.first.check
    if not isinstance(first, IdentityCheck):
        return 0
    told = (one.check for _, step in group.steps for one in step.unrecorded)
    found = {
        one.object_id
        for one in told
        if isinstance(one, IdentityCheck) and one.source == first.source
    }
    return len(found)


def _turns(name: str, group: Group, objects: int) -> str:
    more = _untold(group)
    return (
        f"{objects} objects{' or more' if more else ''} took turns as "
        f"{name.removeprefix('the object ')}; each needed an entry: {group.times}."
        + (f" {more}" if more else " Two do no harm." if objects == FEW else "")
    )


def _untold(group: Group) -> str:
    """Say how many entries there are of which the log does not tell what did not fit in them."""
    found = 0
    for history, step in group.steps:
        listed = {one.number for one in step.seen.record.failures}
        recorded = {one.number for one in history.steps}
        found = max(found, len(set(range(1, step.number)) - listed - recorded))
    return f"Of {found} more the log does not tell what they are for." if found else ""


def _gone(name: str, group: Group) -> str:
    return (
        f"{name.removeprefix('the object ')} had been deallocated when the function was called "
        "again: an entry is of no use without the object that it was compiled for, and another one "
        f"came instead: {group.times}."
    )


def _severity(group: Group, objects: int) -> Severity:
    if objects > FEW + 1 or group.is_crowded:
        return Severity.WARNING
    return Severity.INFO


def _of_python(group: Group) -> str | None:
    """Say that the function is one of Python's library, which a graph break left to itself."""
    if user_code.distance(group.history.file) < user_code.FAR:
        return None
    return "a function of Python's own, which works on no tensors"


def _harmless(group: Group, objects: int) -> str | None:
    few = objects <= FEW and not group.is_crowded
    return "two objects need two entries" if few else None
