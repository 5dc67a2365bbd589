"""Lines of oneDNN 3.1, the last of which is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

HEAD = "onednn_verbose,info,oneDNN v3.1.1 (commit 64f6bcb)\n"
MADE = (
    "onednn_verbose,create:cache_miss,cpu,deconvolution,gemm:jit,forward_training,"
    "src_f32::blocked:abcd:f0 wei_f32::blocked:bacd:f0 bia_undef::undef:: dst_f32::blocked:abcd:f0,"
    "attr-scratchpad:user ,alg:deconvolution_direct,mb1_ic2oc1_ih1oh1kh1sh1dh0ph0"
    "_iw8ow32kw8sw4dw0pw2,0.078125\n"
)


@pytest.mark.parametrize("cut", ["onednn_verbose,exec,cpu,deconvolution,gemm:jit,forward\n", ""])
def test_an_execution_that_was_cut_was_recorded(cut: str, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(HEAD + MADE + cut, encoding="utf-8")
    report = analyze(str(path))
    assert ("LOG007" in {one.code for one in report.told}) is not bool(cut)
    assert sum(one.count for one in report.coverage.unread) == bool(cut)
    if cut:
        assert "`deconvolution` on `gemm:jit`" in report.told[0].message
