"""Planted falsehoods, of which none may be confirmed: two programs here, all by a command."""

import os
from pathlib import Path

import pytest

from tests.live.falsehoods import PLANTED, PROGRAMS, confirmed


def test_thirty_of_them_over_five_programs() -> None:
    assert len(PLANTED) == 30
    assert {one.program for one in PLANTED} == set(PROGRAMS)
    assert len(PROGRAMS) == 5


@pytest.mark.live
@pytest.mark.parametrize("program", ["breaks", "onednn"])
def test_what_is_not_so_is_not_confirmed(
    program: str, tmp_path: Path, torch_python: str, torch_environment: dict[str, str]
) -> None:
    """Nor refuted: what did not show here may show elsewhere."""
    said = confirmed(program, tmp_path, torch_python, os.environ | torch_environment)
    assert len(said) == sum(one.program == program for one in PLANTED)
    assert {state for state, _, _ in said.values()} <= {"inconclusive", "not_tried"}
