# ruff: noqa: E501 -- lines that torch prints
"""Which argument is on the CPU decides whether the input or the weight is to be moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

GPU, CPU = "FakeTensor(..., device='cuda:0', size=(4, 64))", "FakeTensor(..., size=(64, 32))"
TEXT = (
    "torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node with fake tensors: call_function"
    " <built-in method {op} of type object at 0x7f01>(*({args}), **{{}}): got RuntimeError('Unhandled FakeTensor"
    " Device Propagation for aten.{op}.default, found two different devices cuda:0, cpu')\n\n"
    'from user code:\n   File "{file}", line 19, in forward\n    {code}\n'
)
OWN = "/home/ana/proj/net.py"


def told(path: Path, *args: str, op: str = "mm", code: str, file: str = OWN) -> Finding:
    text = TEXT.format(op=op, args=", ".join(args), code=code, file=file)
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).told[0]


@pytest.mark.parametrize(
    ("op", "code", "file"),
    [
        ("_int_mm", "y = torch._int_mm(x, b)", OWN),
        ("mm", "y = torch.mm(x, self.weight)", OWN),
        ("linear", "return F.linear(x, w, self.bias)", OWN),
        ("mm", "y = torch.mm(h, lora_up)", r"D:\apps\ComfyUI\custom_nodes\x\layers.py"),
        ("_int_mm", "y = quantized(x)", OWN),
    ],
)
def test_a_weight_that_stayed_on_the_cpu_is_named(
    op: str, code: str, file: str, tmp_path: Path
) -> None:
    found = told(tmp_path / "post.txt", GPU, CPU, op=op, code=code, file=file)
    assert [one.id for one in found.advice] == ["offloaded"]
    assert "wholly on the GPU" in found.advice[0].text
    assert "next(model.parameters())" not in (found.advice[0].code or "")
    name = code.rpartition("(")[2].rstrip(")").split(", ")[1:2]
    assert not name or f"`{name[0]}`" in found.advice[0].text


@pytest.mark.parametrize(
    ("args", "code"),
    [
        # The input is on the CPU, and the weight is not.
        ((CPU, GPU), "y = torch.mm(x, self.weight)"),
        # Two inputs of a program of one's own.
        ((GPU, CPU), "y = torch.mm(query, keys)"),
        ((CPU, CPU), "y = torch.mm(x, self.weight)"),
    ],
)
def test_otherwise_the_inputs_are_moved(args: tuple[str, ...], code: str, tmp_path: Path) -> None:
    found = told(tmp_path / "post.txt", *args, code=code)
    assert found.advice[0].id == "known-message"
    assert "offloaded" not in [one.id for one in found.advice]
