"""What to do where a recompile was made an error, by a stance or by a setting of Dynamo's."""

from __future__ import annotations

import re

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData

__all__ = ["RECOMPILED", "recompiled"]

_CAUSE = "recompile-error"
#: A guard that failed, as the message lists it; behind it may stand a comment.
_REASON = re.compile(r"^[ \t]{0,12}- ([^\n]+)", re.MULTILINE)
_ENTRY = re.compile(r"\d{1,6}/\d{1,6}: ")
_LAYOUT = re.compile(r"\b(size|stride) mismatch at index \d")


def recompiled(data: FailureData) -> str:
    """Return what failed, with the guard, for a title; empty for other failures."""
    if data.cause != _CAUSE:
        return ""
    found = _REASON.search(data.message)
    reason = _ENTRY.sub("", found[1], count=1).partition("  #")[0].strip() if found else ""
    return f"a recompile was made an error{f': {reason}' if reason else ''}"


def _by_stance(data: FailureData) -> bool:
    return data.cause == _CAUSE and "fail_on_recompile" in data.message


def _differs_in(what: str, data: FailureData) -> bool:
    found = _LAYOUT.search(data.message) if data.cause == _CAUSE else None
    return found is not None and found[1] == what


RECOMPILED = (
    Remedy(
        "recompile-size",
        "A size differs from that of the calls before. Let it be a symbol from the first call on, "
        "and make that call with a size of 2 or more: 0 and 1 are always specialized.",
        code="torch._dynamo.maybe_mark_dynamic(x, 0)  # x, 0: the tensor and index of the message",
        applies=lambda d: _differs_in("size", d),
        when="a recompile for a size that was made an error",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html",
    ),
    Remedy(
        "recompile-stride",
        "A stride differs from that of the calls before (of a view, an expanded tensor or another "
        "memory format): hand over tensors of one layout. Where it follows a size, make the first "
        "calls with sizes of 2 or more, since 0 and 1 are always specialized.",
        code="x = x.clone(memory_format=torch.contiguous_format)  # x: the tensor of the message",
        applies=lambda d: _differs_in("stride", d),
        when="a recompile for a stride that was made an error",
        proof="https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html",
    ),
    Remedy(
        "recompile-which",
        "See which guard fails: run it once without the stance "
        '(`torch.compiler.set_stance("default")`), under which torch logs no recompile.',
        env='TORCH_LOGS="recompiles"',
        applies=lambda d: _by_stance(d) and not _REASON.search(d.message),
        when="`fail_on_recompile` and no guard in the message",
        basis="untestable",
        proof="it records more",
    ),
    Remedy(
        "recompile-warm",
        "Call the function with every kind of input that it is to be compiled for before the "
        "stance is set: under it, a first compilation fails like a recompile. Or let it run "
        "eagerly where nothing compiled fits.",
        code='torch.compiler.set_stance("eager_on_recompile")',
        since="2.6",
        applies=_by_stance,
        when="under `fail_on_recompile`",
        proof="https://docs.pytorch.org/docs/stable/generated/torch.compiler.set_stance.html",
    ),
    Remedy(
        "recompile-allow",
        "If this recompile may be, let it: call the function with every kind of input first, and "
        "make recompiles errors after that.",
        code="torch._dynamo.config.error_on_recompile = False",
        applies=lambda d: d.cause == _CAUSE and not _by_stance(d),
        when="under `error_on_recompile`",
        proof="torch/_dynamo/config.py: error_on_recompile",
    ),
)
