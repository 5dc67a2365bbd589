"""Inductor's hints on what may cost time."""

from __future__ import annotations

import re

from tracelens.logs import Log, Record
from tracelens.logs._text import Stripped
from tracelens.logs.cudagraphs import Cudagraphs

__all__ = [
    "BadTiling",
    "FallbackKernel",
    "GradsCopied",
    "MissingLowering",
    "PaddingSkipped",
    "PerfHint",
    "PerfHints",
    "ReductionOrder",
    "TilingLimited",
]


class PerfHints(Log):
    """``[__perf_hints]``, and the warnings that became hints in torch 2.2."""

    name = "perf_hints"
    switch = 'TORCH_LOGS="perf_hints"'
    artifacts = frozenset({"__perf_hints"})
    marks = ("Using FallbackKernel: ", "make_fallback(")
    prefixed = True
    begins = re.compile(
        r"Using FallbackKernel: |[Rr]eduction over non-contiguous dims\.?$|possibly bad tiling: \["
        r"|make_fallback\([\w.]{1,80}\): a decomposition exists"
    )

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        """Return the hints in ``text``; those on CUDA graphs are the records of that kind."""
        return Cudagraphs.parse(text) if text.startswith(Cudagraphs.marks) else super().parse(text)


class FallbackKernel(Record):
    """Inductor calls ATen for an operation instead of generating code. Said once per graph."""

    at: int = 0
    #: ``torch.ops.aten._linalg_svd.default``, or ``aten.cumsum`` up to torch 2.2.
    op: str


class MissingLowering(Record):
    """Inductor calls ATen for an operation that it could decompose."""

    op: str


class PaddingSkipped(Record):
    """Tensors are not padded, which is as it should be: ``reason`` goes on after "padding"."""

    reason: str


class BadTiling(Record):
    """A Triton kernel has loops that may not run along the memory of all of its tensors."""

    tilings: str


class TilingLimited(Record):
    """A Triton kernel could have more tiles than the configuration allows."""

    tiles: int
    limit: int


class ReductionOrder(Record):
    """A reduction runs across the memory of its input, and tiled reductions are off."""


class GradsCopied(Record):
    """Gradients are copied at each replay of a CUDA graph, since their addresses may change."""

    names: Stripped


class PerfHint(Record):
    """A hint that is none of the others."""

    text: str
