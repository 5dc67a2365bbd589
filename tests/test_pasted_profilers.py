"""Tables of profilers of all ages, and lines of oneDNN as people dress them, are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, TracelensError, analyze

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


def test_rows_of_nvprof_without_its_first_line_are_read(tmp_path: Path) -> None:
    text = (
        "Time(%) Time     Calls Avg       Min       Max      Name\n"
        "11.39%  821.00ms 217   3.7834ms  1.4080us  108.56ms [CUDA memcpy HtoD]\n"
        "10.96%  790.22ms 389   2.0314ms  1.5360us  101.28ms [CUDA memcpy DtoH]\n"
    )
    first = _told(text, tmp_path)[0]
    assert first.code == "TRC014"
    assert "copies take 22 %" in first.title
    assert "`[CUDA memcpy HtoD]`" in first.message


def test_rows_of_nsight_compute_as_csv_are_named(tmp_path: Path) -> None:
    text = (
        '"0","812","python3.12","127.0.0.1","add_kernel","1","7","(128, 1, 1)","(32, 1, 1)","0",'
        '"8.6","Launch Statistics","# SMs","SM","82",\n'
    )
    assert "Nsight Compute" in _told(text, tmp_path)[0].title


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


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("Bootstrap Root : rank 1 of 8 ranks has already checked in", "--node-rank"),
        ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 17000", "LOCAL_RANK"),
        ("Call to bind failed : Cannot assign requested address", "NCCL_SOCKET_FAMILY=AF_INET"),
        ("NET/IB : Got completion from peer 10.2.0.6<5486> with status=12", "NCCL_IB_DISABLE=1"),
        (
            "Error while creating shared memory segment /dev/shm/nccl-Ab (size 9637888)",
            "--ipc=host",
        ),
        ("Connect to 10.0.0.82<38455> failed : Connection refused", "NCCL_SOCKET_IFNAME"),
        ("Net : Call to recv from 10.0.0.8<1> failed : Connection reset by peer", "redirects"),
        ("Cuda failure 'an illegal memory access was encountered'", "CUDA_LAUNCH_BLOCKING=1"),
        ("Message truncated : received 2048 bytes instead of 1024", "TORCH_DISTRIBUTED_DEBUG"),
    ],
)
def test_a_warning_of_nccl_alone_is_told_with_what_to_do(
    said: str, advice: str, tmp_path: Path
) -> None:
    texts = (
        f"n1:812:901 [0] misc/socket.cc:379 NCCL WARN {said}\n",
        (
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/"
            "ProcessGroupNCCL.cpp:1970, unhandled system error, NCCL version 2.21.5\n"
            f"ncclSystemError: System call failed or device error.\nLast error:\n{said}\n"
        ),
    )
    for text in texts:
        first = _told(text, tmp_path)[0].advice[0]
        assert advice in f"{first.text} {first.env} {first.code}"


def test_a_warning_that_passes_by_comes_after_one_that_does_not(tmp_path: Path) -> None:
    verbs = "n1:8:9 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n"
    gpu = "n1:8:9 [0] init.cc:521 NCCL WARN Duplicate GPU detected : rank 1 and rank 0\n"
    assert "goes by TCP" in _told(verbs, tmp_path)[0].title
    assert "two ranks use one GPU" in _told(verbs + gpu, tmp_path)[0].title


@pytest.mark.parametrize("said", ["", "gave up. Last error: "])
def test_words_of_nccl_in_other_errors_are_not_nccls(said: str, tmp_path: Path) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/ana/proj/serve.py", line 3, in <module>\n'
        "    import torch\n"
        f"ConnectionResetError: {said}[Errno 104] Connection reset by peer\n"
    )
    try:
        found = _told(text, tmp_path)
    except TracelensError:
        return
    assert not any("rank" in one.title for one in found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "hf_Bert                             FAIL:           graph_breaks=11, expected=8\n",
            "hf_Bert breaks its graph 11 times, not 8",
        ),
        (
            (
                "Time for inference 1: 2.45 sec total, 81.50 tokens/sec\n"
                "Bandwidth achieved: 1098.18 GB/s\n"
            ),
            "81.50 tokens in a second, 1098.18 GB/s",
        ),
        (
            (
                "softmax-performance:\n          N      Triton  Torch (native)\n"
                "0     256.0   68.186768      439.804651\n1     384.0  103.079215      668.057698\n"
            ),
            "a benchmark of kernels",
        ),
        (
            (
                "      (M, N, K)    triton_matmul-compile_time\n---------------  ----------------\n"
                "(256, 256, 256)                    3870.13\n"
            ),
            "a benchmark of kernels",
        ),
        (
            (
                "conv_1   EXECUTED   layerType: Convolution   realTime: 129   cpu: 129   execType: "
                "jit_avx2_FP32\n"
            ),
            "times of OpenVINO's layers",
        ),
        (
            (
                "/home/ana/venv/lib/site-packages/triton/knobs.py:212: UserWarning: Failed to "
                'find nvdisasm\n  warnings.warn(f"Failed to find {binary}")\n'
            ),
            "a tool that prints machine code",
        ),
    ],
)
def test_what_benchmarks_and_other_tools_print_is_named(
    text: str, words: str, tmp_path: Path
) -> None:
    first = _told(text, tmp_path)[0]
    assert first.code == "LOG001"
    assert words in first.title


@pytest.mark.parametrize(
    "text",
    [
        "model-performance:\n  accuracy: 0.91\n  loss: 0.3\n",
        "Bandwidth achieved: 94.30 GB/s\nTransfer done\n",
        "val                  OK:      accuracy=0.93, expected=0.95\n",
        "step EXECUTED in 3 s\nlayer NOT_RUN\n",
        "/home/ana/triton/tool.py:3: UserWarning: Failed to find nvdisasm\n",
        "== Profiling result: ok\n",
        '"1","ana","Berlin","2024","x","3"\n',
        " ** Quarterly Summary (by unit) (sales):\n",
        "Total (MB)  used  free\n  1,200  3  4\n",
        " Total (MB)  Count  Name\n   200.5   12  photos\n",
        "Time for inference 1: 0.43 sec total, 20 images/sec\n",
        '"ID","Process ID","Process Name","User","CPU"\n"1","200","bash","ana","0.1"\n',
        '"0","4242","python3.11","127.0.0.1","ana","2","x"\n',
    ],
)
def test_what_looks_alike_is_a_programs_own(text: str, tmp_path: Path) -> None:
    with pytest.raises(TracelensError, match=r"plain program output|was recognised"):
        _told(text, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        (
            "[rank0]:[2024-03-04 03:09:32,084] [8/0] torch._dynamo.utils: [ERROR] Accuracy failed: "
            "allclose not within tol=0.001"
        ),
        "torchdynamo.utils: [ERROR] RMSE (res-fp64): 1572.99442, (ref-fp64): 41.00998",
    ],
)
def test_torchs_own_comparison_is_told_in_a_longer_log(line: str, tmp_path: Path) -> None:
    text = "".join(f"step {n} loss 0.1\n" for n in range(90))
    found = [one for one in _told(f"{text}{line}\n{text}{REF}", tmp_path) if one.code == "NUM001"]
    assert [one.severity for one in found] == ["warning"]
    assert "REPRO_LEVEL=4" in (found[0].advice[-1].env or "")


def test_numbers_that_are_lost_are_not_rounded(tmp_path: Path) -> None:
    line = "torchdynamo.utils: [ERROR] RMSE (res-fp64): {}, (ref-fp64): 0.00010\n"
    for got, advised in (("nan", ["minify"]), ("0.00200", ["round-as-eager", "minify"])):
        (found,) = _told(line.format(got), tmp_path)
        assert [one.id for one in found.advice] == advised
        assert ("NaN" in found.title) is (got == "nan")


def test_timed_lines_of_onednn_are_told_by_what_took_the_time(tmp_path: Path) -> None:
    first = _told(LONG + LONG.replace("167.8", "1.5").replace("mb128", "mb1"), tmp_path)[0]
    assert (first.code, first.severity) == ("ONE019", "info")
    assert "mb128" in first.message
    assert first.advice[-1].env == "ONEDNN_VERBOSE=profile,dispatch"
    assert _told(LONG.replace(",167.8", ","), tmp_path)[0].code == "LOG001"
