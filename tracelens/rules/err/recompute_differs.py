"""ERR028 recompute-differs."""

from __future__ import annotations

from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["RecomputeDiffers"]


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
            "limit",
            "Where the log shows a recompile limit: the forward was compiled and its recomputation"
            " was not. Mend the recompiles (RCP001), or raise the limit.",
            setting="torch._dynamo.config.recompile_limit = 64",
            since="2.7",
            basis="untestable",
            proof="needs a limit that is hit between forward and backward",
        ),
        Remedy(
            "limit-old",
            "The same up to torch 2.6.",
            setting="torch._dynamo.config.cache_size_limit = 64",
            since="2.0",
            until="2.6",
            basis="untestable",
            proof="the setting has another name since torch 2.7",
        ),
        Remedy(
            "inside",
            "Compile the checkpointed layer, not the loop around it, so that both passes run the"
            " same code.",
            code="layer.forward = torch.compile(layer.forward)  # a copy.deepcopy made later "
            "would go on with this layer's weights",
            proof="https://docs.pytorch.org/docs/stable/checkpoint.html",
        ),
        Remedy(
            "determinism",
            "Else the forward depends on something that changes: see which tensor differs.",
            code="torch.utils.checkpoint.set_checkpoint_debug_enabled(True)",
            since="2.2",
            proof="https://docs.pytorch.org/docs/stable/checkpoint.html",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        del data
        return "activation checkpointing recomputed other tensors than the forward pass saved"
