"""A torch, a Triton or a process that is not made for the device, and texts that name torch weakly."""
# ruff: noqa: E501 -- lines of tracebacks

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, analyze
from tracelens.errors import SourceError

TORCH = "/home/ana/venv/lib/python3.12/site-packages/torch"
#: The text, and the advice that is first.
HELPS = {
    "AssertionError: Torch not compiled with CUDA enabled": "which-torch",
    "RuntimeError: PyTorch is not linked with support for xpu devices": "which-torch",
    "RuntimeError: Triton Error [CUDA]: context is destroyed": "current-device",
    "RuntimeError: Triton Error [CUDA]: invalid device context": "current-device",
    "AttributeError: module 'torch' has no attribute '_dynamo'": "newer-torch",
    "AttributeError: module 'torch' has no attribute 'compiler'": "newer-torch",
    "subprocess.CalledProcessError: Command ['C:\\\\ai\\\\triton\\\\backends\\\\nvidia\\\\bin\\\\ptxas.exe', '--version'] returned non-zero exit status 3221225794.": "own-ptxas",
    "ERROR: Could not find a version that satisfies the requirement triton==2.3.0 (from versions: none)\nERROR: No matching distribution found for triton==2.3.0": "no-wheel",
    "LINK : fatal error LNK1112: module machine type 'x64' conflicts with target machine type 'x86'\nCppCompileError: C++ compile error": "prompt",
    "RuntimeError: Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned.": "no-graphs",
}
#: Torch's words, and no failure of these kinds.
OTHERS = (
    "AttributeError: module 'torch' has no attribute 'flot32'",
    "ERROR: No matching distribution found for tritonclient==2.3.0",
    "ERROR: No matching distribution found for triton-model-analyzer",
    "LINK : fatal error LNK1112: module machine type 'x64' conflicts with target machine type 'ARM64'",
    "LINK : fatal error LNK1112: module machine type 'x86' conflicts with target machine type 'x64'",
    "INFO 12 blocks were taken during CUDA graph capture",
    "AttributeError: module 'torchlight' has no attribute 'compile'",
    "subprocess.CalledProcessError: Command ['/usr/bin/nvcc', '--version'] returned non-zero exit status 1.",
)
#: Lines of a message without their head, and what says what they are.
PARTS = {
    "  - Not all values of n = L['x'].size()[0] in the specified range n <= 64 satisfy the generated guard L['x'].size()[0] != 64.": "DYN002",
    "torch._dynamo.exc.UserError: Tried to use data-dependent value in the subsequent computation": "DYN001",
    "error LNK2019: unresolved external symbol aoti_torch_check referenced in function kernel": "ERR007",
    "AOTI for Windows failed: undefined reference to `WinMain'": "ERR006",
}
OLD = (
    'Traceback (most recent call last):\n  File "/srv/ana/torchdynamo/torchinductor/graph.py", line 227, in call_function\n'
    "    return lowerings[target](*args, **kwargs)\n"
    '  File "/srv/ana/torchdynamo/torchinductor/lowering.py", line 172, in wrapped\n    return decomp_fn(*args, **kwargs)\n'
)
LOGGED = f'E0815 19:38:37.053000 8614 torch/_guards.py:264] [0/0]   File "{TORCH}/_dynamo/output_graph.py", line 452, in init_ambient_guards\n'
MINIFIER = (
    "[2024-04-03 12:39:34,011] torch._dynamo.debug_utils: [WARNING] Writing minified repro to:\n"
    "[2024-04-03 12:39:34,011] torch._dynamo.debug_utils: [WARNING] /srv/torch_compile_debug/run_1/minifier/minifier_launcher.py\n"
)
CALL = (
    'Traceback (most recent call last):\n  File "/home/ana/proj/train.py", line 16, in <module>\n    output = model(x)\n'
    f'  File "{TORCH}/_dynamo/eval_frame.py", line 489, in _fn\n    return fn(*args, **kwargs)\n'
)
INNER = f'  File "{TORCH}/_inductor/compile_fx.py", line 12, in compile_fx\n    return aot_autograd(\n  File "{TORCH}/_dynamo/backends/common.py", line 9, in __call__\n    cg = aot(gm)\n'
HANDLED = """File ~/venv/lib/python3.10/site-packages/torch/_dynamo/symbolic_convert.py:805, in InstructionTranslatorBase.step(self)
    804 try:
--> 805     self.dispatch_table[inst.opcode](self, inst)
    806     return not self.output.should_exit
    807 except BackendCompilerFailed:

File ~/venv/lib/python3.10/site-packages/torch/_dynamo/symbolic_convert.py:499, in break_graph(self, inst)
    498 try:
--> 499     return inner_fn(self, inst)
"""


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(f"{text}\n", encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("text", HELPS)
def test_what_helps_comes_first(text: str, tmp_path: Path) -> None:
    first = report(text, tmp_path).told[0]
    assert first.code == {"no-wheel": "ERR008", "prompt": "ERR003"}.get(HELPS[text], "ERR000")
    assert first.advice[0].id == HELPS[text]


def test_a_title_names_the_generated_file_without_its_folders(tmp_path: Path) -> None:
    hashed = "c4shzjsawi6isatgxt5usmll3ivp5z6j3uob2b2hlma3oxsl24vk.main.cpp:41:58: error: 'tmp13'"
    first = report(f"/srv/torchinductor_ana/4s/{hashed} was not declared", tmp_path).told[0]
    assert first.title.endswith(f"generated code: {hashed} was not declared")


@pytest.mark.parametrize("text", OTHERS)
def test_what_sounds_like_it_is_not_taken_for_it(text: str, tmp_path: Path) -> None:
    try:
        found = report(text, tmp_path).told
    except SourceError:
        return
    known = set(HELPS.values())
    assert not any(known & {one.id for one in finding.advice} for finding in found)


def test_the_index_is_named_for_the_device_that_was_asked_for(tmp_path: Path) -> None:
    for device, index in (("CUDA", "whl/cu"), ("XPU", "whl/xpu")):
        first = report(f"AssertionError: Torch not compiled with {device} enabled", tmp_path).told[
            0
        ]
        assert index in {one.id: one.code or "" for one in first.advice}["right-torch"]
    mps = report("AssertionError: Torch not compiled with MPS enabled", tmp_path).told[0]
    assert "right-torch" not in {one.id for one in mps.advice}


@pytest.mark.parametrize("text", PARTS)
def test_a_line_without_its_head_is_told_for_what_it_is(text: str, tmp_path: Path) -> None:
    assert report(text, tmp_path).told[0].code == PARTS[text]


def test_files_of_the_first_years_are_the_compilers(tmp_path: Path) -> None:
    first = report(OLD, tmp_path).told[0]
    assert (first.code, first.data["cause"], first.data["stage"]) == ("ERR000", "cut", "inductor")


def test_a_cut_traceback_below_a_line_of_torchs_log_is_told_first(tmp_path: Path) -> None:
    first = report(LOGGED + CALL + INNER, tmp_path).told[0]
    assert (first.code, first.data["cause"]) == ("ERR000", "cut")
    with_log_only = report(LOGGED * 3, tmp_path).told
    assert not [one for one in with_log_only if one.code == "ERR000"]


def test_a_minifier_that_was_written_tells_that_compiling_failed(tmp_path: Path) -> None:
    first = report(MINIFIER + CALL, tmp_path).told[0]
    assert (first.code, first.data["cause"]) == ("ERR000", "cut")
    assert first.data["stage"] == "unknown"  # the wrapper calls whatever failed
    assert not [one for one in report(LOGGED + CALL, tmp_path).told if one.code == "ERR000"]


def test_an_exception_that_a_line_of_source_handles_was_not_raised(tmp_path: Path) -> None:
    first = report(HANDLED, tmp_path).told[0]
    assert (first.code, first.data["cause"]) == ("ERR000", "cut")


SHARDED = (
    f'  File "/home/ana/proj/train.py", line 16, in step\n    logits = h @ w.t()\n'
    f'  File "{TORCH}/distributed/tensor/_api.py", line 349, in __torch_dispatch__\n    return DTensor._op_dispatcher.dispatch(\n'
    f'  File "{TORCH}/distributed/tensor/_dispatch.py", line 152, in dispatch\n    op_info = self.unwrap_to_op_info(op_call, args, kwargs)\n'
)


def test_a_few_frames_that_end_in_torch_are_a_cut_traceback(tmp_path: Path) -> None:
    first = report(SHARDED, tmp_path).told[0]
    assert (first.code, first.data["cause"]) == ("ERR000", "cut")
    with pytest.raises(SourceError):  # they lead back to the program
        report(
            SHARDED.replace(f"{TORCH}/distributed/tensor/_dispatch", "/home/ana/proj/shard"),
            tmp_path,
        )
    with pytest.raises(SourceError):
        report(f"Stack (most recent call last):\n{SHARDED}", tmp_path)


def test_a_notebook_that_ends_in_the_partitioner_of_tensorrt_is_cut_too(tmp_path: Path) -> None:
    text = (
        "File ~/venv/lib/python3.11/site-packages/torch_tensorrt/dynamo/_compiler.py:759, in compile_module(gm)\n"
        "--> 759 num = partitioning.get_graph_converter_support(gm)\n\n"
        "File ~/venv/lib/python3.11/site-packages/torch_tensorrt/dynamo/partitioning/common.py:153, in support(node)\n"
        "--> 153     if op_support.is_node_supported(module_dict, node):\n"
    )
    first = report(text, tmp_path).told[0]
    assert (first.code, first.data["stage"]) == ("ERR000", "backend")


def test_msvc_for_x86_is_the_target_and_not_a_library(tmp_path: Path) -> None:
    error = "LINK : fatal error LNK1112: module machine type '{}' conflicts with target machine type '{}'\nCppCompileError: C++ compile error"
    said = "MSVC was started for 32-bit x86"
    assert said in report(error.format("x64", "x86"), tmp_path).told[0].title
    assert said not in report(error.format("x86", "x64"), tmp_path).told[0].title


def test_a_triton_of_another_version_is_not_said_to_be_none(tmp_path: Path) -> None:
    text = "ERROR: Could not find a version that satisfies the requirement triton==3.9.0 (from versions: 3.1.0, 3.2.0)\nERROR: No matching distribution found for triton==3.9.0"
    (found,) = report(text, tmp_path).told
    assert "no Triton" not in f"{found.title} {[one.text for one in found.advice]}"


@pytest.mark.parametrize(("space", "whose"), [("aten", "torch"), ("xformers", "an extension")])
def test_an_operator_of_torch_s_own_is_of_no_extension(
    space: str, whose: str, tmp_path: Path
) -> None:
    text = f"AttributeError: '_OpNamespace' '{space}' object has no attribute 'grouped'"
    (found,) = report(text, tmp_path).told
    assert f"asks {whose}" in found.title or f"of {whose}" in found.title


@pytest.mark.parametrize("free", ["1.2.3", "...", "1.", "9" * 40])
def test_a_message_whose_sizes_are_no_numbers_is_one_of_memory(free: str, tmp_path: Path) -> None:
    text = f"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which {free} GiB is free. Including non-PyTorch memory, this process has 12.00 GiB memory in use."
    (found,) = report(text, tmp_path).told
    assert found.code == "ERR025"
