"""What devices can do at most, and how near to it work came."""

from __future__ import annotations

from typing import Literal

from tracelens.traces.data_sheets import DATA_SHEETS, DataSheet

__all__ = ["link", "peak", "reach"]

#: Words after which a name is of another device, or of a part of one.
_OTHERS = frozenset({"ti", "super", "laptop", "max-q", "d", "mobile", "mig", "ada"})


def link(device: str) -> float | None:
    """Return the rate between GPUs of a node, GB/s one way; None where it is not known."""
    found = peak(device)
    return found.link if found is not None else None


def peak(device: str) -> DataSheet | None:
    """Return the data sheet of the device of that name; None for one that has none here.

    ``L4`` is a word of its own: an ``L40`` is another device, and so is an ``RTX 3080 Ti``.
    """
    words = frozenset(device.lower().replace("-", " ").split())
    if words & _OTHERS:
        return None
    return next((sheet for sheet in DATA_SHEETS if words.issuperset(_words(sheet.name))), None)


def reach(
    limits: DataSheet, *, flops: float, moved: float, dtype: str, ms: float
) -> tuple[Literal["compute", "memory"], float] | None:
    """Return what limits one call at best, and how much of that it reaches.

    Args:
        limits: The device's data sheet.
        flops: Operations of the call.
        moved: Bytes that it has to move at the least.
        dtype: Type of its factors, as tables call it.
        ms: What the call took.

    Returns:
        None where it computes in a type whose rate is not known.
    """
    moving = moved / limits.bandwidth / 1e6
    rate = _rate(limits, dtype)
    if flops and rate is None:
        return None
    computing = flops / rate / 1e9 if rate else 0.0
    if dtype == "f32" and limits.tf32 and computing > ms:
        # Faster than plain units can be: TF32.
        computing = flops / limits.tf32 / 1e9
    bound: Literal["compute", "memory"] = "compute" if computing >= moving else "memory"
    return bound, max(computing, moving) / ms


def _rate(limits: DataSheet, dtype: str) -> float | None:
    """Return TFLOP/s of products of a type."""
    half = limits.half
    rates = {
        "f16": half,
        "bf16": half if limits.bf16 else None,
        "f32": limits.single,
        "f64": limits.double,
        "fp8": limits.fp8,
    }
    return rates.get(dtype)


def _words(name: str) -> frozenset[str]:
    return frozenset(name.lower().split())
