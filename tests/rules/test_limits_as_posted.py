"""What a limit that was hit tells alone, without the recompiles before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids, told

LIMIT = "W1122 09:15:31.073000 528 torch/_dynamo/convert_frame.py:906] [1/8] "


@pytest.mark.parametrize(
    ("source", "is_size"),
    [
        ("L['batch']['max_seqlen_k']", True),
        ("L['num_frames']", True),
        ("L['width']", True),
        ("L['step']", False),
        ("L['batch']['temperature']", False),
        ("L['seed']", False),
    ],
)
def test_a_length_is_not_passed_as_a_tensor(source: str, is_size: bool, tmp_path: Path) -> None:
    text = (
        f"{LIMIT}torch._dynamo hit config.recompile_limit (8)\n"
        f"{LIMIT}   function: 'mix' (/home/ana/proj/net.py:14)\n"
        f"{LIMIT}   last reason: 1/7: {source} == 4096\n"
    )
    found = told("RCP001", text, tmp_path)
    assert ids(found) == ["number-as-size" if is_size else "pass-tensor"]


RAISED = (
    "torch._dynamo.exc.Unsupported: Dynamo recompile limit exceeded\n"
    "  Explanation: Dynamo attempted to recompile the code object too many times\n\n"
    "The above exception was the direct cause of the following exception:\n\n"
    "torch._dynamo.exc.FailOnRecompileLimitHit: Hard failure due to fullgraph=True\n"
)
SITE = (
    "\nIt dies here:\n\nproj/kernels/attend.py:88, in forward\n    out = attend_compiled(q, k, v)\n"
)


def test_the_call_beside_the_exception_is_named(tmp_path: Path) -> None:
    found = told("RCP001", f"{RAISED}{SITE}", tmp_path)
    assert found.where is not None
    assert (found.where.file, found.where.line) == ("proj/kernels/attend.py", 88)
    assert "`attend_compiled`" in found.title
    assert "dynamic=True" in found.advice[0].text
    assert "recompile_limit" in found.advice[0].text


def test_without_one_no_function_is_named(tmp_path: Path) -> None:
    found = told("RCP001", RAISED, tmp_path)
    assert found.where is None
    assert found.title.startswith("a function hit the limit")
