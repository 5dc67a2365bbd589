"""What Dynamo says for its developers below an error, by the names of its own classes."""

from __future__ import annotations

from collections.abc import Iterable

from tracelens.late import late

__all__ = ["context_of"]

_CONTEXT = late(r"\s{0,40}Developer debug context: (\S[^\n]{0,400})")


def context_of(cause: str, lines: Iterable[str]) -> dict[str, str]:
    """Return it as ``context`` for an error that would be a graph break; the last one counts."""
    if cause not in {"fake-tensors", "fullgraph"}:
        return {}
    found = [match[1] for line in lines if (match := _CONTEXT.match(line))]
    return {"context": found[-1].rstrip()} if found else {}
