"""What compile workers log is raised in the process that asked them: it is no note."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

PREFIX = "E0318 16:21:35.525000 4711 torch/_inductor/{}.py:196] "
WORKER = "compile_worker/subproc_pool"
#: Triton refuses what Inductor gives it, in a worker.
REFUSED = '''\
  File "/opt/triton/python/triton/compiler/compiler.py", line 63, in __init__
    assert isinstance(k, tuple)
AssertionError
"""

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/pytorch/torch/_inductor/compile_worker/subproc_pool.py", line 194, in callback
    result = future.result()
'''
#: The same words of a kernel that the program hands to Triton.
BY_PROGRAM = """\
Traceback (most recent call last):
  File "/home/ana/proj/kernels.py", line 12, in build
    source = ASTSource(kernel, signature, constants)
  File "/opt/triton/python/triton/compiler/compiler.py", line 63, in __init__
    assert isinstance(k, tuple)
AssertionError
"""
ELSEWHERE = """\
  File "/home/ana/proj/choices.py", line 63, in make
    assert isinstance(k, tuple)
AssertionError
"""


def prefixed(text: str, module: str) -> str:
    return "".join(f"{PREFIX.format(module)}{line}\n" for line in text.splitlines())


def first(text: str, folder: Path) -> tuple[str, str]:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    found = analyze(str(path)).told[0]
    return found.code, f"{found.title}\n{found.message}"


@pytest.mark.parametrize("text", [prefixed(REFUSED, WORKER), REFUSED])
def test_triton_that_does_not_fit_is_told_with_and_without_the_prefix(
    text: str, tmp_path: Path
) -> None:
    code, said = first(text, tmp_path)
    assert code == "ERR009"
    assert '"""' not in said
    assert "assert isinstance(k, tuple)" in said
    assert "while Triton compiled" in said


def test_what_the_program_gives_to_triton_is_another_matter(tmp_path: Path) -> None:
    assert first(BY_PROGRAM, tmp_path)[0] != "ERR009"


def test_an_assertion_in_a_worker_is_an_error(tmp_path: Path) -> None:
    triton = "/opt/triton/python/triton/backends/nvidia/driver.py"
    said = prefixed(ELSEWHERE.replace("/home/ana/proj/choices.py", triton), WORKER)
    assert first(said, tmp_path)[0].startswith("ERR")


def test_what_other_parts_of_torch_log_may_be_no_error(tmp_path: Path) -> None:
    said = prefixed(ELSEWHERE, "select_algorithm")
    assert not first(said, tmp_path)[0].startswith("ERR")


def test_a_traceback_that_dynamo_logs_is_no_limit(tmp_path: Path) -> None:
    said = prefixed(ELSEWHERE, "x").replace("_inductor/x", "_dynamo/convert_frame")
    code, words = first(said, tmp_path)
    assert code == "LOG001"
    assert "limit" not in words
    assert "traceback" in words


def test_a_worker_after_which_torch_went_on_is_no_error(tmp_path: Path) -> None:
    after = "W0318 16:21:36.000000 4711 torch/_inductor/odd.py:9] went on\n"
    assert not first(prefixed(REFUSED, WORKER) + after, tmp_path)[0].startswith("ERR")
