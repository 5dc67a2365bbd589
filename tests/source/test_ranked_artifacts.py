"""Lines of records that a rank's name stands before are records, as those without it are."""

from __future__ import annotations

import pytest

from tracelens.plugins import manifest
from tracelens.source.kinds import Kinds
from tracelens.source.own import OwnLines

STAMP = b"V1101 10:00:00.001000 50000 torch/_dynamo/guards.py:1] [0/0] [__guards] "
TELLING = b"Traceback (most recent call last): Segmentation fault, exitcode -11, Error: x\n"


def begun(lines: list[bytes]) -> bool:
    return OwnLines(Kinds(manifest.current().logs)).begin(lines, None, counted=False)


@pytest.mark.parametrize(
    "rank", [b"", b"[rank0]:", b"[rank12]: ", b"[default3]:", b"[default3]:[rank3]:"]
)
def test_a_line_of_a_record_is_not_searched(rank: bytes) -> None:
    assert begun([rank + TELLING])
    assert begun([rank + STAMP.replace(b"[__guards] ", b"") + TELLING])
    assert not begun([rank + STAMP + TELLING])


@pytest.mark.parametrize("rank", [b"[rank]:", b"rank0: ", b"[rankx]:", b"[rank0]-"])
def test_what_only_looks_like_a_rank_is_searched(rank: bytes) -> None:
    assert begun([rank + STAMP + TELLING])
