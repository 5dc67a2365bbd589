"""How far the limit of a function's entries can be raised."""

from __future__ import annotations

from typing import Any

from tracelens.dynamo.token_caches import is_of_token_cache
from tracelens.experiment import Knob
from tracelens.remedies import Remedy
from tracelens.rules.rcp._by_cause import is_without_tensors, of_parameters
from tracelens.rules.rcp._data import is_finite
from tracelens.rules.rcp._states import too_few

__all__ = ["LIMIT_KNOB", "PER_SHAPE", "RAISE_LIMIT"]

#: What all entries of one code object may be, by default: `accumulated_recompile_limit`.
ACCUMULATED = 256
#: What the limit is raised by, and to where it is not known.
TIMES, RAISED = 8, 64

#: The limit where nothing was set.
DEFAULT = 8

LIMIT_KNOB = Knob("a limit of 64", config={"torch._dynamo.config.recompile_limit": RAISED})


def _old(data: Any) -> bool:
    return bool(data.setting.startswith("cache_size"))


def _where(data: Any) -> str:
    """Say where the limit is set, where it is the default still, and by its newer name."""
    if data.limit != DEFAULT or _old(data):
        return ""
    return (
        " Since torch 2.12 a setting holds in the thread that makes it, and in no other: where a"
        " server calls the function in a thread of its own, set it there, or, with torch 2.13, in"
        f" the call `torch.compile(model, recompile_limit={RAISED})`."
    )


def _text(data: Any) -> str:
    if not data.limit:
        return "Raise the limit to the number of variants."
    text = f"Raise the limit from {data.limit} to the number of variants.{_where(data)}"
    if TIMES * data.limit <= ACCUMULATED:
        return text
    total = "accumulated_cache_size_limit" if _old(data) else "accumulated_recompile_limit"
    return (
        f"{text} What is above {ACCUMULATED} has no effect unless `{total}`, which counts the"
        " entries for all objects, is raised to it, too."
    )


def _raised(data: Any) -> str:
    to = max(min(TIMES * data.limit, ACCUMULATED), data.limit + 1) if data.limit else RAISED
    return f"torch._dynamo.config.{data.setting} = {to}"


PER_SHAPE = Remedy(
    "per-shape",
    "The function updates parameters, and takes an entry for each of their shapes: there are no"
    " more of them than the model has. Set the limit above their number, before the first step.",
    when="RCP002 is the cause, of an item of a list of parameters or gradients in an update",
    applies=of_parameters,
    setting=_raised,
    basis="tested",
    proof="tests/advice/RCP001/per-shape.py",
    knob=LIMIT_KNOB,
)
RAISE_LIMIT = Remedy(
    "raise-limit",
    _text,
    when="the variants are finite: modes, classes, dtypes; no counter, no sizes, no growing cache",
    applies=lambda data: (
        is_finite(data)
        and not (is_without_tensors(data) or too_few(data) or is_of_token_cache(data.source))
    ),
    setting=_raised,
    basis="tested",
    proof="tests/advice/RCP001/raise-limit.py",
    knob=LIMIT_KNOB,
)
