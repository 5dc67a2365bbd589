"""TFLOP/s of real traces against textbook formulas, from the raw events and without tracelens.

A product of (m, k) and (k, n) is 2mkn operations; a convolution is as many as its result has
elements, times twice the weights of one channel; attention is two products per head.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.corpus import ROOT, needs_corpus
from tracelens import analyze

FOLDER = (ROOT or Path(__file__).parent) / "traces"
AMD, TB = "amd_tracelens", "kineto_tb/tb_plugin/samples/resnet50_num_workers_0"
#: Trace -> operators of which it must have a rate.
TRACES = {
    f"{AMD}/h100/Falconsai_nsfw_image_detection__1016002.json.gz": (
        *("cudnn_convolution", "addmm", "_flash_attention_forward"),
    ),
    f"{AMD}/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": (
        *("mm", "bmm", "addmm", "_flash_attention_forward"),
    ),
    f"{AMD}/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": (
        *("mm", "bmm", "addmm", "_flash_attention_forward"),
    ),
    f"{AMD}/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz": (
        *("mm", "bmm", "addmm", "miopen_convolution", "_flash_attention_forward"),
    ),
    f"{AMD}/b200/eager_trace.json.gz": ("mm", "addmm"),
    f"{AMD}/torch_compile_triton/trace.json.gz": ("mm", "_flash_attention_forward"),
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz": ("mm", "addmm"),
    f"{TB}/worker0.1623143089861.pt.trace.json.gz": (
        *("mm", "addmm", "cudnn_convolution_backward_input"),
    ),
}
#: Rows that the table holds at most.
MAX_ROWS = 200


class Rate(NamedTuple):
    """What was computed by hand for all calls of an operator on one shape."""

    n: int
    ms: float
    tflops: float


def operations(name: str, dims: list[Any], values: list[str]) -> int | None:
    """Return the operations of one call; None for what is not counted here, or cannot be."""
    op = name.removeprefix("aten::")
    if op in {"mm", "addmm"}:
        (m, k), (inner, n) = dims[:2] if op == "mm" else dims[1:3]
        assert k == inner
        return int(2 * m * k * n)
    if op == "bmm":
        (batch, m, k), (_, _, n) = dims[:2]
        return int(2 * batch * m * k * n)
    if op == "_flash_attention_forward":
        (batch, queries, heads, depth), (_, keys, _, _), (_, _, _, width) = dims[:3]
        scores = 2 * queries * keys * depth
        return int(batch * heads * (scores + 2 * queries * keys * width))
    if op == "cudnn_convolution_backward_input":
        (batch, channels, *sides), (_, per_group, *window) = dims[1:3]
        return _convolved(batch, channels, sides, per_group, window)
    if op in {"cudnn_convolution", "miopen_convolution"} and values:
        at = 2 if op.startswith("cudnn") else 3
        padding, stride, dilation = (json.loads(text) for text in values[at : at + 3])
        (batch, _, *image), (channels, per_group, *window) = dims[:2]
        sides = [
            len(range(0, side + 2 * padding[i] - dilation[i] * (window[i] - 1), stride[i]))
            for i, side in enumerate(image)
        ]
        return _convolved(batch, channels, sides, per_group, window)
    return None


def _convolved(
    batch: int, channels: int, sides: list[int], per_group: int, window: list[int]
) -> int:
    elements = batch * channels
    for side in sides:
        elements *= side
    each = 2 * per_group
    for side in window:
        each *= side
    return elements * each


def by_hand(path: Path) -> dict[str, list[Rate]]:
    """Return the rates of a trace: kernels and fills are summed by the operator that asked."""
    events = msgspec.json.decode(gzip.decompress(path.read_bytes()), strict=False)["traceEvents"]
    calls: dict[Any, tuple[str, str, int]] = {}
    for event in events:
        args = event.get("args") or {}
        dims = args.get("Input Dims") or args.get("Input dims")
        if not dims or not event.get("name", "").startswith("aten::"):
            continue
        values = args.get("Concrete Inputs") or []
        flops = operations(event["name"], dims, values)
        if flops:
            number = args.get("External id", args.get("external id"))
            types = args.get("Input type")
            calls[number] = event["name"], json.dumps([dims, types, values]), flops
    spent: defaultdict[Any, float] = defaultdict(float)
    for event in events:
        if str(event.get("cat")).lower() == "kernel":
            args = event.get("args") or {}
            number = args.get("External id", args.get("external id"))
            if number in calls:
                spent[number] += event["dur"]
    asked = {
        event["args"].get("correlation"): event["args"].get("External id")
        for event in events
        if "emset" in event.get("name", "") and event.get("cat") == "cuda_runtime"
    }
    for event in events:
        if event.get("cat") == "gpu_memset":
            number = asked.get(event["args"].get("correlation"))
            if number in spent:
                spent[number] += event["dur"]
    sums: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
    for number, us in spent.items():
        sums[calls[number]].append(us)
    rates: defaultdict[str, list[Rate]] = defaultdict(list)
    for (name, _, flops), times in sums.items():
        us = sum(times)
        rates[name].append(Rate(len(times), us / 1e3, flops * len(times) / us / 1e6))
    return rates


@needs_corpus
@pytest.mark.parametrize("name", TRACES, ids=lambda name: name.split("/")[-1].split(".")[0])
def test_rates_are_those_of_the_formulas(name: str) -> None:
    rates = by_hand(FOLDER / name)
    rows = analyze(str(FOLDER / name)).tables["ops"]
    assert set(rates) == {f"aten::{op}" for op in TRACES[name]}
    least = min(row["sum_ms"] for row in rows) if len(rows) >= MAX_ROWS else 0.0
    for op, every in rates.items():
        told = [
            Rate(row["n"], row["sum_ms"], row["tflops"])
            for row in rows
            if row["name"] == op and row["sum_ms"] > least
        ]
        expected = [rate for rate in every if rate.ms > least * 1.001 + 1e-6]
        assert len(told) >= len(expected) > 0
        for rate in expected:
            assert any(
                rate.n == one.n
                and one.ms == pytest.approx(rate.ms, abs=1e-3)
                and one.tflops == pytest.approx(rate.tflops, rel=1e-3, abs=1e-3)
                for one in told
            ), (op, rate, told)
