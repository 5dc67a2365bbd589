"""What devices can do at most, and how near to it work came."""

from __future__ import annotations

import re
from typing import Literal

from tracelens.traces.data_sheets import DATA_SHEETS, DataSheet

__all__ = ["float32_to_float64", "link", "peak", "reach"]

#: Words after which a name is of another device, or of a part of one.
_OTHERS = frozenset({"ti", "super", "laptop", "max-q", "d", "mobile", "mig", "ada"})

#: GPUs made for graphics or inference, and how many times as fast as float64 float32 is on them:
#: Radeons of RDNA 2 and 3, Pascal and Turing, B300, then Ampere, Ada and Blackwell. Other GPUs of
#: data centers are not among them.
_FEW_FOR_FLOAT64 = (
    (16, r"Radeon (?:RX |PRO W)[67]\d{3}"),
    (32, r"T4|P4|P40|Quadro RTX \d{4}|RTX 20[678]0|GTX 1[06]\d0|TITAN (?:RTX|Xp)"),
    (60, r"G?B300"),
    (64, r"A2|A10|A10[GM]|A16|A40|L4|L20|L40S?|RTX (?:A|PRO )?\d{4}"),
)
_FEW = tuple((n, re.compile(rf"\b(?:{names})\b")) for n, names in _FEW_FOR_FLOAT64)


def float32_to_float64(device: str) -> int | None:
    """Return how many times as fast as float64 float32 is on GPUs with few units for float64.

    A 32nd: 4 results of float64 per clock to 128 of float32 in NVIDIA's table of arithmetic
    throughput (compute capability 6.1; quoted in
    https://forums.developer.nvidia.com/t/can-16-bits-and-32-bits-native-arithmetic-instructions-run-independently/108706),
    0.51 to 16.3 TFLOP/s of a Quadro RTX 8000. A 64th: 1.64 to 104.8 of an RTX 5090, as consumer
    GPUs have had since Ampere (https://hb.int2inf.com/s/item/AdGn53eKmTkGqXJZaP7fCQ-nvidia-gpu-fp64-ai-trends).
    B300: 1.25 to 75 (https://glennklockwood.com/garden/processors/B300). Radeon: 1.44 to 23.0 of
    an RX 6900 XT (https://fpsbench.com/compare/gpu/amd-radeon-rx-6900-xt-vs-amd-radeon-rx-vega-56);
    RDNA 3 doubles float32 where two instructions are issued at once, which is not counted here.
    None for others.
    """
    if not device.startswith(("NVIDIA", "Tesla", "Quadro", "GeForce", "TITAN", "AMD Radeon")):
        return None
    return next((n for n, names in _FEW if names.search(device)), None)


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
