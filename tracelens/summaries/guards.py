"""What a call is checked for, and on what it failed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tracelens.evidence import Evidence
from tracelens.logs.guards import GuardTree
from tracelens.logs.recompiles import Recompile

__all__ = ["tables"]

#: Trees, and lines of one.
MAX_TREES, MAX_LINES = 3, 100
#: ``L['x']`` is ``x`` in the reasons of recompiles from torch 2.7 on.
_LOCAL = re.compile(r"\bL\['(\w+)'\]")


def tables(evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
    """Return ``guard_tree``: the guards of the entries that failed most, else of the largest."""
    failed = _failed(evidence)
    found: dict[tuple[str, str], tuple[str, GuardTree]] = {}
    for place, seen in evidence.table(GuardTree).events():
        held = found.get((place.writer, place.frame))
        if held is None or held[1].count < seen.record.count:
            found[place.writer, place.frame] = place.frame, seen.record
    ranked = sorted(found.values(), key=lambda one: (-len(failed[one[0]]), -one[1].count))
    rows = [row for frame, tree in ranked[:MAX_TREES] for row in _lines(frame, tree, failed[frame])]
    return {"guard_tree": rows} if rows else {}


def _failed(evidence: Evidence) -> defaultdict[str, dict[str, int]]:
    """Return on what values the guards of each entry failed, and how often."""
    out: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for seen in evidence.table(Recompile):
        for failure in seen.record.failures:
            source = getattr(failure.check, "source", None)
            if source is not None and failure.entry:
                name = _plain(str(source))
                out[failure.entry][name] = out[failure.entry].get(name, 0) + seen.count
    return out


def _plain(source: str) -> str:
    return _LOCAL.sub(r"\1", source)


def _lines(frame: str, tree: GuardTree, failed: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for guard in tree.guards[:MAX_LINES]:
        said = guard.comment
        yield {
            "frame": frame,
            "depth": guard.depth,
            "kind": guard.kind,
            "text": (guard.source if guard.is_manager else guard.expression)[:300],
            "failed": failed.get(_plain(guard.source), 0) if guard.is_manager else 0,
            "from": f"{said.file}:{said.line}" if said and said.file else "",
            "guards": tree.count,
        }
