"""ERR028 recompute-differs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from tracelens.evidence import Seen, Table
from tracelens.failures import Failure
from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

if TYPE_CHECKING:
    from tracelens.logs.recompile_limits import RecompileLimit
    from tracelens.report import Finding

__all__ = ["RecomputeDiffers"]

#: What was saved of a tensor, and what came instead.
_PAIR = re.compile(
    r"saved metadata: \{'shape': torch\.Size\(\[([\d, ]{1,80})\]\), 'dtype': ([\w.]{1,30})"
    r".{0,120}\n[^\n]{0,80}?recomputed metadata: "
    r"\{'shape': torch\.Size\(\[([\d, ]{1,80})\]\), 'dtype': ([\w.]{1,30})"
)


def _is_chosen(data: FailureData) -> bool:
    """Tell whether the tensors are the same but for one size, which the data then decides."""
    found = _PAIR.findall(data.message)
    return bool(found) and all(_differ_in_one(*pair) for pair in found)


def _differ_in_one(saved: str, dtype: str, came: str, other: str) -> bool:
    one, two = saved.split(", "), came.split(", ")
    differs = sum(a != b for a, b in zip(one, two, strict=False))
    return dtype == other and len(one) == len(two) and differs == 1


def _is_limited(data: FailureData) -> bool:
    return bool(data.facts.get("limited"))


class RecomputeDiffers(FailureRule):
    """Activation checkpointing recomputed something else than the forward pass had saved.

    ## Why it matters
    With checkpointing, backward runs the forward again and needs the same tensors. When the
    recompile limit runs out in between, one of the two is compiled and the other is not, and
    they save different tensors.

    ## What it looks like
        torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.
        Number of tensors saved during forward: 12
        Number of tensors saved during recomputation: 5.

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Mend what recompiles; else the recomputation itself is not deterministic.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    RCP001 (the limit, and what used it up).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR028"
    name = "recompute-differs"
    of_causes: ClassVar[frozenset[str]] = frozenset({"recompute"})
    remedies = (
        Remedy(
            "choose-outside",
            "One size differs, which the data or chance decides (a mask, routing to experts): "
            "choose outside of what is checkpointed, and pass the choice in, so that both passes "
            "get the same.",
            applies=_is_chosen,
            when="tensors that differ in one size",
            basis="tested",
            proof="tests/advice/ERR028/choose-outside.py",
        ),
        Remedy(
            "limit",
            "The log shows a recompile limit: the forward was compiled and its recomputation"
            " was not. Mend the recompiles (RCP001), or raise the limit.",
            setting="torch._dynamo.config.recompile_limit = 64",
            applies=_is_limited,
            when="a function hit the limit",
            since="2.7",
            basis="untestable",
            proof="needs a limit that is hit between forward and backward",
        ),
        Remedy(
            "limit-old",
            "The same up to torch 2.6.",
            setting="torch._dynamo.config.cache_size_limit = 64",
            applies=_is_limited,
            when="a function hit the limit",
            since="2.0",
            until="2.6",
            basis="untestable",
            proof="the setting has another name since torch 2.7",
        ),
        Remedy(
            "order",
            "Put the checkpoint inside of what is compiled: wrap a block for checkpointing, compile"
            " the wrapped block, then FSDP or DDP. A compiled function within a checkpoint may"
            " save other tensors when it runs again.",
            code="block = torch.compile(checkpoint_wrapper(block))  # then fully_shard(block)",
            proof="https://github.com/pytorch/pytorch/issues/144637",
        ),
        Remedy(
            "determinism",
            "Else the forward depends on something that changes: see which tensor differs.",
            code="torch.utils.checkpoint.set_checkpoint_debug_enabled(True)",
            since="2.2",
            proof="https://docs.pytorch.org/docs/stable/checkpoint.html",
        ),
    )

    def check(  # type: ignore[override]  # it asks for one more table
        self, failures: Table[Failure], *, limits: Table[RecompileLimit]
    ) -> Iterator[Finding]:
        """Yield one finding; a limit that was hit is its likely cause."""
        yield from super().check(Table(map(_limited, failures)) if len(limits) else failures)

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        del data
        return "activation checkpointing recomputed other tensors than the forward pass saved"


def _limited(row: Seen[Failure]) -> Seen[Failure]:
    """Note on a failure that a function hit the limit of its entries."""
    facts = (*row.record.facts, ("limited", "yes"))
    return Seen(row.record.model_copy(update={"facts": facts}), row.count, row.places, row.text)
