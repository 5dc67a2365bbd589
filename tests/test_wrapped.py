"""Where in a stack the compiled module begins."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.wrapped import outside_of
from tracelens.logs.graph_breaks import StackFrame

MODULE = "/home/ana/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"
CALL = [
    StackFrame(file=MODULE, line=1778, function="_wrapped_call_impl", code="return call(*args)"),
    StackFrame(file=MODULE, line=1789, function="_call_impl", code="return forward_call(*args)"),
]
FORWARD = StackFrame(file="/home/ana/proj/net.py", line=9, function="forward", code="y = f(x)")
FIXTURE = Path(__file__).parents[1] / "fixtures/rules/GBR002-data-dependent-branch"


@pytest.mark.parametrize(
    ("code", "calls", "outside"),
    [
        ("y = model(x)", 2, 4),
        ("y = model.forward(x)", 1, 2),
        ("y = model.forward(", 1, 2),
        ("y = model(x)", 1, 0),  # compiled in place, or what calls it is compiled
        ("y = self.head.forward(self.neck(x))", 1, 0),  # torch calls the neck
    ],
)
def test_a_wrapper_calls_a_module_where_nothing_else_does(
    code: str, calls: int, outside: int
) -> None:
    line = StackFrame(file="/home/ana/proj/train.py", line=5, function="<module>", code=code)
    assert outside_of([line, *CALL * calls, FORWARD]) == outside


def test_an_object_that_forward_makes_does_not_hide_what_it_calls() -> None:
    found = analyze(str(FIXTURE / "fires-forward-called.log.gz")).told[0]
    (advice,) = found.advice
    assert advice.id == "compare-eager"
    assert advice.env == "TORCHDYNAMO_DISABLE=1"
    assert "reached through oddlib/__init__.py:37" in advice.text


def test_no_comparison_where_a_line_broke_the_graph_once() -> None:
    found = analyze(str(FIXTURE / "fires-library.log.gz")).told[0]
    assert "compare-eager" not in [one.id for one in found.advice]
