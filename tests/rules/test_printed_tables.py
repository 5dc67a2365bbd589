"""Printed tables of profilers, whole or some rows of them, are judged by their shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

HEAD = (
    f"{'Name':>60}    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg     "
    "Self CUDA   Self CUDA %    CUDA total  CUDA time avg    # of Calls\n"
)
#: Something else that takes time on either side.
OTHER = ("aten::mm", 10.0, 30.0, 10.0, 30.0, 5)
Row = tuple[str, float, float, float, float, int]


def _row(row: Row) -> str:
    """Return a row: its name, share and milliseconds on the host, those of the device, calls."""
    name, host, ms, device, device_ms, calls = row
    return (
        f"{name:>60}  {host:>10.2f}%  {ms:>10.3f}ms  {host:>10.2f}%  {ms:>10.3f}ms  {ms:>10.3f}ms  "
        f"{device_ms:>10.3f}ms  {device:>10.2f}%  {device_ms:>10.3f}ms  {device_ms:>10.3f}ms  "
        f"{calls:>10}\n"
    )


def _told(text: str, tmp_path: Path) -> dict[str, Finding]:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return {finding.code: finding for finding in analyze(str(path)).told}


@pytest.mark.parametrize("head", ["", HEAD])
@pytest.mark.parametrize(
    ("row", "less", "code", "title"),
    [
        (
            ("Memcpy HtoD (Pageable -> Device)", 0.0, 0.0, 10.0, 30.0, 7),
            ("Memcpy HtoD (Pageable -> Device)", 0.0, 0.0, 9.9, 29.7, 7),
            "TRC007",
            "copies from pageable memory take 10 % of the GPU's time in the table",
        ),
        (
            ("ncclDevKernel_AllReduce_Sum_f32_RING", 0.0, 0.0, 30.0, 90.0, 7),
            ("ncclDevKernel_AllReduce_Sum_f32_RING", 0.0, 0.0, 29.9, 89.7, 7),
            "TRC016",
            "collectives take 30 % of the GPU's time in the table",
        ),
        (
            ("aten::copy_", 1.0, 1.0, 10.0, 30.0, 7),
            ("aten::copy_", 1.0, 1.0, 9.9, 29.7, 7),
            "TRC014",
            "copies take 10 % of the GPU's time in the table",
        ),
        (
            ("ampere_sgemm_128x64_tn", 0.0, 0.0, 20.0, 60.0, 7),
            ("ampere_sgemm_128x64_tn", 0.0, 0.0, 19.9, 59.7, 7),
            "TRC019",
            "float32 products without TF32 take 20 % of the GPU's time in the table",
        ),
        (
            ("void at::native::vectorized_elementwise_kernel<4", 0.0, 0.0, 30.0, 90.0, 10),
            ("void at::native::vectorized_elementwise_kernel<4", 0.0, 0.0, 30.0, 90.0, 9),
            "TRC010",
            "elementwise kernels of eager mode take 30 % of the GPU's time in the table",
        ),
        (
            ("cudaMalloc", 20.0, 60.0, 0.0, 0.0, 60),
            ("cudaMalloc", 20.0, 60.0, 0.0, 0.0, 61),
            "TRC023",
            "starting up takes 20 % of the host's time in the table",
        ),
    ],
)
def test_a_row_with_much_of_the_time_is_the_answer(
    head: str, row: Row, less: Row, *, code: str, title: str, tmp_path: Path
) -> None:
    told = _told(head + _row(row) + _row(OTHER), tmp_path)
    assert told[code].title == title
    assert next(iter(told)) == code
    assert code not in _told(head + _row(less) + _row(OTHER), tmp_path)


@pytest.mark.parametrize(("share", "alone"), [(98.0, "96 ms"), (40.0, "")])
def test_collectives_that_nothing_can_hide_run_alone(
    share: float, alone: str, tmp_path: Path
) -> None:
    row = ("nccl:recv", 0.0, 0.0, share, share, 3)
    message = _told(_row(row) + _row(OTHER), tmp_path)["TRC016"].message
    assert (f"{alone} at least run alone" in message) == bool(alone)
    assert ("a trace tells" in message) != bool(alone)


def test_a_loader_is_judged_by_the_hosts_time(tmp_path: Path) -> None:
    name = "enumerate(DataLoader)#_{}ProcessDataLoaderIter.__next__"
    for kind, setting in (("Single", "num_workers=4"), ("Multi", "num_workers=8")):
        row = (name.format(kind), 20.0, 60.0, 0.0, 0.0, 3)
        found = _told(HEAD + _row(row) + _row(OTHER), tmp_path)["TRC013"]
        assert found.title.startswith("waiting for batches takes 20 %")
        assert any(setting in (one.code or "") for one in found.advice)
        assert ("workers to start" in found.message) == (kind == "Multi")
    row = (name.format("Multi"), 19.9, 59.7, 0.0, 0.0, 3)
    assert "TRC013" not in _told(HEAD + _row(row) + _row(OTHER), tmp_path)


@pytest.mark.parametrize(("share", "fires"), [(30.0, True), (29.9, False)])
def test_launches_in_some_rows_are_judged_by_their_share(
    share: float, fires: bool, tmp_path: Path
) -> None:
    rows = _row(("cudaLaunchKernel", share, share, 0.0, 0.0, 100))
    rows += _row(("cudaFuncGetAttributes", 70 - share, 70 - share, 0.0, 0.0, 100))
    assert ("TRC002" in _told(rows, tmp_path)) == fires


@pytest.mark.parametrize(
    "name", ["volta_sgemm_128x64_nn", "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n", "sgemm_kernel"]
)
def test_a_product_on_tensor_cores_or_another_gpu_is_none(name: str, tmp_path: Path) -> None:
    row = (name, 0.0, 0.0, 60.0, 60.0, 7)
    assert "TRC019" not in _told(HEAD + _row(row) + _row(OTHER), tmp_path)


def test_generated_kernels_beside_them_are_compiled_code(tmp_path: Path) -> None:
    eager = _row(("void at::native::elementwise_kernel<128", 0.0, 0.0, 50.0, 50.0, 20))
    fused = _row(("triton_poi_fused_add_0", 0.0, 0.0, 5.0, 5.0, 20))
    assert "TRC010" in _told(HEAD + eager, tmp_path)
    assert "TRC010" not in _told(HEAD + eager + fused, tmp_path)


@pytest.mark.parametrize(
    ("total", "fires"), [("CUDA time total: 0.000us\n", True), ("CUDA time total: 3.1ms\n", False)]
)
def test_a_table_whose_device_took_no_time_is_told_so(
    total: str, fires: bool, tmp_path: Path
) -> None:
    text = HEAD + _row(("aten::gru", 80.0, 80.0, 0.0, 0.0, 7))
    told = _told(f"{text}{'-' * 20}  {'-' * 12}\nSelf CPU time total: 100.0ms\n{total}", tmp_path)
    assert ("TRC022" in told) == fires
