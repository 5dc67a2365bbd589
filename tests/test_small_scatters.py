"""A scatter that is a small part of what its graph moves is not what costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

PREFIX = "V1101 10:00:00.000000 7 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
CODE = """\
Output code:
# AOT ID: ['0_inference']
cpp_fused_index_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0) {{}}
''')
def call(args):
    arg0_1, arg1_1, arg2_1 = args
    assert_size_stride(arg0_1, (40000, {width}), ({width}, 1))
    assert_size_stride(arg1_1, (40000, ), (1, ))
    assert_size_stride(arg2_1, ({edges}, ), (1, ))
    buf0 = empty_strided_cpu((40000, {width}), ({width}, 1), torch.float32)
    cpp_fused_index_0(arg0_1, buf0)
    buf1 = empty_strided_cpu((2000, ), (1, ), torch.float32)
    aten.scatter_reduce_.two(buf1,0,arg1_1,arg2_1, reduce='amax', include_self=True)
    return (buf0, buf1, )
def get_args():
    arg0_1 = rand_strided((40000, {width}), ({width}, 1), device='cpu', dtype=torch.float32)
    arg1_1 = rand_strided((40000, ), (1, ), device='cpu', dtype=torch.int64)
    arg2_1 = rand_strided(({edges}, ), (1, ), device='cpu', dtype=torch.float32)
"""


@pytest.mark.parametrize(
    ("width", "edges", "is_told"),
    [(128, 40000, False), (32, 40000, True), (128, "s27", True)],
)
def test_a_scatter_of_few_bytes_is_not_accused(
    tmp_path: Path, width: int, edges: int | str, *, is_told: bool
) -> None:
    """Its largest of 40,000 numbers took 0.2 ms; the vectors of as many edges took 40."""
    code = CODE.format(width=width, edges=edges)
    log = tmp_path / "run.log"
    log.write_text("".join(f"{PREFIX}{line}\n" for line in code.splitlines()))
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND009")
    assert (found.severity is not Severity.NONE) is is_told
    assert bool(found.advice) is is_told
