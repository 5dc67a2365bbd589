# ruff: noqa: E501 -- lines that torch and others print
"""What else a short text says decides what is advised about the error in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze


def told(text: str, path: Path) -> Finding:
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


def ids(found: Finding) -> list[str]:
    return [one.id for one in found.advice]


IMPORT = (
    "torch._dynamo.exc.Unsupported: Graph break due to unsupported builtin builtins.__import__. This function is"
    " either a Python builtin (e.g. _warnings.warn) or a third-party C/C++ Python extension.\n"
)
LISTED = "\npackages:\n" + "".join(f"  part{n}==1.{n}\n" for n in range(20))


@pytest.mark.parametrize(
    "said", ["  unsloth==2025.3.9\n", "I load it by unsloth's FastLanguageModel\n"]
)
def test_a_library_that_compiles_is_to_be_told_so(said: str, tmp_path: Path) -> None:
    found = told(f"{IMPORT}{LISTED}{said}", tmp_path / "post.txt")
    assert ids(found)[0] == "unsloth"
    assert "allow" not in ids(found)


def test_without_one_the_program_may_allow_breaks(tmp_path: Path) -> None:
    found = told(f"{IMPORT}{LISTED}", tmp_path / "post.txt")
    assert "an `import` statement can be traced" in found.advice[0].text
    assert "allow" in ids(found)
    assert "unsloth" not in ids(found)
    other = told(IMPORT.replace("__import__", "breakpoint"), tmp_path / "post.txt")
    assert "an `import` statement" not in " ".join(one.text for one in other.advice)


RETURNED = (
    "torch._dynamo.exc.Unsupported: torch.* op returned non-Tensor\n"
    "  Explanation: torch.* ops that return a non-Tensor cannot be traced into the Dynamo FX graph output\n\n\n"
    "  Developer debug context: example_value type: {kind}; op: call_function; target: {target}\n"
)


@pytest.mark.parametrize(
    ("kind", "target", "name"),
    [
        ("int", "<built-in function get_num_threads>", "get_num_threads"),
        ("str", "<function show at 0x7f0011>", "show"),
        ("bool", "<built-in method is_scripting of type object at 0x7f00>", "is_scripting"),
    ],
)
def test_what_returns_no_tensor_is_named(kind: str, target: str, name: str, tmp_path: Path) -> None:
    found = told(RETURNED.format(kind=kind, target=target), tmp_path / "post.txt")
    assert found.title.endswith(f"`{name}` returns a `{kind}`, and no tensor")
    assert ids(found) == ["call-once", "allow"]
    assert f"`{name}`" in found.advice[0].text


def test_an_older_torch_says_it_in_a_line(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.Unsupported: torch.* op returned non-Tensor int call_function <built-in function get_num_threads>\n"
    assert ids(told(text, tmp_path / "post.txt"))[0] == "call-once"


def test_without_its_name_the_operation_is_to_be_called_outside(tmp_path: Path) -> None:
    found = told(RETURNED.partition("\n\n\n")[0] + "\n", tmp_path / "post.txt")
    assert "leave-out" in ids(found)
    assert "call-once" not in ids(found)


def test_counting_into_a_known_size_comes_before_a_size_that_is_captured(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.Unsupported: dynamic shape operator: aten.{}.default\n"
    found = ids(told(text.format("bincount"), tmp_path / "post.txt"))
    assert found.index("count-by-adding") < found.index("capture-size")
    other = ids(told(text.format("nonzero"), tmp_path / "post.txt"))
    assert other[0] == "capture-size"
    assert "count-by-adding" not in other


HOOK = (
    r'  File "C:\app\venv\Lib\site-packages\torch\_inductor\runtime\triton_heuristics.py", line 1077, in run'
    "\n"
    "torch._inductor.exc.InductorError: AttributeError: type object 'CompiledKernel' has no attribute '{}'\n"
)


@pytest.mark.parametrize(
    ("missing", "pin"),
    [("launch_exit_hook", "<3.4"), ("launch_enter_hook", "<3.4"), ("num_ctas", "<3.6")],
)
def test_the_pin_is_that_of_the_torch_that_says_so(missing: str, pin: str, tmp_path: Path) -> None:
    found = told(HOOK.format(missing), tmp_path / "post.txt")
    assert found.code == "ERR009"
    assert pin in (found.advice[0].code or "")
    assert ("Torch up to 2.7" in found.message) == (pin == "<3.4")


HEADER = (
    "In file included from /tmp/tmpa1b2c3d4/cuda_utils.c:9:\n"
    "/usr/include/python3.12/Python.h:12:10: fatal error: pyconfig.h: No such file or directory\n"
    "Traceback (most recent call last):\n"
    '  File "/home/ana/proj/add.py", line 20, in <module>\n'
    "    {call}\n"
    '  File "/home/ana/venv/lib/python3.12/site-packages/triton/runtime/jit.py", line 347, in <lambda>\n'
    "    return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)\n"
    "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpa1b2c3d4/cuda_utils.c']' returned non-zero exit status 1.\n"
)


def test_a_kernel_of_the_program_does_not_run_without_triton(tmp_path: Path) -> None:
    found = told(
        HEADER.format(call="add_kernel[grid](x, y, out, n, BLOCK=1024)"), tmp_path / "a.txt"
    )
    assert found.title.endswith("(`pyconfig.h`)")
    assert "without-compiling" not in ids(found)
    assert "what Triton generated" in found.message
    text = HEADER.format(call="torch.compile(net)(x)  # launches add_kernel[grid](x)")
    found = told(text, tmp_path / "b.txt")
    assert "without-compiling" in ids(found)
    assert "what torch generated" in found.message


def test_another_thread_may_trace(tmp_path: Path) -> None:
    text = "RuntimeError: Detected that you are using FX to {} a dynamo-optimized function. This is not supported at the moment.\n"
    assert (
        "a thread that compiles" in told(text.format("symbolically trace"), tmp_path / "a").message
    )
    assert "thread" not in told(text.format("torch.jit.trace"), tmp_path / "b").message
