"""Short texts in which no rule finds anything are told for what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import TracelensError, analyze
from tracelens.render import Options
from tracelens.render.text import Text

GUARDS = "V0930 08:14:56.394000 2216 torch/_dynamo/guards.py:1342] [0/0] [__guards] "
DYNAMIC = "I1014 03:52:39.376000 1397 torch/fx/experimental/symbolic_shapes.py:3545] [1/0] "
CUDAGRAPHS = "I0419 11:12:04.474000 1405 torch/_inductor/cudagraph_trees.py:360] [__cudagraphs] "
RUN = "onednn_verbose,v1,primitive,exec,cpu,"
WEIGHTS = f"{RUN}reorder,jit:uni,undef,src:f32::blocked:abcd::f0 dst:f32::blocked:acdb::f0,,,"
#: The text, words of the title or the message, and words of the advice.
PARTS = {
    "guards": (
        (
            f"{GUARDS}Python shape guard function:\n{GUARDS}def ___make_guard_fn(math, torch):\n"
            f"{GUARDS}    def guard(L):\n"
        ),
        "guards of a compiled frame",
        "recompiles",
    ),
    "sizes": (
        (
            f"{DYNAMIC}create_symbol s5 = 2 for L['x'].size()[1] [2, 4094] (_dynamo/variables/"
            "builder.py:2276 in <lambda>), for more info run with "
            'TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL="s5"\n'
        ),
        "1 symbol for `L['x'].size()[1]`",
        "dynamic,recompiles",
    ),
    "CUDA graphs": (
        f"{CUDAGRAPHS}recording cudagraph tree for graph without symints\n",
        "lines about CUDA graphs",
        "cudagraphs",
    ),
    "compile times": (
        (
            "TorchDynamo compilation metrics:\nFunction, Runtimes (s)\ncode_gen, 0.5000, 0.2500\n"
            "_compile.compile_inner, 1.5000\n"
        ),
        "`_compile.compile_inner` 1.5 s, `code_gen` 0.75 s",
        "graph_breaks",
    ),
    "times of torch's benchmarks": (
        "TIMING: code_gen:17.57586 inductor_compile:42.55769 total_wall_time:87.70519\n",
        "`total_wall_time` 87.7 s",
        "graph_breaks",
    ),
    "the profiler's totals": (
        "Self CPU time total: 2.400ms\nSelf CUDA time total: 600.000us\n",
        "sum up to 4 times the device's time",
        "key_averages",
    ),
    "calls that wait": (
        (
            " Time (%)  Total Time (ns)  Num Calls   Avg (ns)   Name \n"
            " --------  ---------------  ---------  ----------  -----\n"
            "     97.0       10,786,646          2  5393323.0    poll \n"
            "      3.0          333,646          1   333646.0    read \n"
        ),
        "`poll`, 10.8 ms in 2 calls: a thread that waits, which costs nothing",
        "nsys stats",
    ),
    "oneDNN with many reorders": (
        (
            f"{WEIGHTS}1x32x56x96,0.5\n{WEIGHTS}1x64x56x96,0.5\n{WEIGHTS}1x16x56x96,0.5\n"
            f"{WEIGHTS}1x8x56x96,0.5\n{WEIGHTS}1x9x56x96,0.5\n"
            f"{RUN}pooling,jit:avx2,forward_inference,src:f32::blocked:acdb::f0 dst:f32::blocked:"
            "acdb::f0,,alg:pooling_max,mb1ic64_ih112oh56kh3sh2dh0ph0_iw112ow56kw3sw2dw0pw0,2.5\n"
        ),
        "50 % of it reorders",
        "ONEDNN_VERBOSE=profile,dispatch",
    ),
    "Triton's first form": (
        (
            "Autotuner for function JITFunction(__main__:norm) finished after 4.15s; best config "
            "selected: BLOCK: 512, num_warps: 8, num_ctas: 1, num_stages: 3;\n"
        ),
        "One search took 4.15 s, for `norm`",
        "TRITON_CACHE_AUTOTUNING",
    ),
    "all timings of Triton's": (
        (
            "Printing ALL Multiple Triton autotuning Configs with timings in sorted order for "
            "kernel JITFunction(attn):\nTriton autotune config: [BLOCK_M: 64, num_warps: 4]; "
            "Triton autotune timing: [1.41, 1.40, 1.42]\n"
        ),
        "for `attn`",
        "TRITON_CACHE_AUTOTUNING",
    ),
    "the report of CompileProfiler": (
        "Torchdynamo Profiler Report\n===========================\n",
        "CompileProfiler",
        "graph_breaks,recompiles",
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_told_with_what_would_settle_it(name: str, tmp_path: Path) -> None:
    text, words, advice = PARTS[name]
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    (found,) = analyze(str(path)).told
    code = "ONE019" if "oneDNN" in name and "exec" in text and "0.5\n" in text else "LOG001"
    assert (found.code, found.severity) == (code, "info")
    assert words in f"{found.title} {found.message}"
    assert advice in " ".join(f"{one.env} {one.code}" for one in found.advice)
    assert found.evidence or name == "guards"  # its function says nothing about one guard


def test_lines_of_onednn_whose_times_are_cut_are_told_without_them(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    lines = [f"{WEIGHTS}{size}x32x56x96,0" for size in range(1, 8)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert found.code == "LOG001"
    assert "`reorder` on `jit:uni`, without times" in found.message


def test_a_long_log_is_no_part(tmp_path: Path) -> None:
    """Two-sided with the above: what is clean for a hundred lines is a recording, and clean."""
    path = tmp_path / "run.log"
    path.write_text(PARTS["sizes"][0] * 100, encoding="utf-8")
    assert not analyze(str(path)).told


def test_a_few_lines_of_torch_in_much_output_are_no_part(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(PARTS["sizes"][0] + "step 1 loss 0.5\n" * 20, encoding="utf-8")
    assert not analyze(str(path)).told


def test_who_ignores_the_rule_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(PARTS["sizes"][0], encoding="utf-8")
    report = analyze(str(path), ignore=["LOG001"])
    assert not report.findings
    assert next(one for one in report.verdicts if one.code == "LOG001").verdict == "quiet"


def test_explain_of_torch_2_0_lists_breaks(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(
        "Dynamo produced 3 graphs, with 2 graph break and 6 ops. \n Break reasons: \n\n"
        "1. call_function BuiltinVariable(print) [ConstantVariable(str)] {} \n"
        '   File "/home/ana/proj/toy.py", line 16, in toy\n    print("woo")\n \n'
        '2. generic_jump TensorVariable() \n   File "/home/ana/proj/toy.py", line 17, in toy\n'
        "    if b.sum() < 0:\n",
        encoding="utf-8",
    )
    report = analyze(str(path))
    places = {(one.code, one.where.line) for one in report.told if one.where is not None}
    assert {("GBR003", 16), ("GBR002", 17)} <= places


def test_reasons_whose_indentation_is_lost_are_read(tmp_path: Path) -> None:
    head = "V0703 10:34:13.273000 1403 torch/_dynamo/guards.py:2590] [0/1] [__recompiles] "
    path = tmp_path / "pasted.txt"
    path.write_text(
        f"{head}Recompiling function f in /home/ana/proj/b.py:3\n"
        f"{head}triggered by the following guard failure(s):\n{head}- 0/0: len(x) == 2\n",
        encoding="utf-8",
    )
    report = analyze(str(path))
    assert report.coverage.unread_lines == 0
    assert "RCP017" in {one.code for one in report.findings}


def test_who_says_what_was_recorded_has_a_clean_log(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(PARTS["guards"][0], encoding="utf-8")
    assert [finding.code for finding in analyze(str(path)).told] == ["LOG001"]
    assert not analyze(str(path), recorded_with=["guards", "recompiles"]).told


def test_what_a_short_log_is_has_no_unknown_cost(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(PARTS["guards"][0], encoding="utf-8")
    said = Text.render(analyze(str(path)), Options())
    assert "a short log: guards of a compiled frame" in said
    assert "unknown" not in said


#: The last line of the profiler's table, alone.
FOOT = "Self CPU time total: 2.314ms\n"


@pytest.mark.parametrize("before", ["", "step 1\n" * 100, f"{GUARDS}def f():\n"])
def test_the_foot_of_a_table_has_no_rows_and_no_columns(before: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"{before}{FOOT}", encoding="utf-8")
    report = analyze(str(path))
    assert not [one for one in report.verdicts if one.verdict == "crashed"]
    assert "TRC022" not in {one.code for one in report.findings}


def test_what_a_paste_is_does_not_hide_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule is asked twice: a crash in the first turn is told all the same."""

    def crash(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr("tracelens.rules.log._parts.of_tables", crash)
    path = tmp_path / "pasted.txt"
    path.write_text(FOOT, encoding="utf-8")
    verdict = next(one for one in analyze(str(path)).verdicts if one.code == "LOG001")
    assert verdict.verdict == "crashed"


REFERENCE = f"{RUN}softmax,ref:any,forward_inference,src:f32::blocked:ab::f0,,,8x8,0.002\n"
REORDER = (
    f"{RUN}reorder,ref:any,undef,src:f32::blocked:ab::f0 dst:f32::blocked:ba::f0,,,8x8,0.001\n"
)
PRODUCT = (
    f"{RUN}matmul,brg:avx512_core,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 "
    "dst:f32::blocked:ab::f0,,,8x8:8x8,0.12\n"
)
NO_TIMES = REFERENCE.replace("0.002\n", "0\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (REFERENCE + PRODUCT * 6, "; the reference implementation is `softmax` on `ref:any`."),
        (REORDER + PRODUCT, "; the reference implementation is `reorder` on `ref:any`."),
        (NO_TIMES * 6, "without times, a reference implementation, which is slow."),
        (REFERENCE, "`softmax` on `ref:any` 2 us, a reference implementation, which is slow."),
        (PRODUCT * 2, "; none of it is a reference implementation."),
        (PRODUCT * 6, "; none of it is a reference implementation."),
    ],
)
def test_a_reference_implementation_in_a_few_lines_is_named(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert found.code == ("LOG001" if said.startswith("without times") else "ONE019")
    assert said in found.message


def test_a_few_lines_add_nothing_to_a_finding_on_a_reference_implementation(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    slow = PRODUCT.replace(",cpu,", ",gpu,").replace("brg:avx512_core", "ocl:ref:any")
    path.write_text(slow, encoding="utf-8")
    assert {one.code for one in analyze(str(path)).told} == {"ONE001"}


ODD = "skipping cudagraph due to something new and odd\n"


@pytest.mark.parametrize(
    ("text", "said", "not_said"),
    [
        (
            "Graph Count: 1\nGraph Break Count: 0\nOp Count: 6\n",
            "The call was traced as one graph.",
            "reason",
        ),
        (
            "Graph Count: 3\nGraph Break Count: 2\nOp Count: 6\n",
            "3 graphs, by 2 breaks; their reasons are not in it.",
            "one graph",
        ),
        (
            "Dynamo produced 2 graphs, with 1 graph break and 6 ops. \n",
            "2 graphs, by 1 break; its reason is not in it.",
            "one graph",
        ),
        (
            "Graph Count: 0\nGraph Break Count: -1\nOp Count: 0\n",
            "The call was not traced at all.",
            "one graph",
        ),
        (ODD, "did not record a graph, or a part of one, for the reason in the line", "replayed"),
        (PARTS["CUDA graphs"][0], "are replayed from then on", "not record"),
        (
            "Self CPU time total: 10.000s\nSelf XPU time total: 2.500s\n",
            "sum up to 4 times the device's time: if no compilation and no data loading",
            "CUDA",
        ),
        ("Self CPU time total: 2.4ms\nSelf CUDA time total: 600us\n", "CUDA graphs", "waited"),
    ],
)
def test_a_short_log_is_told_by_what_it_says(
    text: str, said: str, not_said: str, tmp_path: Path
) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert found.code == "LOG001"
    assert said in found.message
    assert not_said not in found.message


@pytest.mark.parametrize("device", ["CPU", "CUDA", "XPU"])
def test_a_table_is_sorted_by_the_device_of_its_foot(device: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(
        f"Self CPU time total: 2.4ms\nSelf {device} time total: 2.0ms\n", encoding="utf-8"
    )
    (found,) = analyze(str(path)).told
    assert f'sort_by="self_{device.lower()}_time_total"' in str(found.advice[0].code)


@pytest.mark.parametrize(
    ("cuda", "xpu", "code"),
    [("0.50ms", "", "LOG001"), ("0.48ms", "", "TRC002"), ("", "0.01ms", "LOG001")],
)
def test_a_host_that_works_five_times_as_long_as_the_gpu_launches(
    cuda: str, xpu: str, code: str, tmp_path: Path
) -> None:
    path = tmp_path / "pasted.txt"
    device = f"Self CUDA time total: {cuda}" if cuda else f"Self XPU time total: {xpu}"
    path.write_text(f"Self CPU time total: 2.4ms\n{device}\n", encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert (found.code, found.severity) == (code, "info")


#: The numbers of a row of Nsight Systems up to 2021, behind its share.
NUMBERS = "  1234  56  1.0  2.0  3.0  4.0  "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"     0.0{NUMBERS}5.0  fclose\n",
            "Of the rows shown the longest is `fclose`, 1.23 us in",
        ),
        (f"    61.2{NUMBERS}void norm(int)\n", "the longest is `void norm(int)`, 1.23 us in 56 c"),
        (f"    61.2{NUMBERS}cudaMalloc\n    9.0  99999  56  1.0  2.0\n", "is `cudaMalloc`"),
    ],
)
def test_rows_of_nsight_systems_have_the_columns_of_their_numbers(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert said in found.message


@pytest.mark.parametrize(
    "text",
    [
        f" 12.5{NUMBERS}accuracy\n 13.5{NUMBERS}accuracy\n",
        f" 12.5{NUMBERS}5.0  reader\n",
        "TIMING: epoch:120.53 load:3.21\n",
    ],
)
def test_numbers_of_the_program_are_its_own(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(f"epoch 1 of 3\n{text}done\n", encoding="utf-8")
    with pytest.raises(TracelensError, match=r"plain program output|was recognised"):
        analyze(str(path))


def test_a_search_without_its_time_has_none(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(PARTS["all timings of Triton's"][0], encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert "One search ran, for `attn`." in found.message
