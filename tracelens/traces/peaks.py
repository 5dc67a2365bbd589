"""What devices can do at most, from their makers' data sheets (dense, without sparsity)."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Peak", "link", "peak"]


class Peak(NamedTuple):
    """Rates of one device: 16-bit, TF32 and float32 products in TFLOP/s, memory in GB/s."""

    half: float
    tf32: float
    single: float
    bandwidth: float


#: Words of a device's name -> its peak; the first entry all of whose words occur is taken.
_DEVICES: tuple[tuple[tuple[str, ...], Peak], ...] = (
    (("B200",), Peak(2250, 1100, 75, 8000)),
    (("GH200",), Peak(989, 494, 67, 4000)),
    (("H200",), Peak(989, 494, 67, 4800)),
    (("H100", "PCIe"), Peak(756, 378, 51, 2000)),
    (("H100", "NVL"), Peak(835, 417, 60, 3900)),
    (("H100",), Peak(989, 494, 67, 3350)),
    (("A100", "80GB", "PCIe"), Peak(312, 156, 19.5, 1935)),
    (("A100", "80GB"), Peak(312, 156, 19.5, 2039)),
    (("A100",), Peak(312, 156, 19.5, 1555)),
    (("H20",), Peak(148, 74, 44, 4000)),
    (("A10G",), Peak(70, 35, 35, 600)),
    (("A40",), Peak(150, 75, 37.4, 696)),
    (("RTX A6000",), Peak(155, 77.4, 38.7, 768)),
    (("L40",), Peak(181, 90.5, 90.5, 864)),
    (("P100",), Peak(18.7, 9.3, 9.3, 732)),
    (("L40S",), Peak(362, 183, 91.6, 864)),
    (("L4",), Peak(121, 60, 30.3, 300)),
    (("V100",), Peak(125, 15.7, 15.7, 900)),
    (("T4",), Peak(65, 8.1, 8.1, 320)),
    (("RTX 4090",), Peak(165, 82.6, 82.6, 1008)),
    (("RTX 4080",), Peak(97.5, 48.7, 48.7, 717)),
    (("RTX 5090",), Peak(209, 105, 105, 1792)),
    (("RTX 5080",), Peak(113, 56.3, 56.3, 960)),
    (("RTX 3090",), Peak(71, 35.6, 35.6, 936)),
    (("RTX 3080",), Peak(59.5, 29.8, 29.8, 760)),
    (("MI325X",), Peak(1307, 654, 163, 6000)),
    (("MI300X",), Peak(1307, 654, 163, 5300)),
    (("MI300A",), Peak(981, 490, 123, 5300)),
    (("MI250X",), Peak(191, 48, 48, 1638)),
    (("MI250",), Peak(181, 45.3, 45.3, 1638)),
    (("MI210",), Peak(181, 45.3, 45.3, 1638)),
    (("MI100",), Peak(185, 46.1, 46.1, 1229)),
)


#: Words of a device's name -> GB/s between GPUs of one node, one way: NVLink or Infinity Fabric.
_LINKS: tuple[tuple[tuple[str, ...], float], ...] = (
    (("B200",), 900),
    (("H200",), 450),
    (("H100", "PCIe"), 64),
    (("H100",), 450),
    (("A100",), 300),
    (("V100",), 150),
    (("MI300X",), 448),
    (("MI250X",), 350),
)


def link(device: str) -> float | None:
    """Return the rate between GPUs of a node, GB/s one way; None for a device not in the list."""
    words = device.replace("-", " ").split()
    return next((rate for wanted, rate in _LINKS if all(word in words for word in wanted)), None)


def peak(device: str) -> Peak | None:
    """Return the peak of the device of that name; None for one that is not in the list.

    ``L4`` is a word of its own: an ``L40`` is another device.
    """
    words = device.replace("-", " ").split()
    for wanted, found in _DEVICES:
        if all(word in words or (" " in word and word in device) for word in wanted):
            return found
    return None
