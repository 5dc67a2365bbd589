"""An exception that a program raises because of one of the compiler is told by that one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

TORCH = "/home/ana/venv/lib/python3.11/site-packages/torch"
HEAD = "Traceback (most recent call last):\n"
COMPILER = (
    f'{HEAD}  File "/home/ana/proj/train.py", line 24, in fit\n    loss = self.model(x)\n'
    f'  File "{TORCH}/_inductor/scheduler.py", line 2680, in codegen\n    raise AssertionError\n'
)
ERROR = "torch._inductor.exc.InductorError: AssertionError: node was not scheduled\n"
BECAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
OWN = (
    f'{HEAD}  File "/home/ana/proj/train.py", line 29, in <module>\n    trainer.fit(rows)\n'
    '  File "/home/ana/proj/train.py", line 26, in fit\n    raise RuntimeError("batch 3") from e\n'
    "RuntimeError: batch 3 failed\n"
)
AGAIN = (
    f'{HEAD}  File "/home/ana/proj/run.py", line 4, in go\n    raise SystemError("x") from e\n'
    "SystemError: the run failed\n"
)
#: What is done in place of what failed, and fails, too.
OTHERWISE = (
    f'{HEAD}  File "/home/ana/proj/train.py", line 29, in <module>\n    trainer.fit(rows)\n'
    '  File "/home/ana/proj/train.py", line 26, in fit\n    loss = self.plain(x)\n'
    "KeyError: 'image'\n"
)


def first(room: Path, text: str) -> Finding:
    path = room / "run.log"
    path.write_text(text)
    return analyze(str(path)).told[0]


@pytest.mark.parametrize("link", [BECAUSE, DURING])
def test_a_wrapper_is_not_the_error(link: str, tmp_path: Path) -> None:
    found = first(tmp_path, COMPILER + ERROR + link + OWN)
    assert found.code == "ERR017"
    assert "node was not scheduled" in found.title
    assert "batch 3 failed" not in found.title
    assert found.data["ended_program"]


def test_neither_are_two_of_them(tmp_path: Path) -> None:
    found = first(tmp_path, COMPILER + ERROR + BECAUSE + OWN + BECAUSE + AGAIN)
    assert "node was not scheduled" in found.title


def test_an_error_that_nothing_is_known_of_is_wrapped_as_well(tmp_path: Path) -> None:
    found = first(tmp_path, COMPILER + "ValueError: no such layout\n" + BECAUSE + OWN)
    assert "no such layout" in found.title


def test_what_fails_in_place_of_it_is_told_as_ever(tmp_path: Path) -> None:
    found = first(tmp_path, COMPILER + ERROR + DURING + OTHERWISE)
    assert "image" in found.title


def test_a_program_may_wrap_its_own(tmp_path: Path) -> None:
    """No compiler is below: the last one says what ended the program."""
    inner = f'{HEAD}  File "/home/ana/proj/rows.py", line 3, in rows\n    1 / 0\n'
    text = "ZeroDivisionError: division by zero\n" + BECAUSE + OWN
    logged = "V1122 02:27:42.661000 2992 torch/_dynamo/symbolic_convert.py:5124] [0/0] "
    text = f"{logged}[__graph_breaks] Graph break in user code at /home/ana/proj/a.py:4\n" + (
        inner + text
    )
    assert "batch 3 failed" in first(tmp_path, text).title


def test_the_line_of_the_program_is_that_of_the_node_that_was_compiled(tmp_path: Path) -> None:
    """Below AOTAutograd torch names it as the "Original traceback"."""
    error = (
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        "GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u9, 0) "
        "(unhinted: Eq(u9, 0)).  (Size-like symbols: none)\n\nWhile executing %y : [num_users=1] = "
        "call_function[target=torch.sum](args = (%q,), kwargs = {})\nOriginal traceback:\n"
        '  File "/home/ana/proj/attention.py", line 26, in forward\n    y = attend(q, k, v)\n'
        "        ^^^^^^^^^^^^^^^\n\n"
    )
    found = first(tmp_path, COMPILER + error)
    assert found.code == "DYN001"
    assert found.where is not None
    assert (found.where.file, found.where.line) == ("/home/ana/proj/attention.py", 26)


def test_an_autograd_function_under_vmap_is_left_out_with_the_call(tmp_path: Path) -> None:
    """Torch's own advice in the message is about a class of Dynamo's."""
    error = (
        "torch._dynamo.exc.InternalTorchDynamoError: RuntimeError: You tried to vmap over "
        "ApplyTemplate, but it does not have vmap support. Please override and implement the vmap "
        "staticmethod or set generate_vmap_rule=True.\n\nfrom user code:\n"
        '   File "/home/ana/proj/net.py", line 21, in forward\n    return Clamp.apply(x)\n\n'
    )
    found = first(tmp_path, COMPILER + error)
    assert found.code == "ERR018"
    assert "does not trace an autograd.Function under vmap" in found.title
    assert [one.id for one in found.advice] == ["vmap-function"]
