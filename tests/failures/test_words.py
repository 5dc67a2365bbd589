"""A few lines that somebody copied are told by the words that only torch's compiler uses."""
# ruff: noqa: E501 -- lines of tracebacks

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.failures import (
    test_false_alarms,
    test_false_alarms_elsewhere,
    test_false_alarms_more,
)
from tests.failures.printing import Text
from tracelens import Report, analyze
from tracelens.errors import SourceError
from tracelens.failures.words import fails, is_error, spoken

TORCH = "/home/ana/venv/lib/python3.12/site-packages/torch"
#: A message without its traceback, the code that is first, and the stage.
ALONE = {
    "an exception": (
        "AssertionError: expected carried_inputs of torch.while_loop, got SymInt",
        "ERR000",
        "dynamo",
    ),
    "a sentence": ("FunctionalTensor inputs are not supported here", "ERR000", "aot"),
    "a bug of Inductor": (
        "AttributeError: 'ExternKernelNode' object has no attribute 'get_dtype' of TensorBox",
        "ERR017",
        "inductor",
    ),
    "eager or compiled": (
        "RuntimeError: mat1 and mat2 tensors cannot be multiplied (3x4 and 5x6)",
        "ERR000",
        "unknown",
    ),
    "devices": (
        "RuntimeError: Unhandled FakeTensor Device Propagation for aten.mm.default, found two different devices cuda:0, cpu",
        "ERR015",
        "dynamo",
    ),
    "a size in a kernel": ("ValueError: Shape element 0 must be a power of 2", "ERR000", "triton"),
    "a kernel": ("ValueError: arange's range must be a power of 2", "ERR000", "triton"),
    "an assertion": (
        "python: /opt/llvm/Casting.h:578: decltype(auto) llvm::cast(From*) [with To = mlir::triton::gpu::ConvertLayoutOp]: Assertion `isa<To>(Val)' failed.",
        "ERR017",
        "triton",
    ),
    "an editor's": ("Exception has occurred: Unsupported\ngenerator", "ERR016", "dynamo"),
    "above torch's hint": (
        "FunctionalTensor inputs are not supported here\n\nYou can suppress this exception and fall back to eager by setting:",
        "ERR000",
        "aot",
    ),
    "a report of ComfyUI": (
        "- **Exception Type:** RuntimeError\n- **Exception Message:** `ptxas` failed with error code 4294967295\n",
        "ERR010",
        "triton",
    ),
    "a linker": (
        "Exception: ROCm linker /opt/rocm/llvm/bin/ld.lld not found. Set 'TRITON_HIP_LLD_PATH' to its path.",
        "ERR000",
        "triton",
    ),
}
#: What helps, by its name.
HELPS = {
    "AssertionError: Dynamo only supports FSDP with use_orig_params=True": "orig-params",
    "ValueError: arange's range must be a power of 2": "power-of-two",
    "TypeError: Unsupported type <class 'triton.language.core.dtype'> for bf16": "constexpr",
    "ValueError: Did you forget to add @triton.jit ? (`_builder` argument)": "jit",
    "IncompatibleTypeErrorImpl: invalid operands of type pointer<int64> and int32": "load-first",
    "Exception: ROCm linker /opt/x/ld.lld not found. Set 'TRITON_HIP_LLD_PATH' to its path.": "rocm-linker",
}
EAGER = (
    'Traceback (most recent call last):\n  File "/home/ana/proj/app.py", line 3, in <module>\n    f(x)\n'
    f'  File "{TORCH}/nn/modules/linear.py", line 125, in forward\n    return F.linear(x)\n'
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)\n"
)
#: Not torch's, though short.
OTHERS = (
    "ValueError: operands could not be broadcast together with shapes (3,) (4,)",
    "TypeError: unexpected keyword argument 'x'",
    "botocore.exceptions.ClientError: the DynamoDB table is not found",
    "jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array",
    "KeyError: 'id'",
    "The files must be named s1 in the list of unknown names",
    "Error: call_function failed, unknown tool 'weather'",
    "AssertionError: expected s1 == s2",
    "RuntimeError: failed to create tensor descriptor CUDNN_STATUS_BAD_PARAM",
    "InternalError: Failed to set tensor descriptor in tensorflow",
    "error: 'mlir::tosa' op requires attribute",
    "ERROR partitioner could not split the graph, invalid edges",
    "Error: NVIDIA Dynamo failed to start the frontend, etcd is not available",
    "ERROR Dynamo worker failed to register",
    "iree-compile: /src/mlir/IR/Value.h:100: mlir::Value f() [with T = mlir::linalg::GenericOp]: Assertion `x' failed.",
    "clang: /src/llvm/Casting.h:100: llvm::cast(From*): Assertion `isa<To>(Val)' failed.",
    "ValueError: FFT size must be a power of 2",
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\nValueError: block size must be a power of 2',
    "[ERROR] openvino: dynamic_shapes not supported by this plugin",
)
#: Warnings without their heads, output of programs that work, questions, and texts of programs.
NO_ERRORS = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not passed.",
    "FSDP: the parameters cannot be moved\nand will be ignored in a future version",
    "torch._inductor: Failed to import CUTLASS lib. Skipping CUTLASS backend for now.",
    "flex_attention called without torch.compile() - this will use an unfused implementation, which should not be timed",
    "epoch 1 loss 0.3\nFSDP wrapped 12 modules, no errors",
    "torch.compile: max error 1e-5 vs eager",
    "compiled with fullgraph=True, accuracy expected 0.91",
    "How does torch.compile handle dynamic_shapes? I cannot find it.",
    "wandb: FSDP with use_orig_params=True",
    "Exception has occurred: UnsupportedOperation\nnot writable",
    "the CUDA graph does not get captured when the batch is small",
    "I think the graph break is not in my code",
    "well, the graph break does not go away with dynamic=True",
    "torch.compile does not make it faster, any ideas?",
    "In this release, Inductor cannot fuse reductions across graph breaks.",
    "- torch.compile no longer fails on models that are missing a dtype\n- Inductor: cat was not fused",
    "## 2.1.0\n\n* Dynamo: dicts that are missing a key (#123)\n* FakeTensor mode does not support sparse tensors",
    "x -> Unsupported: call_method is not available",
    "rpc: backend says Unsupported: call_function is not available here",
    "[bridge] call_method failed: no such object /org/ana/Player",
    "import torch\n# torch.compile cannot do this\nprint(torch.compile(f)(torch.ones(3)))",
)
#: ... and those next to them that are errors.
ERRORS = (
    "torch.utils.checkpoint: use_reentrant must be a bool",
    "FSDP: the parameters cannot be moved",
    "flex_attention does not support a mask of this size",
    "torch.compile: unsupported mode",
    "Expected node.op to be call_module",
    "Expected node.target to be str for call_method, got int",
    "the CUDA allocator does not support FakeTensor",
    "- FakeTensor mode does not support sparse tensors",
    "### Describe the bug\nFakeTensor mode does not support sparse tensors",
    "Invalid microbatches for stage of a torch.fx graph: I and W must have equal counts",
    "Constraints violated: the guard s0 <= 1024 does not hold",
)
KINDS = (
    *test_false_alarms.KINDS,
    *(
        one
        for one in test_false_alarms_elsewhere.KINDS
        # Of torch; speaks of tensors, too; a line of ptxas does not tell who called it.
        if one.__name__ not in {"trainer", "tensorflow", "jax"}
    ),
    *(one for one in test_false_alarms_more.KINDS if one.__name__ != "eager"),
)


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(f"{text}\n", encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("name", ALONE)
def test_a_message_alone_is_told_with_its_stage(name: str, tmp_path: Path) -> None:
    text, code, stage = ALONE[name]
    first = report(text, tmp_path).told[0]
    assert first.code == code
    assert first.data["stage"] == stage


@pytest.mark.parametrize("text", HELPS)
def test_what_helps_is_told_first(text: str, tmp_path: Path) -> None:
    assert report(text, tmp_path).told[0].advice[0].id == HELPS[text]


def test_a_message_alone_is_not_said_to_be_the_programs(tmp_path: Path) -> None:
    first = report(ALONE["eager or compiled"][0], tmp_path).told[0]
    assert "the message alone does not tell" in first.message.lower()
    assert "eager" in [one.id for one in first.advice]


def test_an_error_of_torch_without_the_compiler_is_the_programs_own(tmp_path: Path) -> None:
    first = report(EAGER, tmp_path).told[0]
    assert first.code == "ERR000"
    assert "an error of the program's own" in first.message
    assert [one.id for one in first.advice] == ["known-message"]
    first = report(EAGER.replace("mat1 and mat2 shapes", "these two"), tmp_path).told[0]
    assert [one.id for one in first.advice] == ["own"]


STEPS = "".join(f"step {n} loss 0.1\n" for n in range(100))


def test_a_long_log_that_ends_in_it_is_told_so(tmp_path: Path) -> None:
    first = report(STEPS + EAGER, tmp_path).told[0]
    assert first.title.startswith("a matrix product")
    first = report(STEPS + EAGER.replace("mat1 and mat2 shapes", "these two"), tmp_path).told[0]
    assert [one.id for one in first.advice] == ["own"]


def test_in_a_long_log_that_goes_on_it_is_left_to_the_program(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(STEPS + EAGER + STEPS, tmp_path)
    other = EAGER.replace(TORCH, "/home/ana/proj/other").replace("mat1 and mat2 shapes", "these")
    with pytest.raises(SourceError):
        report(STEPS + other, tmp_path)


@pytest.mark.parametrize("text", OTHERS)
def test_a_short_text_of_another_program_is_not_torchs(text: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(text, tmp_path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_nor_is_a_piece_of_any_other_output(kind: Text, tmp_path: Path) -> None:
    lines = "\n".join(kind(random.Random(3))).split("\n")
    for start in range(0, len(lines), 2):
        try:
            found = report("\n".join(lines[start : start + 6]), tmp_path).told
        except SourceError:
            continue
        assert not [one.title for one in found if one.code.startswith("ERR")]


def test_a_header_whose_name_ends_like_one_of_c_is_not_taken_for_it(tmp_path: Path) -> None:
    text = (
        "torch._inductor.exc.CppCompileError: C++ compile error\n\nOutput:\n"
        "/srv/torch/include/c10/hip/HIPStream.h:4:10: fatal error: hip/hip_runtime.h: No such file or directory\n"
    )
    first = report(text, tmp_path).told[0]
    assert first.code == "ERR005"
    assert first.advice[0].id == "rocm"
    assert "conda" not in [one.id for one in first.advice]


def test_a_word_is_of_a_stage_and_a_sentence_needs_one_that_says_that_it_failed() -> None:
    assert spoken("'ComputedBuffer' object has no attribute 'x'") == "inductor"
    assert spoken("tl.constexpr expected") == "triton"
    assert spoken("the cat sat on the mat") is None
    assert spoken("Variables that are not TensorVariable are refused") is None
    assert spoken("call_method UserDefinedObjectVariable(x) TensorVariable()") == "dynamo"
    assert fails("a FakeTensor is not supported")
    assert not fails("FakeTensor: a tensor without data")


def test_quotes_of_a_traceback_that_was_printed_as_one_line_are_read(tmp_path: Path) -> None:
    frame = f'\\n  File \\"{TORCH}/_inductor/graph.py\\", line 9, in run_node\\n    f()'
    text = f'{{"error": "Traceback (most recent call last):{frame}\\nKeyError: 3", '
    first = report(text, tmp_path).told[0]
    assert first.code == "ERR017"
    assert first.data["stage"] == "inductor"


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("AttributeError: 'NoneType' object has no attribute 'get_size'", False),
        ("NotImplementedError: torch.compile on CPU only supports inference", True),
        ("ValueError: Q and KV block size must be divisible by BLOCK_M and BLOCK_N", True),
    ],
)
def test_only_a_message_about_kernels_is_told_as_a_missing_one(
    message: str, says: bool, tmp_path: Path
) -> None:
    head = "torch._inductor.exc.InductorError: LoweringException: "
    first = report(f"{head}{message}\n  target: flex_attention", tmp_path).told[0]
    assert first.code == "ERR014"
    assert ("no kernel" in first.title) == says
    ids = [one.id for one in first.advice]
    assert ("multiple" in ids) == (says and "CPU" not in message)
    assert ("cpu" in ids) == ("CPU" in message)


@pytest.mark.parametrize("text", NO_ERRORS)
def test_what_went_on_is_no_error(text: str, tmp_path: Path) -> None:
    try:
        found = report(text, tmp_path).told
    except SourceError:
        return
    assert not [one.title for one in found if one.code.startswith("ERR")]


@pytest.mark.parametrize("text", ERRORS)
def test_a_sentence_that_only_says_what_failed_is_one(text: str, tmp_path: Path) -> None:
    assert is_error(text)
    assert report(text, tmp_path).told[0].code.startswith("ERR")


LOWERED = """\
  File "/home/ana/venv/lib/python3.12/site-packages/torch/_inductor/lowering.py", line 2930, in embedding
    assert not sparse{comment}
           ^^^^^^^^^^
torch._inductor.exc.LoweringException: AssertionError: {words}
  target: aten.embedding.default
  args[0]: TensorBox(StorageBox(
"""


@pytest.mark.parametrize(
    ("words", "comment", "at"),
    [
        ("", "", " at `assert not sparse`"),
        ("", "  # as above", " at `assert not sparse`"),
        ("no", "", ""),
    ],
)
def test_an_assertion_without_words_is_told_by_its_statement(
    words: str, comment: str, at: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.log"
    path.write_text(LOWERED.format(words=words, comment=comment))
    (finding,) = analyze(path).findings
    assert finding.code == "ERR017"
    assert f"AssertionError{at}: {words or 'target'}" in finding.title
    assert f"AssertionError{at}: " in finding.message
