"""Which nodes and lines each kernel computes, as Inductor itself has followed them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from tracelens.logs import Record
from tracelens.logs._stack import StackFrame, innermost

__all__ = ["Followed", "KernelOrigin", "nodes", "stacks"]


class KernelOrigin(Record):
    """What one kernel comes from: nodes of the traced graph, or lines of the program."""

    from_code: ClassVar[bool] = True

    kernel: str
    nodes: tuple[str, ...] = ()
    lines: tuple[StackFrame, ...] = ()


class Followed(Record):
    """The origins of the kernels of one graph; torch 2.8 and later."""

    from_code: ClassVar[bool] = True
    switch: ClassVar[str] = "INDUCTOR_PROVENANCE=1"

    kernels: tuple[KernelOrigin, ...] = ()


class _Mappings(msgspec.Struct, rename="camel"):
    post_to_pre: dict[str, list[str]] = {}
    cpp_code_to_post: dict[str, list[str]] = {}


_Stacks = dict[str, list[str]] | None


def nodes(payload: str) -> Iterator[Followed]:
    """Yield what ``inductor_provenance_tracking_node_mappings`` holds."""
    found = msgspec.json.decode(payload or "{}", type=_Mappings | None) or _Mappings()
    named: dict[str, dict[str, None]] = {}
    for key, after in found.cpp_code_to_post.items():
        before = (node for late in after for node in found.post_to_pre.get(late, ()))
        named.setdefault(_kernel(key), {}).update(dict.fromkeys(before))
    rows = (KernelOrigin(kernel=name, nodes=tuple(sorted(one))) for name, one in named.items())
    yield Followed(kernels=tuple(rows))


def stacks(payload: str) -> Iterator[Followed]:
    """Yield what ``inductor_provenance_tracking_kernel_stack_traces`` holds."""
    named: dict[str, dict[StackFrame, None]] = {}
    for key, texts in (msgspec.json.decode(payload or "{}", type=_Stacks) or {}).items():
        frames = (frame for text in texts for frame in innermost(text))
        named.setdefault(_kernel(key), {}).update(dict.fromkeys(frames))
    rows = (KernelOrigin(kernel=name, lines=tuple(one)) for name, one in named.items())
    yield Followed(kernels=tuple(rows))


def _kernel(key: str) -> str:
    """Return the kernel of ``cpp_fused_add_0:3``, whose number is that of a call."""
    return key.partition(":")[0]
