"""Errors that are pasted without the name of the exception, or without anything that it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Report, Severity, analyze

SEE = (
    " For more information about this error, see: "
    "https://pytorch.org/docs/main/generated/exportdb/index.html#"
)
USER = (
    '\n\nfrom user code:\n   File "/home/ana/proj/rope.py", line 31, in scaled\n    if n > limit:\n'
)
NATIVE = (
    '  File "/home/ana/venv/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1553, '
    "in _wrapped_call_impl\n    return self._call_impl(*args, **kwargs)\n"
    '  File "/home/ana/venv/lib/python3.10/site-packages/{engine}/custom_op.py", line 40, '
    "in forward\n    return self._forward_method(*args, **kwargs)\n"
    '  File "/home/ana/venv/lib/python3.10/site-packages/{engine}/custom_op.py", line 51, '
    "in {function}\n    raise NotImplementedError\nNotImplementedError\n"
)


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("name", ["", "UserError: ", "torch._dynamo.exc.UserError: "])
@pytest.mark.parametrize(
    "said", ["Dynamic control flow is not supported.", "Dicts must be sorted."]
)
def test_an_error_about_the_users_code_needs_no_name(name: str, said: str, tmp_path: Path) -> None:
    first = report(f"{name}{said}{SEE}cond-operands{USER}", tmp_path).told[0]
    assert (first.code, first.severity) == ("ERR016", Severity.ERROR)
    assert first.where
    assert (first.where.file, first.where.line) == ("/home/ana/proj/rope.py", 31)


def test_the_reason_of_a_graph_break_is_none(tmp_path: Path) -> None:
    text = (
        "Graph break in user code at /home/ana/proj/rope.py:31\n"
        f"Reason: Unsupported: Dynamic control flow is not supported.{SEE}cond-operands\n"
        "User code traceback:\n"
        '  File "/home/ana/proj/rope.py", line 31, in scaled\n    if n > limit:\n'
    )
    assert not [one for one in report(text, tmp_path).told if one.code.startswith("ERR")]


@pytest.mark.parametrize("engine", ["vllm/model_executor", "sglang/srt"])
@pytest.mark.parametrize("behind", ["", "\nDuring handling of the above exception, another:\n"])
def test_a_layer_without_a_native_form_is_told(engine: str, behind: str, tmp_path: Path) -> None:
    text = NATIVE.format(engine=engine, function="forward_native") + behind
    first = report(text, tmp_path).told[0]
    assert first.code == "ERR000"
    assert "`forward_native`" in first.title
    assert first.advice[0].id == "native-op"


def test_another_method_that_is_not_implemented_is_the_programs(tmp_path: Path) -> None:
    first = report(NATIVE.format(engine="shop/orders", function="forward_order"), tmp_path).told[0]
    assert "forward_native" not in first.title
