"""Guards on modules are not advised to be left out of a run in which one of them failed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import analyze

FOLDER = Path(__file__).parents[2] / "fixtures/rules/GRD001-guard-latency-high"
AGAIN = """
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4598] [9/1] [__recompiles] Recompiling function f in /home/ana/proj/other.py:3
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4598] [9/1] [__recompiles]     triggered by the following guard failure(s):
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4598] [9/1] [__recompiles]     - 9/0: {guard}
"""  # noqa: E501 -- lines of a log


@pytest.mark.parametrize(
    ("guard", "left_out"),
    [
        (None, True),
        ("tensor 'x' size mismatch at index 0. expected 4, actual 5", True),
        ("self.step == 0", False),
        ("len(self._modules['norm']._forward_hooks) == 0", False),
        ("G['model'].training == True", False),
        ("tensor 'self._parameters['weight']' requires_grad mismatch. expected requires_grad=1",
         False),
    ],
)  # fmt: skip
def test_guards_that_failed_are_not_left_out(
    tmp_path: Path, guard: str | None, *, left_out: bool
) -> None:
    text = gzip.decompress((FOLDER / "fires-modules.log.gz").read_bytes()).decode()
    (tmp_path / "run.log").write_text(text + (AGAIN.format(guard=guard) if guard else ""))
    found = [one for one in analyze(str(tmp_path / "run.log")).findings if one.code[:3] == "GRD"]
    assert {one.code for one in found} == {"GRD001", "GRD002"}
    for one in found:
        assert ("skip-module-guards" in {advice.id for advice in one.advice}) is left_out


OTHER = """
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4483] [9/0] [__guards] TREE_GUARD_MANAGER:
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4483] [9/0] [__guards] +- RootGuardManager
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4483] [9/0] [__guards] | +- GLOBAL_STATE: ___check_global_state()
"""  # noqa: E501 -- lines of a log
BREAK = """
V1120 15:00:00.000000 1 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] Graph break in user code at /home/ana/proj/other.py:3
V1120 15:00:00.000000 1 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] Graph Break Reason: Data-dependent branching
"""  # noqa: E501 -- lines of a log


@pytest.mark.parametrize(("more", "larger"), [("", False), (OTHER, True), (OTHER + BREAK, False)])
def test_functions_that_a_break_makes_are_no_regions_to_compile_as_one(
    tmp_path: Path, more: str, *, larger: bool
) -> None:
    text = gzip.decompress((FOLDER / "fires-modules.log.gz").read_bytes()).decode()
    (tmp_path / "run.log").write_text(text + more)
    (one,) = [one for one in analyze(str(tmp_path / "run.log")).findings if one.code == "GRD001"]
    assert ("larger-region" in {advice.id for advice in one.advice}) is larger
