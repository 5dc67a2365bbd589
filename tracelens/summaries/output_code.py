"""What the kernels look like that Inductor wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracelens.evidence import Evidence
from tracelens.logs._statements import Origin
from tracelens.logs.output_code import KernelDef, OutputModule

__all__ = ["tables"]

#: Kernels, those called most often first, and characters of one.
MAX_KERNELS, MAX_CODE = 12, 2_500
#: What stands around the code in the module.
_QUOTES = re.compile(r"\Ar?(?:'''|\"\"\")|(?:'''|\"\"\")\s*\Z")


def tables(evidence: Evidence) -> Mapping[str, list[dict[str, Any]]]:
    """Return ``kernel_code``: the generated code, and the nodes of the graph that it computes."""
    found: dict[str, tuple[int, str, KernelDef, Origin | None]] = {}
    for seen in evidence.table(OutputModule):
        calls: dict[str, int] = {}
        origins: dict[str, Origin | None] = {}
        for step, call in seen.record.kernel_calls():
            calls[call.kernel] = calls.get(call.kernel, 0) + 1
            origins.setdefault(call.kernel, step.comment)
        for name, kernel in seen.record.kernels.items():
            if kernel.source not in found:
                count = calls.get(name, 0) + len(seen.record.wrapped_calls(name))
                origin = kernel.comment or origins.get(name)
                found[kernel.source] = count, seen.first.frame, kernel, origin
    ranked = sorted(found.values(), key=lambda one: -one[0])
    return {"kernel_code": [_row(*one) for one in ranked[:MAX_KERNELS]]} if ranked else {}


def _row(count: int, frame: str, kernel: KernelDef, origin: Origin | None) -> dict[str, Any]:
    code = _QUOTES.sub("", kernel.source).strip("\n")
    return {
        "frame": frame,
        "kernel": kernel.kernel,
        "fused": kernel.fused.strip("_"),
        "nodes": list(origin.nodes) if origin else [],
        "ops": list(origin.ops) if origin else [],
        "calls": count,
        "left_out": max(len(code) - MAX_CODE, 0),
        "code": code[:MAX_CODE],
    }
