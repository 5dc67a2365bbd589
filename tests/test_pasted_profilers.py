"""Tables of profilers of all ages, and lines of oneDNN as people dress them, are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

NVPROF = (
    "==812== NVPROF is profiling process 812, command: python train.py\n"
    "==812== Profiling result:\n"
    "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n"
    " GPU activities:   {htod}%  {ms}ms       300  2.5609ms  64.447us  3.8251ms  "
    "[CUDA memcpy HtoD]\n"
    "                   50.00%  100.00ms       100  1.0000ms  0.9000ms  1.1000ms  "
    "volta_sgemm_128x64_nn\n"
)
API = (
    "      API calls:   70.00%  4.20000s   1400000  3.0000us  2.5us  4.0000ms  cudaLaunchKernel\n"
    "                   20.00%  1.20000s       700  1.7143ms  1.0000us  9.0000ms  "
    "cudaStreamSynchronize\n"
)
NSYS = (
    " Time (%)  Total Time (ns)  Num Calls  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)  "
    "Name\n"
    " --------  ---------------  ---------  --------  --------  --------  --------  -----------  "
    "----\n"
    "     90.0    {total}      {calls}  1.0  1.0  1  1  1.0  cudaMemsetAsync\n"
)
REF = (
    "dnnl_verbose,exec,cpu,matmul,ref:any,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
    "dst_f32::blocked:ab:f0,,,15x41:41x19:15x19,0.25\n"
)
LONG = (
    "dnnl_verbose,exec,cpu,convolution,brgconv:avx512_core,forward_inference,"
    "src_f32::blocked:acdb:f0 wei_f32::blocked:Acdb48a:f0 bia_undef::undef::f0 "
    "dst_f32::blocked:acdb:f0,,alg:convolution_direct,"
    "mb128_ic3oc96_ih227oh55kh11sh4dh0ph0_iw227ow55kw11sw4dw0pw0,167.8\n"
)
HEADER = "dnnl_verbose,info,oneDNN v2.3.0 (commit N/A)\n"
REFUSED = (
    "onednn_verbose,v1,primitive,create:dispatch,convolution,unsupported feature for "
    "implementation: eltwise and binary post-ops not implemented on isa,"
    "src/cpu/x64/jit_avx2_conv_kernel_f32.cpp:700"
)
TABLE = (
    "---------------  ------------  ------------  ------------  ------------  ------------  "
    "------------\n"
    "           Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    "
    "# of Calls\n"
    "---------------  ------------  ------------  ------------  ------------  ------------  "
    "------------\n"
    "      aten::add        23.39%      67.168ms        99.98%     287.125ms      95.708ms"
    "             3\n"
    "{other}        75.81%     217.710ms        75.81%     217.710ms     217.710ms             1\n"
)


def _told(text: str, tmp_path: Path) -> list[Finding]:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return list(analyze(str(path)).told)


def test_copies_in_a_table_of_nvprof_are_judged(tmp_path: Path) -> None:
    first = _told(NVPROF.format(htod="50.00", ms="100.00"), tmp_path)[0]
    assert first.code == "TRC014"
    assert "copies take 50 %" in first.title
    assert "pinned" in first.advice[0].text
    assert not any("torch.compile" in (advice.code or "") for advice in first.advice)


def test_few_copies_in_a_table_of_nvprof_are_none(tmp_path: Path) -> None:
    found = _told(NVPROF.format(htod=" 4.00", ms="4.0000"), tmp_path)
    assert [one.code for one in found] == ["LOG001"]
    assert "volta_sgemm_128x64_nn" in found[0].message


def test_launches_in_a_table_of_nvprof_are_judged(tmp_path: Path) -> None:
    first = _told("==812== API calls:\n" + API, tmp_path)[0]
    assert first.code == "TRC002"
    assert "1,400,000 kernels were launched" in first.title
    alone = _told(API, tmp_path)[0]
    assert (alone.code, alone.title) == (first.code, first.title)


def test_copies_by_their_size_are_read(tmp_path: Path) -> None:
    text = (
        " ** GPU MemOps Summary (by Size) (gpumemsizesum):\n\n"
        " Total (MB)  Count  Avg (MB)  Med (MB)  Min (MB)  Max (MB)  StdDev (MB)      Operation\n"
        " ----------  -----  --------  --------  --------  --------  -----------  --------------\n"
        "  1,853.491  4,400     0.421     0.254     0.002     1.210        0.437  "
        "[CUDA memcpy HtoD]\n"
    )
    first = _told(text, tmp_path)[0]
    assert first.code == "LOG001"
    assert "`[CUDA memcpy HtoD]` 1,853.491 MB in 4,400 copies" in first.message


@pytest.mark.parametrize(
    ("total", "calls", "waits"),
    [("4,681,365,268", "2,000", True), ("4,681,365", "2,000", False), ("468,136,526", "9", False)],
)
def test_a_call_that_only_queues_and_takes_long_waits_for_the_device(
    total: str, calls: str, waits: bool, tmp_path: Path
) -> None:
    first = _told(NSYS.format(total=total, calls=calls), tmp_path)[0]
    assert first.code == "LOG001"
    assert ("the device is the limit" in first.message) is waits


@pytest.mark.parametrize(
    ("name", "fires"), [("zeModuleCreate", True), ("urEnqueueKernelLaunch", True), ("zeros", False)]
)
def test_calls_of_intels_driver_show_that_a_gpu_was_used(
    name: str, fires: bool, tmp_path: Path
) -> None:
    found = _told(TABLE.format(other=name.rjust(15)), tmp_path)
    devices = [one for one in found if one.code == "TRC022" and one.severity == "warning"]
    assert bool(devices) is fires
    if fires:
        assert "ProfilerActivity.XPU" in (devices[0].advice[0].code or "")
        assert not any("CUDA" in (advice.code or "") for advice in devices[0].advice)


def test_a_quoted_reference_matmul_is_told_beside_a_long_convolution(tmp_path: Path) -> None:
    first = _told(f"my product:\n{REF}\nand a convolution\n{LONG}", tmp_path)[0]
    assert (first.code, first.severity) == ("ONE001", "warning")
    assert not any(one.code == "ONE001" for one in _told(HEADER + REF + LONG, tmp_path))
    assert not any(one.code == "ONE001" for one in _told(REF + 6 * LONG, tmp_path))


@pytest.mark.parametrize("dress", ["{}", "`{}`", "**{}**", "1. `{}`"])
def test_a_single_refusal_is_told_without_a_word_on_what_was_chosen(
    dress: str, tmp_path: Path
) -> None:
    first = _told(dress.format(REFUSED) + "\n", tmp_path)[0]
    assert (first.code, first.severity, first.confidence) == ("ONE007", "info", "low")
    assert "not implemented on isa. Which one" in first.message


def test_bold_within_a_line_of_onednn_is_no_part_of_it(tmp_path: Path) -> None:
    bold = REF.replace("ref:any,undef", "ref:**any,**undef")
    assert _told(bold, tmp_path)[0].code == "ONE001"
