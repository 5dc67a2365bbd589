"""Copies that a line asks for, told apart by whether they could be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Severity

PREFIX = "V1101 10:00:00.000000 7 torch/x.py:1] [0/0] "
GRAPH = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8, 256, 512][131072, 512, 1]cpu"):
        # File: /home/ana/proj/model.py:3 in swap, code: y = x.transpose(1, 2)
        y: "f32[8, 512, 256][131072, 1, 512]cpu" = L_x_.transpose(1, 2)

        # File: /home/ana/proj/model.py:4 in swap, code: z = y.{asks}()
        z: "f32[8, 512, 256][131072, 256, 1]cpu" = y.{asks}()

        # File: /home/ana/proj/model.py:5 in swap, code: return {result}
        w: "f32[8, 512, 256][131072, 256, 1]cpu" = {result}
        return (w,)
"""
CODE = """\
Output code:
# AOT ID: ['0_inference']
cpp_fused_clone_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0) {{ auto tmp0 = in_ptr0[0]; }}
''')
def call(args):
    arg0_1, = args
    assert_size_stride(arg0_1, (8, 256, 512), (131072, 512, 1))
    buf0 = empty_strided_cpu((8, 512, 256), (131072, 256, 1), torch.float32)
    cpp_fused_clone_0(arg0_1, buf0)
    buf1 = torch.ops.aten.sort.default(buf0, 1)
    return ({returned}, )
"""


@pytest.mark.parametrize(
    ("asks", "result", "returned", "is_told"),
    [
        ("contiguous", "torch.sort(z)", "buf1", True),
        ("contiguous", "z.view(8, -1)", "buf1", False),
        ("contiguous", "z.reshape(8, -1)", "buf1", True),
        ("contiguous", "torch.sort(z)", "buf0", True),
        ("clone", "torch.sort(z)", "buf1", True),
        ("clone", "torch.sort(z)", "buf0", False),
    ],
)
def test_a_view_needs_its_copy_and_a_returned_clone_is_meant(
    tmp_path: Path, asks: str, result: str, returned: str, is_told: bool
) -> None:
    graph = GRAPH.format(asks=asks, result=result).splitlines()
    code = CODE.format(returned=returned).splitlines()
    log = tmp_path / "run.log"
    lines = [f"{PREFIX}[__graph_code] {line}" for line in graph]
    lines += [f"{PREFIX}[__output_code] {line}" for line in code]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND008")
    assert (found.severity is not Severity.NONE) is is_told
