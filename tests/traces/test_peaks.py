"""Tests of what devices can do: every figure has a source, and names are told apart."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tracelens.traces.data_sheets import DATA_SHEETS, DataSheet
from tracelens.traces.peaks import float32_to_float64, link, peak, reach

DOCS = Path(__file__).parents[2] / "docs" / "traces.md"
#: Who makes the devices, and where they or the one they sell to publish.
MAKERS = ("nvidia.com", "amd.com", "nvdam.widen.net", "d1.awsstatic.com")
EACH = pytest.mark.parametrize("sheet", DATA_SHEETS, ids=lambda sheet: sheet.name)


@EACH
def test_a_device_has_its_makers_document(sheet: DataSheet) -> None:
    address = urlsplit(sheet.source)
    assert address.scheme == "https"
    assert (address.hostname or "").endswith(MAKERS)
    assert len(address.path) > 3


@EACH
def test_rates_stand_in_the_order_that_hardware_has(sheet: DataSheet) -> None:
    assert sheet.half > sheet.single > 5
    if sheet.tf32 is not None:
        assert sheet.half / 2.1 < sheet.tf32 * 1.02 < sheet.half * 0.6
        assert sheet.tf32 >= sheet.single
    if sheet.fp8 is not None:
        assert 1.9 * sheet.half < sheet.fp8 < 2.1 * sheet.half
    if sheet.double is not None:
        assert sheet.double <= sheet.single * 1.01
    # GB/s, not TB/s; and between 10 and 500 operations for each byte in 16 bits.
    assert 200 < sheet.bandwidth < 10_000
    assert 10 < 1000 * sheet.half / sheet.bandwidth < 500
    assert sheet.link is None or 16 <= sheet.link < sheet.bandwidth


def test_names_are_unique_and_special_ones_come_first() -> None:
    words = [frozenset(sheet.name.lower().split()) for sheet in DATA_SHEETS]
    assert len(set(words)) == len(words)
    for at, special in enumerate(words):
        assert not any(general < special for general in words[:at]), DATA_SHEETS[at].name


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
        ("NVIDIA A100-PCIE-40GB", "A100 PCIe"),
        ("NVIDIA A100-PG509-200", "A100"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("Tesla V100-PCIE-32GB", "V100 PCIe"),
        ("Tesla T4", "T4"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("AMD Instinct MI300X", "MI300X"),
        ("AMD Instinct MI250X / MI250", "MI250X"),
    ],
)
def test_a_device_is_known_by_the_name_that_its_driver_gives(device: str, name: str) -> None:
    found = peak(device)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "device",
    [
        "",
        "AMD Radeon Graphics",
        "NVIDIA GeForce RTX 3080 Ti",
        "NVIDIA GeForce RTX 4080 SUPER",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
        "NVIDIA H20",
    ],
)
def test_a_relative_or_a_part_of_a_device_is_not_taken_for_it(device: str) -> None:
    assert peak(device) is None
    assert link(device) is None


@pytest.mark.parametrize(
    ("device", "times"),
    [
        ("NVIDIA GeForce RTX 3090", 64),
        ("NVIDIA L4", 64),
        ("Tesla T4", 32),
        ("NVIDIA GeForce GTX 1080 Ti", 32),
        ("NVIDIA B300 SXM6 AC", 60),
        ("AMD Radeon RX 7900 XTX", 16),
        ("NVIDIA B200", None),
        ("NVIDIA A100-SXM4-80GB", None),
        ("NVIDIA H100 80GB HBM3", None),
        ("NVIDIA TITAN V", None),
        ("AMD Instinct MI300X", None),
        ("AMD Radeon VII", None),
        ("AMD Radeon Graphics", None),
    ],
)
def test_how_many_times_as_fast_float32_is(device: str, times: int | None) -> None:
    assert float32_to_float64(device) == times


def test_the_documents_table_is_the_data() -> None:
    text = DOCS.read_text(encoding="utf-8").split("## Devices\n")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ][2:]
    assert [row[0] for row in rows] == [sheet.name for sheet in DATA_SHEETS]
    for row, sheet in zip(rows, DATA_SHEETS, strict=True):
        assert float(row[1]) * 1000 == pytest.approx(sheet.bandwidth)
        assert ("no bf16" in row[2]) is not sheet.bf16
        told = [row[2].split(" ")[0], *row[3:8]]
        rates = [sheet.half, sheet.tf32, sheet.single, sheet.fp8, sheet.double, sheet.link]
        assert told == ["-" if rate is None else f"{rate:g}" for rate in rates]
        assert re.fullmatch(r"\[[\w.]+\]\((.+)\)", row[8])[1] == sheet.source  # type: ignore[index]


def reached(device: str, dtype: str, flops: float, moved: float, ms: float) -> float | None:
    """Return the share of the bound that a call reaches on a device."""
    limits = peak(device)
    assert limits is not None
    found = reach(limits, flops=flops, moved=moved, dtype=dtype, ms=ms)
    return found and found[1]


def test_work_is_held_against_the_rate_of_its_type() -> None:
    name, flops, moved = "NVIDIA H100 80GB HBM3", 2.0 * 4096**3, 6.0 * 4096**2
    assert reached(name, "bf16", flops, moved, 0.2) == pytest.approx(flops / 989e12 / 200e-6)
    assert reached(name, "fp8", flops, moved, 0.2) == pytest.approx(flops / 1979e12 / 200e-6)
    assert reached(name, "i8", flops, moved, 0.2) is None
    assert reached(name, "i8", 0.0, 3.35e9, 2.0) == pytest.approx(0.5)


def test_float32_counts_as_tf32_only_where_plain_units_cannot_be_so_fast() -> None:
    name, flops = "NVIDIA A100-SXM4-40GB", 19.5e9  # a millisecond's worth of the plain units
    assert reached(name, "f32", flops, 1.0, 2.0) == pytest.approx(0.5)
    assert reached(name, "f32", flops, 1.0, 0.25) == pytest.approx(0.5)


def test_bfloat16_has_no_bound_where_matrix_units_do_not_know_it() -> None:
    name = "Tesla V100-SXM2-32GB"
    assert reached(name, "bf16", 1e12, 1.0, 10.0) is None
    assert reached(name, "f16", 1e12, 1.0, 10.0) == pytest.approx(1e12 / 125e12 / 10e-3)
