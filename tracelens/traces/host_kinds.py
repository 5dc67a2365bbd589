"""What an operator on the CPU is for, in the words of the tables: ``gemm``, ``convolution``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["NO_WORK", "host_kind", "shares_of"]

#: The first that fits; what none fits is ``other``.
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "generated code",
            r"^(?:Torch-Compiled Region|## Call Comp|CompiledFunction|(?:graph_\d+_)?cpp_)",
        ),
        ("guards and prologues", r"Cache Lookup$|^Pregraph bytecode|Runtime Wrapper Prologue$"),
        ("compilation", r"\(dynamo_timed\)$|^PythonDispatchMode$"),
        ("data loading", r"^enumerate\(DataLoader\)"),
        ("Python", r"^ProfilerStep|^Optimizer\.|\.forward$|^## "),
        ("attention", r"scaled_dot_product|attention"),
        ("convolution", r"conv(?!ert)"),
        (
            "gemm",
            r"::_?(?:mkl_)?(?:addmm|mm|baddbmm|bmm|matmul|linear|dot|einsum|_linear_pointwise)|qlinear",
        ),
        ("optimizer", r"_foreach_|_fused_(?:adam|sgd)"),
        ("softmax", r"softmax|cross_entropy|nll_loss"),
        ("normalization", r"norm"),
        ("embedding", r"embedding|index|gather|scatter"),
        ("pooling", r"pool"),
        ("random", r"::(?:rand|normal_|uniform_|bernoulli|native_dropout|dropout|multinomial)"),
        ("copy", r"::(?:copy_|clone|contiguous|cat|_cat|_to_copy|to|stack|fill_|zero_)$"),
        ("reduction", r"::(?:sum|mean|max|min|amax|amin|topk|sort|argmax|cumsum|any|all)"),
        ("elementwise", r"^aten::"),
    )
)
#: What computes nothing of the program's.
NO_WORK = frozenset({"guards and prologues", "compilation", "data loading", "Python"})


@lru_cache(maxsize=4096)
def host_kind(name: str) -> str:
    """Return what a span of the host with this name is for."""
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), "other")


def shares_of(rows: Iterable[tuple[str, float]], whole: float) -> list[tuple[str, float]]:
    """Return the kinds of named times as shares of ``whole``, the largest first."""
    sums: defaultdict[str, float] = defaultdict(float)
    for name, ms in rows:
        sums[host_kind(name)] += ms
    return sorted(
        ((kind, ms / whole) for kind, ms in sums.items()), key=lambda pair: (-pair[1], pair[0])
    )
