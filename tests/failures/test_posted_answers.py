"""What decides between answers to one message: a code, a tool's name, a word beside it."""
# ruff: noqa: E501 -- lines that torch and its tools print

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Report, TracelensError, analyze

SITE = "/home/ana/venv/lib/python3.11/site-packages"
#: Two lines of Kineto's when CUPTI does not start.
CUPTI = (
    "WARNING:2026-03-04 10:11:12 77:77 init.cpp:155] function cbapi->getCuptiStatus() failed with error {}\n"
    "WARNING:2026-03-04 10:11:12 77:77 init.cpp:156] CUPTI initialization failed - CUDA profiler activities will be missing\n"
)
PTXAS = "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n{} fatal   : Value '{}' is not defined for option 'gpu-name'\n"
ALLOCATOR = "RuntimeError: {} does not yet support {}. If you need it, please file an issue describing your use case."
LOGGED = "[2024-02-03 04:05:06,789] [{}] torch._dynamo.variables.higher_order_ops: [ERROR] "
GIVEN = "torch._dynamo.exc.Unsupported: HigherOrderOperator with body that accepts non-Tensors as input. Got: <class 'oddlib.comm.Group'>"
STRIDES = (
    '  File "/tmp/torchinductor_ana/ab/cabc.py", line 83, in call\n'
    "    assert_size_stride({}, (4, 8, 64), (512, 64, 1){})\n"
    "AssertionError: expected size 8==8, stride 1==64 at dim=1; expected size 64==64, stride 8==1 at dim=2\n"
)
OBSERVED = (
    "torch._dynamo.exc.Unsupported: Observed exception\n"
    "  Explanation: Dynamo found no exception handler at the top-level compiled function when encountering an exception. Exception will propagate outside the compiled region.\n\n"
    "  Developer debug context: raised exception {}\n\n"
    '\nfrom user code:\n   File "{}", line 31, in {}\n    raise ValueError(\n'
)
OCLOC = "subprocess.CalledProcessError: Command '['ocloc', 'compile', '-file', '/tmp/k.spv', '-o', '/tmp/k.o', '-spirv_input', '-device', '{}', '-options', '']' returned non-zero exit status 255."
CL = (
    "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n\nCommand:\n"
    "cl /I C:/Python/include /O2 /std:c++20 /openmp C:/Temp/torchinductor_ana/us/cus.main.cpp\n\nOutput:\n"
    "Microsoft (R) C/C++ Optimizing Compiler Version 19.44.35211 for x64\n"
    "Copyright (C) Microsoft Corporation.  All rights reserved.\n\n"
)
D9025 = "cl : Command line warning D9025 : overriding '/openmp' with '/openmp:experimental'\n"
META = "W1024 01:02:03.456000 1404 torch/_dynamo/convert_frame.py:1009] "
SYMBOL = (
    "    triton_meta={'signature': {0: '*bf16', 1: 'i32'}, 'device': DeviceProperties(type='cuda', index=0, cc=89), 'constants': {CONSTANTS}, 'configs': []},\n"
    "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
    "NameError: name 's3' is not defined\n"
)
ONEDNN = "RuntimeError: could not create a primitive descriptor for the matmul primitive. Run workload with environment variable ONEDNN_VERBOSE=all to get additional diagnostic information.\n"
GEMM = "onednn_verbose,v1,primitive,exec,ENGINE,matmul,jit:gemm:any,undef,src:f16::blocked:ab::f0 wei:f16::blocked:ab::f0 dst:f16::blocked:ab::f0,,,22x64:64x32,0.5\n"
SKIPPED = "onednn_verbose,v1,primitive,create:dispatch,matmul,ENGINE,matmul,jit:xe_hp:gemm:any,undef,src:f16::blocked:ab::f0 wei:f16::blocked:ab::f0 dst:f16::blocked:ab::f0,,,22x64:64x32,skipping or dispatching to another implementation,src/gpu/gemm.cpp:86\n"
PENDING = "`UserWarning: Unable to hit fast path of CUDAGraphs because of pending, uninvoked backwards. Consider running with torch.no_grad() or using torch.compiler.cudagraph_mark_step_begin() before each model invocation`"
PROGRAM = (
    "```python\nimport torch\n\n"
    + "\n".join(f"x{n} = torch.ones({n})" for n in range(20))
    + "\n```\n"
)
TUNED = "SingleProcess AUTOTUNE benchmarking takes 1.5 seconds and 0.001 seconds precompiling for 18 choices\n"
TABLE = "AUTOTUNE mm(64x64, 64x64)\n  triton_mm_3 0.0072 ms 100.0% \n  mm 0.0090 ms 80.0% \n"


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


def first(text: str, folder: Path) -> Finding:
    return report(text, folder).told[0]


def ids(found: Finding) -> list[str]:
    return [one.id for one in found.advice]


@pytest.mark.parametrize(
    ("tool", "variable"),
    [("ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH="), ("ptxas", "TRITON_PTXAS_PATH=")],
)
def test_each_ptxas_has_a_variable_of_its_own(tool: str, variable: str, tmp_path: Path) -> None:
    found = first(PTXAS.format(tool, "sm_110a"), tmp_path)
    assert found.code == "ERR010"
    assert (found.advice[0].env or "").startswith(variable)
    assert ("newer-second" in ids(found)) is (tool != "ptxas")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("CUPTI_ERROR_NOT_INITIALIZED (15)", ["own-libraries"]),
        ("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)", ["permit"]),
        ("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)", ["alone"]),
    ],
)
def test_cupti_is_helped_by_its_error(error: str, advice: list[str], tmp_path: Path) -> None:
    found = first(CUPTI.format(error), tmp_path)
    assert (found.code, ids(found)) == ("TRC022", advice)


def test_cupti_that_names_no_error_has_both_ways(tmp_path: Path) -> None:
    found = first(CUPTI.partition("\n")[2], tmp_path)
    assert ids(found) == ["alone", "permit"]


@pytest.mark.parametrize("rank", ["", "[rank1]:"])
def test_an_exception_that_old_torch_logs_is_a_graph_break(rank: str, tmp_path: Path) -> None:
    said = f"{rank}{LOGGED.format('4/1')}    raise Unsupported(msg)\n{rank}{LOGGED.format('4/1')}{GIVEN}\n"
    found = report(said, tmp_path)
    assert [one.code for one in found.told] == ["GBR012"]
    assert ids(found.told[0]) == ["only-tensors"]
    assert "`Group`" in found.told[0].advice[0].text
    alone = first(f"{LOGGED.format('0')}{GIVEN}\n", tmp_path)
    assert (alone.code, ids(alone)) == ("GBR012", ["only-tensors"])


def test_other_exceptions_of_the_same_logger_are_none(tmp_path: Path) -> None:
    said = f"{LOGGED.format('4/1')}torch._dynamo.exc.InternalTorchDynamoError: oddlib gave up\n"
    assert "GBR012" not in {one.code for one in report(said, tmp_path).findings}
    printed = f"{LOGGED.format('4/1')}torch._dynamo.exc.Unsupported: call_function BuiltinVariable(print) [ConstantVariable()] {{}}\n"
    assert first(printed, tmp_path).code == "GBR003"


def test_what_is_no_tensor_is_an_error_under_fullgraph(tmp_path: Path) -> None:
    found = first(f"{GIVEN}\n", tmp_path)
    assert (found.code, ids(found)[0]) == ("ERR016", "only-tensors")
    other = first("torch._dynamo.exc.Unsupported: HigherOrderOperator: odd things\n", tmp_path)
    assert "only-tensors" not in ids(other)


@pytest.mark.parametrize(
    ("beside", "advice"),
    [
        ("HIP Library Path: C:\\rocm\\bin\\amdhip64_7.dll\n", "fitting-hip"),
        ("GPU: Radeon, gfx1100\n", "fitting-hip"),
        ("CUDA 12.8, two GPUs\n", "to-device"),
    ],
)
def test_an_address_that_triton_refuses(beside: str, advice: str, tmp_path: Path) -> None:
    said = "ValueError: Pointer argument (at 1) cannot be accessed from Triton (cpu tensor?)\n"
    found = first(beside + said, tmp_path)
    assert found.code == "ERR000"
    assert "CPU" not in found.title.partition(":")[0]
    assert ids(found)[0] == advice
    assert "tensors-device" in ids(found)


@pytest.mark.parametrize(
    ("allocator", "lacks", "advice"),
    [
        ("cudaMallocAsync", "checkPoolLiveAllocations", ["native-allocator", "no-graphs"]),
        ("pluggable", "checkPoolLiveAllocations", ["no-other-allocator", "no-graphs"]),
        ("cudaMallocAsync", "recordHistory", ["native-allocator"]),
    ],
)
def test_an_allocator_lacks_what_graphs_need(
    allocator: str, lacks: str, advice: list[str], tmp_path: Path
) -> None:
    found = first(ALLOCATOR.format(allocator, lacks), tmp_path)
    assert found.code == "ERR000"
    assert f"`{allocator}` has no `{lacks}`" in found.title
    assert [one for one in ids(found) if one != "eager"] == advice
    assert ("CUDA graph trees" in found.title) is (lacks != "recordHistory")


def test_what_keeps_memory_of_a_graph_is_still_told(tmp_path: Path) -> None:
    said = "RuntimeError: live_blocks.size() == expected_live_allocations.size() INTERNAL ASSERT FAILED at CUDACachingAllocator.cpp"
    found = first(said, tmp_path)
    assert ids(found)[:2] == ["not-kept", "no-graphs"]


@pytest.mark.parametrize(
    ("checked", "named", "beside", "advice"),
    [
        ("buf3", "", "", ["plain-strides", "newer", "opcheck"]),
        ("buf3", ", 'torch.ops.aten.convolution.default'", "", ["plain-strides", "newer"]),
        ("buf3", "", "out = torch.ops.mylib.turned(x)\n", ["opcheck"]),
        ("buf3", "", "@torch.library.custom_op('mylib::turned')\n", ["opcheck"]),
    ],
)
def test_whose_result_has_another_layout(
    checked: str, named: str, beside: str, advice: list[str], tmp_path: Path
) -> None:
    said = beside + STRIDES.format(checked, named)
    if named:
        said += "Error in op: torch.ops.aten.convolution.default\n"
    found = first(said, tmp_path)
    assert found.code == "ERR021"
    assert ids(found)[: len(advice)] == advice
    assert ("opcheck" in ids(found)) is ("opcheck" in advice)


@pytest.mark.parametrize("text", ["{}\n", "The worker ends, and each call then raises `{}`.\n"])
def test_a_closed_pool_alone_is_torchs(text: str, tmp_path: Path) -> None:
    found = first(text.format("RuntimeError: Attempting to use a closed pool"), tmp_path)
    assert found.code == "ERR024"
    assert found.title.endswith(": Attempting to use a closed pool")
    with pytest.raises(TracelensError):
        report("PoolClosedError: attempting to use a closed pool of connections\n", tmp_path)


@pytest.mark.parametrize("sign", ["\u2013", "-", ":"])
def test_unsupported_without_its_module_is_known_by_dynamos_names(
    sign: str, tmp_path: Path
) -> None:
    said = f"An error occurred: Unsupported {sign} setattr(FSDPManagedNNModuleVariable(FullyShardedDataParallel), _is_root, ...)\n".replace(
        " :", ":"
    )
    found = first(said, tmp_path)
    assert (found.code, ids(found)[0]) == ("ERR016", "fsdp-blocks")
    with pytest.raises(TracelensError):
        report(f"Unsupported {sign} set $HOME_Variable(a) first\n", tmp_path)


@pytest.mark.parametrize(
    ("raised", "file", "own"),
    [
        ("ExceptionVariable(<class 'ValueError'>)", f"{SITE}/torch/nn/attention/odd.py", True),
        ("ValueError('a size of 3')", "/home/ana/proj/model.py", False),
    ],
)
def test_what_the_traced_code_raises_is_named(
    raised: str, file: str, own: bool, tmp_path: Path
) -> None:
    found = first(OBSERVED.format(raised, file, "attend"), tmp_path)
    assert found.code == "ERR016"
    assert "`ValueError`" in found.title
    assert "`attend`" in found.title
    assert ("torch's own check" in found.advice[0].text) is own
    assert not any("the program runs" in one.text for one in found.advice)


@pytest.mark.parametrize("device", ["", "bmg"])
def test_ocloc_for_no_device_is_tritons(device: str, tmp_path: Path) -> None:
    found = first(OCLOC.format(device), tmp_path)
    assert found.code == "ERR022"
    assert (ids(found) == ["newer-triton"]) is (not device)
    assert ("smaller" in ids(found)) is bool(device)


@pytest.mark.parametrize(
    ("output", "cut"),
    [
        ("", True),
        (D9025, True),
        (D9025 + "cus.main.cpp(23): error C2065: 'x': undeclared identifier\n", False),
    ],
)
def test_a_compiler_whose_own_error_is_cut_off(output: str, cut: bool, tmp_path: Path) -> None:
    found = first(CL + output, tmp_path)
    assert found.code == "ERR007"
    assert (ids(found)[0] == "whole-error") is cut
    assert ("scalar" in ids(found)) is not cut


@pytest.mark.parametrize("constants", ["{2: 64, 3: s3}", "{2: 64, 3: 32}"])
def test_a_symbol_among_the_constants_of_a_kernel(constants: str, tmp_path: Path) -> None:
    found = first(SYMBOL.replace("{CONSTANTS}", constants), tmp_path)
    assert found.code == "ERR017"
    assert ("constexpr" in ids(found)) is ("s3" in constants)
    assert "static-sizes" in ids(found)


def test_a_clock_before_torchs_prefix_is_no_part_of_a_message(tmp_path: Path) -> None:
    lines = SYMBOL.replace("{CONSTANTS}", "{3: s3}").splitlines()
    said = "".join(f"[01:02:03.{n:03}]: {META}{line}\n" for n, line in enumerate(lines))
    found = first(said, tmp_path)
    assert "[01:02" not in found.message
    assert "was suppressed" in found.message
    assert "suppress" not in ids(found)
    other = "".join(f"[01:02:03.{n:03}]: {line}\n" for n, line in enumerate(lines))
    assert "was suppressed" not in first(other, tmp_path).message


@pytest.mark.parametrize(
    ("lines", "engine", "printed"),
    [("", "", False), (GEMM, "gpu", False), (GEMM + SKIPPED, "gpu", True), (SKIPPED, "cpu", True)],
)
def test_onednns_lines_are_not_asked_for_twice(
    lines: str, engine: str, printed: bool, tmp_path: Path
) -> None:
    said = lines.replace("ENGINE", engine) + ONEDNN
    found = next(one for one in report(said, tmp_path).findings if one.code == "ERR000")
    advised = found.advice[0]
    assert (advised.env == "ONEDNN_VERBOSE=all") is not printed
    assert bool(advised.code and "mkldnn" in advised.code) is (engine != "gpu")
    assert ("is in the text" in advised.text) is printed


def test_checkpoints_are_put_inside_of_what_is_compiled(tmp_path: Path) -> None:
    said = "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
    found = first(said, tmp_path)
    assert (found.code, ids(found)[0]) == ("ERR028", "order")
    assert "torch.compile(checkpoint_wrapper(block))" in (found.advice[0].code or "")


def test_a_message_beside_a_program_is_read(tmp_path: Path) -> None:
    said = f"The warning is printed each time: {PENDING}\n\n"
    assert first(said + PROGRAM, tmp_path).code == "CGR007"
    assert first(said + PROGRAM.removesuffix("```\n"), tmp_path).code == "CGR007"  # cut off
    inside = PROGRAM.replace("import torch\n", f"import torch\n# {PENDING}\n")
    with pytest.raises(TracelensError):
        report(f"What does this do?\n{inside}", tmp_path)


def test_gradients_within_the_call_leave_a_backward(tmp_path: Path) -> None:
    assert "functional" in ids(first(f"It says {PENDING}\n", tmp_path))


@pytest.mark.parametrize("table", ["", TABLE])
def test_what_a_search_took_is_told_where_no_table_is(table: str, tmp_path: Path) -> None:
    codes = {one.code for one in report(TUNED + table, tmp_path).told}
    assert ("LOG001" in codes) is (not table)
