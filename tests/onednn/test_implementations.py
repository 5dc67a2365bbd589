"""Grades of implementations: names from logs and from oneDNN's sources."""

import pytest

from tracelens.onednn.implementations import Grade, grade

ARM, X86 = "AArch64 SVE (256 bits)", "Intel AVX-512 with Intel DL Boost and bfloat16 support"


@pytest.mark.parametrize(
    "impl",
    [
        "ref:any",
        "ref_int8:any",
        "ref_grouped:any",
        "ref_fused_convolution:any+jit:avx2",
        "conv:any+ref:any",
        "ocl:ref:any",
        "ocl:reusable:ref",
        "gemm:ref",
        "gemm_s8u8s32:ref",
    ],
)
def test_reference(impl: str) -> None:
    assert grade("convolution", impl, ARM) is Grade.REFERENCE
    assert grade("matmul", impl) is Grade.REFERENCE


@pytest.mark.parametrize("impl", ["simple:any", "simple_nchw:any", "ncsp_bnorm:any", "ocl:simple"])
def test_generic(impl: str) -> None:
    assert grade("pooling", impl, X86) is Grade.GENERIC


@pytest.mark.parametrize("impl", ["ref", "ref+matmul"])
def test_a_recurrent_networks_ref_is_generic(impl: str) -> None:
    assert grade("rnn", impl, X86) is Grade.GENERIC


@pytest.mark.parametrize(
    "impl",
    [
        "",
        "acl",
        "gemm:acl",
        "indirect_gemm:acl",
        "brg_matmul:avx512_core_bf16",
        "conv:any+x64:gemm:jit",
        "conv:any+jit_bf16:avx512_core",
        "x64:gemm:jit",
        "jit:uni",
        "jit_dw:sve_256",
        "brgconv:sve_256",
        "zen:matmul:bf16:amd",
        "ip:any+brgemm:avx2",
    ],
)
def test_optimised(impl: str) -> None:
    assert grade("convolution", impl, ARM) is Grade.OPTIMISED


@pytest.mark.parametrize("impl", ["gemm:jit", "gemm:jit:f32", "gemm:jit:bf16"])
def test_a_generated_product_is_one_on_x86_only(impl: str) -> None:
    assert grade("matmul", impl, X86) is Grade.OPTIMISED
    assert grade("matmul", impl, ARM) is Grade.DISGUISED
    assert grade("matmul", impl, "Generic") is Grade.DISGUISED
    assert grade("matmul", impl, "") is Grade.OPTIMISED
