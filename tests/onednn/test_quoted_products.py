# ruff: noqa: E501 -- lines that oneDNN prints
"""Products in quoted lines: a bias of two dimensions, and sizes given at run time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, analyze

BIASED = "dnnl_verbose,exec,cpu,matmul,ref:any,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 {} dst_f32::blocked:ab:f0,,,16x40:40x20:16x20,0.25\n"
WIDE = "bia_f32::blocked:ab:f0_mask3"
TALL = "bia_f32::blocked:ab:f0_mask1"
ROW = "bia_f32::blocked:ab:f0_mask2"
RUNTIME = "-9223372036854775808"
OPEN = "{}_verbose,exec,cpu,matmul,gemm:jit,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,oscale:0:nan;,,m{}n{}k{},11.5\n"


def report(text: str, folder: Path) -> Report:
    path = folder / "run.log"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize(("bias", "is_wide"), [(WIDE, True), (TALL, True), (ROW, False)])
def test_a_bias_of_more_than_a_row_is_why(bias: str, is_wide: bool, tmp_path: Path) -> None:
    (found,) = [one for one in report(BIASED.format(bias), tmp_path).told if one.code == "ONE001"]
    ids = [one.id for one in found.advice]
    assert ("row-bias" in ids) is is_wide
    assert ("newer-onednn" in ids) is not is_wide
    assert ("one row of it (1xN)" in found.message) is is_wide
    assert ("does not say why" in found.message) is not is_wide


@pytest.mark.parametrize("name", ["dnnl", "onednn"])
@pytest.mark.parametrize("size", [RUNTIME, "512"])
def test_sizes_of_run_time_are_read(name: str, size: str, tmp_path: Path) -> None:
    found = report(OPEN.format(name, size, size, size) * 2, tmp_path)
    assert not found.coverage.unread
    assert "ONE019" in {one.code for one in found.findings}
    assert ("ONE017" in {one.code for one in found.findings}) is (size == RUNTIME)


TO_AND_FRO = """\
onednn_verbose,primitive,exec,cpu,convolution,jit:avx2,forward_training,src_f32:a:blocked:aBcd8b::f0 wei_f32:a:blocked:ABcd8b8a::f0 bia_f32:a:blocked:a::f0 dst_f32:a:blocked:aBcd8b::f0,attr-scratchpad:user ,alg:convolution_direct,mb1_ic32oc64_ih80oh40kh3sh2dh0ph1_iw80ow40kw3sw2dw0pw1,1.5
onednn_verbose,primitive,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:aBcd8b::f0 dst_f32::blocked:abcd::f0,attr-scratchpad:user ,,1x64x40x40,{}
onednn_verbose,primitive,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:abcd::f0 dst_f32::blocked:aBcd8b::f0,attr-scratchpad:user ,,1x64x40x40,0.5
onednn_verbose,primitive,exec,cpu,convolution,jit_1x1:avx2,forward_training,src_f32:a:blocked:aBcd8b::f0 wei_f32:a:blocked:ABcd8b8a::f0 bia_f32:a:blocked:a::f0 dst_f32:a:blocked:aBcd8b::f0,attr-scratchpad:user ,alg:convolution_direct,mb1_ic64oc64_ih40oh40kh1sh1dh0ph0_iw40ow40kw1sw1dw0pw0,0.4
onednn_verbose,primitive,exec,cpu,reorder,jit:blk,undef,src_f32::blocked:aBcd8b::f0 dst_f32::blocked:abcd::f0,attr-scratchpad:user ,,1x64x40x40,0.1
"""


@pytest.mark.parametrize(("first", "told"), [("0.2", True), ("0.1", False)])
def test_what_a_first_execution_took_longer_is_told(first: str, told: bool, tmp_path: Path) -> None:
    findings = report(TO_AND_FRO.format(first), tmp_path).findings
    (found,) = [one for one in findings if one.code == "ONE004"]
    assert ("(800 us with what first" in found.message or "(0.8 ms with" in found.message) is told
    assert ("with what first" in found.message) is told
