# ruff: noqa: E501 -- lines that torch prints
"""Names, explanations and messages of torch's that stand alone, or in what is no log of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Severity, TracelensError, analyze
from tracelens.failures.elsewhere import built_by_pip
from tracelens.logs.failures import Traced

FROM_USER = '\nfrom user code:\n   File "/home/ana/proj/model.py", line 31, in forward\n    if x.sum() > 0:\n'
BRANCH = (
    "  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does"
    " not support tracing dynamic control flow.\n"
    "  Hint: Use `torch.cond` to express dynamic control flow.\n\n"
    "  Developer debug context: attempted to jump with TensorVariable()\n"
)
ITEM = (
    "  Explanation: Dynamo does not support tracing `Tensor.item()` with"
    " config.capture_scalar_outputs=False.\n"
    "  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True`.\n\n"
    "  Developer debug context: call_method TensorVariable() item () {}\n"
)
BREAKS = (
    "V1120 10:45:50.410000 30895 torch/_dynamo/symbolic_convert.py:611] [1/0] [__graph_breaks] "
)
BACKWARD = "".join(
    f"{BREAKS}{line}\n"
    for line in (
        "  Explanation: Dynamo currently does not support tracing `Tensor.backward()`.",
        "",
        "  Developer debug context: call_method TensorVariable() backward () {}",
        "",
        "User code traceback:",
        '  File "/home/ana/proj/train.py", line 104, in step',
        "    loss.backward()",
    )
)
FAKE = (
    "Failed running call_function <built-in method addmm of type object at 0x7f>(*(FakeTensor(...,"
    " size=(1, 8, 66)), FakeTensor(..., size=(8, 8))), **{'beta': 0.0}):\na must be 2D\n"
    f"{FROM_USER}\nYou can suppress this exception and fall back to eager by setting:\n"
    "    import torch._dynamo\n    torch._dynamo.config.suppress_errors = True\n"
)
EXPORT = (
    '  File "/home/ana/venv/lib/python3.12/site-packages/torch/_dynamo/eval_frame.py", line 1425, in inner\n'
    "    raise constraint_violation_error\n"
)
NCCL = (
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/"
    "ProcessGroupNCCL.cpp:1970, {}, NCCL version 2.21.5\n"
)
WATCHDOG = (
    "frame #3: c10d::ProcessGroupNCCL::ncclCommWatchdog() + 0x10c (0x7f3b in /opt/torch/lib/libtorch_cuda.so)\n\n"
    "Exception raised from ncclCommWatchdog at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1521 (most recent call first):\n"
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f3b in /opt/torch/lib/libc10.so)\n"
)
LOST = (
    '  File "/tmp/torchinductor_ana/ab/cabc.py", line 120, in call\n'
    "    buf0 = empty_strided_cuda((s0, 64), (64, 1), torch.float32)\n"
    "NameError: name 's0' is not defined\n"
)
LIMIT = (
    "W1120 10:45:50 torch/_dynamo/convert_frame.py:1358] [0/8]\n"
    "    torch._dynamo hit config.recompile_limit (8)\n"
    "    function: 'attend'\n    last reason: 0/7: tensor 'key' requires_grad mismatch\n"
)
WHEEL = (
    "  Building wheel for triton (setup.py): started\n  error: subprocess-exited-with-error\n"
    "      python/src/main.cc:1:10: fatal error: Python.h: No such file or directory\n"
    "          1 | #include <Python.h>\n      compilation terminated.\n"
    "  ERROR: Failed building wheel for triton\n"
)
EXPLAINED = (
    r"('Dynamo produced 2 graphs with 1 graph break and 6 ops\n Break reasons: \n\n"
    r'1. generic_jump TensorVariable()\n  File "/home/ana/proj/bar.py", line 19, in bar\n    if b.sum() < 0:\n \n'
    "', [[...]], [GraphModule()], [[<built-in method abs>]])\n"
)
RANKED = (
    "[rank0] torch._dynamo hit config.cache_size_limit (8)\n   function: 'forward' (model.py:52)\n"
    "   last reason: tensor 'L['x']' size mismatch at index 1. expected 384, actual 512\n"
)
OVERWRITTEN = (
    '  File "/home/ana/proj/layers.py", line 71, in fill\n    self.table = emb.cos(). To prevent'
    " overwriting, clone the tensor outside of torch.compile() or call"
    f" torch.compiler.cudagraph_mark_step_begin() before each model invocation.\n{FROM_USER}"
)
NOTEBOOK = (
    "ConstraintViolationError                  Traceback (most recent call last)\n"
    "File /home/ana/venv/lib/python3.10/site-packages/torch/export/_trace.py:1798, in _export(mod)\n"
    "   1797 try:\n-> 1798     produce_guards_callback(gm)\n"
    "   1799 except (ConstraintViolationError, ValueRangeError) as e:\n"
)
#: The text, the code that is first, and words of what is said.
TEXTS = {
    "a name": ("Unsupported context manager\n", "GBR007", "context manager"),
    "a name in a list": ("- Reason: Unsupported: Unsupported context manager\n", "GBR007", ""),
    "a name that no rule knows": ("Unsupported function call\n", "GBR012", "graph break"),
    "a branch that was raised": (f"- Data-dependent branching\n{BRANCH}\n{FROM_USER}", "ERR016", "Data-dependent branching"),
    "its explanation alone": (f"{BRANCH}\n{FROM_USER}", "ERR016", "Data-dependent branching"),
    "a name of one word": ("missing_mp_subscript\n", "GBR012", "missing_mp_subscript"),
    "a name of a version between": ("Comprehension graph break with extra stack values\n", "GBR012", "Comprehension"),
    "an explanation": (f"Break reasons:\n\n{ITEM}", "GBR001", "read out of a tensor"),
    "the middle of a record": (BACKWARD, "GBR010", "train.py:104"),
    "a shape": (FAKE, "ERR015", "a must be 2D"),
    "an export": (EXPORT, "DYN002", "Dim"),
    "an export that is cut": (EXPORT, "DYN002", "ends before the message"),
    "a notebook's, cut": (NOTEBOOK, "DYN002", "ends before the message"),
    "explain of torch 2.0": (EXPLAINED, "GBR002", "bar.py:19"),
    "a limit of a rank": (RANKED, "RCP001", "`forward` hit the limit of 8"),
    "the end of a message": (OVERWRITTEN, "CGR006", "clone"),
    "nccl": (NCCL.format("unhandled system error"), "ERR000", "NCCL_DEBUG=INFO"),
    "nccl, wrong use": (NCCL.format("invalid usage"), "ERR000", "LOCAL_RANK"),
    "a watchdog": (WATCHDOG, "ERR029", "watchdog ended the process"),
    "a size that is lost": (LOST, "ERR017", "dynamic=False"),
    "a limit, indented": (LIMIT, "RCP001", "`attend` hit the limit of 8"),
    "a reason that names it": ("Graph Break Reason: Unsupported: call_function BuiltinVariable(print)\n", "GBR003", "print"),
    "a search": ("SingleProcess AUTOTUNE benchmarking takes 0.3 seconds and 0.2 seconds precompiling for 20 choices\n", "LOG001", "500 ms"),
    "a warning": ("standalone_compile artifact generation failed, cannot save. Run with TORCH_LOGS\n", "LOG001", "warning"),
    "a package that pip builds": (WHEEL, "ERR004", "pip built the package `triton`"),
}  # fmt: skip


def _first(text: str, tmp_path: Path) -> Finding:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


@pytest.mark.parametrize(("text", "code", "said"), TEXTS.values(), ids=TEXTS)
def test_what_stands_alone_is_told(text: str, code: str, said: str, tmp_path: Path) -> None:
    first = _first(text, tmp_path)
    assert first.code == code
    assert said in f"{first.title} {first.message} {first.model_dump_json()}"


@pytest.mark.parametrize("name", ["a name", "an explanation", "a search", "a warning"])
def test_what_broke_a_graph_or_was_warned_of_ended_nothing(name: str, tmp_path: Path) -> None:
    assert _first(TEXTS[name][0], tmp_path).severity != Severity.ERROR


def test_a_wheel_is_not_mended_by_leaving_compiling_out(tmp_path: Path) -> None:
    said = _first(WHEEL, tmp_path).model_dump_json()
    assert "TORCHDYNAMO_DISABLE" not in said
    assert "subprocess-exited" not in said


@pytest.mark.parametrize(
    ("lines", "package"),
    [
        (["Building wheels for collected packages: flash-attn", "  Building wheel for flash-attn (setup.py) ... error", "  ERROR: Failed building wheel for flash-attn"], "flash-attn"),
        (["ERROR: Could not build wheels for flash-attn, which is required"], "flash-attn"),
        (["ERROR: Failed to build installable wheels for some pyproject.toml based projects (zope.interface, x)"], "zope.interface"),
        (["  Building wheel for one (setup.py): finished with status 'done'", "  Building wheel for two-three (pyproject.toml): started", "  error: subprocess-exited-with-error"], "two-three"),
        (["  Building wheel for one (setup.py) ... done", "  error: subprocess-exited-with-error"], ""),
        (["  Building wheel for one (setup.py): started", "RuntimeError: no compiler"], ""),
        (["Failed to build engine", "RuntimeError: no compiler"], ""),
    ],
)  # fmt: skip
def test_the_package_is_the_one_that_pip_could_not_build(lines: list[str], package: str) -> None:
    assert built_by_pip(lines, []).get("wheel", "") == package


def test_an_error_of_the_compiler_is_not_of_the_package_that_was_built_before() -> None:
    frame = Traced(file="/home/ana/venv/lib/python3.11/site-packages/torch/_inductor/cpp_builder.py", number=3, function="f", at=1)  # fmt: skip
    assert not built_by_pip(["  ERROR: Failed building wheel for one"], [frame])


@pytest.mark.parametrize("indent", ["", " ", "\t", "    "])
def test_an_explanation_is_read_however_it_is_indented(indent: str, tmp_path: Path) -> None:
    text = (
        f"  Hint: use torch.cond\n{indent}Explanation: Detected data-dependent branching (e.g.)\n"
    )
    assert _first(text, tmp_path).code == "GBR002"
    logged = "".join(f"{BREAKS}{line}\n" for line in ("a break", text.splitlines()[1], "the end"))
    assert _first(logged, tmp_path).code == "GBR002"


@pytest.mark.parametrize(
    "text",
    [
        # The name of a break in a longer text, and a variable of the program's.
        "Release notes\nUnsupported function call\nis gone.\nFixed: crash\nFixed: typo\n",
        "Traceback (most recent call last):\n  File \"/home/ana/proj/fit.py\", line 3, in <module>\n    y = s0 + 1\nNameError: name 's0' is not defined\n",
        "NameError: name 's0' is not defined\n",
        # Words of any program's, and a name of one word that is none of Dynamo's.
        "unsupported __getitem__\n",
        "missing_other_name\n",
        "_gb_type\n",
    ],
)
def test_what_may_be_any_programs_is_left_alone(text: str, tmp_path: Path) -> None:
    with pytest.raises(TracelensError):
        _first(text, tmp_path)


def test_a_guard_that_did_not_fit_is_no_error_behind_whatever_prefix(tmp_path: Path) -> None:
    text = "worker 3 says last reason: 12/0: tensor 'x' size mismatch at index 1. expected 77, actual 9\n"
    assert _first(text, tmp_path).code == "LOG001"


GUIDE = '# Set-up\n\n{} "Torch not compiled with CUDA enabled", install the CUDA build of torch.\n'


def test_a_guide_that_speaks_of_a_message_reports_no_end(tmp_path: Path) -> None:
    first = _first(GUIDE.format("If you see the message"), tmp_path)
    assert first.severity == Severity.INFO
    assert "speaks of this message" in first.message


def test_a_message_that_somebody_got_is_a_failure(tmp_path: Path) -> None:
    first = _first("AssertionError: Torch not compiled with CUDA enabled\n", tmp_path)
    assert first.severity == Severity.ERROR


@pytest.mark.parametrize(
    "text",
    [
        "Question 3: which one?\nExplanation: The answer is B, since water boils.\n",
        "error: pathspec\nHint: did you forget to add the file?\nHint: run it again\n",
    ],
)
def test_explanations_and_hints_of_other_programs_are_theirs(text: str, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(text, encoding="utf-8")
    with pytest.raises(TracelensError, match="nothing from torch"):
        analyze(str(log))


@pytest.mark.parametrize(
    "text",
    [
        "  Explanation: Cannot use this here.\n  Hint: Avoid calling this method.\n",
        "  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True`.\n",
        "  Explanation: Dynamo does not know how to go on.\n",
    ],
)
def test_those_of_dynamo_are_told(text: str, tmp_path: Path) -> None:
    assert _first(text, tmp_path).code == "LOG001"
