"""The source of the kernels that Inductor generated, one by one."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

from tracelens.logs import Log, Record

__all__ = ["KernelCode", "KernelFragment", "KernelPath", "KernelSource"]


class KernelCode(Log):
    """``[__kernel_code]``; the whole module of a graph is in the output code."""

    name = "kernel_code"
    switch = 'TORCH_LOGS="kernel_code"'
    artifacts = frozenset({"__kernel_code"})
    cuts = re.compile(r"[\w+]+ Kernel: *$")


class KernelSource(Record):
    """One kernel."""

    #: ``CPP+Bindings``, ``Triton``, ``CUDA``, ...
    language: str
    source: Annotated[str, BeforeValidator(lambda text: text.removeprefix("\n"))] = ""


class KernelFragment(Record):
    """The source of a kernel, or a part of it, without what stood above."""

    fragment: str


class KernelPath(Record):
    """Where the source of a kernel was written to."""

    language: str
    path: str
