"""A trace and the log of the same run: kernels to lines, regions to guards and recompiles."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracelens
from tracelens.cli import main
from tracelens.report import Report

JOINED = Path(__file__).parents[2] / "fixtures" / "logs" / "chrome_trace" / "joined"
KERNEL = "cpp_fused_mul_relu_sigmoid_0"


@pytest.fixture(scope="module")
def report() -> Report:
    return tracelens.analyze(str(JOINED))


def test_a_kernel_has_its_lines_its_file_and_the_time_of_the_frame_that_ran(report: Report) -> None:
    rows = {row["frame"]: row for row in report.tables["kernel_origins"] if row["kernel"] == KERNEL}
    assert set(rows) == {"0/0", "0/1"}
    # Only the second compilation, for any batch, was called while the trace was taken: 3 + 2 times.
    assert (rows["0/1"]["n"], rows["0/0"]["n"], rows["0/0"]["ms"]) == (5, None, None)
    assert [line.rpartition("/")[2] for line in rows["0/1"]["lines"]] == [
        "pair.py:10 h = torch.relu(self.up(x))",
        "pair.py:11 h = h * torch.sigmoid(h)",
    ]
    assert rows["0/1"]["function"] == "forward"
    assert rows["0/0"]["file"] != rows["0/1"]["file"]
    assert all(row["file"].startswith("/home/ana/.cache/torchinductor/") for row in rows.values())


def test_a_region_has_its_function_guards_and_the_recompile_that_made_it(report: Report) -> None:
    (region,) = report.tables["regions"]
    assert (region["frame"], region["count"], region["function"]) == ("0/1", 5, "forward")
    assert region["where"] == "/home/ana/proj/pair.py:9"
    assert region["because"] == "size of x at index 0: 32 -> 48"
    assert region["guards"] > 0


def test_the_command_tells_one_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(JOINED / "run.log.xz"), str(JOINED / "trace.json")]
    assert main(["analyze", *files, "--kernel", KERNEL, "--no-redact"]) == 0
    first, _ = capsys.readouterr().out.split("\n\n")
    assert first.startswith(f"{KERNEL}: cpp_pybinding, in the inference graph of frame 0/1\n")
    assert "/home/ana/proj/pair.py:11 h = h * torch.sigmoid(h)" in first
    assert "in 5 runs" in first
    assert "/torchinductor/ek/" in first


def test_the_command_names_kernels_that_are_spelt_alike(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(JOINED), "--kernel", f"{KERNEL[:-1]}1"]) == 2
    assert f"did you mean {KERNEL}" in capsys.readouterr().err


def test_without_generated_code_the_switch_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(JOINED / "trace.json"), "--kernel", KERNEL]) == 2
    assert 'TORCH_LOGS="output_code,graph_code"' in capsys.readouterr().err
