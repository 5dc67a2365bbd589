"""MKL_VERBOSE: calls with their sizes, counts and times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.engine import analyze
from tracelens.logs.mkl_verbose import MklCall, MklInfo, MklVerbose
from tracelens.source import read

LOG = Path(__file__).parents[2] / "fixtures" / "logs" / "mkl_verbose" / "calls.log"
GEMM = (
    "MKL_VERBOSE SGEMM(T,N,96,64,128,0x7fff721ac5a0,0x559e97340600,128,0x559e97338580,128,"
    "0x7fff721ac5c0,0x559e9734c680,96) {time} CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:2"
)


@pytest.mark.parametrize(
    ("time", "ms"), [("12.98ms", 12.98), ("25.50us", 0.0255), ("1.5s", 1500.0), ("900ns", 0.0009)]
)
def test_a_product(time: str, ms: float) -> None:
    text, measured = MklVerbose.measure(GEMM.format(time=time))
    assert measured == pytest.approx(ms)
    assert "0x7f" not in text
    (call,) = MklVerbose.parse(text)
    assert isinstance(call, MklCall)
    assert (call.routine, call.sizes, call.threads) == ("SGEMM", (96, 64, 128), 2)
    assert call.flops == 2 * 96 * 64 * 128


def test_the_calls_of_a_program() -> None:
    evidence, (source,) = read([str(LOG)])
    assert source.kinds == {"mkl_verbose": LOG.read_text(encoding="utf-8").count("MKL_VERBOSE")}
    assert not evidence.unread
    calls = {(seen.record.routine, seen.record.sizes): seen for seen in evidence.table(MklCall)}
    linear = calls["SGEMM", (96, 64, 128)]
    assert linear.count == 3
    assert linear.times is not None
    assert linear.times.n == 3
    assert calls["DGEMM", (200, 200, 200)].record.flops == 16_000_000
    assert calls["SGEMM_BATCH", ()].record.flops == 0
    (info,) = evidence.table(MklInfo)
    assert info.record.library == "oneMKL 2024.0 Update 2"


def test_the_table_of_the_report() -> None:
    rows = analyze(str(LOG)).tables["mkl"]
    assert [row["ms"] for row in rows] == sorted((row["ms"] for row in rows), reverse=True)
    assert {row["routine"] for row in rows} >= {"SGEMM", "FFT", "SGESDD", "SGEMV"}


@pytest.mark.parametrize("time", ["22.83us", "**22.83us**"])
@pytest.mark.parametrize("end", [",0x55aa0012fe40)", ",0x7", ","])
def test_arguments_that_mkl_cuts_leave_the_time(tmp_path: Path, time: str, end: str) -> None:
    path = tmp_path / "run.log"
    call = (
        f"MKL_VERBOSE SGEMM_BATCH(N,N,0x7ffcda00{end} {time} CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:8\n"
    )
    path.write_text(call * 2, encoding="utf-8")
    evidence, _ = read([str(path)])
    (row,) = evidence.table(MklCall)
    assert (row.record.routine, row.record.threads, row.count) == ("SGEMM_BATCH", 8, 2)
    assert row.ms == pytest.approx(2 * 0.02283)


def test_a_line_cut_short_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(GEMM.format(time="1ms")[:60] + "\n" + GEMM.format(time="1ms"), encoding="utf-8")
    evidence, _ = read([str(path)])
    assert evidence.kinds == {"mkl_verbose": 1}
    assert evidence.unread_lines == 1


@pytest.mark.parametrize(
    ("routine", "dtype"),
    [
        ("SGEMM", "f32"),
        ("SGEMM_BATCH_STRIDED", "f32"),
        ("SGEMV", "f32"),
        ("DGEMM", "f64"),
        ("CGEMM", "c64"),
        ("ZGEMM3M", "c128"),
        ("GEMM_BF16BF16F32", "bf16"),
        ("GEMM_BF16BF16F32_COMPUTE", "bf16"),
        ("GEMM_F16F16F32", "f16"),
        ("GEMM_S8U8S32", "int8"),
        ("SGESDD", ""),
        ("SGETRF", ""),
        ("SDOT", ""),
        ("FFT", ""),
    ],
)
def test_a_routine_computes_in_the_type_of_its_name(routine: str, dtype: str) -> None:
    assert MklCall(routine=routine).dtype == dtype


@pytest.mark.parametrize("setting", ["highest", "high", "medium", "tf32", "bf16"])
def test_what_a_setting_made_of_float32_products(setting: str) -> None:
    """The program's own error says what ran: with bfloat16 it would be near 1e-2."""
    log = LOG.with_name(f"precision-{setting}.log")
    (said,) = (line for line in log.read_text(encoding="utf-8").splitlines() if "error" in line)
    assert float(said.split()[-1]) < 1e-6
    rows = {row["primitive"]: row for row in analyze(str(log)).tables["precision"]}
    goes_to_onednn = setting in {"medium", "bf16"}
    product = rows["matmul" if goes_to_onednn else "SGEMM"]
    assert product["shape"] == "64x48:48x32"
    assert (product["ran_in"], product["requested"]) == (
        ("f32", "bf16") if goes_to_onednn else ("f32", "unknown")
    )
    assert ("SGEMM" in rows) is not goes_to_onednn
    assert rows["SGEMM_BATCH"]["ran_in"] == rows["SGEMV"]["ran_in"] == "f32"
    assert rows["DGEMM"]["ran_in"] == "f64"
