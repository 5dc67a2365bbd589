"""Whose a failure is, and what to leave out, with wrappers and libraries in between."""

import pytest

from tracelens.failures.stages import is_generated, stage
from tracelens.rules.err._failure_rule import FailureData
from tracelens.rules.err._leave_out import disabled

TORCH = "/home/ana/venv/lib/python3.11/site-packages/torch"


@pytest.mark.parametrize(
    ("inner", "expected"),
    [("_functorch/_aot_autograd/utils.py", "aot"), ("_inductor/graph.py", "inductor")],
)
def test_the_wrapper_that_switches_dynamo_off_is_no_stage(inner: str, expected: str) -> None:
    paths = [
        f"{TORCH}/_dynamo/output_graph.py",
        f"{TORCH}/{inner}",
        f"{TORCH}/_dynamo/eval_frame.py",
        f"{TORCH}/_subclasses/fake_tensor.py",
    ]
    assert stage("internal-compiler", paths) == expected


HASH = "wfj4c356mkek5mzl2vpjji36vjx7tjeuispfsjnses7ovqbtxuc"


@pytest.mark.parametrize(
    ("file", "made"),
    [
        (f"/home/ana/cache/wf/c{HASH}.py", True),  # in a cache that the program chose
        (f"/home/ana/cache/wf/c{HASH}.main.cpp", True),
        ("/home/ana/torchinductor_ana/wf/cwf.py", True),
        ("/home/ana/cache/wf/convert.py", False),
        (f"/home/ana/cache/code/c{HASH}.py", False),
    ],
)
def test_what_inductor_wrote_is_known_by_its_name(file: str, *, made: bool) -> None:
    assert is_generated(file) is made
    paths = [f"{TORCH}/_inductor/output_code.py", file]
    assert stage("unexplained", paths) == ("runtime" if made else "inductor")


def test_where_nothing_else_tells_the_wrapper_does() -> None:
    assert stage("internal-compiler", [f"{TORCH}/_dynamo/eval_frame.py"]) == "dynamo"


def failed(file: str, function: str) -> FailureData:
    return FailureData(cause="internal-compiler", stage="aot", file=file, line=7, function=function)


def test_a_function_of_the_program_is_decorated() -> None:
    assert disabled(failed("/home/ana/proj/model.py", "forward")) == "@torch.compiler.disable"


def test_a_function_of_a_library_is_left_out_from_outside() -> None:
    """Nobody edits an installed file; the code finds the class by the function and its line."""
    told = disabled(failed("/venv/lib/python3.11/site-packages/fast/attention.py", "forward"))
    assert 'importlib.import_module("fast.attention")' in str(told)
    assert 'vars(owner).get("forward")' in str(told)
    assert " 7 in [n for" in str(told)
    compile(str(told), "advice", "exec")
    lambda_ = failed("/venv/lib/python3.11/site-packages/fast/attention.py", "<lambda>")
    assert disabled(lambda_) is None  # no name leads to it


@pytest.mark.parametrize(
    ("innermost", "told"),
    [
        ("/v/torch/_dynamo/backends/debugging.py", "runtime"),  # calls the graph that it was given
        ("/v/torch/_functorch/_aot_autograd/subclass_codegen.py:codegen(runtime)", "runtime"),
        ("/v/torch/_functorch/_aot_autograd/subclass_codegen.py", "aot"),
        ("/v/torch/_dynamo/symbolic_convert.py", "dynamo"),
    ],
)
def test_a_backend_that_runs_a_graph_does_not_trace(innermost: str, told: str) -> None:
    assert stage("", ["/v/torch/_dynamo/eval_frame.py", innermost]) == told
