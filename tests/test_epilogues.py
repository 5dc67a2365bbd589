"""Library calls that are followed by element-wise kernels, and why nothing took those in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.engine import judge, select_rules
from tracelens.evidence.tables import Seen
from tracelens.inductor.epilogues import template_calls, unfused
from tracelens.logs.output_code import OutputModule
from tracelens.report import Finding, Severity
from tracelens.source import read

ELEMENTWISE = """\
cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*'], r'''
extern "C" void kernel(float* in_out_ptr0)
{ auto tmp0 = loadu(in_out_ptr0); auto tmp1 = clamp_min(tmp0, 0); }
''')
cpp_fused_sum_1 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{ float tmp_acc0 = 0; auto tmp1 = loadu(in_ptr0); }
''')
cpp_fused_cat_2 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{ auto tmp1 = loadu(in_ptr0); }
''')
cpp_fused_max_pool_3 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{ auto tmp1 = loadu(in_ptr0); }
''')
cpp_fused_addmm_relu_4 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* X, float* Y)
{ kernel_micro_gemm(X); clamp_min(0); }
''')
cpp_fused_convolution_pixel_shuffle_6 = async_compile.cpp_pybinding(['float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{ auto tmp0 = in_ptr0[x1 + 2L*x0]; auto tmp1 = x0_tail; }
''')
triton_poi_fused_relu_5 = async_compile.triton('triton_poi_fused_relu_5', '''
@triton_heuristics.pointwise(size_hints={'x': 128})
@triton.jit
def triton_poi_fused_relu_5(in_out_ptr0, xnumel, XBLOCK : tl.constexpr):
    tmp1 = triton_helpers.maximum(tmp0, 0)
''', device_str='cuda')
"""
PREFIX = "V1120 11:01:22.174000 11132 torch/_inductor/graph.py:2722] [0/0] [__output_code] "


def log(folder: Path, *body: str, before: str = "", bare: str = "") -> str:
    """Write a log of one module: what stands before its functions, and the body of ``call``."""
    call = ["def call(args):", "    arg0_1, arg1_1 = args", *(f"    {line}" for line in body)]
    lines = ["Output code: ", *before.splitlines(), *ELEMENTWISE.splitlines(), *call]
    path = folder / "run.log"
    path.write_text(bare + "".join(f"{PREFIX}{line}\n" for line in lines))
    return str(path)


def modules(path: str) -> list[Seen[OutputModule]]:
    evidence, _ = read([path])
    return list(evidence.table(OutputModule))


def ask(path: str, code: str) -> list[Finding]:
    evidence, inputs = read([path])
    return list(judge(evidence, inputs, rules=select_rules([code])).findings)


BIG = "buf0 = empty_strided_cpu((256, 512), (512, 1), torch.float32)"
MM = "extern_kernels.mm(arg0_1, arg1_1, out=buf0)"


@pytest.mark.parametrize(
    ("calls", "kernels"),
    [
        (["cpp_fused_relu_0(buf0)", "return (buf0, )"], ["cpp_fused_relu_0"]),
        (["buf1 = buf0; del buf0  # reuse", "cpp_fused_relu_0(buf1)"], ["cpp_fused_relu_0"]),
        # It is a result of the graph, or somebody else reads it too.
        (
            ["cpp_fused_relu_0(buf0)", "extern_kernels.mm(buf0, arg0_1, out=buf0)"],
            ["cpp_fused_relu_0"],
        ),
        (["buf1 = empty_strided_cpu((1, ), (1, ), torch.float32)", "return (buf0, )"], []),
        (["extern_kernels.bmm(buf0, arg0_1, out=arg1_1)", "cpp_fused_relu_0(buf0)"], []),
        # Folding, moving and pooling cannot be done on the fly.
        (
            [
                "buf1 = empty_strided_cpu((256, 512), (512, 1), torch.float32)",
                "cpp_fused_sum_1(buf0, buf1)",
            ],
            [],
        ),
        (
            [
                "buf1 = empty_strided_cpu((256, 512), (512, 1), torch.float32)",
                "cpp_fused_cat_2(buf0, buf1)",
            ],
            [],
        ),
        (
            [
                "buf1 = empty_strided_cpu((64, 512), (512, 1), torch.float32)",
                "cpp_fused_max_pool_3(buf0, buf1)",
            ],
            [],
        ),
        (
            [
                "buf1 = empty_strided_cpu((256, 512), (512, 1), torch.float32)",
                "cpp_fused_convolution_pixel_shuffle_6(buf0, buf1)",
            ],
            [],
        ),
        # A template that computes the next product is no epilogue.
        (
            [
                "buf1 = empty_strided_cpu((256, 512), (512, 1), torch.float32)",
                "cpp_fused_addmm_relu_4(buf0, buf1)",
            ],
            [],
        ),
    ],
)
def test_what_counts_as_an_epilogue(tmp_path: Path, calls: list[str], kernels: list[str]) -> None:
    (seen,) = modules(log(tmp_path, BIG, MM, *calls))
    assert [pair.kernel.kernel for pair in unfused(seen)] == kernels


def test_two_products_into_one_kernel_lose_one_buffer(tmp_path: Path) -> None:
    (seen,) = modules(
        log(
            tmp_path,
            BIG,
            MM,
            "buf1 = empty_strided_cpu((256, 512), (512, 1), torch.float32)",
            "extern_kernels.mm(arg0_1, arg1_1, out=buf1)",
            "cpp_fused_lost_9(buf0, buf1)",
            "cpp_fused_relu_0(buf1)",
        )
    )
    # Nobody knows what the lost kernel does, so only the last step is judged.
    assert [pair.content.name for pair in unfused(seen)] == []


def test_a_post_op_that_is_there_is_not_missing(tmp_path: Path) -> None:
    linear = "torch.ops.mkldnn._linear_pointwise.default(arg0_1, arg1_1, None, {!r}, [-1], '')"
    check = "assert_size_stride(buf0, (256, 512), (512, 1), 'torch.ops.mkldnn._linear_pointwise')"
    for attribute, count in (("none", 1), ("gelu", 0)):
        call = "buf0 = " + linear.format(attribute)
        (seen,) = modules(log(tmp_path, call, check, "cpp_fused_relu_0(buf0)"))
        assert len(list(unfused(seen))) == count


FROZEN = "_frozen_param1 = None  # device(type='cpu') torch.float32 (512,) (1,) 7f548b1bd270"
MKL = "buf0 = torch.ops.mkl._mkl_linear.default(arg0_1, arg1_1, arg1_1, None, 256)"
CHECK = "assert_size_stride(buf0, (256, 512), (512, 1), 'torch.ops.mkl._mkl_linear')"
DTYPES = """\
def get_args():
    arg0_1 = rand_strided((256, 64), (64, 1), device='cpu', dtype=torch.float32)"""
BMM = MM.replace("mm(", "bmm(")
CONV = "buf0 = extern_kernels.convolution(arg0_1, arg1_1, stride=(1,), groups=1, bias=None)"
SIGNAL = "assert_size_stride(buf0, (8, 32, 512), (16384, 512, 1), 'torch.ops.aten.convolution')"
TABLE = (
    "AUTOTUNE packed_linear(256x64, 1459233x1, 512x64)\n  _mkl_linear 0.1 ms 100.0%\n"
    "  cpp_CppMicroGemmFP32Vec_0 0.2 ms 50.0%\n"
)
ARM = "onednn_verbose,v1,info,cpu,isa:AArch64 SVE (256 bits)\n"


@pytest.mark.parametrize(
    ("product", "before", "bare", "severity", "words"),
    [
        ([BIG, MM], "", "", Severity.INFO, "The weights are no constants of the graph"),
        ([BIG, MM], FROZEN, "", Severity.INFO, "Although the model is frozen"),
        ([BIG, MM], "# AOT ID: ['0_forward']", "", Severity.NONE, "Nothing can take it in"),
        ([BIG, BMM], "", "", Severity.NONE, "Freezing packs no weights for it"),
        ([BIG, BMM], FROZEN, "", Severity.NONE, "Freezing packs no weights for it"),
        ([CONV, SIGNAL], DTYPES, "", Severity.NONE, "this one is 1-d"),
        ([MKL, CHECK], f"{FROZEN}\n{DTYPES}", "", Severity.WARNING, "calls MKL"),
        ([MKL, CHECK], f"{FROZEN}\n{DTYPES}", TABLE, Severity.NONE, "AUTOTUNE measured"),
        ([MKL, CHECK], f"{FROZEN}\n{DTYPES}", ARM, Severity.NONE, "AArch64"),
    ],
    ids=[
        "unfrozen",
        "plain",
        "training",
        "batched",
        "batched-frozen",
        "1-d",
        "mkl",
        "tuned",
        "arm",
    ],
)
def test_the_cause_decides(
    tmp_path: Path, *, product: list[str], before: str, bare: str, severity: Severity, words: str
) -> None:
    path = log(tmp_path, *product, "cpp_fused_relu_0(buf0)", before=before, bare=bare)
    (finding,) = ask(path, "IND002")
    assert finding.severity is severity
    assert words in finding.message
    assert bool(finding.harmless) is (severity is Severity.NONE)
    assert "1 MiB per call" in finding.message
    assert bool(finding.advice) is (severity is not Severity.NONE)
    assert [line.text.strip() for line in finding.evidence][1] == "cpp_fused_relu_0(buf0)"


@pytest.mark.parametrize(
    ("rows", "why"), [(8191, "take a GPU a microsecond"), (8192, "as a template is")]
)
def test_on_a_gpu_an_epilogue_is_a_note(tmp_path: Path, rows: int, why: str) -> None:
    """Written and read back, 64 bytes a row; a template was no faster where it was tried."""
    path = log(
        tmp_path,
        f"buf0 = empty_strided_cuda(({rows}, 16), (16, 1), torch.float32)",
        MM,
        "stream0 = get_raw_stream(0)",
        f"triton_poi_fused_relu_5.run(buf0, {16 * rows}, stream=stream0)",
    )
    (finding,) = ask(path, "IND002")
    assert finding.severity is Severity.NONE
    assert why in (finding.harmless or "")
    assert "Triton template" in finding.message
    assert not finding.advice


def test_the_source_says_what_a_template_holds(tmp_path: Path) -> None:
    (seen,) = modules(log(tmp_path, BIG, "cpp_fused_addmm_relu_4(arg0_1, buf0)", "return (buf0, )"))
    (call,) = template_calls(seen)
    assert call.inside == ("relu",)
    assert call.epilogue == "relu inside"
    (seen,) = modules(
        log(tmp_path, BIG, "cpp_fused_addmm_relu_4(arg0_1, buf0)", "cpp_fused_relu_0(buf0)")
    )
    (call,) = template_calls(seen)
    assert call.epilogue == "what follows is left to `cpp_fused_relu_0`"


def test_float32_layers_are_tuned_as_well(tmp_path: Path) -> None:
    """Frozen alone they call MKL, and the finding stays; bfloat16 and symbolic sizes need not."""
    path = log(tmp_path, BIG, MM, "cpp_fused_relu_0(buf0)")
    (finding,) = ask(path, "IND002")
    assert [advice.id for advice in finding.advice] == ["freeze-and-tune", "freeze"]
    for other in (BIG.replace("float32", "bfloat16"), BIG.replace("256", "s27")):
        (finding,) = ask(log(tmp_path, other, MM, "cpp_fused_relu_0(buf0)"), "IND002")
        assert [advice.id for advice in finding.advice] == ["freeze", "tune"]


@pytest.mark.parametrize(
    ("took", "severity"), [("80.0", Severity.NONE), ("20.0", Severity.WARNING)]
)
def test_a_trifle_beside_what_onednn_takes_is_a_note(
    tmp_path: Path, took: str, severity: Severity
) -> None:
    """A megabyte is moved in about 0.2 ms."""
    line = (
        "onednn_verbose,v1,primitive,exec,cpu,inner_product,brgemm:avx512_core,forward_inference,"
        "src:f32::blocked:ab::f0 wei:f32:a:blocked:AB16b64a::f0 bia:undef::undef::: "
        f"dst:f32::blocked:ab::f0,attr-scratchpad:user,,mb256ic512oc512,{took}\n"
    )
    body = (
        "assert_size_stride(arg0_1, (256, 512), (512, 1))",
        "assert_size_stride(arg1_1, (512, 512), (1, 0))",
        "buf0 = torch.ops.mkldnn._linear_pointwise.default(arg0_1, arg1_1, None, 'none', [-1], '')",
        "assert_size_stride(buf0, (256, 512), (512, 1), 'torch.ops.mkldnn._linear_pointwise')",
        "cpp_fused_relu_0(buf0)",
        "return (buf0, )",
    )
    before = f"{FROZEN}\n{DTYPES.replace('(256, 64), (64, 1)', '(256, 512), (512, 1)')}"
    (found,) = ask(log(tmp_path, *body, before=before, bare=line * 4), "IND002")
    assert found.severity is severity


REORDER = (
    "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:blk,undef,src:f32::blocked:aBcd8b::f0 "
    "dst:f32::blocked:abcd::f0,attr-scratchpad:user,,4x64x56x56,{}\n"
)
CONV = (
    "onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx2,forward_training,"
    "src:f32::blocked:acdb::f0 wei:f32:a:blocked:Acdb8a::f0 bia:undef::undef::: "
    "dst:f32::blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,"
    "mb4_ic{0}oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0,4.0\n"
)


CALL = (
    "buf0 = extern_kernels.convolution(arg0_1, arg1_1, stride=(1, 1), padding=(0, 0), "
    "dilation=(1, 1), transposed=False, output_padding=(0, 0), groups=1, bias=None)"
)


@pytest.mark.parametrize(
    ("channels", "dtype", "reorder", "is_told"),
    [
        (32, "float32", "0.5", False),
        (3, "float32", "0.5", False),
        (32, "bfloat16", "0.5", True),
        (32, "float32", "1.5", True),  # freezing saves some of the reorders
        (4097, "float32", "0.5", True),  # and of these many weights
    ],
)
def test_freezing_is_not_advised_where_it_saves_nothing_that_one_can_measure(
    tmp_path: Path, *, channels: int, dtype: str, reorder: str, is_told: bool
) -> None:
    """Measured: linear layers of 3 to 64 columns and convolutions of 3 channels, in turns."""
    given = f"(4, {channels}, 56, 56), ({channels * 3136}, 1, {channels * 56}, {channels})"
    weight = f"(64, {channels}, 1, 1), ({channels}, 1, {channels}, {channels})"
    body = (
        f"assert_size_stride(arg0_1, {given})",
        f"assert_size_stride(arg1_1, {weight})",
        CALL,
        "assert_size_stride(buf0, (4, 64, 56, 56), (200704, 1, 3584, 64))",
        "cpp_fused_relu_0(buf0)",
        "return (buf0, )",
    )
    typed = (
        f"def get_args():\n    arg0_1 = rand_strided({given}, device='cpu', dtype=torch.{dtype})"
    )
    typed += f"\n    arg1_1 = rand_strided({weight}, device='cpu', dtype=torch.{dtype})\n"
    bare = (REORDER.format(reorder) + CONV.format(channels)) * 4
    (found,) = ask(log(tmp_path, *body, before=typed, bare=bare), "IND002")
    assert (found.severity is not Severity.NONE) is is_told
    assert bool(found.advice) is is_told


LAYERS = (
    "assert_size_stride(arg0_1, (500, {0}), ({0}, 1))",
    "assert_size_stride(arg1_1, (64, {0}), ({0}, 1))",
    "buf0 = empty_strided_cpu((500, 64), (64, 1), torch.float32)",
    "extern_kernels.mm(arg0_1, reinterpret_tensor(arg1_1, ({0}, 64), (1, {0}), 0), out=buf0)",
    "cpp_fused_relu_0(buf0)",
    "return (buf0, )",
)


@pytest.mark.parametrize(("inputs", "is_told"), [(4, False), (127, False), (128, True)])
def test_layers_whose_weights_a_cache_holds_are_as_fast_unfrozen(
    tmp_path: Path, inputs: int, is_told: bool
) -> None:
    """32 KiB are 128 columns of 64; measured: 1.00 to 1.02, at 500 to 262,144 rows."""
    body = [line.format(inputs) for line in LAYERS]
    typed = "def get_args():\n    arg0_1 = rand_strided(({0}, 64), (64, 1), device='cpu', "
    typed += "dtype=torch.float32)\n    arg1_1 = rand_strided((64, {0}), ({0}, 1), device='cpu', "
    typed += "dtype=torch.float32)"
    (found,) = ask(log(tmp_path, *body, before=typed.format(inputs)), "IND002")
    assert (found.severity is not Severity.NONE) is is_told
    assert bool(found.advice) is is_told
