"""Reasons of a recompile that was made an error are told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

MESSAGE = (
    "Detected recompile when torch.compile stance is 'fail_on_recompile'. "
    "filename: '/home/ana/proj/a.py', function name: 'f', line number: 2\n"
)
REASONS = (
    "    triggered by the following guard failure(s):\n"
    "    - 0/0: tensor 'x' dtype mismatch. expected Float, actual Double\n"
)


def codes(tmp_path: Path, text: str) -> list[str]:
    log = tmp_path / "run.log"
    log.write_text(text)
    return [one.code for one in analyze(str(log)).shown]


@pytest.mark.parametrize("lead", ["RuntimeError: ", "epoch 1\nerror: "])
def test_an_error_of_fail_on_recompile_tells_its_reasons(lead: str, tmp_path: Path) -> None:
    found = codes(tmp_path, lead + MESSAGE + REASONS)
    assert found[0] == "ERR000"
    assert "LOG001" not in found


def test_reasons_without_an_error_are_a_part_of_a_log(tmp_path: Path) -> None:
    assert "LOG001" in codes(tmp_path, REASONS)
    (finding,) = [one for one in analyze(str(tmp_path / "run.log")).shown if one.code == "LOG001"]
    assert "unless a stance or a limit forbids it" in finding.message


def test_another_error_does_not_tell_them(tmp_path: Path) -> None:
    found = codes(tmp_path, f"{REASONS}RuntimeError: mat1 and mat2 shapes cannot be multiplied\n")
    assert "LOG001" in found
