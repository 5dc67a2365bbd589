"""Torch's global state, by the names that guards give its parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracelens.rules.rcp._data import RecompileData

__all__ = ["MODES", "advice", "changed", "statement", "too_few"]

#: What changes between training and validation.
MODES = frozenset({"grad_mode", "autocast", "inference_mode"})
#: What a program sets once, and how it is called.
SET_ONCE = {
    "num_threads": "the number of threads",
    "default_dtype": "the default dtype",
    "allow_tf32": "TF32 (`torch.backends.cuda.matmul.allow_tf32`)",
    "allow_fp16_reduce": "`torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction`",
    "allow_bf16_reduce": "`torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction`",
    "deterministic_algorithms": "deterministic algorithms",
}
#: What is on or off.
_FLAGS = frozenset(
    {
        "allow_bf16_reduce",
        "allow_fp16_reduce",
        "allow_tf32",
        "deterministic_algorithms",
        "deterministic_algorithms_warn_only",
        "grad_mode",
    }
)
_CAUSE = re.compile(r"global state \(([^)]{1,200})\)")


def changed(data: RecompileData) -> frozenset[str]:
    """Return the parts that changed; empty where the version does not say."""
    told = _CAUSE.fullmatch(data.source)
    names = [told[1]] if told else [guard.expected for guard in data.guards]
    parts = frozenset(name for one in names for name in one.split(", "))
    return parts - {"", "unnamed"}


def too_few(data: RecompileData) -> bool:
    """Tell whether these parts have fewer values than the function has entries."""
    names = changed(data)
    flags = data.cause == "RCP010" and bool(names) and names <= _FLAGS
    return flags and 0 < 2 ** len(names) < data.entries


def advice(data: RecompileData) -> str:
    """Say what to do about the states that changed, and about no others."""
    names = changed(data)
    once = [text for name, text in SET_ONCE.items() if name in names]
    found = [f"Set {' and '.join(once)} once, before the first call."] if once else []
    if "grad_mode" in names:
        found.append(
            "Use one of `no_grad` and `inference_mode` in all parts without gradients, also in the "
            "warm-up. With and without gradients stay two entries."
        )
    return " ".join(found) or "Warm up and run in one mode."


def statement(data: RecompileData) -> str | None:
    """Return the call for what programs set in more than one place."""
    if "allow_tf32" not in changed(data):
        return None
    return 'torch.set_float32_matmul_precision("high")  # once; nothing else sets allow_tf32 then'
