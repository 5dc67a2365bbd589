"""What names of kernels say, as traces of several years and makers have them."""

from __future__ import annotations

import pytest

from tracelens.logs.chrome_trace import ChromeTrace, DeviceKernel
from tracelens.traces.kernel_names import dtype_of, is_tensor_core, kind_of, short_name, source_of

FLASH = (
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, "
    "false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)"
)
CUTLASS = (
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>"
    "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8::Params)"
)
ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)"
)
COPY = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
    "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
    "{lambda(float)#1}> >(int)"
)
ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
    "TensorListMetadata<4>, AdamFunctor<float>, float>(int)"
)
DISTRIBUTION = "at::native::distribution_elementwise_grid_stride_kernel"
NOISE = (
    "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, "
    "at::native::templates::cuda::normal_and_transform<float> >(long, at::PhiloxCudaState)"
)
INDEX_ADD = (
    "void at::native::(anonymous namespace)::indexFuncLargeIndex<float, long, unsigned int, 2, 2, "
    "-2, true, at::native::ReduceAdd>(int)"
)
TOPK = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)"
NORM = "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassE"


@pytest.mark.parametrize(
    ("name", "kind", "source", "dtype", "short"),
    [
        (FLASH, "attention", "library", "bf16", "pytorch_flash::flash_fwd_kernel"),
        (
            CUTLASS,
            "gemm",
            "library",
            "bf16",
            "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8",
        ),
        (ADD, "elementwise", "eager", "f32", "elementwise add"),
        (COPY, "copy", "eager", "f32", "elementwise direct_copy"),
        (ADAM, "optimizer", "eager", "f32", "at::native::multi_tensor_apply_kernel"),
        (NORM, "normalization", "library", None, "ck_tile::kentry"),
        (NOISE, "random", "eager", "f32", DISTRIBUTION),
        (
            "void at::native::reduce_kernel<512, 1, ReduceOp<float, NormTwoOps<float> > >()",
            "reduction",
            "eager",
            "f32",
            "at::native::reduce_kernel",
        ),
        (INDEX_ADD, "indexing", "eager", "f32", "at::native::indexFuncLargeIndex"),
        (TOPK, "sorting", "eager", "f32", "at::native::sbtopk::gatherTopK"),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", "gemm", "library", "f64", ""),
        ("volta_sgemm_128x32_nt", "gemm", "library", "f32", "volta_sgemm_128x32_nt"),
        (
            "void implicit_convolve_sgemm<float, float, 1024, 6, 7>(int)",
            "convolution",
            "library",
            "f32",
            "implicit_convolve_sgemm",
        ),
        ("cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1", "gemm", "library", "tf32", ""),
        ("cutlass_80_tensorop_s16816gemm_bf16_64x64_64x6_tn_align8", "gemm", "library", "bf16", ""),
        ("ampere_s1688gemm_fp16_128x64_ldg8_f2f_tn", "gemm", "library", "f16", ""),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "gemm", "library", "f16", ""),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_MT256x192x64", "gemm", "library", "bf16", ""),
        ("Cijk_Ailk_Bljk_SB_Bias_AS_SAV_MT16x16x128", "gemm", "library", "f32", ""),
        ("nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN", "gemm", "library", None, ""),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "collective", "collective", "f32", ""),
        ("triton_red_fused_add_mean_1", "reduction", "triton", None, "triton_red_fused_add_mean_1"),
        ("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256", "gemm", "other", "fp4", ""),
    ],
)
def test_a_name_says_what_a_kernel_does(
    name: str, kind: str, source: str, dtype: str | None, short: str
) -> None:
    (record,) = ChromeTrace.parse(f"kernel\t{name}")
    assert (kind_of(record), source_of(record), dtype_of(record)) == (kind, source, dtype)  # type: ignore[arg-type]
    assert short_name(record) == (short or name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (CUTLASS, True),
        (FLASH, True),
        ("volta_sgemm_128x64_nn", False),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", True),
        ("cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1", False),
        ("nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT", True),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_MT32x32x256_MI16x16x1_SN", True),
        ("void splitKreduce_kernel<32, 16, int, float, float>(int)", None),
        (ADD, None),
    ],
)
def test_a_name_tells_of_tensor_cores(name: str, told: bool | None) -> None:
    (record,) = ChromeTrace.parse(f"kernel\t{name}")
    assert isinstance(record, DeviceKernel)
    assert is_tensor_core(record) is told
