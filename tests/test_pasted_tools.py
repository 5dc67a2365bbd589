"""What torch's tools and those beside it print is named, with what it tells and where to go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Severity, TracelensError, analyze

CSV = "dev,name,batch_size,speedup,abs_latency\n"


def _told(text: str, tmp_path: Path) -> list[Finding]:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return list(analyze(str(path)).told)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            (
                "0.101ms    \t0.805 GB \t 7952.70GB/s \t triton_poi_fused_add_3\n"
                "0.002ms    \t0.001 GB \t  500.00GB/s \t triton_red_fused_sum_1\n"
            ),
            "`triton_poi_fused_add_3` takes 0.101 ms, at 7952.70 GB/s",
        ),
        (f"{CSV}cuda,resnet50,32,0.91,12.44\n", "resnet50 is slower compiled (0.91)"),
        (
            (
                "{'compile_id': '0/0', 'co_name': 'forward', 'entire_frame_compile_time_s': 9.1,"
                " 'inductor_compile_time_s': 7.2, 'fail_type': None}\n"
            ),
            "`forward` took 9.1 s to compile, 7.2 s of it in Inductor",
        ),
        (
            (
                'perf,cpu,"c",--conv mb1ic16ih7oc16oh7kh5ph2n"c",0.07,0.09\n'
                "total perf: min(ms):0.07 avg(ms):0.09\n"
            ),
            "benchdnn",
        ),
        (
            (
                "|===========|\n|      PyTorch CUDA memory summary, device ID 0      |\n"
                "|   CUDA OOMs: 2            |        cudaMalloc retries: 3         |\n"
                "| Allocated memory      |  10343 MiB |  14441 MiB |  58834 MiB |  48490 MiB |\n"
            ),
            "out of memory 2 times, 14441 MiB at most",
        ),
        (
            (
                "|      PyTorch CUDA memory summary, device ID 0      |\n"
                "|   CUDA OOMs: 0            |        cudaMalloc retries: 0         |\n"
                "| Allocated memory      | 110420 KiB |   1044 MiB |  23809 MiB |  23701 MiB |\n"
            ),
            "1044 MiB at most, and never out of memory",
        ),
        ("xft_verbose,exec,cpu,api,xdnn_sgemm_f32f16f32_compute,m1k4096n22016,5.2\n", "xFaster"),
        ("[07/30/2026-15:30:36] [I] === Model Options ===\n", "TensorRT"),
        ("7755.929 ROOT\n├─ 98.737 cublas_1024\n", "Proton"),
        ('"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n', "ROCm"),
        (
            (
                "    Section: GPU Speed Of Light Throughput\n"
                "    Memory Throughput                   %        94.59\n"
            ),
            "Memory Throughput at 94.6 % of the device's peak",
        ),
        (
            (
                "Running train method from resnet50 on cuda in dynamo inductor mode\n"
                "Correctness:                        False\n"
                "PT2 Compilation time:      27.919 seconds\n"
            ),
            "resnet50: its results differ from eager's, and compiling took 27.9 s",
        ),
        (
            (
                "+-------------+-------------+------------------------+----------+\n"
                "|    suite    |    name     | inductor_no_cudagraphs | inductor |\n"
                "+-------------+-------------+------------------------+----------+\n"
                "| torchbench  |  resnet50   |         0.9349         |  0.8519  |\n"
            ),
            "torch's own benchmarks",
        ),
        # The first steps of either side compile or start, and the third is the first that counts.
        (
            (
                "eager eval time 0: 1.5\neager eval time 2: 0.010\ncompile eval time 0: 60.1\n"
                "compile eval time 1: 20.1\ncompile eval time 2: 0.020\n"
            ),
            "compiled code is no faster: 2 times eager's time",
        ),
        ("eager time: 20 ms\ncompiled time: 5.0 ms\n", "compiled code takes 25 % of eager's time"),
        ("eager time: 20 ms\ncompiled time: 5.0 ms\ncompile time: 35.2 s\n", "takes 25 % of"),
        ("Eager mean: 2.5 sec\nCompiled mean: 5 seconds\n", "2 times eager's time"),
        ("tests:8 passed:8 skipped:0 mistrusted:0 unimplemented:0 failed:0\n", "benchdnn"),
        ("[07/30/2026-15:30:36] [W] [TRT] Unused layer\n", "TensorRT"),
        ("(eval) eager median: 0.4, compile median: 0.5, speedup: 0.8x\n", "1.25 times eager's"),
        ("cuda eval  resnet50\n0.912x\n", "resnet50 is slower compiled (0.912)"),
        ("cuda train resnet50                        1.312x\n", "torch's own benchmarks"),
        ("Stats { ok: 12, other_rank: 0, fail_glog: 3 }\n", "tlparse"),
        ("Started off with: 142 nodes, 12 inputs, granularity 64\n", "minifier"),
        (
            (
                "  triton_red_fused_sum_0 (4096, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0\n"
                "    Memory Throughput                 %        91.22\n"
            ),
            "Nsight Compute",
        ),
        ("n1:812:901 [0] NCCL WARN Cuda failure 'out of memory'\n", "Cuda failure 'out of memory'"),
        (
            "  == triton_pointwise category kernels ==\nPercent of time when GPU is busy: 27.51%\n",
            "the device computed 27.5 % of the time",
        ),
    ],
)
def test_a_tool_is_named_with_what_it_tells(text: str, words: str, tmp_path: Path) -> None:
    (found,) = _told(text, tmp_path)
    assert (found.code, found.severity) == ("LOG001", Severity.INFO)
    assert words in found.title
    assert found.advice


@pytest.mark.parametrize(
    "text",
    [
        "NCCL INFO Channel 00/02 : 0 1\n",
        "dev,name,batch_size,price\n",
        "cuda train the model on it\n",
        "0.912x\n",
        "0.101ms 0.805 GB 7952.70GB/s copy_kernel\n",
        "Stats { ok: 12, failed: 3 }\n",
        "compiled 12 files: 3.4 s\ncompile time: 3.4\n",
        "eager time: 20 ms\n",
        "| name | price |\n+------+-------+\n",
        "[2026-07-30 15:30:36] [I] hello\n",
        "perf,1,2\n",
        # A rate is no time, and a suite of tests no benchmark.
        "Eager mean: 120.5 tokens/s\nCompiled mean: 180.2 tokens/s\n",
        "eager mean: 91.5 %\ncompiled mean: 91.6 %\n",
        "tests:12 passed:12 failed:0 skipped:0\n",
        "[07/30/2026-15:30:36] [I] Server started on port 8080\n",
        "42 ROOT\n3.1 ROOT\n",
        "{'compile_id': 7}\n",
    ],
)
def test_what_other_programs_print_is_theirs(text: str, tmp_path: Path) -> None:
    with pytest.raises(TracelensError):
        _told(text, tmp_path)


@pytest.mark.parametrize("name", ["eager time", "Eager mode"])
def test_the_time_that_compiling_takes_is_none_of_compiled_code(name: str, tmp_path: Path) -> None:
    (found,) = _told(f"{name}: 12.5 ms\ncompile time: 41.0 s\n", tmp_path)
    assert "times eager" not in found.title


@pytest.mark.parametrize(("share", "waits"), [("27.51", True), ("88.00", False)])
def test_a_device_that_waits_is_no_matter_of_faster_kernels(
    share: str, waits: bool, tmp_path: Path
) -> None:
    text = (
        f"  == triton_pointwise category kernels ==\nPercent of time when GPU is busy: {share}%\n"
    )
    (found,) = _told(text, tmp_path)
    assert ("CUDA graphs" in found.message) == waits


def test_what_helps_a_device_that_waits_are_fewer_launches(tmp_path: Path) -> None:
    (found,) = _told("Percent of time when GPU is busy: 27.51%, total 12.4 ms\n", tmp_path)
    (advice,) = found.advice
    assert "reduce-overhead" in (advice.code or "")
    (found,) = _told("Percent of time when GPU is busy: 88.00%, total 12.4 ms\n", tmp_path)
    assert "output_code" in (found.advice[0].env or "")


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        ("cuda eval  resnet50         fail_to_run\ncuda eval  bert        0.912x\n", ["bert"]),
        ("cuda eval  resnet50         1.200x\ncuda eval  bert        0.912x\n", ["bert"]),
        ("cuda eval  resnet50\nfail_accuracy\ncuda eval  bert\n0.912x\n", ["bert"]),
        (f"{CSV}cuda,resnet50,0,0.0,0.0\ncuda,bert,32,0.912,20.0\n", ["bert"]),
        (f"{CSV}cuda,resnet50,0,0.0,0.0\ncuda,bert,32,1.5,20.0\n", []),
    ],
)
def test_a_speedup_is_of_the_model_that_ran(text: str, slow: list[str], tmp_path: Path) -> None:
    (found,) = _told(text, tmp_path)
    named = [name for name in ("resnet50", "bert") if f"{name} is slower" in found.title]
    assert named == slow


def test_a_model_that_is_faster_compiled_is_not_called_slower(tmp_path: Path) -> None:
    (found,) = _told(f"{CSV}cuda,resnet50,32,1.31,12.44\n", tmp_path)
    assert "slower compiled" not in found.title


def test_a_tool_is_not_told_beside_a_log_of_torch(tmp_path: Path) -> None:
    text = (
        "NCCL WARN Cuda failure 'x'\n"
        "V1120 10:45:19.361000 3171 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] Recompiling"
        " function f in /home/ana/proj/a.py:3\n"
    )
    assert not any("NCCL" in one.title for one in _told(text, tmp_path))


@pytest.mark.parametrize("group", ['counters["graph_break"]: ', "counters['graph_break'] = "])
def test_reasons_in_a_counter_are_breaks_and_no_error(group: str, tmp_path: Path) -> None:
    text = (
        f"{group}Counter({{'Unsupported: call_method UserVariable(C) f': 2, 'Tensor.item': 4}})\n"
    )
    told = _told(text, tmp_path)
    assert "GBR001" in {one.code for one in told}
    assert not any(one.severity is Severity.ERROR for one in told)


@pytest.mark.parametrize(
    "text",
    [
        "{'Unsupported: call_function UserDefinedObjectVariable(x)': 2, 'a': 3}\n",
        "{'Unsupported: foo': 3, \"Unsupported: call_method UserVariable(C) f\": 2}\n",
    ],
)
def test_a_dict_that_counts_errors_is_none(text: str, tmp_path: Path) -> None:
    with pytest.raises(TracelensError):
        _told(text, tmp_path)


def test_an_error_behind_what_counts_errors_is_one(tmp_path: Path) -> None:
    text = (
        "{'Unsupported: foo': 3}\ntorch._dynamo.exc.InternalTorchDynamoError: KeyError: 'fields'\n"
    )
    assert "ERR018" in {one.code for one in _told(text, tmp_path)}


def test_reasons_of_inlined_functions_are_told_where_no_other_is(tmp_path: Path) -> None:
    inlined = "'inline_call': Counter({'Tensor.item': 1})"
    told = _told(f"defaultdict(<class 'collections.Counter'>, {{{inlined}}})\n", tmp_path)
    assert "GBR001" in {one.code for one in told}
    both = f"{inlined}, 'graph_break': Counter({{'generic_jump TensorVariable()': 1}})"
    told = _told(f"defaultdict(<class 'collections.Counter'>, {{{both}}})\n", tmp_path)
    assert {"GBR001", "GBR002"} & {one.code for one in told} == {"GBR002"}


def test_counters_of_caches_are_read_without_their_class(tmp_path: Path) -> None:
    (found,) = _told("{'fxgraph_cache_miss': 3, 'fxgraph_cache_bypass': 2}\n", tmp_path)
    assert "counters" in found.title
    assert "could not be kept" in found.message


def test_the_recording_of_graphs_by_a_server_is_known_behind_its_prefix(tmp_path: Path) -> None:
    text = (
        "(EngineCore_0 pid=221) INFO 09-21 10:11:12 [cuda_graph.py:88] Capturing CUDA graphs "
        "(mixed prefill-decode, PIECEWISE): 100%|####| 67/67 [00:41<00:00,  1.62it/s]\n"
    )
    assert _told(text, tmp_path)
