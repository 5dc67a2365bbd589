"""What rules about CPU code tell together: one cause, and what comes of it."""

from __future__ import annotations

from tracelens.report.stories import Story

__all__ = [
    "BUSY_TUNING",
    "CHANNELS_LAST",
    "COPIES",
    "FLOAT16",
    "NO_VECTORS",
    "SKIPPED_GRAPHS",
    "UNFROZEN",
    "primitive",
]

#: The weights are inputs of the graph: nothing is packed, fused or tuned.
UNFROZEN: Story = ("weights are inputs",)
#: Images that convolutions want in channels-last.
CHANNELS_LAST: Story = ("images in the default layout",)
#: float16 on a CPU without it.
FLOAT16: Story = ("float16 on the CPU",)
#: A setting, or the toolchain, keeps vector instructions from generated code.
NO_VECTORS: Story = ("no vector instructions",)
#: Graphs that are left out of CUDA graphs.
SKIPPED_GRAPHS: Story = ("graphs without CUDA graphs",)
#: Tensors that a graph copies between devices, which cuts it where CUDA graphs are recorded.
COPIES: Story = ("copies between devices",)
#: A machine that was busy while kernels were tuned.
BUSY_TUNING: Story = ("busy while tuning",)


def primitive(name: str, dtypes: str) -> Story:
    """The primitive, in these data types, that runs on a slow implementation."""
    return "slow primitive", name, dtypes
