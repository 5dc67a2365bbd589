"""What to do where a class of tensors, as of quantized weights, lacks an operator."""

from __future__ import annotations

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData
from tracelens.rules.err._known_messages import known

__all__ = ["FROZEN", "is_elsewhere"]

#: Names in ``refusals.toml`` of what torch's authors cannot mend for the user.
_ELSEWHERE = frozenset({"class-without-operator", "mps-inductor"})


def is_elsewhere(data: FailureData) -> bool:
    """Tell whether it is no bug to be found in this torch."""
    found = known(data)
    return found is not None and found.name in _ELSEWHERE


def _is_frozen(data: FailureData) -> bool:
    return "frozen" in data.facts


FROZEN = (
    Remedy(
        "unwrap",
        "Freezing computes with the weights while it compiles, and their class lacks an operator "
        "for it: give torch the plain tensors that are inside of them, before compiling.",
        code="model = torchao.utils.unwrap_tensor_subclass(model)  # then torch.compile(model)",
        applies=_is_frozen,
        when="freezing runs an operator that the class of a weight lacks",
        basis="untestable",
        proof="torchao/utils.py: unwrap_tensor_subclass",
    ),
    Remedy(
        "unfrozen",
        "Or compile without freezing.",
        setting="torch._inductor.config.freezing = False",
        env="TORCHINDUCTOR_FREEZING=0",
        since="2.0",
        applies=_is_frozen,
        when="freezing runs an operator that the class of a weight lacks",
        basis="source",
        proof="torch/_inductor/freezing.py",
    ),
)
