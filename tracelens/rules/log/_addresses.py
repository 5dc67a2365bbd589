"""What a note says of an input of a CUDA graph that came from another address."""

from __future__ import annotations

import re

from tracelens.dynamo import user_code
from tracelens.rules.log._sizes import About

__all__ = ["moved"]

_MOVED = re.compile(
    r"input name: (?P<name>\w{1,80})\. data pointer changed from \d{1,20} to \d{1,20}\."
    r"(?: input stack trace:(?P<stack>[\s\S]{0,2000}))?"
)
_FRAME = re.compile(r'File "(?P<file>[^"\n]{1,300})", line (?P<line>\d{1,7})')


def moved(text: str) -> About | None:
    """Return what ``text`` says of such an input; None where it names none."""
    found = _MOVED.search(text)
    if found is None:
        return None
    frames = [*_FRAME.finditer(found["stack"] or "")]
    at = f" at {user_code.short(frames[-1]['file'], int(frames[-1]['line']))}" if frames else ""
    return About(
        f"CUDA graphs: `{found['name']}`, which is used{at}, came from another address",
        "A recorded graph reads fixed addresses. A parameter, a buffer, or a tensor that was "
        "marked static was replaced by another one, so the graph is recorded again, up to a limit, "
        "and then runs without.",
        "Write the new values into the same tensor (`old.copy_(new)`) instead of assigning a new "
        "one; what changes in each call, pass as an argument, and do not mark it static "
        "(torch._dynamo.mark_static_address).",
    )
