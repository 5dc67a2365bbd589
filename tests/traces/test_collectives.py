"""Collectives: rates as NCCL's tests count them, and what is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracelens
from tests.traces.writing import Json, kernel, op, read, span, text
from tracelens.report import Finding
from tracelens.traces.measured import Chain
from tracelens.traces.peaks import link
from tracelens.traces.rows import CollectiveTime
from tracelens.traces.sequences import KernelSequence


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


def in_one_process(path: Path, devices: int, *, beside: list[Json]) -> list[Finding]:
    """Return what is found where device ``n`` of one process is in collectives for 5 - n ms."""
    nccl = "ncclDevKernel_Broadcast_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
    events = list(beside)
    for device in range(devices):
        us = 5_000.0 - 1_000 * device
        events += [kernel(nccl, 0, us, 20, device), kernel("gemm", us, 10_000 - us, 7, device)]
    (path / "trace.json").write_bytes(text(events))
    report = tracelens.analyze(str(path / "trace.json"))
    return [finding for finding in report.findings if finding.code == "TRC016"]


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_devices_of_one_process_are_one_finding(tmp_path: Path, devices: int) -> None:
    (finding,) = in_one_process(tmp_path, devices, beside=[])
    assert finding.cost is not None
    assert finding.cost.ms == 5.0
    assert ("of the others: 1 40 %" in finding.message) is (devices > 1)
    assert (", 2 30 %" in finding.message) is (devices > 2)
    assert ("added up" in finding.message) is (devices > 1)
    assert finding.severity == "info"


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ([op("DataParallel.forward", 0, 9)], True),
        ([op("Broadcast", 0, 9), op("ReduceAddCoalesced", 10, 9)], True),
        ([op("Broadcast", 0, 9), op("Scatter", 10, 9)], False),
        ([span("python_function", "torch/nn/parallel/replicate.py(78): replicate", 0, 9)], True),
        ([span("python_function", "torch/nn/parallel/distributed.py(1): forward", 0, 9)], False),
        ([op("DistributedDataParallel.forward", 0, 9)], False),
    ],
)
def test_data_parallel_in_one_process_is_told_to_take_several(
    tmp_path: Path, beside: list[Json], *, told: bool
) -> None:
    (finding,) = in_one_process(tmp_path, 2, beside=beside)
    assert ("one-process-each" in {each.id for each in finding.advice}) is told
    assert finding.title.startswith("`nn.DataParallel`") is told
    assert finding.severity == ("warning" if told else "info")


ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"


@pytest.mark.parametrize(
    ("begins", "takes", "one"),
    [
        (105.0, 180.0, False),  # it sends what the first has made, the last one reads what came
        (105.0, 12.0, True),  # it has ended while the second still computes: nothing waits for it
        (-20.0, 30.0, True),  # it was there before
        (105.0, 900.0, True),  # it goes on beside all of them
    ],
)
def test_kernels_around_a_collective_cannot_be_one(
    begins: float, takes: float, *, one: bool
) -> None:
    events: list[Json] = []
    for at in range(20):
        start = 2_000.0 * at
        events.append(kernel("ncclDevKernel_SendRecv(ncclWork*)", start + begins, takes, 17))
        for name, ts, us in ((ADD, 0.0, 100.0), (FILL, 110.0, 20.0), (ADD, 300.0, 100.0)):
            events.append(kernel(name, start + ts, us))
        events.append(kernel("flash_fwd_kernel", start + 1_500.0, 10.0))
    events.sort(key=lambda event: float(event["ts"]))
    evidence = read(events)
    chains = {row.record.kernels: row.record.count for row in evidence.table(Chain)}
    assert chains == ({("add", "fill", "add"): 20} if one else {})
    sequences = {len(row.record.kernels) for row in evidence.table(KernelSequence)}
    assert sequences == {3 if one else 2}
