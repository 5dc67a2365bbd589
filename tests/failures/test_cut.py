"""A traceback whose end was not copied is told by what leads to it; other stacks are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import TracelensError, analyze
from tracelens.failures.stages import place_stage

TORCH = "/home/ana/venv/lib/python3.12/site-packages/torch"
WINDOWS = r"C:\ComfyUI\python_embeded\Lib\site-packages\torch"


def frames(*steps: tuple[str, str, str]) -> str:
    return "".join(
        f'  File "{path}", line 12, in {name}\n    {code}\n' for path, name, code in steps
    )


MIDDLE = (
    (
        f"{TORCH}/_dynamo/symbolic_convert.py",
        "step",
        "self.dispatch_table[inst.opcode](self, inst)",
    ),
    (
        f"{TORCH}/_dynamo/output_graph.py",
        "call_user_compiler",
        "return self._call_user_compiler(gm)",
    ),
    (f"{TORCH}/_inductor/compile_fx.py", "compile_fx", "return aot_autograd("),
)
FAKE = (f"{TORCH}/_dynamo/utils.py", "get_fake_value", "raise TorchRuntimeError(str(e)) from None")
COMPILER = (
    rf"{WINDOWS}\_inductor\cpp_builder.py",
    "check_compiler_exist_windows",
    'raise RuntimeError(f"Compiler: {compiler} is not found.") from exc',
)
HEADING = (
    "InternalTorchDynamoError                  Traceback (most recent call last)\n"
    "Cell In[3], line 2\n      1 m = torch.compile(m)\n----> 2 m(x)\n"
    f"File {TORCH}/nn/modules/module.py:1518, in Module._wrapped_call_impl(self, *args)\n"
)


def codes(text: str, folder: Path) -> list[str]:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return [finding.code for finding in analyze(str(path)).told]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (frames(*MIDDLE), "ERR000"),
        (frames(*MIDDLE, FAKE), "ERR015"),
        (frames(COMPILER), "ERR002"),
        (HEADING, "ERR018"),
    ],
)
def test_what_leads_to_an_error_tells_of_it(text: str, code: str, tmp_path: Path) -> None:
    assert codes(text, tmp_path)[:1] == [code]


def test_the_report_says_that_the_end_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(frames(*MIDDLE, FAKE), encoding="utf-8")
    finding = analyze(str(path)).told[0]
    assert finding.severity == "error"
    assert finding.confidence == "medium"
    assert "`TorchRuntimeError`" in finding.message
    assert "ends before the error" in finding.message


def test_a_whole_traceback_is_told_by_its_error(tmp_path: Path) -> None:
    text = frames(*MIDDLE) + "torch._inductor.exc.InductorError: ValueError: no such thing\n"
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    finding = analyze(str(path)).told[0]
    assert finding.code == "ERR017"
    assert "ends before the error" not in finding.message


@pytest.mark.parametrize(
    "text",
    [
        # The stacks of a process that runs.
        "Timeout (0:00:10)!\nThread 0x00007f (most recent call first):\n" + frames(*MIDDLE),
        # Something was caught, and the program went on.
        frames(*MIDDLE) + "".join(f"step {n} loss 0.5\n" for n in range(20)),
        # Not the compiler's.
        frames(*[("/home/ana/proj/raise.py", "f", "raise ValueError(x)")] * 4),
        frames((f"{TORCH}/nn/modules/module.py", "_call_impl", "raise RuntimeError(x)")),
    ],
)
def test_other_stacks_are_no_failures(text: str, tmp_path: Path) -> None:
    try:
        found = codes(text, tmp_path)
    except TracelensError:
        found = []
    assert not [code for code in found if code.startswith("ERR")]


def test_a_real_tensor_among_fake_ones_is_named(tmp_path: Path) -> None:
    text = (
        "Exception: Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode "
        "with 'allow_non_fake_inputs'. Found in aten.mm.default(...)\n"
    )
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    finding = analyze(str(path)).told[0]
    assert finding.code == "ERR015"
    assert "register_buffer" in finding.advice[0].text


CALLER = (f"{TORCH}/_inductor/runtime/triton_heuristics.py", "_precompile_config", "ASTSource(")
TRITON = "/home/ana/venv/lib/python3.12/site-packages/triton"


@pytest.mark.parametrize(
    ("caller", "error", "code"),
    [
        (CALLER, "AssertionError", "ERR009"),
        (CALLER, "ZeroDivisionError: division by zero", "ERR017"),
        (("/home/ana/proj/kernels.py", "run", "kernel[grid](x)"), "AssertionError", "ERR017"),
    ],
)
def test_a_call_of_triton_that_does_not_fit_is_a_version(
    caller: tuple[str, str, str], error: str, code: str, tmp_path: Path
) -> None:
    inner = (f"{TRITON}/compiler/compiler.py", "__init__", "assert isinstance(k, tuple)")
    text = (
        "Traceback (most recent call last):\n"
        + frames(*MIDDLE, caller, inner)
        + "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        + f"{error}\n"
    )
    assert codes(text, tmp_path)[:1] == [code]


def test_a_tensor_that_outlives_a_cuda_graph(tmp_path: Path) -> None:
    text = (
        f'  File "{TORCH}/_inductor/cudagraph_trees.py", line 1693, in check_memory_pool\n'
        "RuntimeError: live_blocks.size() == expected_live_allocations.size() INTERNAL ASSERT "
        'FAILED at "../c10/cuda/CUDACachingAllocator.cpp":1793, please report a bug to PyTorch.\n'
    )
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    finding = analyze(str(path)).told[0]
    assert finding.code == "ERR000"
    assert "CUDA graph" in finding.title
    assert "no-cudagraphs" in str([one.code for one in finding.advice])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("expected size 2==2, stride 64==8192 at dim=0", "stride 64 instead of 8192"),
        ("expected size 1024==768, stride 192==192 at dim=0", "size 1024 instead of 768"),
    ],
)
def test_an_assertion_names_what_differs(said: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"AssertionError: {said}\n", encoding="utf-8")
    finding = analyze(str(path)).told[0]
    assert finding.code == "ERR021"
    assert told in finding.title


ARROW = (
    "[/usr/lib/python3.9/concurrent/futures/process.py](https://localhost:8080/#) in submit(self)\n"
    "    706             if self._broken:\n"
    "--> 707                 raise BrokenProcessPool(self._broken)\n"
    "    708             if self._shutdown_thread:\n\n"
)
ATTRIBUTE = (
    f"{TORCH}/_inductor/triton_heuristics.py",
    "_precompile_config",
    'cluster_dims = get_first_attr(binary, "cluster_dims", "clusterDims")',
)
FIRST = (f"{TORCH}/_dynamo/utils.py", "get_first_attr", 'raise AssertionError(f"{obj} does not")')


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{frames(COMPILER)}torch._inductor.exc.Inducto\n", "ERR002"),
        (f"{frames(*MIDDLE, ATTRIBUTE, FIRST)}torch._dynamo.exc.B\n", "ERR009"),
        (f"{ARROW}BackendCompilerFailed: backend='debu\n", "ERR024"),
        # Whole names.
        (f"{frames(*MIDDLE)}torch._dynamo.exc.Unsupported: Data-dependent branching\n", "ERR016"),
    ],
)
def test_the_beginning_of_a_name_at_the_end_is_not_the_error(
    text: str, code: str, tmp_path: Path
) -> None:
    assert codes(text, tmp_path) == [code]


def test_an_error_that_a_line_names_comes_before_the_way_to_it(tmp_path: Path) -> None:
    named = "AttributeError: type object 'CompiledKernel' has no attribute 'launch_enter_hook'\n"
    text = f"LoweringException: {named}\nThe full error of my run:\n\n{frames(*MIDDLE)}"
    assert codes(text, tmp_path) == ["ERR009"]


@pytest.mark.parametrize(
    ("file", "stage"),
    [
        ("_inductor/cudagraph_trees.py", "runtime"),
        ("_inductor/graph.py", "inductor"),
        ("_inductor/runtime/triton_heuristics.py", "runtime"),
    ],
)
def test_graphs_of_cuda_are_recorded_while_compiled_code_runs(file: str, stage: str) -> None:
    assert place_stage(f"/home/ana/venv/lib/python3.10/site-packages/torch/{file}") == stage
