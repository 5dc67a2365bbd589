"""Sizes that were equal in the first call, which torch takes for one (duck sizing)."""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.dynamo.recompile_history import Step
from tracelens.remedies import Remedy

__all__ = ["UNEQUAL_FIRST", "is_duck_sized"]

UNEQUAL_FIRST = Remedy(
    "unequal-first",
    "Two sizes were equal in the first call, and torch took them for one. Let it not do that, or "
    "call it first with sizes that differ.",
    when="torch says that duck sizing added the condition",
    applies=lambda data: data.is_duck,
    setting="torch.fx.experimental._config.use_duck_shape = False",
    since="2.4",
    basis="tested",
    proof="tests/advice/RCP023/unequal-first.py",
)


def is_duck_sized(steps: Sequence[Step]) -> bool:
    """Whether torch says of all of them that it added the condition itself."""
    failures = [step.failure for step in steps]
    said = [one.comment.note if one and one.comment else "" for one in failures]
    return bool(said) and all("duck sizing" in note for note in said)
