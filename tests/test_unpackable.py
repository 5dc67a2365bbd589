"""Weights that freezing does not pack: of 1-d convolutions, and those that each call computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.inductor.library_calls import LibraryCall
from tracelens.plugins.held import Held
from tracelens.report import Finding, Severity
from tracelens.source import read

STAMP = "V1101 10:00:00.000000 7 torch/"
CODE = STAMP + "_inductor/graph.py:2722] [0/0] [__output_code] "
GRAPH = STAMP + "_dynamo/output_graph.py:2835] [0/0] [__graph_code] "
TRACED = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8, 256, 8, 8][16384, 64, 8, 1]cpu", {name}: "f32[8, 256][256, 1]cpu", L_self_parameters_weight_: "f32[{rows}, 256, 3, 3][2304, 9, 3, 1]cpu"):
        return (L_x_,)
"""  # noqa: E501 -- a line of a log
KERNEL = """\
Output code:
# AOT ID: ['0_inference']
cpp_fused_mul_0 = async_compile.cpp_pybinding(['const float*', 'const float*', 'const float*', 'float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0, const float* in_ptr1, const float* in_ptr2, float* out_ptr0, float* out_ptr1) {}
''')
"""  # noqa: E501 -- lines of a log
GROUPED = (
    KERNEL
    + """\
def call(args):
    arg0_1, arg1_1, arg2_1 = args
    assert_size_stride(arg0_1, (8, 256, 8, 8), (16384, 64, 8, 1))
    assert_size_stride(arg1_1, (8, 256), (256, 1))
    assert_size_stride(arg2_1, (ROWS, 256, 3, 3), (2304, 9, 3, 1))
    buf2 = empty_strided_cpu((1, 2048, 8, 8), (131072, 1, 16384, 2048), torch.float32)
    buf0 = empty_strided_cpu((2048, 256, 3, 3), (2304, 1, 768, 256), torch.float32)
    cpp_fused_mul_0(arg0_1, arg2_1, arg1_1, buf2, buf0)
    buf1 = extern_kernels.convolution(buf2, buf0, stride=(1, 1), padding=(1, 1), dilation=(1, 1), transposed=False, output_padding=(0, 0), groups=8, bias=None)
    assert_size_stride(buf1, (1, 2048, 8, 8), (131072, 64, 8, 1), 'torch.ops.aten.convolution.default')
    return (buf1, )
"""  # noqa: E501 -- lines of a log
)
SIGNAL = """\
Output code:
# AOT ID: ['0_inference']
def call(args):
    arg0_1, arg1_1 = args
    assert_size_stride(arg0_1, (8, 64, {length}), (25600, 400, 1))
    assert_size_stride(arg1_1, (64, 64, {kernel}), (192, 3, 1))
    buf0 = extern_kernels.convolution(arg0_1, arg1_1, stride=(1,), padding=(1,), dilation=(1,), transposed=False, output_padding=(0,), groups=1, bias=None)
    assert_size_stride(buf0, (8, 64, {length}), (25600, 400, 1), 'torch.ops.aten.convolution.default')
    return (buf0, )
def get_args():
    arg1_1 = rand_strided((64, 64, {kernel}), (192, 3, 1), device='cpu', dtype=torch.float32)
"""  # noqa: E501 -- lines of a log
RUN = """\
onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with Intel DL Boost
onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:{plain}::f0 dst:f32::blocked:{blocked}::f0,attr-scratchpad:user,,{weights},0.5
onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,forward_training,src:f32::blocked:abcd::f0 wei:f32:a:blocked:{blocked}::f0 bia:undef::undef::: dst:f32::blocked:abcd::f0,attr-scratchpad:user,alg:convolution_direct,{problem},1.5
"""  # noqa: E501 -- lines of a log
IMAGES = RUN.format(
    plain="abcde",
    blocked="aBcde64b",
    weights="8x256x256x3x3",
    problem="g8mb1_ic2048oc2048_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1",
)
SIGNALS = RUN.format(
    plain="abcd",
    blocked="ABcd16b16a",
    weights="64x64x1x3",
    problem="mb8_ic64oc64_ih1oh1kh1sh1dh0ph0_iw400ow400kw3sw1dw0pw1",
)


def reordered(folder: Path, code: str, run: str, traced: str = "") -> Finding:
    lines = [f"{CODE}{line}" for line in code.splitlines()]
    lines = [f"{GRAPH}{line}" for line in traced.splitlines()] + lines
    (folder / "run.log").write_text("\n".join(lines) + "\n" + run * 40, encoding="utf-8")
    (found,) = (f for f in analyze(str(folder)).findings if f.code == "ONE003")
    return found


@pytest.mark.parametrize(
    ("name", "rows", "advised"),
    [
        ("L_style_", 256, ["scaled-input"]),
        # all that it is computed from is the module's own
        ("L_self_parameters_scale_", 2048, ["freeze"]),
        # one kernel lays out the weights and the input
        ("L_style_", 2048, ["freeze"]),
    ],
)
def test_weights_that_each_call_computes_are_no_constants(
    tmp_path: Path, name: str, rows: int, advised: list[str]
) -> None:
    code = GROUPED.replace("ROWS", str(rows))
    found = reordered(tmp_path, code, IMAGES, TRACED.format(name=name, rows=rows))
    assert [one.id for one in found.advice] == advised
    assert ("freezing does not pack them" in found.message) is (advised == ["scaled-input"])
    assert found.severity is Severity.WARNING


ARGUMENT = """\
TRACED GRAPH
 ===== __compiled_fn_1 =====
 <eval_with_key>.0 class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8, 64, 1, 400][25600, 400, 400, 1]cpu", {name}: "f32[64, 64, 1, 3][192, 3, 3, 1]cpu"):
        return (L_x_,)
"""  # noqa: E501 -- a line of a log


@pytest.mark.parametrize(
    ("name", "advised"), [("L_w_", []), ("L_self_parameters_weight_", ["freeze"])]
)
def test_weights_that_are_arguments_are_no_constants(
    tmp_path: Path, name: str, advised: list[str]
) -> None:
    """Of a compiled ``conv2d(x, w)``, frozen or not, oneDNN reorders ``w`` in every call."""
    code = SIGNAL.format(length="1, 400", kernel="1, 3")
    found = reordered(tmp_path, code, SIGNALS, ARGUMENT.format(name=name))
    assert [one.id for one in found.advice] == advised
    assert ("freezing does not pack them" in found.message) is (not advised)


def test_freezing_is_not_advised_where_each_weight_has_a_reason_of_its_own(tmp_path: Path) -> None:
    """One is computed in every call, the other is of a 1-d convolution."""
    body = SIGNAL.partition("def call(args):\n")[2].format(length="400", kernel="3")
    other = body.partition("def get_args")[0].replace("arg", "other").replace("buf0", "buf9")
    head, _, tail = GROUPED.replace("ROWS", "256").partition("    return (buf1, )\n")
    steps = other.replace("    others = args\n", "").replace("    return (buf9, )\n", "")
    steps = steps.replace("other0_1, other1_1 = others", "")
    code = head.replace("arg2_1 = args", "arg2_1, other0_1, other1_1 = args")
    code += "\n".join(line for line in steps.splitlines() if line.strip())
    code += "\n    return (buf1, buf9)\n" + tail
    traced = TRACED.format(name="L_style_", rows=256).replace(
        '1]cpu"):',
        '1]cpu", L_s_: "f32[8, 64, 400][25600, 400, 1]cpu", '
        'L_self_w_: "f32[64, 64, 3][192, 3, 1]cpu"):',
    )
    found = reordered(tmp_path, code, IMAGES + SIGNALS, traced)
    assert found.data["unpackable"] == "mixed"
    assert "freeze" not in [one.id for one in found.advice]


def test_a_model_in_training_is_not_told_to_freeze_its_1d_convolutions(tmp_path: Path) -> None:
    code = SIGNAL.format(length="400", kernel="3").replace("0_inference", "0_forward")
    found = reordered(tmp_path, code, SIGNALS)
    assert [one.id for one in found.advice] == []


def test_without_the_traced_graph_nobody_knows_what_is_given(tmp_path: Path) -> None:
    found = reordered(tmp_path, GROUPED.replace("ROWS", "256"), IMAGES)
    assert [one.id for one in found.advice] == ["freeze"]


@pytest.mark.parametrize(
    ("length", "kernel", "advised"),
    [("400", "3", "height-of-1"), ("1, 400", "1, 3", "freeze")],
)
def test_freezing_packs_no_weights_of_1d_convolutions(
    tmp_path: Path, length: str, kernel: str, advised: str
) -> None:
    """To oneDNN both are images of height 1."""
    found = reordered(tmp_path, SIGNAL.format(length=length, kernel=kernel), SIGNALS)
    assert [one.id for one in found.advice] == [advised]
    codes = {f.code for f in analyze(str(tmp_path)).findings}
    assert ("IND004" in codes) is (advised == "freeze")


@pytest.mark.parametrize(("layers", "why"), [(20, "computed"), (400, "")])
def test_of_what_a_weight_is_computed_only_so_much_is_looked_at(
    tmp_path: Path, layers: int, why: str
) -> None:
    """Else a long network whose products take what it computes would take quadratic time."""
    square = "(64, 64), (64, 1)"
    code = "Output code:\n# AOT ID: ['0_inference']\ndef call(args):\n    arg0_1, arg1_1 = args\n"
    code += "".join(f"    assert_size_stride({name}, {square})\n" for name in ("arg0_1", "arg1_1"))
    for at in range(layers):
        given = f"buf{at - 1}" if at else "arg0_1"
        code += f"    buf{at} = empty_strided_cpu({square}, torch.float32)\n"
        code += f"    extern_kernels.mm(arg1_1, {given}, out=buf{at})\n"
    traced = (
        "TRACED GRAPH\n ===== __compiled_fn_1 =====\n"
        " <eval_with_key>.0 class GraphModule(torch.nn.Module):\n"
        '    def forward(self, L_x_: "f32[64, 64][64, 1]cpu", L_y_: "f32[64, 64][64, 1]cpu"):\n'
        "        return (L_x_,)\n"
    )
    log = tmp_path / "run.log"
    lines = [f"{GRAPH}{line}" for line in traced.splitlines()]
    lines += [f"{CODE}{line}" for line in code.splitlines()]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    evidence, _ = read([str(log)])
    Held(evidence)
    calls = [row.record for row in evidence.table(LibraryCall)]
    assert len(calls) == layers
    assert calls[-1].unpackable == why


@pytest.mark.parametrize(
    ("length", "kernel", "advised"),
    [("400", "3", "height-of-1"), ("1, 400", "1, 3", "freeze")],
)
def test_nor_of_transposed_ones(tmp_path: Path, length: str, kernel: str, advised: str) -> None:
    code = SIGNAL.format(length=length, kernel=kernel).replace(
        "transposed=False", "transposed=True"
    )
    run = SIGNALS.replace("cpu,convolution", "cpu,deconvolution")
    run = run.replace("convolution_direct", "deconvolution_direct")
    found = reordered(tmp_path, code, run)
    assert found.data["primitive"] == "deconvolution"
    assert [one.id for one in found.advice] == [advised]


def test_a_part_of_what_is_joined_is_no_weight(tmp_path: Path) -> None:
    code = (
        KERNEL
        + """\
def call(args):
    arg0_1, arg1_1 = args
    assert_size_stride(arg0_1, (20000, 256), (256, 1))
    assert_size_stride(arg1_1, (512, 512), (512, 1))
    buf0 = empty_strided_cpu((20000, 512), (512, 1), torch.float32)
    buf1 = reinterpret_tensor(buf0, (20000, 256), (512, 1), 0)  # alias
    buf2 = reinterpret_tensor(buf0, (20000, 256), (512, 1), 256)  # alias
    cpp_fused_mul_0(arg0_1, arg0_1, arg0_1, buf1, buf2)
    del buf1
    del buf2
    buf3 = empty_strided_cpu((20000, 512), (512, 1), torch.float32)
    extern_kernels.mm(buf0, reinterpret_tensor(arg1_1, (512, 512), (1, 512), 0), out=buf3)
    return (buf3, )
"""
    )
    log = tmp_path / "run.log"
    log.write_text("".join(f"{CODE}{line}\n" for line in code.splitlines()), encoding="utf-8")
    (found,) = (f for f in analyze(str(log)).findings if f.code == "IND004")
    notes = [line.note for line in found.evidence]
    assert [note.partition(":")[0] for note in notes] == ["weight arg1_1"]
