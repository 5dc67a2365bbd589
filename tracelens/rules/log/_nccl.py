"""What single warnings of NCCL mean, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracelens.failures.refusals import Refusal, of_nccl
from tracelens.report import Advice

__all__ = ["advice", "meaning", "title"]

_WARN = re.compile(r"NCCL WARN (?P<said>[^\n]{1,300})")
#: Warnings that pass by are told where there is no other.
_LAST = frozenset({"nccl-verbs"})


def _known(texts: Iterable[str]) -> Iterator[tuple[str, Refusal | None]]:
    """Yield each warning, and what is known of it, those that pass by last."""
    said = [found["said"] for text in texts for found in _WARN.finditer(text)]
    told = [(one, of_nccl(f"NCCL WARN {one}")) for one in said]
    yield from sorted(told, key=lambda one: one[1] is not None and one[1].name in _LAST)


def title(texts: Iterable[str]) -> str:
    """Return what NCCL warns of first."""
    for said, known in _known(texts):
        return f"{known.what}: {said}" if known else f"NCCL warns: {said[:160]}"
    return ""


def meaning(texts: Iterable[str]) -> str:
    """Return what the first warning means, beyond that it is one."""
    known = next((known for _, known in _known(texts)), None)
    return f"This one says that {known.what}." if known else ""


def advice(texts: Iterable[str]) -> Advice | None:
    """Return what to do about it; None where the warning is not known."""
    known = next((known for _, known in _known(texts)), None)
    if known is None:
        return None
    return Advice(id=known.name, text=known.text, env=known.env, code=known.code, basis="source")
