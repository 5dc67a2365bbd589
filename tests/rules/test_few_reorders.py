"""Weights that are not frozen are a note where a log shows that they cost little."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

#: Three convolutions in two shapes, none of which oneDNN computed, and others beside them.
LOG = (
    Path(__file__).parents[2]
    / "fixtures/rules/TRC021-convolution-on-slow-path/fires-no-execution.log.gz"
)
HEAD = "onednn_verbose,v1,primitive,exec,cpu,"
REORDER = (
    f"{HEAD}reorder,jit:uni,undef,src:f32::blocked:abcd::f0 "
    "dst:f32::blocked:Acdb16a::f0,attr-scratchpad:user,,64x32x3x3,{ms}"
)


def conv(inputs: int, ms: float) -> str:
    """Return a line of a convolution of 16 x 16 pixels to 64 channels, a kernel of 3 x 3."""
    return (
        f"{HEAD}convolution,brg_conv_fwd:avx512_core,forward_training,"
        "src:f32::blocked:acdb::f0 wei:f32:ap:blocked:Acdb16a::f0 bia:f32:a:blocked:a::f0 "
        "dst:f32::blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,"
        f"mb1_ic{inputs}oc64_ih16oh16kh3sh1dh0ph1_iw16ow16kw3sw1dw0pw1,{ms}"
    )


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        ([], Severity.WARNING),  # ATen computes them, which frozen ones are not
        ([conv(3, 90.0)], Severity.WARNING),  # and here some
        ([conv(3, 40.0), conv(64, 50.0)], Severity.NONE),
        ([conv(3, 40.0), conv(64, 50.0), REORDER.format(ms=10.0)], Severity.WARNING),
    ],
)
def test_freezing_gains_little_where_reorders_take_little(
    tmp_path: Path, ran: list[str], expected: Severity
) -> None:
    path = tmp_path / "run.log"
    log = gzip.decompress(LOG.read_bytes()).decode()
    path.write_text(log + "".join(f"{line}\n" for line in ran))
    (found,) = (one for one in analyze(str(path)).findings if one.code == "IND004")
    assert found.severity is expected
    told = "and freezing saves little more" in (found.harmless or "")
    assert told is (expected is Severity.NONE)
