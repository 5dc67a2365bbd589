# ruff: noqa: E501 -- lines that Triton and torch print
"""Triton's passes that fail on a kernel, and functions that only lead to compiled code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

SITE = "/home/ana/venv/lib/python3.11/site-packages"
KERNEL = (
    "/home/ana/.cache/torchinductor_ana/4k/c4kq2yzvhmbnbjcyqqo7a2k5vpgk4qvw3dyekzmzw5ywzzyzwxyz.py"
)
ADDED = f"loc(\"{KERNEL}\":24:18): error: 'llvm.fadd' op operand #0 must be floating point LLVM type, but got 'i8'\n"
LAYOUT = f'loc("{KERNEL}":24:18): error: operation destroyed but still has uses\n'
SUMMED = (
    f"{KERNEL}:18:0: error: Failures have been detected while processing an MLIR pass pipeline\n"
)
HEAD = """Traceback (most recent call last):
  File "{file}", line 31, in {function}
    y = step(x)
"""
WRAPPER = f"""  File "{SITE}/torch/_dynamo/eval_frame.py", line 655, in _fn
    return fn(*args, **kwargs)
"""
COMPILES = f"""  File "{SITE}/torch/_dynamo/convert_frame.py", line 1371, in __call__
    result = self._inner_convert(
  File "{SITE}/torch/_inductor/compile_fx.py", line 760, in _compile_fx_inner
    raise InductorError(e, currentframe()).with_traceback(
"""
TRITON = f"""  File "{SITE}/triton/backends/nvidia/compiler.py", line 331, in make_llir
    pm.run(mod)
"""
FAILED = "torch._inductor.exc.InductorError: RuntimeError: PassManager::run failed\n"
ERROR = "torch._inductor.exc.InductorError: AssertionError: no loop variable is left\n"
OURS = HEAD.format(file="/home/ana/proj/train.py", function="main")
HOST = HEAD.format(file=r"D:\host\app\execution.py", function="run_node")


def first(text: str, folder: Path) -> Finding:
    path = folder / "run.log"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


def ids(found: Finding) -> list[str]:
    return [one.id for one in found.advice]


@pytest.mark.parametrize("said", ["", SUMMED])
def test_passes_that_fail_are_tritons_and_why_is_asked_for(said: str, tmp_path: Path) -> None:
    found = first(said + OURS + WRAPPER + COMPILES + TRITON + FAILED, tmp_path)
    assert found.code == "ERR017"
    assert found.title.startswith("Triton's passes failed on a kernel, and why is not in the text")
    assert "a bug of" not in found.title
    assert found.data["stage"] == "triton"
    assert ids(found)[:3] == ["pass-reason", "unfit-dtype", "fitting-triton"]
    assert "bisect" not in ids(found)


@pytest.mark.parametrize(("said", "dtype"), [(ADDED, True), (LAYOUT, False)])
def test_the_passes_own_error_is_the_reason(said: str, dtype: bool, tmp_path: Path) -> None:
    found = first(said + SUMMED + OURS + WRAPPER + COMPILES + TRITON + FAILED, tmp_path)
    assert said.rpartition("error: ")[2].strip() in found.title
    assert "pass-reason" not in ids(found)
    assert ("unfit-dtype" in ids(found)) is dtype


def test_the_message_alone_is_tritons(tmp_path: Path) -> None:
    found = first("> - **Exception Message:** RuntimeError: PassManager::run failed\n", tmp_path)
    assert (found.code, found.data["stage"]) == ("ERR017", "triton")


def test_other_errors_of_inductor_stay_its_bugs(tmp_path: Path) -> None:
    found = first(OURS + WRAPPER + COMPILES + ERROR, tmp_path)
    assert "(a bug of Inductor)" in found.title
    assert not set(ids(found)) & {"pass-reason", "unfit-dtype", "fitting-triton"}


@pytest.mark.parametrize("head", [OURS, HOST])
@pytest.mark.parametrize("error", [FAILED, ERROR])
def test_what_only_leads_to_compiled_code_is_not_left_out(
    head: str, error: str, tmp_path: Path
) -> None:
    found = first(head + WRAPPER + COMPILES + error, tmp_path)
    texts = " ".join(one.text for one in found.advice)
    assert "Leave the function out" not in texts
    assert "disable" in ids(found) or "suppress" in ids(found)
    for one in found.advice:
        assert one.id != "disable" or "only leads to compiled code" in one.text


RESUMED = """  File "/home/ana/proj/model.py", line 9, in inner
    return x.foo()
"""
USER = f"\nfrom user code:\n{RESUMED}"


@pytest.mark.parametrize(
    "text", [OURS + WRAPPER + RESUMED + COMPILES + ERROR, OURS + COMPILES + ERROR + USER]
)
def test_a_function_within_compiled_code_is_left_out(text: str, tmp_path: Path) -> None:
    left = next(one for one in first(text, tmp_path).advice if one.id == "disable")
    assert "`inner`" in left.text
    assert "only leads" not in left.text
