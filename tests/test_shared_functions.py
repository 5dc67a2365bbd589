"""Functions that several ranks compiled: found by numbers, against asking each about each."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.frames import ranks
from tracelens.frames.ranks import ALIKE, SharedFunction, shared_functions


def row(rank: int, number: int, entry: int, function: str, lines: Iterable[int]) -> Any:
    comments = [SimpleNamespace(comment=SimpleNamespace(file="m.py", line=n)) for n in lines]
    tree = SimpleNamespace(record=SimpleNamespace(guards=comments))
    frame = SimpleNamespace(
        writer=f"rank{rank}",
        id=f"{number}/{entry}",
        entry=entry,
        function=function or None,
        file="m.py" if function else None,
        line=1,
        named=lambda _name: [tree],
    )
    return SimpleNamespace(record=frame, first=SimpleNamespace(input="a.log"))


def plainly(frames: list[Any]) -> list[SharedFunction]:
    """Ask each group without a name about each function and each rank of it."""
    groups: dict[tuple[str, str], dict[int, Any]] = {}
    for one in frames:
        key = (one.record.writer, one.record.id.partition("/")[0])
        groups.setdefault(key, {})[one.record.entry] = one
    found: dict[Any, SharedFunction] = {}
    for (rank, _), entries in groups.items():
        definition = ranks._definition(entries.values())
        if definition is not None:
            shared = found.setdefault(definition, SharedFunction(definition))
            shared.ranks.setdefault(rank, {}).update(entries)
    for (rank, number), entries in groups.items():
        if ranks._definition(entries.values()) is not None:
            continue
        for shared in found.values():
            lines = set(ranks._lines(entries.values()))
            if rank not in shared.ranks and any(
                (there := groups.get((other, number))) is not None
                and known.get(0) is there.get(0)
                and lines
                and len(lines & (theirs := set(ranks._lines(known.values()))))
                >= ALIKE * len(lines | theirs)
                for other, known in shared.ranks.items()
            ):
                shared.ranks[rank] = entries
    return [shared for shared in found.values() if len(shared.ranks) > 1 and shared.entries]


ROWS = st.builds(
    row,
    st.integers(0, 3),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from(["", "", "f", "g"]),
    st.sets(st.integers(1, 4), max_size=3),
)


@given(st.lists(ROWS, max_size=14))
def test_what_is_shared_is_found_by_numbers(frames: list[Any]) -> None:
    assert shared_functions(frames) == plainly(frames)  # type: ignore[arg-type]


def test_each_rank_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    plain = ranks._lines

    def counting(rows: Iterable[Any]) -> Iterable[Any]:
        asked.append(rows)
        return plain(rows)

    monkeypatch.setattr(ranks, "_lines", counting)
    frames = [row(0, n, e, f"f{n}", [n]) for n in range(20) for e in (0, 1)]
    frames += [row(r, n, 0, "", [n]) for r in range(1, 20) for n in range(20)]
    found = shared_functions(frames)  # type: ignore[arg-type]
    assert [len(one.ranks) for one in found] == [20] * 20
    assert len(asked) <= 20 * 20
