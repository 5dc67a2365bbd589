"""Tensors that a line makes of numbers, with a device, and the CPU that they come by."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

SAID = """skipping cudagraphs due to skipping cudagraphs due to cpu device ({name}). Found from :
   File "/home/ana/proj/loss.py", line 25, in __call__
    {code}
"""
OF_SIZES = "size = torch.tensor(x.shape[2:], device=x.device, dtype=x.dtype) * step"
OF_NUMBERS = "gain = torch.tensor([1, 1, w, h], device=self.device)"


def found(name: str, code: str, folder: Path) -> Finding:
    path = folder / "run.log"
    path.write_text(SAID.format(name=name, code=code), encoding="utf-8")
    return next(one for one in analyze(str(path)).told if one.code == "CGR001")


@pytest.mark.parametrize("name", ["cat_1", "stack", "scalar_tensor_2", "_tensor_constant0"])
def test_a_device_does_not_keep_numbers_off_the_cpu(name: str, tmp_path: Path) -> None:
    advice = found(name, OF_SIZES, tmp_path).advice
    assert [one.id for one in advice] == ["stack-on-gpu", "partition"]
    assert "where the sizes do not change" in advice[0].text
    assert "(a buffer)" in found(name, OF_NUMBERS, tmp_path).advice[0].text


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cat_1", "size = torch.tensor(x.shape[2:], dtype=x.dtype) * step"),
        ("cat_1", "size = torch.cat([self.one, x.new_ones(1, device=x.device)])"),
        ("linspace", OF_SIZES),
        ("cat_1", "size = torch.tensor(x.shape)  # device=x.device"),
    ],
)
def test_what_has_no_device_is_made_on_the_gpu(name: str, code: str, tmp_path: Path) -> None:
    assert [one.id for one in found(name, code, tmp_path).advice] == ["make-on-gpu", "partition"]


def test_an_input_is_moved(tmp_path: Path) -> None:
    assert found("arg2_1", OF_SIZES, tmp_path).advice[0].id == "move-input"
