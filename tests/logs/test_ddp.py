"""Records of DDPOptimizer: what is counted, and what says nothing."""

from pathlib import Path

import pytest

from tracelens.logs.ddp import Ddp, DdpBuckets
from tracelens.source import read

PREFIX = "[rank0]:I1120 16:13:01.581000 18113 torch/_dynamo/backends/distributed.py:104] [4/0] "


def test_a_record_that_begins_with_an_empty_line_is_found(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(
        f"{PREFIX}\n{PREFIX}DDPOptimizer used bucket cap 1048576 and created 6 buckets."
        " Enable debug logs for detailed bucket info.\n"
    )
    evidence, _ = read([str(path)])
    (row,) = evidence.table(DdpBuckets)
    assert (row.record.cap, row.record.buckets) == (1048576, 6)
    assert evidence.understood_lines == 2


@pytest.mark.parametrize(
    "text",
    [
        "\nDDPOptimizer produced the following bucket assignments:\n  Index  Param Names",
        "DDPOptimizer captured no parameters and did not split this graph.",
        "run_node output, output got args tuple(tuple(T[torch.Size([8, 512])]))",
    ],
)
def test_what_says_nothing_gives_no_record(text: str) -> None:
    assert Ddp.parse(text) == ()
