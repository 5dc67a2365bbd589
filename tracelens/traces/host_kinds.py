"""What an operator on the CPU is for, in the words of the tables: ``gemm``, ``convolution``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["NO_WORK", "REMOTE", "host_kind", "shares_of"]

#: Calls of another process: what it computes for them is not computed here.
REMOTE = "remote calls"
#: The first that fits; what none fits is ``other``.
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "generated code",
            r"^(?:Torch-Compiled Region|## Call Comp|CompiledFunction|(?:graph_\d+_)?cpp_)",
        ),
        ("guards and prologues", r"Cache Lookup$|^Pregraph bytecode|Runtime Wrapper Prologue$"),
        (REMOTE, r"^rpc_(?:async|sync|remote)#(?!.*#remote_op)|^to_here$"),
        ("compilation", r"\(dynamo_timed\)$|^PythonDispatchMode$"),
        ("data loading", r"^enumerate\(DataLoader\)"),
        ("collectives", r"^(?:gloo|nccl|mpi|ucc|hccl|xccl):|^c10d::"),
        ("Python", r"^ProfilerStep|^Optimizer\.|\.forward$|^## "),
        ("attention", r"scaled_dot_product|attention"),
        ("convolution", r"conv(?!ert)"),
        (
            "linear algebra",
            (
                r"::_?linalg_(?!\w*norm)|::_?(?:svd|cholesky\w*|inverse|lu_\w+|geqrf|orgqr|lstsq|qr"
                r"|pinverse|(?:log)?det|slogdet|triangular_solve|matrix_exp)(?:_helper)?$"
            ),
        ),
        ("Fourier transforms", r"::_?fft_|::i?stft$"),
        ("distances", r"::_?(?:cdist|pdist)"),
        ("sparse tensors", r"::_?sparse|::_?(?:to_dense|to_sparse\w*|coalesce)$"),
        ("recurrent", r"::_?(?:mkldnn_rnn|thnn_fused_|(?:quantized_)?(?:lstm|gru|rnn_))"),
        (
            "gemm",
            r"::_?(?:mkl_)?(?:addmm|mm|baddbmm|bmm|matmul|linear|dot|einsum|_linear_pointwise)|qlinear",
        ),
        ("optimizer", r"_foreach_|_fused_(?:adam|sgd)"),
        ("softmax", r"softmax|cross_entropy|nll_loss"),
        (
            "random",
            (
                r"::(?:rand|normal(?:_|$)|uniform_|bernoulli|native_dropout|dropout|multinomial"
                r"|exponential_|log_normal_|cauchy_|geometric_|poisson)"
            ),
        ),
        ("normalization", r"norm"),
        ("embedding", r"embedding"),
        ("indexing", r"index|gather|scatter|masked_select|nonzero"),
        ("pooling", r"pool"),
        (
            "copy",
            r"::(?:copy_|clone|contiguous|cat|_cat|_to_copy|to|stack|fill_|zero_)$",
        ),
        (
            "views and allocation",
            (
                r"::(?:as_strided_?|view|_?reshape(?:_alias)?|_unsafe_view|select|slice|narrow|t"
                r"|transpose_?|permute|expand(?:_as)?|unbind|split(?:_with_sizes)?|chunk|flatten"
                r"|unflatten|(?:un)?squeeze_?|detach_?|alias|empty(?:_like|_strided)?|resize_|set_"
                r"|lift_fresh|resolve_(?:conj|neg))$|^detach_?$"
            ),
        ),
        (
            "reduction",
            r"::(?:sum|mean|std|var|max|min|amax|amin|argmax|argmin|cumsum|any|all)(?![a-z])",
        ),
        ("sorting", r"::_?(?:topk|sort|argsort|msort|kthvalue|unique|searchsorted)"),
        ("unfolding", r"::(?:im2col|col2im)$"),
        ("interpolation", r"::_?(?:upsample|grid_sampler)"),
        ("elementwise", r"^aten::"),
    )
)
#: What computes nothing of the program's.
NO_WORK = frozenset(
    {
        "guards and prologues",
        REMOTE,
        "compilation",
        "data loading",
        "collectives",
        "Python",
        "views and allocation",
    }
)
#: Categories whose own time is that of the Python between operators.
_ANNOTATIONS = frozenset({"user_annotation", "python_function"})


@lru_cache(maxsize=4096)
def host_kind(name: str, category: str = "") -> str:
    """Return what a span of the host with this name, and of this category, is for."""
    other = "Python" if category in _ANNOTATIONS else "other"
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), other)


def shares_of(rows: Iterable[tuple[str, str, float]], whole: float) -> list[tuple[str, float]]:
    """Return kinds of times, by category and name, as shares of ``whole``, the largest first."""
    sums: defaultdict[str, float] = defaultdict(float)
    for category, name, ms in rows:
        sums[host_kind(name, category)] += ms
    return sorted(
        ((kind, ms / whole) for kind, ms in sums.items()), key=lambda pair: (-pair[1], pair[0])
    )
