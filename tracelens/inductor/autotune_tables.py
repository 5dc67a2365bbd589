"""What the rules ask of AUTOTUNE tables: who took part, and which times cannot be true."""

from __future__ import annotations

from tracelens.logs.autotune import AutotuneTable, Choice

__all__ = ["implausible", "label"]

#: No core of the last ten years is slower than this on a matrix product, in 10^9 operations per
#: second: plain scalar code reaches it.
MIN_GFLOPS = 1.0
#: Times below this many milliseconds may be the call itself, whatever the shape.
MIN_MS = 1.0


def implausible(table: AutotuneTable) -> tuple[Choice, ...]:
    """Return the choices whose time cannot be that of the kernel.

    Only matrix products of known size are judged. Triton templates are left out: a configuration
    that does not suit the shape is truly that slow.
    """
    return tuple(
        choice
        for choice in table.ranked
        if not choice.kernel.startswith("triton_")
        and choice.ms >= MIN_MS
        and (table.gflops(choice) or MIN_GFLOPS) < MIN_GFLOPS
    )


def label(table: AutotuneTable) -> str:
    """Name operator, shape and data type, for a message."""
    if not table.sizes:  # its head was not pasted
        return f"`{table.op}`"
    return f"`{table.op}({table.shape})`" + (f" in {table.dtype}" if table.dtype else "")
