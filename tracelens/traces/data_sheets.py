"""Rates of GPUs from their makers' documents: dense, without sparsity; each with where it stands.

A device for which its maker publishes no rates is not here.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DATA_SHEETS", "DataSheet"]


class DataSheet(NamedTuple):
    """What one device can do at most: TFLOP/s of products by type, GB/s of memory and of links."""

    #: Words of the name that drivers give it, all of which must occur.
    name: str
    #: 16-bit floating point, products added up in float32.
    half: float
    #: None: the device computes float32 as such only, or its maker names no rate.
    tf32: float | None
    #: float32 as such: plain units, matrix units where the maker has them for it.
    single: float
    #: GB/s of the device's memory.
    bandwidth: float
    #: Address of the document.
    source: str
    fp8: float | None = None
    double: float | None = None
    #: GB/s between GPUs of one node, one way: NVLink, Infinity Fabric, or else PCIe.
    link: float | None = None
    #: Whether its matrix units know bfloat16.
    bf16: bool = True


_NVIDIA = "https://www.nvidia.com/en-us/data-center"
_IMAGES = "https://images.nvidia.com"
_DAM = "https://www.nvidia.com/content/dam/en-zz/Solutions"
_H100 = f"{_NVIDIA}/h100/"
_A100 = f"{_DAM}/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"
_V100 = f"{_IMAGES}/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf"
_PASCAL = f"{_IMAGES}/content/pdf/tesla/whitepaper/pascal-architecture-whitepaper.pdf"
_P100 = f"{_DAM}/Data-Center/tesla-p100/pdf/nvidia-tesla-p100-PCIe-datasheet.pdf"
_GA102 = (
    "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"
)
_ADA = f"{_IMAGES}/aem-dam/Solutions/Data-Center/l4/nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf"
_BLACKWELL = (
    f"{_IMAGES}/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"
)
_B200 = "https://nvdam.widen.net/s/wwnsxrhm2w/blackwell-datasheet-3384703"
_GH200 = "https://nvdam.widen.net/s/rrgqqnpbz8/grace-datasheet-gh200-grace-hopper-superchip-3773000"
_A10G = (
    "https://d1.awsstatic.com/product-marketing/ec2/NVIDIA_AWS_A10G_DataSheet_FINAL_02_17_2022.pdf"
)
_AMD = "https://www.amd.com/content/dam/amd/en/documents"
_SHEETS = f"{_AMD}/instinct-tech-docs/data-sheets"
_BRIEFS = f"{_AMD}/instinct-business-docs/product-briefs"
_MI300X = f"{_SHEETS}/amd-instinct-mi300x-data-sheet.pdf"
_MI325X = f"{_SHEETS}/amd-instinct-mi325x-datasheet.pdf"
_MI350X = f"{_AMD}/instinct-tech-docs/product-briefs/amd-instinct-mi350x-gpu-brochure.pdf"
_MI200 = "https://www.amd.com/en/products/accelerators/instinct/mi200"

#: The first whose words all occur in a device's name is taken: special ones before general ones.
DATA_SHEETS: tuple[DataSheet, ...] = (
    DataSheet("B200", 2250, 1100, 75, 8000, _B200, fp8=4500, double=37, link=900),
    DataSheet("GH200", 990, 494, 67, 4000, _GH200, fp8=1979, double=67, link=450),
    DataSheet("H200", 989, 494, 67, 4800, f"{_NVIDIA}/h200/", fp8=1979, double=67, link=450),
    DataSheet("H100 PCIe", 756, 378, 51, 2039, _H100, fp8=1513, double=51, link=64),
    DataSheet("H100 NVL", 835, 417, 60, 3900, _H100, fp8=1671, double=60, link=300),
    DataSheet("H100", 989, 494, 67, 3350, _H100, fp8=1979, double=67, link=450),
    DataSheet("A100 80GB PCIe", 312, 156, 19.5, 1935, _A100, double=19.5, link=32),
    DataSheet("A100 80GB", 312, 156, 19.5, 2039, _A100, double=19.5, link=300),
    DataSheet("A100 PCIe", 312, 156, 19.5, 1555, _A100, double=19.5, link=32),
    DataSheet("A100", 312, 156, 19.5, 1555, _A100, double=19.5, link=300),
    DataSheet("A10G", 70, 35, 35, 600, _A10G),
    DataSheet("A40", 149.7, 74.8, 37.4, 696, _GA102),
    DataSheet("RTX A6000", 154.8, 77.4, 38.7, 768, _GA102),
    DataSheet("L40S", 362, 183, 91.6, 864, f"{_NVIDIA}/l40s/", fp8=733),
    DataSheet("L40", 181, 90.5, 90.5, 864, f"{_NVIDIA}/l40/", fp8=362),
    DataSheet("L4", 121, 60, 30.3, 300, f"{_NVIDIA}/l4/", fp8=242),
    DataSheet("V100S", 130, None, 16.4, 1134, _V100, double=8.2, link=16, bf16=False),
    DataSheet("V100 PCIe", 112, None, 14, 900, _V100, double=7, link=16, bf16=False),
    DataSheet("V100", 125, None, 15.7, 900, _V100, double=7.8, link=150, bf16=False),
    DataSheet("T4", 65, None, 8.1, 320, f"{_NVIDIA}/tesla-t4/", bf16=False),
    DataSheet("P100 PCIe", 18.7, None, 9.3, 732, _P100, double=4.7, bf16=False),
    DataSheet("P100", 21.2, None, 10.6, 720, _PASCAL, double=5.3, bf16=False),
    DataSheet("RTX 5090", 209.5, 104.8, 104.8, 1792, _BLACKWELL),
    DataSheet("RTX 5080", 112.6, 56.3, 56.3, 960, _BLACKWELL),
    DataSheet("RTX 4090", 165.2, 82.6, 82.6, 1008, _ADA, fp8=330.3),
    DataSheet("RTX 4080", 97.5, 48.7, 48.7, 717, _ADA, fp8=194.9),
    DataSheet("RTX 3090", 71, 35.6, 35.6, 936, _GA102),
    DataSheet("RTX 3080", 59.5, 29.8, 29.8, 760, _GA102),
    DataSheet("MI350X", 2309.6, None, 144.2, 8000, _MI350X, fp8=4614, double=72.1),
    DataSheet("MI325X", 1307.4, 653.7, 163.4, 6000, _MI325X, fp8=2614.9, double=163.4, link=448),
    DataSheet("MI300X", 1307.4, 653.7, 163.4, 5300, _MI300X, fp8=2614.9, double=163.4, link=448),
    DataSheet(
        "MI300A",
        *(980.6, 490.3, 122.6, 5300),
        f"{_SHEETS}/amd-instinct-mi300a-data-sheet.pdf",
        fp8=1961.2,
        double=122.6,
    ),
    # One of two dies: each is a device of its own.
    DataSheet("MI250X", 191.5, None, 47.9, 1638, f"{_MI200}/mi250x.html", double=47.9),
    DataSheet("MI250", 181, None, 45.3, 1638, f"{_MI200}/mi250.html", double=45.3),
    DataSheet(
        "MI210", 181, None, 45.3, 1638, f"{_BRIEFS}/instinct-mi210-brochure.pdf", double=45.3
    ),
    DataSheet("MI100", 184.6, None, 46.1, 1228, f"{_BRIEFS}/instinct-mi100-brochure.pdf"),
)
