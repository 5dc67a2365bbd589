"""Calls of ATen that are a small part of what a graph moves are nothing to act on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

PREFIX = "V1101 10:00:00.000000 7 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
CODE = """\
Output code:
# AOT ID: ['0_inference']
cpp_fused_relu_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0) {{}}
''')
def call(args):
    arg0_1, arg1_1 = args
    assert_size_stride(arg0_1, ({rows}, 1024), (1024, 1))
    assert_size_stride(arg1_1, (8192, ), (1, ))
    buf0 = empty_strided_cpu(({rows}, 1024), (1024, 1), torch.float32)
    cpp_fused_relu_0(arg0_1, buf0)
    buf2 = empty_strided_cpu((8192, ), (1, ), torch.float32)
    cpp_fused_relu_0(arg1_1, buf2)
    buf1 = torch.ops.aten.cumsum.default(buf2, dim=0, dtype=None)
    return (buf0, buf1, )
"""


@pytest.mark.parametrize(("rows", "is_told"), [(128, True), (1024, False)])
def test_a_small_part_of_what_the_graph_moves(tmp_path: Path, rows: int, is_told: bool) -> None:
    log = tmp_path / "run.log"
    lines = CODE.format(rows=rows).splitlines()
    log.write_text("".join(f"{PREFIX}{line}\n" for line in lines), encoding="utf-8")
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND001")
    assert found.data["bytes"] >= 32 << 10
    assert (found.severity is not Severity.NONE) is is_told


@pytest.mark.parametrize(("before", "is_told"), [("_fft_r2c", False), ("cumsum", True)])
def test_the_magnitude_of_a_spectrum_is_of_complex_numbers(
    tmp_path: Path, before: str, is_told: bool
) -> None:
    log = tmp_path / "run.log"
    code = f"""\
Output code:
def call(args):
    arg0_1, = args
    assert_size_stride(arg0_1, (1024, 1024), (1024, 1))
    buf0 = torch.ops.aten.{before}.default(arg0_1, [1], 0, True)
    buf1 = buf0
    buf2 = torch.ops.aten.abs.default(buf1)
    return (buf2, )
"""
    log.write_text("".join(f"{PREFIX}{line}\n" for line in code.splitlines()), encoding="utf-8")
    found = [one for one in analyze(str(log)).findings if one.code == "IND001"]
    assert ("aten.abs" in {one.data["operators"][0] for one in found}) is is_told
