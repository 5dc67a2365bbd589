"""Tables, counters and lines in other dresses, pasted alone: what they say is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, TracelensError, analyze

CELLS = "  {:>6}%  {:>10}  {:>6}%  {:>10}  {:>10}  {:>10}  {:>6}%  {:>10}  {:>10}  {:>6}\n"
COLUMNS = (
    "Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg     Self CUDA   "
    "Self CUDA %    CUDA total  CUDA time avg    # of Calls\n"
)
SYMBOLS = "INFO:torch.fx.experimental.symbolic_shapes:"
AT = "model.py:42 in step (_dynamo/utils.py:1255 in run_node)"
RECOMPILE = (
    "V0726 07:04:24.836000 1780 torch/_dynamo/guards.py:2688] [0/1] [__recompiles] Recompiling "
    "function f in /home/ana/proj/model.py:3\n"
    "V0726 07:04:24.836000 1780 torch/_dynamo/guards.py:2688] [0/1] [__recompiles]     triggered "
    "by the following guard failure(s):\n"
    "V0726 07:04:24.836000 1780 torch/_dynamo/guards.py:2688] [0/1] [__recompiles]     - 0/0: "
    "len(L['x']) == 3\n"
)
AUTOTUNE = (
    "AUTOTUNE mm(784x624, 624x192)\n  triton_mm_9 0.0154 ms 100.0%\n  mm 0.0205 ms 75.0%\n"
    "SingleProcess AUTOTUNE takes 1.5112 seconds\n"
)
WORKER = "2024-02-13T02:09:34,864 [WARN ] W-9000-densenet161_1.0-stderr MODEL_LOG - "


def _row(name: str, host: str, device: str, calls: int) -> str:
    return f"{name:>40}" + CELLS.format(
        "4.55", host, "4.55", host, host, device, "5.98", device, device, calls
    )


def _analyze(text: str, tmp_path: Path) -> Report:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


def _first(text: str, tmp_path: Path) -> tuple[str, str]:
    found = _analyze(text, tmp_path).told[0]
    return found.code, f"{found.title} {found.message}"


READ = "each reads a number from the device"
LAUNCHES = "launches are the limit"


@pytest.mark.parametrize(
    ("rows", "said", "not_said"),
    [
        ([("aten::_local_scalar_dense", "35.0us", "6.2ms", 1339)], READ, LAUNCHES),
        ([("aten::_local_scalar_dense", "35.0us", "6.2ms", 9)], "6.2 ms of the device", READ),
        # On a CPU a number is read without a wait.
        ([("aten::item", "35.0ms", "0.000us", 1339)], "35 ms of the host", READ),
        (
            [("cudaLaunchKernel", "90.0ms", "0.000us", 900), ("aten::add", "9.0ms", "30.0ms", 900)],
            LAUNCHES,
            READ,
        ),
        (
            [("cudaLaunchKernel", "80.0ms", "0.000us", 900), ("aten::add", "9.0ms", "30.0ms", 900)],
            "80 ms of the host",
            LAUNCHES,
        ),
        (
            [("triton_poi_fused_add_0", "0.000us", "6.2ms", 40)],
            "Inductor generated it",
            LAUNCHES,
        ),
    ],
)
@pytest.mark.parametrize("head", ["", COLUMNS])
def test_rows_of_the_profiler_are_told_by_what_they_are(
    head: str, rows: list[tuple[str, str, str, int]], said: str, not_said: str, tmp_path: Path
) -> None:
    text = f"{' ' * 36}{head}" if head else ""
    report = _analyze(text + "".join(_row(*row) for row in rows), tmp_path)
    messages = [one.message for one in report.told if one.code == "LOG001"]
    if messages:  # a rule about whole tables may judge it with its head
        assert said in messages[0]
        assert not_said not in messages[0]
    else:
        assert head


def test_rows_without_their_head_are_told_in_each_case(tmp_path: Path) -> None:
    """What the test above may leave to another rule is at least told without a head."""
    row = _row("aten::_local_scalar_dense", "35.0us", "6.2ms", 1339)
    assert _first(row, tmp_path)[0] == "LOG001"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"eval Eq(s1, 25) [guard added] at {AT}", "`s1` became the constant 25 at model.py:42"),
        (
            (
                f"create_symbol s1 = 25 for L['t'] [2, int_oo] at {AT}\n"
                f"{SYMBOLS}eval Eq(25, s1) [guard added] at {AT}"
            ),
            "`s1` (`L['t']`) became the constant 25",
        ),
        ("set_replacement s0 = 8 (range_refined_to_singleton) VR[8, 8]", "`s0` became the"),
        (f"25: evaluate_expr Eq(s1, 25) [guard added] at {AT}", "`s1` became the constant 25"),
    ],
)
def test_a_size_that_became_a_constant_is_named(text: str, said: str, tmp_path: Path) -> None:
    code, words = _first(f"{SYMBOLS}{text}\n", tmp_path)
    assert code == "LOG001"
    assert said in words
    assert "`int()`, an index" in words


@pytest.mark.parametrize(
    "text",
    [
        f"create_symbol s1 = 25 for L['t'] [2, int_oo] at {AT}",
        f"eval Eq(s1, s2) [guard added] at {AT}",
        f"eval s1 <= 25 [guard added] at {AT}",
        "set_replacement s0 = s1 (solve) VR[2, 8]",
    ],
)
def test_a_size_that_may_still_change_is_none(text: str, tmp_path: Path) -> None:
    assert "became the constant" not in _first(f"{SYMBOLS}{text}\n", tmp_path)[1]


@pytest.mark.parametrize(
    "heading",
    [
        "Function                  Runtimes (s)\n----------------------  ------\n",
        "Function,Runtimes (s)\n",
        "Function, Runtimes (s)\n",
    ],
)
def test_a_table_of_compile_times_is_known_without_its_title(heading: str, tmp_path: Path) -> None:
    between = "," if "," in heading else " "
    report = _analyze(
        f"{heading}_compile.compile_inner{between} 12.3212\ncompile_fx_inner{between} 9.9001\n",
        tmp_path,
    )
    (found,) = [one for one in report.findings if one.code == "CMP001"]
    assert "12.3 s" in found.title


def test_times_in_a_log_of_vllm_may_be_bold(tmp_path: Path) -> None:
    text = (
        "INFO 06-19 23:05:09 [backends.py:426] Dynamo bytecode transform time: **7.51 s**\n"
        "INFO 06-19 23:05:35 [gpu_model_runner.py:1608] Graph capturing finished in **17 secs**\n"
    )
    report = _analyze(text, tmp_path)
    assert "24.5 s" in report.findings[0].title


@pytest.mark.parametrize("mark", ["# ", "#", "// ", "+", "-", "+ "])
def test_lines_of_torch_in_a_comment_or_a_diff_are_read(mark: str, tmp_path: Path) -> None:
    text = "".join(f"{mark}{line}" for line in RECOMPILE.splitlines(keepends=True))
    codes = [one.code for one in _analyze(text, tmp_path).findings]
    assert codes[0] == _analyze(RECOMPILE, tmp_path).findings[0].code == "RCP017"


@pytest.mark.parametrize("mark", ["-", "+", "- ", "+ ", WORKER])
def test_a_table_of_autotune_in_a_diff_or_of_a_server_is_read(mark: str, tmp_path: Path) -> None:
    text = "".join(f"{mark}{line}" for line in AUTOTUNE.splitlines(keepends=True))
    codes = {one.code for one in _analyze(text, tmp_path).findings}
    assert codes == {one.code for one in _analyze(AUTOTUNE, tmp_path).findings} == {"TUN002"}


@pytest.mark.parametrize(
    "text",
    [
        "- 3 ms 4.5%\n+ 4 ms 5.5%\n",
        "-  total 12.0 s\n# V8 is an engine\n",
        "Counter({'a': 3, 'b': 2})\n",
        "stats [1, 2, 3]\nframes 12\n",
        "Function    Runtimes\nmain        12.1\n",
        "torch.Tensor: [4, 8]\n",
    ],
)
def test_what_looks_alike_is_the_programs(text: str, tmp_path: Path) -> None:
    with pytest.raises(TracelensError, match=r"plain program output|was recognised"):
        _analyze(text, tmp_path)


def test_rows_without_tf32_name_the_switch(tmp_path: Path) -> None:
    row = "  triton_mm_13 4.1953 ms 98.1% ACC_TYPE='tl.float32', ALLOW_TF32={}, BLOCK_K=32\n"
    assert "set_float32_matmul_precision" in _first(row.format("False"), tmp_path)[1]
    assert "set_float32_matmul_precision" not in _first(row.format("True"), tmp_path)[1]


def test_rows_with_cut_statistics_are_no_head(tmp_path: Path) -> None:
    row = "  triton_mm_13 4.1953 ms 98.1% ACC_TYPE='tl.float32', BLOCK_K=32\n"
    took = "SingleProcess AUTOTUNE benchmarking takes 0.9773 seconds and 0.6 seconds precompiling\n"
    text = row + took + 'Autotune Choices Stats:\n{"num_choices": 17, "best_k\n'
    (found,) = _analyze(text, tmp_path).told
    assert found.title.startswith("rows of an AUTOTUNE table")


def test_what_torch_was_called_before_2_0_is_known(tmp_path: Path) -> None:
    text = (
        "[2022-10-14 15:59:22,874] torchdynamo.convert_frame: [WARNING] torchdynamo hit "
        "config.cache_size_limit (64)\n   function: 'forward' (/home/ana/proj/model.py:284)\n"
        "   reasons:  [\"tensor 'x' strides mismatch at index 0. expected 56, actual 24\"]\n"
    )
    report = _analyze(text, tmp_path)
    assert report.told[0].code == "RCP001"
    assert "`forward`" in report.told[0].title


def test_a_graph_break_of_torch_2_0_has_its_first_frame_in_its_line(tmp_path: Path) -> None:
    text = (
        "[2023-04-14 15:59:22,874] torch._dynamo.symbolic_convert: [WARNING] Graph break: "
        "call_function BuiltinVariable(print) [ConstantVariable(str)] {} from user code at   File "
        '"/home/ana/proj/model.py", line 23, in forward\n'
    )
    (found,) = [one for one in _analyze(text, tmp_path).told if one.where]
    assert (found.code, found.where and found.where.line) == ("GBR003", 23)


def test_a_single_convolution_by_matrix_products_is_named(tmp_path: Path) -> None:
    line = (
        "mkldnn_verbose,exec,convolution,{},forward_training,fsrc:nchw fwei:oihw fbia:undef "
        "fdst:nchw,alg:convolution_direct,mb8_g1ic1oc100_ih15oh11kh5sh1dh0ph0_iw20ow1kw20sw1dw0pw0"
        ",40.5582\n"
    )
    code, said = _first(line.format("gemm:jit"), tmp_path)
    assert code == "ONE002"
    assert "as im2col and a matrix product" in said
    code, said = _first(line.format("jit:avx2"), tmp_path)
    assert code == "ONE019"
    assert "copies the image apart" not in said


def test_a_convolution_is_judged_by_one_execution_where_nothing_repeats(tmp_path: Path) -> None:
    line = (
        "mkldnn_verbose,exec,{},forward_training,fsrc:nchw fwei:oihw fbia:undef "
        "fdst:nchw,alg:convolution_direct,mb8_g1ic{}oc100_ih15oh11kh5sh1dh0ph0_iw20ow1kw20sw1dw0pw0"
        ",{}\n"
    )
    slow = line.format("convolution,gemm:blas", 1, 2.0)
    for other, repeats, fires in ((8.0, 1, True), (8.1, 1, False), (1.0, 2, False)):
        text = slow + repeats * line.format("convolution,jit:avx2", 16, other)
        codes = {finding.code for finding in _analyze(text, tmp_path).told}
        assert ("ONE002" in codes) == fires, (other, repeats)


def test_weights_that_are_packed_are_told_as_such(tmp_path: Path) -> None:
    head = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 "
    packed = [
        f"{head}dst:bf16:p:blocked:ABcd16b16a2b::f0,,,{n}x96x1x1,0.0164\n" for n in (24, 48, 96)
    ]
    activation = f"{head}dst:bf16::blocked:aBcd16b::f0,,,8x96x16x16,0.0164\n"
    code, said = _first("".join(packed), tmp_path)
    assert code == "ONE003"
    assert "3 weights are packed" in said
    assert _first("".join(packed[:2]), tmp_path)[0] == "ONE019"
    assert _first("".join(packed) + 4 * activation.replace("8x96", "9x96"), tmp_path)[0] == "ONE003"
    several = "".join(activation.replace("8x96", f"{n}x96") for n in range(4))
    assert _first("".join(packed) + several, tmp_path)[0] == "ONE019"


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("not enough SMs to use max_autotune_gemm mode", "TUN006"),
        ("Not enough SMs to use max_autotune_gemm mode", "TUN006"),
    ],
)
def test_a_warning_of_an_older_version_is_the_same(text: str, topic: str, tmp_path: Path) -> None:
    report = _analyze(
        f"[2023-10-10 12:27:06,332] torch._inductor.utils: [WARNING] {text}\n", tmp_path
    )
    assert topic in {one.code for one in report.findings}


def test_a_warning_that_no_rule_is_about_is_told_as_one(tmp_path: Path) -> None:
    text = (
        "UserWarning: Please use the new API settings to control TF32 behavior, such as "
        "torch.backends.cudnn.conv.fp32_precision = 'tf32'.\n"
    )
    code, words = _first(text, tmp_path)
    assert code == "LOG001"
    assert "nothing is slower by it" in words


COUNTERS = (
    "defaultdict(<class 'collections.Counter'>, {'stats': Counter({'calls_captured': 12, "
    "'unique_graphs': 3}), 'inductor': Counter({'fxgraph_cache_bypass': 2})"
)


@pytest.mark.parametrize(
    "text",
    [
        COUNTERS + "})\n",
        COUNTERS + ", 'aot_autograd': Coun\n",
        (
            "stats [('calls_captured', 12), ('unique_graphs', 3)]\n"
            "inductor [('fxgraph_cache_bypass', 2)]\ninline_call []\n"
        ),
    ],
)
def test_counters_say_how_many_graphs_there_are(text: str, tmp_path: Path) -> None:
    code, words = _first(text, tmp_path)
    assert code == "LOG001"
    assert "3 graphs were compiled" in words
    assert "could not be kept in Inductor's cache" in words


def test_reasons_among_the_counters_are_graph_breaks(tmp_path: Path) -> None:
    text = COUNTERS + ", 'graph_break': Counter({'Tensor.item': 3})})\n"
    report = _analyze(text, tmp_path)
    assert report.told[0].code == "GBR001"
    assert report.told[0].where is None


VERBOSE = "V0819 21:07:52.605000 1396 torch/_dynamo/guards.py:1423] [__recompiles_verbose] "


def test_reasons_behind_their_group_are_read_without_their_head(tmp_path: Path) -> None:
    text = (
        f"{VERBOSE}    guard 0 failures:\n"
        f"{VERBOSE}    - L['self'].param_groups[0]['betas'][0] == 0.9499993141552187\n"
    )
    code, words = _first(text, tmp_path)
    assert code == "LOG001"
    assert "param_groups[0]['betas'][0] == 0.9499993141552187`" in words
    assert "number of the optimizer" in words
    assert "number of the optimizer" not in _first(text.replace("param_", "some_"), tmp_path)[1]


def test_a_path_that_was_shortened_is_torchs(tmp_path: Path) -> None:
    head = ".../torch/_dynamo/guards.py:2772] [16/8] [__recompiles] "
    text = (
        f"{head}Recompiling function f in /home/ana/proj/model.py:3\n"
        f"{head}    triggered by the following guard failure(s):\n{head}    - 0/0: len(x) == 2\n"
    )
    assert _analyze(text, tmp_path).findings[0].code == "RCP017"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                "INFO 04-18 08:26:11 [backends.py:431] Dynamo bytecode transform time:\n5.03 s\n"
                "INFO 04-18 08:26:15 [backends.py:120] Directly load the compiled\n"
                "graph(s) for shape None from the cache, took 4.190 s\n"
            ),
            "9.22 s",
        ),
        (
            (
                "[2025-09-05 20:50:29 TP6] Capture draft cuda graph end. Time elapsed: 62.67 s. "
                "mem usage=0.21 GB.\n"
            ),
            "62.7 s",
        ),
        (
            (
                "INFO 04-28 16:20:20 [backends.py:1128] [actor=<root>.<t.Generator g{'gpus': 0}>] "
                "Dynamo bytecode transform time: 15.26 s\n"
            ),
            "15.3 s",
        ),
        (
            (
                "DEBUG 03-07 03:52:37 [backends.py:134] store the 0-th graph for shape None from "
                "inductor via handle ('f', '~/.cache/vllm/f.py')\n"
            ),
            "lines of a server's start",
        ),
        (
            "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  34%|##   | 23/67 [00:02]\n",
            "lines of a server's start",
        ),
    ],
)
def test_more_steps_of_a_server_are_read(text: str, said: str, tmp_path: Path) -> None:
    assert said in _analyze(text, tmp_path).findings[0].title


@pytest.mark.parametrize(
    ("calls", "host", "said"),
    [(39576, "364.021ms", True), (999, "9.0ms", False), (39576, "3.364s", False)],
)
def test_many_short_calls_of_the_host_are_told(
    calls: int, host: str, said: bool, tmp_path: Path
) -> None:
    row = _row("aten::empty_strided", host, "0.000us", calls)
    assert ("each: if a GPU waits" in _first(row, tmp_path)[1]) is said


def test_rows_of_nvprof_are_known_without_their_head(tmp_path: Path) -> None:
    row = f"{'1.14%':>24}  71.470ms      8200  8.7150us  5.0050us  493.74us  cudaLaunchKernel\n"
    assert "nvprof" in _first(row, tmp_path)[1]


def test_strides_of_gradients_are_explained(tmp_path: Path) -> None:
    text = (
        "UserWarning: Grad strides do not match bucket view strides. This may indicate grad was "
        "not created according to the gradient layout contract.\n"
        "grad.sizes() = [768, 1, 5, 5], strides() = [25, 1, 5, 1]\n"
    )
    code, said = _first(text, tmp_path)
    assert code == "DST003"
    assert "1x1 convolution" in said
    bucket = "bucket_view.sizes() = [768, 1, 5, 5], strides() = [50, 50, 5, 1]\n"
    assert "1x1 convolution" not in _first(text + bucket, tmp_path)[1]


def test_a_graph_that_the_cache_could_not_load_is_explained(tmp_path: Path) -> None:
    text = (
        "W1023 10:06:15.945000 596 torch/_inductor/codecache.py:1026] [8/1] fx graph cache unable "
        "to load compiled graph\n"
    )
    assert "compiled again" in _first(text, tmp_path)[1]


def test_a_warning_about_cuda_graphs_is_known_without_its_place(tmp_path: Path) -> None:
    text = (
        "UserWarning: Unable to hit fast path of CUDAGraphs because of pending, uninvoked "
        "backwards. Consider running with torch.no_grad()\n"
    )
    assert _first(text, tmp_path)[0] == "CGR007"


WRAPPED = "INFO 05-01 10:00:00 [runner.py:20] Graph capturing finished in\n 12 secs, took 1 GiB\n"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (WRAPPED, "the server's log names steps, without their seconds"),
        (WRAPPED.replace("in\n ", "in "), "the server spent 12 s on steps that its log names"),
    ],
)
def test_seconds_that_are_not_known_are_not_none(text: str, title: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"{text}{text}")
    (found,) = [one for one in analyze(str(path)).findings if one.code == "CMP006"]
    assert found.title == title
    assert (found.cost is None) == ("without" in title)


@pytest.mark.parametrize(
    ("name", "said"), [("DtoD (Device -> Device)", False), ("HtoD (Pageable -> Device)", True)]
)
def test_a_copy_on_the_device_is_none_from_the_host(name: str, said: bool, tmp_path: Path) -> None:
    found = _first(_row(f"Memcpy {name}", "0.0us", "900.0ms", 9), tmp_path)[1]
    assert "`Memcpy" in found
    assert ("between host and device" in found) == said


@pytest.mark.parametrize(("spent", "told"), [("1,234.5 ms", "1.23 s"), ("1.234,5 ms", "")])
def test_a_time_with_another_decimal_sign_is_not_guessed(
    spent: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "pasted.txt"
    head = "Time\tTotal Time\tInstances\tAvg\tName"
    path.write_text(f"{head}\n61.0%\t{spent}\t10\t1 ms\tkernel_a\n", encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert ("kernel_a" in found.message) is bool(told)
    assert told in found.message


def test_a_step_is_not_what_takes_its_time(tmp_path: Path) -> None:
    rows = _row("ProfilerStep*", "0.0us", "900.0ms", 9) + _row("aten::mm", "9.0us", "90.0ms", 9)
    assert "is that of `aten::mm`" in _first(rows, tmp_path)[1]


@pytest.mark.parametrize("between", ["\n", "\n\n", "\n\n\n"])
def test_the_quoted_reason_is_the_line_that_says_it(between: str, tmp_path: Path) -> None:
    lines = (
        "torch._dynamo hit config.recompile_limit (8)",
        "   function: 'f' (/home/ana/proj/model.py:3)",
        "   last reason: 0/7: n == 7",
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".\n',
    )
    found = _analyze(between.join(lines), tmp_path).told[0]
    assert found.code == "RCP001"
    quoted = [one.text for one in found.evidence if one.note == "the reason that torch prints"]
    assert [text.strip() for text in quoted] == ["last reason: 0/7: n == 7"]


@pytest.mark.parametrize(
    "bar", [" 40%|####      | 4/10 [00:02<00:03,  1.91it/s]", "3it [00:09,  3.1s/it]"]
)
def test_a_table_of_autotune_behind_a_progress_bar_is_read(bar: str, tmp_path: Path) -> None:
    codes = {one.code for one in _analyze(f"{bar}{AUTOTUNE}", tmp_path).findings}
    assert codes == {one.code for one in _analyze(AUTOTUNE, tmp_path).findings} == {"TUN002"}


TABS = (
    "Time\tTotal Time\tInstances\tAvg\tMed\tMin\tMax\tStdDev\tCategory\tOperation\n"
    "88.6%\t1.127 s\t2825\t398.843 μs\t374.015 μs\t373.470 μs\t485.438 μs\t39.316 μs\tCUDA_KERNEL\t"
    "void at::native::vectorized_elementwise_kernel<(int)4>(int, T2)\n"
)


def test_a_table_of_the_graphical_profiler_has_tabs_and_units(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(TABS, encoding="utf-8")
    fused, table = analyze(str(path)).told
    assert "takes 89 % of the kernels' time (1.13 s in 2,825 calls" in table.message
    assert fused.code == "TRC010"


STEP_COLUMNS = (
    "Self CPU %",
    "Self CPU",
    "CPU total %",
    "CPU total",
    "CPU time avg",
    "Self CUDA",
    "Self CUDA %",
    "CUDA total",
    "CUDA time avg",
    "# of Calls",
)


def _step(device: str, own: str = "0.000us") -> str:
    """Return the table of one step, whose kernels take ``device``, ``own`` of it in no operator."""
    step = ("3.00%", "759.000us", "99.98%", "25.303ms", "25.303ms")
    part = ("1.71%", "434.000us", "64.76%", "16.389ms", "16.389ms")
    kernels = (own, "0.00%", device, device, "1")
    rule = "  ".join(["-" * 25, *["-" * 13] * len(STEP_COLUMNS)])
    rows = (
        ("Name", STEP_COLUMNS),
        ("ProfilerStep*", (*step, *kernels)),
        ("Torch-Compiled Region", (*part, *kernels)),
    )
    lines = ["  ".join([name.rjust(25), *(cell.rjust(13) for cell in row)]) for name, row in rows]
    return "\n".join((rule, lines[0], rule, *lines[1:], ""))


@pytest.mark.parametrize(
    ("device", "own", "limited"),
    [
        ("23.059ms", "0.000us", True),
        ("12.059ms", "0.000us", False),
        # The step as the device sees it, from its first kernel to its last, is in the total.
        ("23.059ms", "20.059ms", False),
    ],
)
def test_a_step_that_is_full_of_kernels_is_limited_by_the_device(
    device: str, own: str, limited: bool, tmp_path: Path
) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(_step(device, own), encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert ("the device is the limit" in found.message) is limited


def test_rows_without_a_head_have_memory_beside_their_times(tmp_path: Path) -> None:
    rows = (
        "    aten::loss_backward    -0.08%  -16028.000us   3.88%   741.826ms   11.591ms   24.59 Gb"
        "   10.76 Gb      64        --  \n"
        "            aten::fill_     3.90%    744.822ms    3.90%   745.010ms  372.505us    2.74 Gb"
        "    2.74 Gb    2000        --  \n"
    )
    path = tmp_path / "pasted.txt"
    path.write_text(rows, encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert "745 ms of the host, is that of `aten::fill_`, in 2,000 calls" in found.message
