"""What stays below the bound of its device, and what comes before the first kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracelens
from tests.traces.writing import Json, kernel, launch, op, span, text
from tracelens.report import Finding

MI300X = {"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X"}]}
H100 = {"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}
ATTENTION = ([1, 32, 4096, 128], "c10::BFloat16", "aten::_scaled_dot_product_flash_attention", 3)
ADD = ([8192, 8192], "float", "aten::add", 2)
LITTLE = ([1024, 1024], "float", "aten::add", 2)


def calls(what: tuple[list[int], str, str, int], us: float, n: int = 5) -> list[Json]:
    """Return ``n`` calls of an operator whose kernels take ``us`` each, back to back."""
    dims, kind, name, inputs = what
    events: list[Json] = []
    for at in range(n):
        args = {"External id": at + 1, "Input Dims": [dims] * inputs, "Input type": [kind] * inputs}
        events.append(op(name, 10.0 * at, 8) | {"args": args})
        events.append(kernel("work", 100 + us * at, us) | {"args": {"External id": at + 1}})
    return events


def found(path: Path, events: list[Json], **header: object) -> dict[str, Finding]:
    path = path / "trace.json"
    path.write_bytes(text(events, **header))
    return {finding.code: finding for finding in tracelens.analyze(str(path)).findings}


# 4 x 32 x 4096 x 4096 x 128 operations: 0.275 TFLOP; an MI300X does 1307.4 of them a second.
@pytest.mark.parametrize(
    ("us", "header", "advice"),
    [
        (275e3 / 1307.4 / 0.2, MI300X, ["attention-library"]),
        (275e3 / 1307.4 / 0.35, MI300X, None),
        (275e3 / 989 / 0.2, H100, ["attention-backend"]),
        (275e3 / 989 / 0.2, {}, None),
    ],
)
def test_attention_far_below_the_rate_of_the_device(
    tmp_path: Path, us: float, header: dict[str, object], advice: list[str] | None
) -> None:
    finding = found(tmp_path, calls(ATTENTION, us), **header).get("TRC009")
    assert (finding and [each.id for each in finding.advice]) == advice


@pytest.mark.parametrize(
    ("device", "dtype", "told"),
    [
        ("NVIDIA A100-SXM4-80GB", "c10::Half", True),
        ("NVIDIA A100-SXM4-80GB", "float", False),
        ("Tesla T4", "c10::Half", False),
        ("Tesla V100-SXM2-16GB", "c10::Half", False),
    ],
)
def test_attention_of_cudnn_is_advised_where_it_exists(
    tmp_path: Path, device: str, dtype: str, told: bool
) -> None:
    what = (ATTENTION[0], dtype, "aten::_efficient_attention_forward", 3)
    header = {"deviceProperties": [{"id": 0, "name": device}]}
    finding = found(tmp_path, calls(what, 275e3), **header)["TRC009"]
    assert [each.id for each in finding.advice] == (["attention-backend"] if told else [])
    # Where cuDNN has no kernel for a call, the next one computes it.
    assert all("SDPBackend.MATH" in str(each.code) for each in finding.advice)


# 3 x 8192 x 8192 x 4 bytes are 0.805 GB; an MI300X moves 5,300 of them a second.
@pytest.mark.parametrize(
    ("what", "us", "told"),
    [
        (ADD, 805e3 / 5300 / 0.36, True),
        (ADD, 805e3 / 5300 / 0.45, False),
        (LITTLE, 25.0, False),
    ],
)
def test_sums_that_memory_could_bring_faster(
    tmp_path: Path, what: tuple[list[int], str, str, int], us: float, told: bool
) -> None:
    finding = found(tmp_path, calls(what, us), **MI300X).get("TRC009")
    assert (finding is not None) is told
    if finding is not None:
        assert [each.id for each in finding.advice] == ["compile"]


@pytest.mark.parametrize(("ms", "told"), [(900, True), (300, False), (40, False)])
def test_a_trace_that_is_mostly_the_making_of_a_context(
    tmp_path: Path, ms: float, told: bool
) -> None:
    first = span("cuda_runtime", "cudaDeviceGetStreamPriorityRange", 0, 1000 * ms)
    events = [op("aten::empty", 0, 1000 * ms), first]
    for at in range(5):
        begin = 1000 * ms + 100_000 * at
        events += [launch(begin), kernel("work", begin + 10, 50)]
    finding = found(tmp_path, events, **H100).get("TRC023")
    assert (finding is not None) is told
    if finding is not None:
        assert finding.cost is not None
        assert finding.cost.ms == pytest.approx(ms)
