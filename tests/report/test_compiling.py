"""The seconds of compilations, as every part of a report adds them up."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.report.compiling import compiling


def row(frame: str, at: float | None, seconds: float, **more: Any) -> dict[str, Any]:
    return {"frame": frame, "writer": "1", "at_s": at, "compile_s": seconds, **more}


def test_what_is_compiled_in_between_counts_once_by_the_clocks_of_a_log() -> None:
    outer, inner, later = row("0/0", 0, 10), row("1/0", 2, 3), row("0/1", 20, 4)
    assert compiling([outer, inner, later], measured=False) == (14, 4)
    assert compiling([outer, inner, later], measured=True) == (17, 4)


def test_a_compilation_that_overlaps_in_part_adds_the_rest() -> None:
    assert compiling([row("0/0", 0, 10), row("1/0", 8, 5)], measured=False).seconds == 13


def test_processes_compile_side_by_side() -> None:
    rows = [row("0/0", 0, 10), row("0/0", 0, 10) | {"writer": "2"}]
    assert compiling(rows, measured=False).seconds == 20


def test_backward_passes_are_compiled_later() -> None:
    assert compiling([row("0/0", 0, 10, backward_s=2.5)], measured=False).seconds == 12.5


def test_without_clocks_seconds_are_added() -> None:
    assert compiling([row("0/0", None, 10), row("1/0", None, 3)], measured=False).seconds == 13


def test_a_resumed_attempt_is_no_recompile() -> None:
    assert compiling([row("0/0_1", 0, 1), row("2/1_1", 5, 2)], measured=False).again == 2


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=12))
def test_covered_seconds_are_those_of_a_second_by_second_count(
    spans: list[tuple[int, int]],
) -> None:
    rows = [row(f"{i}/0", at, length) for i, (at, length) in enumerate(spans)]
    busy = {second for at, length in spans for second in range(at, at + length)}
    assert compiling(rows, measured=False).seconds == pytest.approx(len(busy))
