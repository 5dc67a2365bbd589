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


BYTES = """\
Output code:
cpp_fused__to_copy_mul_0 = async_compile.cpp_pybinding(['const int8_t*', 'float*'], r'''
extern "C"  void  kernel(const int8_t* in_ptr0, float* out_ptr0) {{}}
''')
def call(args):
    arg0_1, arg1_1 = args
    assert_size_stride(arg0_1, (1024, 1024), (1024, 1))
    assert_size_stride(arg1_1, (1024, 1024), (1024, 1))
    buf0 = empty_strided_cpu((1024, 1024), (1024, 1), torch.{dtype})
    cpp_fused_relu_0(arg0_1, buf0)
    buf1 = torch.ops.aten.cat.default([buf0, buf0], -1)
    buf2 = empty_strided_cpu((1024, 2048), (2048, 1), torch.float32)
    {reader}(buf1, buf2)
    return ({returned}, )
"""
CONVERTED = ("int8", "cpp_fused__to_copy_mul_0", "buf2")


@pytest.mark.parametrize(
    ("dtype", "reader", "returned", "advised"),
    [
        (*CONVERTED, True),
        ("uint8", *CONVERTED[1:], True),
        ("complex64", *CONVERTED[1:], False),
        ("int8", "cpp_fused_mul_0", "buf2", False),
        (*CONVERTED[:2], "buf1, buf2", False),
        # nobody knows what is joined
        ("", *CONVERTED[1:], False),
    ],
)
def test_bytes_are_converted_before_they_are_joined_where_only_that_follows(
    tmp_path: Path, dtype: str, reader: str, returned: str, advised: bool
) -> None:
    log = tmp_path / "run.log"
    code = BYTES.format(dtype=dtype, reader=reader, returned=returned)
    if not dtype:
        code = "\n".join(line for line in code.splitlines() if "buf0 = " not in line)
    log.write_text("".join(f"{PREFIX}{line}\n" for line in code.splitlines()), encoding="utf-8")
    found = [one for one in analyze(str(log)).findings if one.code == "IND001"]
    assert ("convert-first" in {fix.id for one in found for fix in one.advice}) is advised


WARNED = (
    "/home/ana/venv/lib/python3.11/site-packages/torch/_inductor/lowering.py:1277: UserWarning: "
    "Torchinductor does not support code generation for complex operators. Performance may be "
    "worse than eager.\n  warnings.warn(\n"
)


@pytest.mark.parametrize(
    ("before", "operator", "codes"),
    [
        (WARNED, "add.Tensor", ["IND010"]),
        ("", "add.Tensor", ["IND001"]),
        # no code is generated for it, whatever its type
        (WARNED, "cumsum.default", ["IND001", "IND010"]),
    ],
)
def test_the_warning_says_why_arithmetic_falls_back(
    tmp_path: Path, before: str, operator: str, codes: list[str]
) -> None:
    log = tmp_path / "run.log"
    log.write_text(f"{before}Using FallbackKernel: aten.{operator}\n" * 2, encoding="utf-8")
    found = [one.code for one in analyze(str(log)).findings if one.code.startswith("IND0")]
    assert sorted(found) == codes


TRACED = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8, 64, 2][128, 2, 1]cpu"):
        l_x_ = L_x_
        # File: /home/ana/proj/turn.py:9 in forward, code: z = {call}(x)
        z: "c64[8, 64][64, 1]cpu" = {call}(l_x_);  l_x_ = None
        # File: /home/ana/proj/turn.py:10 in forward, code: return torch.view_as_real(z * 2)
        mul: "c64[8, 64][64, 1]cpu" = z * 2;  z = None
        real: "f32[8, 64, 2][128, 2, 1]cpu" = torch.view_as_real(mul);  mul = None
        return (real,)
"""


@pytest.mark.parametrize(
    ("line", "advised"),
    [
        ('a: "c64[8, 64][64, 1]cpu" = z * z', "real-numbers"),
        ('a: "c64[64, 8][1, 64]cpu" = z.transpose(0, 1)', "real-numbers"),
        ('a: "c64[8, 64][64, 1]cpu" = z @ z', "two-parts"),
        ('a: "c64[8, 64][64, 1]cpu" = -z', "two-parts"),
        ('a: "c64[8, 64][64, 1]cpu" = z ** 2', "two-parts"),
        ('a: "f32[8, 64][64, 1]cpu" = torch.abs(z)', "two-parts"),
    ],
)
def test_a_traced_graph_is_of_a_rotation_where_it_multiplies_alone(
    tmp_path: Path, line: str, advised: str
) -> None:
    """The result of an operator on complex numbers may be real, and its name a sign."""
    stamp = "V1101 10:00:00.000000 7 torch/_dynamo/output_graph.py:2835] [0/0] [__graph_code] "
    traced = TRACED.format(call="torch.view_as_complex").splitlines()
    traced.insert(traced.index("        return (real,)"), f"        {line}")
    log = tmp_path / "run.log"
    log.write_text("".join(f"{stamp}{each}\n" for each in traced) + WARNED, encoding="utf-8")
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND010")
    assert [one.id for one in found.advice] == [advised]


@pytest.mark.parametrize(
    ("call", "is_told"), [("torch.view_as_complex", True), ("torch._C._fft.fft_fft", False)]
)
def test_a_traced_graph_names_the_complex_operators(
    tmp_path: Path, call: str, is_told: bool
) -> None:
    stamp = "V1101 10:00:00.000000 7 torch/_dynamo/output_graph.py:2835] [0/0] [__graph_code] "
    log = tmp_path / "run.log"
    lines = TRACED.format(call=call).splitlines()
    log.write_text("".join(f"{stamp}{line}\n" for line in lines) + WARNED, encoding="utf-8")
    (found,) = (one for one in analyze(str(log)).findings if one.code == "IND010")
    assert (found.severity is not Severity.NONE) is is_told
    assert f"`aten.{call.rpartition('.')[2]}`, `aten.mul`" in found.message
    assert found.where is not None
    assert found.where.line == 9
