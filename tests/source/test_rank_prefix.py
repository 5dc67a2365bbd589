"""The rank before a line: with a blank after it or without, the line keeps its own indent."""

import pytest

from tracelens.source.prefixes import peel


@pytest.mark.parametrize(
    "prefix", [b"[rank0]:", b"[rank0]: ", b"[default0]:", b"[default0]:[rank0]: "]
)
@pytest.mark.parametrize(
    "line", [b"", b"AUTOTUNE mm(8x8, 8x8)", b"  mm 0.1 ms 100.0%", b"    return x"]
)
def test_a_line_keeps_its_indent(prefix: bytes, line: bytes) -> None:
    assert peel(prefix + line) == (line, "rank0", False)
