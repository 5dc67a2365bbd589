"""What operators have to do, by their shapes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.traces.writing import Bytes, Json, read, span, text
from tracelens.evidence import Evidence
from tracelens.summaries.chrome_trace import tables
from tracelens.traces.op_work import job_of
from tracelens.traces.reading import read_trace

BF16 = "c10::BFloat16"
IMAGES = [[1, 4, 10, 10], [8, 4, 3, 3]]
#: The arguments of a backward convolution before the last: stride, padding, dilation ...
BACKWARD = ["", "", "", "[8]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("aten::mm", ([[8, 4], [4, 2]], [BF16] * 2, []), ("product", 128, 112)),
        ("aten::addmm", ([[2], [8, 4], [4, 2]], ["float"] * 3, []), ("product", 128, 224)),
        ("aten::bmm", ([[3, 8, 4], [3, 4, 2]], ["float"] * 2, []), ("product", 384, 672)),
        # Two products of 5x5 scores over 4 channels, in 2x3 heads: 2 x 2 x 6 x 25 x 4.
        (
            "aten::_flash_attention_forward",
            ([[2, 5, 3, 4]] * 3, [BF16] * 3, []),
            ("attention", 2400, 960),
        ),
        (
            "aten::_scaled_dot_product_flash_attention",
            ([[2, 3, 5, 4]] * 3, [BF16] * 3, []),
            ("attention", 2400, 960),
        ),
        # 3x3 over 4 channels to 8, 10x10 pixels, padded by one, every second: 5x5.
        (
            "aten::cudnn_convolution",
            (IMAGES, ["float"] * 2, ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1"]),
            ("convolution", 14_400, 3_552),
        ),
        (
            "aten::convolution",
            (
                [*IMAGES, []],
                ["float", "float", ""],
                ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
            ),
            ("convolution", 14_400, 3_552),
        ),
        # Two gradients, each as much as the forward pass; the first layer needs none of its image.
        (
            "aten::convolution_backward",
            ([[1, 8, 5, 5], *IMAGES], ["float"] * 3, [*BACKWARD, "[True, True, True]"]),
            ("convolution", 28_800, 7_104),
        ),
        (
            "aten::convolution_backward",
            ([[1, 8, 5, 5], *IMAGES], ["float"] * 3, [*BACKWARD, "[False, True, True]"]),
            ("convolution", 14_400, 3_552),
        ),
        (
            "aten::cudnn_convolution_backward_input",
            ([[], [1, 8, 5, 5], [8, 4, 3, 3]], ["GenericList", "float", "float"], []),
            ("convolution", 14_400, 1_952),
        ),
        # Five products of 2 x 150 x 4, the scores once more among them.
        (
            "aten::_scaled_dot_product_flash_attention_backward",
            ([[2, 3, 5, 4]] * 4, [BF16] * 4, []),
            ("attention", 6_000, 1_920),
        ),
        # 20 rows of 16, read and written, and their numbers.
        (
            "aten::embedding",
            ([[50, 16], [4, 5]], ["float", "long int"], ["", "", "-1"]),
            ("memory", 0, 2_720),
        ),
        (
            "aten::index_select",
            ([[50, 16], [], [20]], ["float", "Scalar", "long int"], ["", "0", ""]),
            ("memory", 0, 2_720),
        ),
        (
            "aten::_embedding_bag",
            ([[50, 16], [20], [4]], ["float", "long int", "long int"], []),
            ("memory", 0, 1_696),
        ),
        (
            "aten::embedding_dense_backward",
            ([[4, 5, 16], [4, 5]], ["float", "long int"], ["", "", "50", "-1", "False"]),
            ("memory", 0, 4_640),
        ),
        ("aten::add", ([[10], [10], []], [BF16, BF16, "Scalar"], []), ("memory", 0, 60)),
        ("aten::copy_", ([[10], [10], []], ["float", BF16, "Scalar"], []), ("memory", 0, 60)),
        ("triton_poi_fused_add_0", ([[10], [10]], ["float", BF16], []), ("memory", 0, 60)),
    ],
)
def test_work_follows_from_shapes(
    name: str, arguments: tuple[Any, Any, Any], expected: tuple[str, float, float]
) -> None:
    job = job_of(name, *arguments)
    assert job is not None
    assert (job.kind, job.flops, job.bytes) == expected


@pytest.mark.parametrize(
    ("name", "shapes", "kinds"),
    [
        ("aten::mm", [], []),
        ("aten::mm", [["a", 4], [4, 2]], [BF16] * 2),
        ("aten::mm", [[10**200, 10**200], [4, 2]], [BF16] * 2),
        ("aten::mm", [[8, 4], [4, 2]], ["quantized", "quantized"]),
        ("aten::add", [[], []], [BF16, BF16]),
        ("aten::_flash_attention_forward", [[1, 2]], [BF16]),
        ("aten::cudnn_convolution", [[1, 4, 10, 10], [8, 4, 3, 3]], ["float"] * 2),
    ],
)
def test_shapes_that_do_not_tell_are_let_be(name: str, shapes: object, kinds: object) -> None:
    assert job_of(name, shapes, kinds, []) is None


def traced(n: int, seen: int) -> Evidence:
    """Return a trace of ``n`` products, of the first ``seen`` of which the kernel is there."""
    events: list[Json] = []
    for number in range(1, n + 1):
        args = {
            "External id": number,
            "Input Dims": [[4096, 4096], [4096, 4096]],
            "Input type": [BF16, BF16],
        }
        events.append(span("cpu_op", "aten::mm", 300 * number, 10, args=args))
    for number in range(1, seen + 1):
        fields = {"External id": number, "correlation": number}
        events += [
            span("kernel", part, 300 * number + 20 + at, 100, pid=0, tid=7, args=fields)
            for at, part in ((0, "nvjet_a"), (100, "splitKreduce"))
        ]
    return read(events, deviceProperties=[{"id": 0, "name": "NVIDIA H100 80GB HBM3"}])


def test_rates_are_those_of_the_calls_whose_kernels_are_there() -> None:
    (row,) = tables(traced(3, 2))["ops"]
    flops = 2 * 4096**3
    assert (row["n"], row["sum_ms"]) == (2, 0.4)
    assert row["tflops"] == pytest.approx(flops / 200e-6 / 1e12, rel=1e-4)
    assert row["bound"] == "compute"
    assert row["share_of_bound"] == pytest.approx(flops / 989e12 / 200e-6, rel=1e-3)


def test_fills_belong_to_the_product_that_asks_for_them() -> None:
    shapes = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": [BF16, BF16]}
    events = [span("cpu_op", "aten::mm", 300, 50, args={"External id": 7, **shapes})]
    for call, number in ((1, 7), (2, 8)):
        args = {"External id": number, "correlation": call}
        events += [
            span("cuda_runtime", "cudaMemsetAsync", 300 + call, 1, args=args),
            span("gpu_memset", "Memset (Device)", 310 + call, 1, pid=0, args={"correlation": call}),
        ]
    events.append(span("kernel", "nvjet", 320, 100, pid=0, args={"External id": 7}))
    (row,) = tables(read(events))["ops"]
    assert (row["n"], row["sum_ms"]) == (1, 0.101)


def test_shapes_whose_bytes_are_torn_tell_nothing() -> None:
    shapes = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]}
    events = [
        span("cpu_op", "aten::mm", 300, 10, args={"External id": 7, **shapes}),
        span("kernel", "sgemm", 320, 100, pid=0, args={"External id": 7}),
    ]
    torn = text(events).replace(b'"float", "float"', b'"flo\xe9t", "float"')
    assert "ops" not in tables(read_trace(Bytes(torn), "trace.json"))


def test_kernels_of_2021_find_their_operators() -> None:
    shapes = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]}
    events = [
        span("Operator", "aten::mm", 300, 10, args={"External id": 7, **shapes}),
        span("Kernel", "volta_sgemm_128x64_nn", 320, 10_000, pid=0, args={"external id": 7}),
        span("Kernel", "volta_sgemm_128x64_nn", 12_000, 10_000, pid=0, args={"external id": 8}),
    ]
    (row,) = tables(read(events))["ops"]
    assert (row["n"], row["sum_ms"]) == (1, 10.0)
    assert row["tflops"] == pytest.approx(2 * 4096**3 / 10e-3 / 1e12, rel=1e-3)
