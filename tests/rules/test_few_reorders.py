"""Weights that are not frozen are a note where a log shows that they cost little."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.onednn.test_more_rules import conv
from tracelens import analyze
from tracelens.report import Severity

UNET = (
    Path(__file__).parents[2] / "fixtures/rules/IND004-cpu-inference-not-frozen/fires-unet.log.gz"
)
REORDER = (
    "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 "
    "dst:f32::blocked:Acdb16a::f0,attr-scratchpad:user,,64x32x3x3,{ms}"
)


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        ([], Severity.WARNING),  # nothing is known
        ([conv("brg_conv_fwd:avx512_core", 96.0), REORDER.format(ms=4.0)], Severity.NONE),
        ([conv("brg_conv_fwd:avx512_core", 94.0), REORDER.format(ms=6.0)], Severity.WARNING),
        ([REORDER.format(ms=0.1)], Severity.WARNING),  # no convolution is seen
    ],
)
def test_freezing_gains_little_where_reorders_take_little(
    tmp_path: Path, ran: list[str], expected: Severity
) -> None:
    path = tmp_path / "run.log"
    log = gzip.decompress(UNET.read_bytes()).decode()
    path.write_text(log + "".join(f"{line}\n" for line in ran))
    (found,) = (one for one in analyze(str(path)).findings if one.code == "IND004")
    assert found.severity is expected
    told = "all reorders together take 4 % of oneDNN's time" in (found.harmless or "")
    assert told is (expected is Severity.NONE)
