"""Old forms of oneDNN's lines, and times of another locale."""

from __future__ import annotations

import pytest

from tracelens.logs._onednn_old import modern
from tracelens.logs.onednn_verbose import OnednnVerbose, PrimitiveExec

RELU = (
    "primitive,exec,cpu,eltwise,jit:avx2,forward_training,data_f32::blocked:a:f0,,alg:eltwise_relu"
)
GEMM = "onednn_verbose,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,"


@pytest.mark.parametrize(
    ("line", "ms", "problem"),
    [
        (f"onednn_verbose,v1,{RELU},5,2", 2.0, "5"),
        (f"onednn_verbose,v1,{RELU},5,2,25", 2.25, "5"),
        (f"onednn_verbose,v1,{RELU},5,2.25", 2.25, "5"),
        (f"onednn_verbose,{RELU},1x5,0,0625", 0.0625, "1x5"),
        (f"{GEMM}1x512:512x512,0.25", 0.25, "1x512:512x512"),
        (f"{GEMM}1x512:512x512,0,25", 0.25, "1x512:512x512"),
        (f"{GEMM},1x512:512x512,0,25", 0.25, "1x512:512x512"),
        (f"{GEMM}1x512:512x512,3", 3.0, "1x512:512x512"),
        (
            "mkldnn_verbose,exec,reorder,jit:uni,undef,in:f32_nc out:f32_nc,num:1,2x8,0,5",
            0.5,
            "2x8",
        ),
    ],
)
def test_the_time_and_the_problem(line: str, ms: float, problem: str) -> None:
    text, found = OnednnVerbose.measure(line)
    (record,) = OnednnVerbose.parse(text)
    assert isinstance(record, PrimitiveExec)
    assert (found, record.shape) == (ms, problem)


def test_formats_become_tags() -> None:
    line = (
        "mkldnn_verbose,exec,convolution,jit:avx512_common,forward_training,fsrc:nChw16c "
        "fwei:gOIhw16i16o fbia:x fdst:nChw16c,alg:convolution_direct,mb1_g2ic64oc64_ih5oh5kh3,0.5"
    )
    (record,) = OnednnVerbose.parse(OnednnVerbose.measure(line)[0])
    assert isinstance(record, PrimitiveExec)
    assert [(md.arg, md.tag) for md in record.mds] == [
        ("src", "aBcd16b"),
        ("wei", "aBCde16c16b"),
        ("bia", "a"),
        ("dst", "aBcd16b"),
    ]


def test_a_line_of_today_stays_as_it_is() -> None:
    line = f"onednn_verbose,v1,{RELU},5,2.25"
    assert modern(line) == line
