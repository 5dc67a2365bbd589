"""What is told of a break by what its record and the guards say of the values in its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

OWN = "/home/ana/proj/net.py"
STEP = "/home/ana/venv/lib/python3.11/site-packages/oddopt/adam.py"
OPTIMIZER = "/home/ana/venv/lib/python3.11/site-packages/torch/optim/optimizer.py"


def logged(channel: str, text: str) -> str:
    return "".join(
        f"V1120 12:00:00.000000 71 torch/_dynamo/a.py:5] [0/0] [__{channel}] {line}\n"
        for line in text.strip("\n").split("\n")
    )


def shown(room: Path, text: str) -> list[Finding]:
    log = room / "run.log"
    log.write_text(text, encoding="utf-8")
    return list(analyze(str(log)).findings)


def reading(dtype: str) -> str:
    broken = f"""
Graph break in user code at {OWN}:8
Graph Break Reason: Unsupported Tensor.item() call with capture_scalar_outputs=False
  Explanation: Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.

User code traceback:
  File "{OWN}", line 8, in forward
    s = self.scale.item()
"""  # noqa: E501 -- torch's line
    guard = (
        "| +- TENSOR_MATCH: check_tensor(L['self']._buffers['scale'], Tensor, DispatchKeySet(CPU, "
        f"BackendSelect), torch.{dtype}, device=None, requires_grad=False, size=[], stride=[])"
    )
    tree = f"\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n{guard}\n"
    return logged("graph_breaks", broken) + logged("guards", tree)


@pytest.mark.parametrize(("dtype", "is_float"), [("float32", True), ("int64", False)])
def test_a_float_of_the_module_is_no_counter(dtype: str, is_float: bool, tmp_path: Path) -> None:
    found = next(f for f in shown(tmp_path, reading(dtype)) if f.code == "GBR001")
    assert (found.advice[0].code == "s = self.scale.detach()") == is_float
    assert (found.advice[0].id == "read-outside") != is_float


def stepping(context: str) -> str:
    return logged(
        "graph_breaks",
        f"""
Graph break in user code at {STEP}:19
Graph Break Reason: Unhandled args for method
  Explanation: Dynamo encountered an error while calling the method `add_`.

  Developer debug context: {context}

User code traceback:
  File "{OWN}", line 9, in train
    opt.step()
  File "{OPTIMIZER}", line 530, in wrapper
    out = func(*args, **kwargs)
  File "{STEP}", line 19, in step
    state["m"].mul_(b1).add_(1 - b1, grad)
""",
    )


@pytest.mark.parametrize(
    ("arguments", "is_old"),
    [
        ("[ConstantVariable(float: 0.09999999999999998), TensorVariable()] {}", True),
        ("[TensorVariable(), ConstantVariable(float: 0.1)] {}", False),
    ],
)
def test_a_break_that_no_rule_knows_is_told_once(
    arguments: str, is_old: bool, tmp_path: Path
) -> None:
    text = stepping(f"call_method TensorVariable() add_ {arguments}")
    found = [f for f in shown(tmp_path, text) if f.code.startswith("GBR")]
    (told,) = [f for f in found if not f.explained_by and f.severity.value != "none"]
    assert {f.code for f in found} == {"GBR012", "GBR018"}
    assert told.advice[0].id == "leave-step"
    assert ("`add_(Number, Tensor)`" in told.advice[0].text) == is_old
