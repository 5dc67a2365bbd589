"""What a kernel's name says: what it does, who wrote it, in which type it computes.

Names are those of ATen, cuBLAS, cuDNN, CUTLASS, hipBLASLt (Tensile), Composable Kernel,
FlashAttention, Inductor and NCCL, as traces hold them; one that says nothing is ``other``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tracelens.late import late
from tracelens.logs.chrome_trace import DeviceKernel, InductorKernel, TraceEvent
from tracelens.traces.chains import work_of

__all__ = ["dtype_of", "is_tensor_core", "kind_of", "short_name", "source_of"]

#: Characters of a name in a table.
MAX_NAME = 120
#: What a kernel does, the first that fits.
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("random", r"distribution_(?:elementwise|nullary)"),
        ("embedding", r"embedding|linearize_index|bounds_check_indices|permute_pooled_embs"),
        ("copy", r"(?:reshape|concat)_and_cache"),  # keys and values, into a cache
        (
            "attention",
            (
                r"flash_|flash::|flash_?attn|flashmla|fmha|attn_|attention|_sdpa|paged_"
                r"|with(?:paged|ragged)?kvcache"
            ),
        ),
        (
            "convolution",
            r"conv(?!ert)|dgrad|wgrad|fprop|winograd|scudnn|miopen.*(?:gemm|fwd|bwd|wrw)|igemm",
        ),
        (
            "gemm",
            r"gemm|gemv|cijk_|matmul|nvjet|splitk|cublas|^bmm_|_bmm_|cutlass.*kernel|dot_k|^fc-dt",
        ),
        ("optimizer", r"adam|adagrad|\blamb\b|lamb_|sgd_|multi_tensor_apply"),
        ("softmax", r"soft_?max|cross_entropy|nll_loss"),
        ("normalization", r"(?<!softmax_)norm(?!(?:zero|one|two)?ops)|bn_fw|bn_bw|welford"),
        (
            "indexing",
            r"index_?(?:select|func|add|fill|put)|gather(?!topk)|scatter|indexing",
        ),
        (
            "copy",
            r"_copy_?|catarray|nchwtonhwc|nhwctonchw|converttensor|transpose|permute|batchedcopy",
        ),
        ("sorting", r"topk|sort"),
        ("dequantization", r"dequanti"),
        ("reduction", r"reduce|triton_(?:red|per)_|cumsum|scan|argm"),
        ("pooling", r"pool"),
        ("random", r"dropout|philox|distribution|random"),
        ("elementwise", r"elementwise|triton_poi_|pointwise|functor|_kernel_impl|fill"),
        ("setup", r"computeoffsets|memset|zero|init"),
    )
)
_LIBRARY = late(
    r"cudnn|cublas|cutlass|cijk_|nvjet|sgemm|_gemm|ck_tile|miopen|flash|fmha|xmma|volta_|ampere_"
    r"|turing_|hopper_|sm\d\d_|implicit_convolve|dgrad_engine|wgrad"
)
#: Templates of ``flex_attention``.
_FLEX = late(r"flex_(?:attention|decoding)|attention")
#: How names of products and convolutions spell the units that compute them.
_TENSOR_CORE = late(
    r"tensorop|xmma|s1688|s884|h884|h1688|s16816|h16816|i16832|hmma|wgmma|mma_sync|gmma|nvjet"
    r"|tensor16x8x|(?<![a-z])tf32|_MI\d+x\d+x|_MI\d{4}|mfma|_xdl_|gtcx|flash_[fb]wd|fmha"
    r"|FlashAttn[FB]wdSm\d"
)
_PLAIN_CORE = late(
    r"sgemm|dgemm_\d|scudnn|simt|ffma|gemv|gemmSN|gemmk1|winograd(?!.*(?:884|1688|16816))",
    re.IGNORECASE,
)
#: The name that matters stands inside, also of what only asks for a kind of device.
_CUTLASS = late(r"cutlass\w*::(?:Kernel2?|device_kernel)<(?:(?:\w+::)*enable_\w+<)?([^<>(]+)")
#: How a name spells the type it computes in, the first that fits.
_DTYPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (dtype, re.compile(pattern, re.IGNORECASE))
    for dtype, pattern in (
        ("fp4", r"mxfp4|e2m1|fp4"),
        ("fp8", r"e4m3|e5m2|fp8|f8f8|float8"),
        (
            "tf32",  # of 16 bits are those that say so: ``s1688gemm_fp16``, ``s16816gemm_bf16``
            r"tf32|(?:s1688|tensorop_s\d*(?:gemm|fprop|dgrad|wgrad))(?!\w*fp?16)",
        ),
        ("bf16", r"bf16|bfloat16|_BBS_|_B_BS_|_BB_"),
        ("f16", r"half|f16|fp16|h884|h16816|hgemm|hmma|_HHS_|_HS_B|_HB_|c10::half"),
        ("f32", r"float|sgemm|f32|scudnn|_SB_|_S_B_|gemmSN|gemmk1"),
        ("f64", r"double|dgemm|tensorop_d\d+gemm|f64|_DB_"),
    )
)


def kind_of(record: TraceEvent) -> str:
    """Return what a kernel does: ``gemm``, ``elementwise``, ``collective``."""
    if isinstance(record, DeviceKernel) and record.is_collective:
        return "collective"
    if isinstance(record, InductorKernel):
        generated = {"poi": "elementwise", "red": "reduction", "per": "reduction", "tem": "gemm"}
        attends = record.kind == "tem" and _FLEX.search(record.ops) is not None
        return "attention" if attends else generated.get(record.kind, "other")
    return _kind_of(str(record).replace("fbgemm_gpu", ""))


@lru_cache(maxsize=4096)
def _kind_of(name: str) -> str:
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), "other")


def source_of(record: TraceEvent) -> str:
    """Return who wrote a kernel: ``triton``, ``library``, ``eager``, ``collective``, ``other``."""
    if isinstance(record, InductorKernel):
        return "triton"
    if isinstance(record, DeviceKernel) and record.is_collective:
        return "collective"
    name = str(record)
    if "at::native" in name or "at::cuda" in name:
        return "eager"
    return "library" if _LIBRARY.search(name.lower()) else "other"


def dtype_of(record: TraceEvent) -> str | None:
    """Return the type that a kernel computes in, as its name has it; None where it is silent."""
    name = str(record)
    return next((dtype for dtype, pattern in _DTYPES if pattern.search(name)), None)


def is_tensor_core(record: TraceEvent) -> bool | None:
    """Return whether a product or convolution uses tensor cores; None where its name is silent."""
    if kind_of(record) not in {"gemm", "convolution", "attention"}:
        return None
    name = str(record)
    return False if _PLAIN_CORE.search(name) else True if _TENSOR_CORE.search(name) else None


def short_name(record: TraceEvent) -> str:
    """Return a name without return type, arguments, templates and mangling."""
    name = str(record)
    if "elementwise_kernel" in name:
        return f"elementwise {work_of(name)}"
    if name.startswith("_Z"):
        return _demangled(name)[:MAX_NAME]
    name = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    if (match := _CUTLASS.match(name)) is not None:
        return match[1][:MAX_NAME]
    return (_plain(name) or name)[:MAX_NAME]


def _plain(name: str) -> str:
    """Return what stands outside of brackets, up to the arguments."""
    out: list[str] = []
    depth = 0
    for char in name:
        if char == "<":
            depth += 1
        elif char == ">":
            depth = max(0, depth - 1)
        elif not depth:
            if char == "(":
                break
            out.append(char)
    return "".join(out).strip()


def _demangled(name: str) -> str:
    """Return the identifiers of a mangled nested name: ``ck_tile::kentry``."""
    parts: list[str] = []
    at = 3 if name.startswith("_ZN") else 2
    while (match := re.compile(r"\d{1,3}").match(name, at)) is not None:
        end = match.end() + int(match[0])
        parts.append(name[match.end() : end])
        at = end
    return "::".join(parts) or name
