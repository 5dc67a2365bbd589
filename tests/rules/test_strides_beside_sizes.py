"""Sizes as symbols do not help a function that is compiled again for strides, too."""

from __future__ import annotations

import pytest

from tracelens.logs import kind
from tracelens.logs.recompiles import Recompile
from tracelens.rules.rcp._marking import FirstChangeData, strided
from tracelens.rules.rcp.first_dynamic_recompile import FirstDynamicRecompile

HEAD = "Recompiling function forward in /home/ana/proj/net.py:14"
WHY = "    triggered by the following guard failure(s):"


def again(reason: str) -> Recompile:
    (record,) = kind("recompiles").parse(f"{HEAD}\n{WHY}\n    - 0/0: {reason}")
    assert isinstance(record, Recompile)
    return record


@pytest.mark.parametrize(
    ("what", "found"),
    [("stride", {("forward", "/home/ana/proj/net.py", 14)}), ("size", set())],
)
def test_functions_that_strides_compile_again(what: str, found: set[object]) -> None:
    record = again(f"tensor 'x' {what} mismatch at index 0. expected 24, actual 48")
    assert strided([record]) == found


@pytest.mark.parametrize("has_strides", [True, False])
def test_dynamic_is_advised_where_sizes_alone_ask(*, has_strides: bool) -> None:
    (remedy,) = (one for one in FirstDynamicRecompile.remedies if one.id == "compile-dynamic")
    data = FirstChangeData(
        cause="RCP003",
        function="forward",
        file="/home/ana/proj/net.py",
        line=14,
        is_heavy=True,
        has_strides=has_strides,
    )
    assert bool(remedy.applies(data)) is not has_strides
