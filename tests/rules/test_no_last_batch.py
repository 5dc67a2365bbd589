"""What more sizes than two, or two dimensions that change, say of the way out."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.rules.test_recompile_weight import CLOCK, last_batch, sizes
from tracelens import analyze


@pytest.mark.parametrize(
    ("more", "advised"),
    [
        ("tensor 'x' size mismatch at index 0. expected 16, actual 1", "one-size"),
        ("2 <= x.size()[0]", "one-size"),
        ("tensor 'x' size mismatch at index 1. expected 16, actual 1", "drop-last"),
        ("2 <= other.size()[0]", "drop-last"),
    ],
)
def test_a_batch_that_had_a_third_size_was_no_last_one(
    more: str, advised: str, tmp_path: Path
) -> None:
    """What is left of a search, or in a queue, gets less and less."""
    last_batch(tmp_path, 30, 28)
    path = tmp_path / "run.log"
    reason = partial(CLOCK.format, at=31, second=0, n=2, file="guards.py:5396", kind="recompiles")
    log = path.read_text() + reason(text="Recompiling function forward in /home/ana/proj/net.py:14")
    log += reason(text="    triggered by the following guard failure(s):")
    path.write_text(log + reason(text=f"    - 0/1: {more}"))
    found = [one for one in analyze(str(path)).findings if one.code == "RCP003"]
    (first,) = [one for one in found if one.data["dimension"] == 0]
    assert [one.id for one in first.advice][:2] == [advised, "mark-dynamic"]


@pytest.mark.parametrize(("size", "is_told"), [("9, None", True), ("None, None", False)])
def test_two_dimensions_that_change_have_more_than_two_sizes(
    size: str, is_told: bool, tmp_path: Path
) -> None:
    """Images are as large as they come: a constant entry for each of them is no way out."""
    sizes(tmp_path, [2.0, 8.0])
    path = tmp_path / "run.log"
    tree = partial(CLOCK.format, at=30, second=58, n=1, file="guards.py:4483", kind="guards")
    held = "L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, "
    root, check = "+- RootGuardManager", f"TENSOR_MATCH: check_tensor({held}size=[{size}]"
    guards = ["TREE_GUARD_MANAGER:", root, f"| +- {check}, stride=[9, 1])"]
    path.write_text(path.read_text() + "".join(tree(text=one) for one in guards))
    (found,) = [one for one in analyze(str(path)).findings if one.code == "RCP003"]
    ids = [one.id for one in found.advice]
    assert ids[:2] == ["pad-largest", "mark-dynamic"]
    assert ("static-sizes" in ids) is is_told
