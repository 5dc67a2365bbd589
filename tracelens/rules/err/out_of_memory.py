"""ERR025 out-of-memory."""

from __future__ import annotations

import re
from typing import ClassVar

from tracelens.remedies import Remedy
from tracelens.rules.err._failure_rule import FailureData, FailureRule

__all__ = ["OutOfMemory"]

#: What the message of the allocator counts.
_COUNTED = {
    name: re.compile(pattern.replace("SIZE", r"(\d{1,12}(?:\.\d{1,6})?) (GiB|MiB|KiB|bytes)"))
    for name, pattern in {
        "wanted": r"Tried to allocate SIZE",
        "total": r"total capacity of SIZE",
        "free": r"of which SIZE is free",
        "own": r"this process has SIZE memory in use",
        "unused": r"SIZE is reserved by PyTorch but unallocated",
    }.items()
}
_BYTES = {"GiB": 2.0**30, "MiB": 2.0**20, "KiB": 2.0**10, "bytes": 1.0}
#: The part of a device's memory that other processes and the driver hold without being in the way.
SPARE = 0.1


def _counted(data: FailureData) -> dict[str, float]:
    """Return the bytes that the message counts, as far as it does."""
    found = {name: one.search(data.message) for name, one in _COUNTED.items()}
    return {name: float(one[1]) * _BYTES[one[2]] for name, one in found.items() if one}


def _may_be_others(data: FailureData) -> bool:
    """Tell whether others hold memory of the device, or the message does not tell."""
    sizes = _counted(data)
    if not {"total", "free", "own"} <= sizes.keys():
        return "CUDA" in data.message
    return sizes["total"] - sizes["free"] - sizes["own"] > SPARE * sizes["total"]


def _may_be_fragments(data: FailureData) -> bool:
    """Tell whether what is reserved and not used would do, or the message does not tell."""
    sizes = _counted(data)
    known = {"wanted", "unused"} <= sizes.keys()
    return "CUDA" in data.message and (not known or sizes["unused"] >= sizes["wanted"])


def _has_pools(data: FailureData) -> bool:
    return "private pools" in data.message or "captures" in data.facts


class OutOfMemory(FailureRule):
    """The device ran out of memory while compiling, tuning or running compiled code.

    ## Why it matters
    Compiling needs memory on the device as well: tuning makes tensors to time kernels with,
    patterns are tried, and each CUDA graph keeps a pool of its own.

    ## What it looks like
        torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
        OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 22.20 GiB total capacity; 0 bytes already allocated; 1.88 MiB free; 0 bytes reserved in total by PyTorch)

    ## When it is harmless
    Never: the program, or what was compiled, did not run. Where the error was suppressed, the
    function runs eagerly, and is as slow as that.

    ## What to do
    Free the memory that others hold; compile without CUDA graphs; capture fewer sizes.

    ## How a live run confirms it
    It does not: the next run of the program shows whether the failure is gone.

    ## See also
    CGR004 (one CUDA graph per size).
    """  # noqa: E501 -- the excerpt is whole lines of a log

    code = "ERR025"
    name = "out-of-memory"
    of_causes: ClassVar[frozenset[str]] = frozenset({"out-of-memory"})
    remedies = (
        Remedy(
            "others",
            "See who holds the memory: another process may have it all.",
            code="nvidia-smi",
            applies=_may_be_others,
            when="CUDA, and the message does not count all of the memory as this process's",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "no-graphs",
            "Compile without CUDA graphs: each keeps its own memory (private pools).",
            code='torch.compile(model, mode="max-autotune-no-cudagraphs")  # or the default mode',
            applies=_has_pools,
            when="a CUDA graph is captured, or the message counts memory in private pools",
            since="2.1",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "sizes",
            "Capture fewer sizes: mark what varies as dynamic, or pad to a few sizes.",
            code="torch._dynamo.mark_dynamic(x, 0)",
            applies=_has_pools,
            when="a CUDA graph is captured, or the message counts memory in private pools",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "subprocess",
            "Tune in a process of its own, and give its memory back.",
            setting="torch._inductor.config.autotune_in_subproc = True",
            applies=lambda d: d.stage == "autotune",
            when="while tuning",
            basis="untestable",
            proof="needs a GPU",
        ),
        Remedy(
            "segments",
            "Less fragmentation of the memory:",
            env="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            applies=_may_be_fragments,
            since="2.1",
            when="CUDA, and what is reserved and not used would do, or is not counted",
            proof="https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf",
        ),
        Remedy(
            "smaller",
            "Take less of the memory: a smaller batch, activation checkpointing, a smaller dtype.",
            basis="untestable",
            proof="it changes what is computed",
        ),
    )

    def what(self, data: FailureData) -> str:
        """Say what failed."""
        when = {
            "autotune": "while kernels were tuned",
            "inductor": "while compiling",
            "dynamo": "while compiling",
            "aot": "while compiling",
        }.get(data.stage, "")
        return f"the device ran out of memory{' ' + when if when else ''}"
