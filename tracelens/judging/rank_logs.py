"""The logs of a job's ranks, those together that hold the same: a line for thousands of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tracelens.report import Input
from tracelens.source.prefixes import rank_of

__all__ = ["tables"]

#: Fewer logs than these are a list of inputs, which the report has anyway.
MIN_RANKS = 4
#: Groups that are told apart, and what is named of how one differs from the largest.
MAX_GROUPS, MAX_DIFFERENCES = 50, 4


def tables(inputs: Sequence[Input]) -> Mapping[str, list[dict[str, Any]]]:
    """Return which ranks have as many records of each kind as others; none where there are few."""
    groups: dict[tuple[tuple[str, int], ...], list[tuple[int, Input]]] = {}
    ranks = 0
    for source in inputs:
        if (number := _rank(source)) is not None:
            ranks += 1
            groups.setdefault(tuple(sorted(source.kinds.items())), []).append((number, source))
    if ranks < MIN_RANKS:
        return {}
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), min(_numbers(group[1]))))
    most = dict(ordered[0][0])
    rows = []
    for kinds, found in ordered[:MAX_GROUPS]:
        lines = sorted(source.lines for _, source in found)
        first = min(found, key=lambda one: one[0])[1]
        rows.append(
            {
                "ranks": ranges(_numbers(found)),
                "n": len(found),
                "records": sum(dict(kinds).values()),
                "lines": lines[len(lines) // 2],
                "differs": _differences(dict(kinds), most),
                "example": first.path,
            }
        )
    return {"rank_logs": rows}


def _rank(source: Input) -> int | None:
    """Return the rank whose log an input is, by what its lines or its name say."""
    named = source.writers[0] if len(source.writers) == 1 else rank_of(source.path)
    number = named[len(named.rstrip("0123456789")) :]
    return int(number) if 0 < len(number) < 10 and named.startswith("rank") else None


def _numbers(found: Sequence[tuple[int, Input]]) -> list[int]:
    return [number for number, _ in found]


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers in order, neighbours as one range: ``0-6, 8``."""
    out: list[list[int]] = []
    for number in sorted({*numbers}):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    shown = [f"{first}-{last}" if last > first else str(first) for first, last in out]
    rest = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    return ", ".join(shown[:20]) + rest


def _differences(kinds: Mapping[str, int], most: Mapping[str, int]) -> str:
    """Return which records there are more or fewer of than in the largest group."""
    counts, usual = Counter(kinds), Counter(most)
    names = sorted(
        (name for name in kinds.keys() | most.keys() if counts[name] != usual[name]),
        key=lambda name: (-abs(counts[name] - usual[name]), name),
    )
    said = [f"{name} {counts[name]}, not {usual[name]}" for name in names[:MAX_DIFFERENCES]]
    said += [f"{len(names) - MAX_DIFFERENCES} more"] if len(names) > MAX_DIFFERENCES else []
    return "; ".join(said)
