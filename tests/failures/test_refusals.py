"""What torch refuses in words is answered with what to write, and not with bisecting."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

SITE = "/home/ana/venv/lib/python3.11/site-packages"
#: While Dynamo runs the program on fake tensors, and while what was compiled runs.
TRACED = """torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call
  Explanation: Dynamo failed to run FX node with fake tensors: call_function f(*(FakeTensor(..., size=(4, 4)),), **{{}}): got RuntimeError("{message}")


from user code:
   File "/home/ana/proj/net.py", line 12, in forward
    y = self.part(x)
"""  # noqa: E501 -- whole lines of a log
RUNNING = f"""Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 22, in <module>
    loss = step(x)
  File "{SITE}/torch/_dynamo/eval_frame.py", line 1446, in compile_wrapper
    return fn(*args, **kwargs)
  File "/home/ana/proj/net.py", line 12, in forward
    y = self.part(x)
  File "{SITE}/torch/_functorch/_aot_autograd/runtime_wrappers.py", line 483, in __call__
    outs = compiled_fn(args)
RuntimeError: {{message}}
"""
REFUSED = (
    ("not-recorded", "a leaf Variable that requires grad is being used in an in-place operation."),
    (
        "not-recorded",
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    (
        "vmap-randomness",
        (
            "vmap: called random operation while in randomness error mode. Please either use the "
            "'same' or 'different' randomness flags on vmap or perform the randomness operation "
            "out of vmap"
        ),
    ),
    (
        "vmap-where",
        (
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
            "flow. We don't support that yet, please file an issue at "
            "https://github.com/pytorch/pytorch/issues ."
        ),
    ),
    (
        "vmap-forward",
        (
            "InferenceMode::is_enabled() && self.is_inference() INTERNAL ASSERT FAILED at "
            '"VariableMethodStubs.cpp":66, please report a bug to PyTorch. Expected this method to '
            "only be reached in inference mode and when all the inputs are inference tensors. You "
            "should NOT call this method directly as native::_fw_primal. Please use the "
            "dispatcher, i.e., at::_fw_primal."
        ),
    ),
    (
        "vmap-item",
        (
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
            "calling .item() on a Tensor, please try to rewrite what you're doing with other "
            "operations."
        ),
    ),
    (
        "same-branches",
        (
            "When merging two branches' output in torch.cond, expected same dtype but got "
            "torch.int64 and torch.float32."
        ),
    ),
    (
        "clone-output",
        (
            "pad (with implementation in <module 'ops' from 'ops.py'>): The output of this custom "
            "operator (1) must not also be an input to this custom operator and (2) may not alias "
            "any inputs to this custom operator or other returns."
        ),
    ),
)


@pytest.mark.parametrize(("name", "message"), REFUSED)
@pytest.mark.parametrize("form", [TRACED, RUNNING], ids=["traced", "running"])
def test_the_first_advice_is_what_to_write(
    form: str, name: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.log"
    path.write_text(form.format(message=message), encoding="utf-8")
    found = analyze(str(path)).findings[0]
    assert [advice.id for advice in found.advice] == [name]
    assert "shapes or dtypes" not in found.title


def test_what_is_no_refusal_keeps_its_advice(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(
        TRACED.format(message="value cannot be converted without overflow"), encoding="utf-8"
    )
    found = analyze(str(path)).findings[0]
    assert "eager" in [advice.id for advice in found.advice]
    assert found.title.startswith("an operation of the program fails while it is traced: value")
    path.write_text(TRACED.format(message="mat1 and mat2 must have the same dtype"))
    assert "two dtypes" in analyze(str(path)).findings[0].title
    path.write_text(TRACED.format(message="the size of this tensor is not what it was"))
    assert "shapes or dtypes" in analyze(str(path)).findings[0].title


CARRIED = """torch._dynamo.exc.UncapturedHigherOrderOpError: Expected body_fn_output and \
carried_inputs to have same metadata but found:
pair[1] differ in 'dtype: torch.float64, torch.float32'


from user code:
   File "/home/ana/proj/net.py", line 12, in forward
    _, v = while_loop(goes_on, body, (i, v))
"""


def test_the_body_of_a_loop_returns_what_it_got(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(CARRIED, encoding="utf-8")
    found = analyze(str(path)).findings[0]
    assert [advice.id for advice in found.advice] == ["same-carry"]
    assert found.title.startswith("the body of while_loop")


TWICE = RUNNING.format(message="torch.compile with aot_autograd does not currently support double")
TWICE = TWICE.replace("double\n", "double backward\n")


@pytest.mark.parametrize(
    ("function", "expected"),
    [("torch_dynamo_resume_in_residual_at_11", "twice-eager"), ("train", "outside")],
)
def test_what_is_differentiated_twice_within_compiled_code_is_left_out(
    function: str, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.log"
    path.write_text(TWICE.replace("forward", function), encoding="utf-8")
    found = analyze(str(path)).findings[0]
    assert found.advice[0].id == expected
    assert "torch_dynamo_resume_in" not in f"{found.where} {found.advice}"


COPIED = f"""Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 22, in <module>
    forces = torch.autograd.grad(energy.sum(), x, create_graph=True)[0]
  File "{SITE}/torch/autograd/__init__.py", line 594, in grad
    result = _engine_run_backward(
  File "{SITE}/torch/autograd/graph.py", line 979, in _engine_run_backward
    return Variable._execution_engine.run_backward(  # Calls into the C++ engine
  File "{SITE}/torch/autograd/function.py", line 333, in apply_boxed
    return self._get_user_fn()(self, *args)
  File "{SITE}/torch/_functorch/_aot_autograd/runtime_wrappers.py", line 2489, in coerce_to_format
    restrided.copy_(x)
RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.
"""


def test_a_leaf_that_the_compiled_backward_pass_changes_is_no_parameter(tmp_path: Path) -> None:
    """It copies a gradient to another layout, while autograd records that."""
    path = tmp_path / "run.log"
    path.write_text(COPIED, encoding="utf-8")
    found = analyze(str(path)).findings[0]
    assert found.title.startswith("compiled code cannot be differentiated twice")
    assert found.advice[0].id == "outside"
    assert "not-recorded" not in {advice.id for advice in found.advice}
    path.write_text(RUNNING.format(message=REFUSED[0][1]), encoding="utf-8")  # the program's own
    found = analyze(str(path)).findings[0]
    assert found.advice[0].id == "not-recorded"


STRIDES = (
    "expected size {0}=={0}, stride 1==32 at dim=0; expected size 32==32, stride {0}=={1} at dim=1"
    "\nError in op: torch.ops.{2}.default\nThis error most often comes from a incorrect fake (aka "
    "meta) kernel for a custom op."
)


@pytest.mark.parametrize(
    ("inner", "operator", "is_said"),
    [(1, "geo.interp", True), (2, "geo.interp", False), (1, "aten.mm", False)],
)
def test_a_result_is_made_contiguous_where_that_is_expected(
    inner: int, operator: str, is_said: bool, tmp_path: Path
) -> None:
    message = STRIDES.format(20, inner, operator)
    path = tmp_path / "run.log"
    text = RUNNING.format(message=message).replace("RuntimeError", "AssertionError")
    path.write_text(text, encoding="utf-8")
    found = analyze(str(path)).findings[0]
    assert found.code == "ERR021"
    assert (found.advice[0].id == "contiguous") == is_said
    named = [advice.code for advice in found.advice if advice.id == "opcheck"]
    assert (f"torch.ops.{operator}.default" in str(named)) == operator.startswith("geo")
