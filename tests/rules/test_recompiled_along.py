"""Functions that one change recompiles are named once each."""

from __future__ import annotations

import pytest

from tracelens.rules.rcp._tell import _several


@pytest.mark.parametrize(
    ("called", "count", "told"),
    [
        ("`forward`", 1, "`forward`"),
        ("`forward`", 2, "2 functions `forward`"),
        ("the rest of `forward`", 1, "the rest of `forward`"),
        ("the rest of `forward`", 4, "4 pieces of `forward`"),
    ],
)
def test_what_has_one_name_is_counted(called: str, count: int, told: str) -> None:
    assert _several(called, count) == told
