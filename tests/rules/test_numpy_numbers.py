"""Attributes that hold NumPy numbers, which Dynamo traces as tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
LOG = FIXTURES / "GBR001-scalar-from-tensor" / "fires-numpy-number.log"
HELD = "___from_numpy(L['self'].hop_length)"


def first(text: str, folder: Path) -> Finding:
    log = folder / "run.log"
    log.write_text(text)
    return next(
        one
        for one in analyze(str(log)).findings
        if one.code == "GBR001" and one.where and one.where.line == 14
    )


def test_an_attribute_that_is_a_numpy_number_is_named(tmp_path: Path) -> None:
    found = first(LOG.read_text(), tmp_path)
    assert found.advice[0].id == "python-number"
    assert found.advice[0].code == "self.hop_length = self.hop_length.item()"


def test_in_a_library_all_such_attributes_are_made_numbers_of_python(tmp_path: Path) -> None:
    package = "/home/ana/venv/lib/python3.11/site-packages/oddlib/codec.py"
    text = LOG.read_text().replace("/home/ana/proj/codec.py:14", f"{package}:14")
    text = text.replace('"/home/ana/proj/codec.py", line 14', f'"{package}", line 14')
    found = first(text, tmp_path)
    assert found.advice[0].id == "python-numbers"
    assert "vars(part)" in str(found.advice[0].code)


def test_a_name_that_is_a_tensor_in_another_class_is_not_called_a_number(tmp_path: Path) -> None:
    text = LOG.read_text()
    held = next(one for one in text.splitlines() if f"check_tensor({HELD}," in one)
    for other in ("._modules['b']._buffers['hop_length']", "._modules['b'].hop_length"):
        line = held.replace(HELD, f"L['self']{other}")
        found = first(text.replace(held, f"{held}\n{line}"), tmp_path)
        assert not {one.id for one in found.advice} & {"python-number", "python-numbers"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (HELD, "L['self'].hop_length"),  # a tensor of torch
        (HELD, "___from_numpy(L['self'].rates)"),  # another attribute
        ("size=[], stride=[])", "size=[3], stride=[1])"),  # an array
        ("math.ceil(length / self.hop_length)", "(x / self.hop_length).item()"),
    ],
)
def test_what_is_no_numpy_number_of_that_line_is_not_called_one(
    old: str, new: str, tmp_path: Path
) -> None:
    text = LOG.read_text()
    assert old in text
    found = first(text.replace(old, new), tmp_path)
    assert not {one.id for one in found.advice} & {"python-number", "python-numbers"}


def test_a_size_that_numpy_needs_is_no_layers(tmp_path: Path) -> None:
    """torch computes it by its own NumPy, whose files are no operators."""
    (folder,) = (Path(__file__).parents[2] / "fixtures" / "rules").glob("DYN004-*")
    text = (folder / "fires-numpy-2.13.log").read_text(encoding="utf-8")
    log = tmp_path / "run.log"

    def codes(told: str) -> set[str]:
        log.write_text(told, encoding="utf-8")
        return {one.code for one in analyze(log).findings}

    assert "DYN004" in codes(text)
    assert "RCP018" not in codes(text)
    assert "RCP018" in codes(text.replace("_numpy/_util.py", "_meta_registrations.py"))
