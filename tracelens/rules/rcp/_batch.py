"""Recompiles for the first dimension of what a program passes: mostly the size of its batches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tracelens.dynamo import user_code
from tracelens.dynamo.recompile_history import Step, histories
from tracelens.dynamo.recompile_variants import subject_of
from tracelens.evidence import Table
from tracelens.frames import Frame
from tracelens.frames.recompile_cost import cost_of
from tracelens.logs.recompiles import Recompile, StackFrame
from tracelens.report import Finding, Severity
from tracelens.report.stories import Story
from tracelens.rules import Rule
from tracelens.rules.rcp._changes import owner
from tracelens.rules.rcp._first_change import Change
from tracelens.rules.rcp._marking import FirstChangeData
from tracelens.rules.rcp._weight import Weight
from tracelens.words import plural

__all__ = ["BATCH", "BATCH_SIZE", "Batch", "of_batch"]

MAX_QUOTED = 5

#: The recompiles of all functions for other batch sizes, which one finding tells.
BATCH_SIZE: Story = ("batch size",)
#: What held the entry of a finding that is told with them.
BATCH = "batch"
#: So many functions: of one or two, what is told of each says it.
SEVERAL = 3
#: The rules whose recompiles count: a size that changed, and a size of 0 or 1.
_SIZES = frozenset({"RCP002", "RCP016"})


class Batch(NamedTuple):
    """The recompiles for batch sizes, where most of the compile time went to them."""

    steps: tuple[Step, ...] = ()
    #: What they took: a part of a sentence. Empty where that is little, or of one function.
    spent: str = ""

    @classmethod
    def of(cls, recompiles: Table[Recompile], frames: Table[Frame], weight: Weight) -> Batch:
        """Return those of the process that has most of them."""
        found: defaultdict[tuple[str, str], list[tuple[str, Step]]] = defaultdict(list)
        for history in histories(recompiles):
            for step in filter(_is_batch, history.steps):
                found[step.place.process].append((history.frame, step))
        most = max(found.values(), key=len, default=[])
        steps = tuple(sorted((step for _, step in most), key=lambda step: step.place.line))
        functions = Counter(frame for frame, _ in most)
        # Most of one function are a matter of its own: something there needs the number.
        several = len(functions) >= SEVERAL and 2 * max(functions.values()) <= len(steps)
        return cls(steps, weight.most_of_all(steps, frames) if several else "")

    def holds(self, steps: Sequence[Step]) -> bool:
        """Whether all of ``steps`` are told by the finding about the batch."""
        own = {id(step) for step in self.steps}
        return bool(self.spent) and all(id(step) in own for step in steps)

    def is_part(self, steps: Sequence[Step]) -> bool:
        """Whether ``steps`` are for one size of several that the batch had after the first."""
        own = {id(step) for step in self.steps}
        return all(id(step) in own for step in steps) and len(self.steps) > len(steps)

    def told_by(self, groups: Iterable[list[Change]]) -> list[Change] | None:
        """Return the one of ``groups`` that is about what the program passes, or near it."""
        own = (one for one in groups if self.holds([s for each in one for s in each.steps]))
        return min(own, key=_depth, default=None)


def _depth(changes: list[Change]) -> tuple[bool, int]:
    """Sort key: a function of the program before the rest of one behind a graph break."""
    step = changes[0].steps[0]
    return subject_of(step.check)[0].startswith("___"), step.place.line


def of_batch(
    rule: Rule, batch: Batch, data: FirstChangeData, place: StackFrame, frames: Table[Frame]
) -> Finding:
    """Return the finding that tells all recompiles for other batch sizes."""
    name = data.source
    kind, changed = "batch sizes", f"The first dimension of `{name}` was not the same in all calls"
    if data.has_lengths:
        kind = "sizes"
        changed = f"Neither the first dimension of `{name}` nor others were the same in all calls"
    return rule.finding(
        data.function,
        user_code.short(data.file),
        place.code,
        name,
        data.dimension,
        title=f"other {kind} of `{name}`: {plural(len(batch.steps), 'recompile')}",
        message=f"{changed}, and the functions that the model is cut into were compiled again, one "
        f"by one: {batch.spent}.",
        count=data.recompiles,
        where=user_code.where(place),
        evidence=[step.quote() for step in batch.steps[:MAX_QUOTED]],
        cost=cost_of(batch.steps, frames),
        advice=rule.advise(data),
        data=data,
        severity=Severity.WARNING,
    )


def _is_batch(step: Step) -> bool:
    name, axis = subject_of(step.check)
    return axis == 0 and not name.startswith(("self", "G[")) and owner(step).code in _SIZES
