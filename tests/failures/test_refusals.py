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
    assert "shapes or dtypes" in analyze(str(path)).findings[0].title
