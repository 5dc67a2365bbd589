"""Collectives: rates as NCCL's tests count them, and what is hidden."""

from __future__ import annotations

import pytest

from tests.traces.writing import Json, kernel, read
from tracelens.traces.peaks import link
from tracelens.traces.rows import CollectiveTime


def collective(name: str, ts: float, us: float, **fields: object) -> Json:
    event = kernel("ncclDevKernel_Generic", ts, us, stream=20)
    event["args"] = {"Collective name": name, "dtype": "BFloat16", "Group size": 4, **fields}
    return event


@pytest.mark.parametrize(
    ("name", "before", "after", "size", "factor"),
    [
        ("allreduce", 1_000_000, 1_000_000, 2_000_000, 1.5),
        ("_allgather_base", 250_000, 1_000_000, 2_000_000, 0.75),
        ("_reduce_scatter_base", 1_000_000, 250_000, 2_000_000, 0.75),
        ("all_to_allv", 1_000_000, 1_000_000, 2_000_000, 0.75),
        ("broadcast", 1_000_000, 1_000_000, 2_000_000, 1.0),
    ],
)
def test_a_rate_counts_what_passes_each_link(
    name: str, before: int, after: int, size: int, factor: float
) -> None:
    args = {"In msg nelems": before, "Out msg nelems": after}
    (row,) = read([collective(name, 0, 100, **args), kernel("gemm", 60, 100)]).table(CollectiveTime)
    found = row.record
    assert (found.name, found.dtype, found.bytes, found.group) == (name, "bfloat16", size, 4)
    assert found.algo_gbs == pytest.approx(size / 100e-6 / 1e9)
    assert found.bus_gbs == pytest.approx(size * factor / 100e-6 / 1e9)
    assert (found.sum_ms, found.exposed_ms) == (0.1, 0.06)


def test_without_arguments_nothing_is_said_of_the_rate() -> None:
    (row,) = read([kernel("ncclKernel_AllReduce_RING(int)", 0, 100)]).table(CollectiveTime)
    assert row.record.name == "ncclKernel_AllReduce_RING"
    assert (row.record.bytes, row.record.bus_gbs, row.record.exposed_ms) == (None, None, 0.1)


def test_messages_of_other_sizes_are_rows_of_their_own() -> None:
    sizes = [10, 10, 20]
    events = [
        collective("allreduce", 200 * at, 100, **{"In msg nelems": size})
        for at, size in enumerate(sizes)
    ]
    found = {row.record.bytes: row.record.n for row in read(events).table(CollectiveTime)}
    assert found == {20: 2, 40: 1}


def test_links_are_those_of_the_device() -> None:
    assert link("NVIDIA A100-SXM4-80GB") == 300
    assert link("NVIDIA H100 PCIe") == 64
    assert link("Some GPU") is None
