"""A number that a hook holds is no condition on a size, and is no argument that could be passed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

MODULE = "self._modules['blocks']._modules['0']"
HOOK = f"{MODULE}._forward_hooks[list(dict.keys({MODULE}._forward_hooks))[0]]"
HEAD = "V1124 03:28:2{n}.303000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] "
CODE = "  # out[:, pos] = saved[:, pos]  # /home/ana/proj/patch.py:17 in hook"


def recompiled(path: Path, guard: str, hint: str = "") -> Finding:
    """Return the one finding about entries for 0, 16 and 32."""
    lines = []
    for n, value in enumerate((0, 16), 1):
        head = HEAD.format(n=n)
        lines += [
            f"{head}Recompiling function forward in /home/ana/proj/model.py:49",
            f"{head}    triggered by the following guard failure(s):",
            f"{head}    - 0/{n - 1}: {guard} == {value}{CODE}{hint}",
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (found,) = analyze(str(path), select=["RCP"]).findings
    return found


@pytest.mark.parametrize(
    ("guard", "advice"),
    [
        (f"{HOOK}.__closure__[1].cell_contents.__closure__[0].cell_contents", "hold-tensor"),
        (f"{HOOK}.__closure__[0].cell_contents", "hold-tensor"),
        ("L['fn'].__closure__[0].cell_contents", "pass-argument"),
    ],
)
def test_what_a_hook_holds_is_a_tensor_instead(guard: str, advice: str, tmp_path: Path) -> None:
    found = recompiled(tmp_path / "run.log", guard)
    assert found.code == "RCP026"
    assert [one.id for one in found.advice] == [advice]
    assert "0, 16" in found.message


def test_it_is_called_by_its_name(tmp_path: Path) -> None:
    guard = f"{HOOK}.__closure__[0].cell_contents"
    found = recompiled(tmp_path / "run.log", guard, ' (HINT: guard on "pos")')
    assert found.title == "`pos`, which `hook` holds, differs between calls"
    unnamed = recompiled(tmp_path / "run.log", guard)
    assert "_forward_hooks" in unnamed.title


def test_a_condition_on_a_size_is_none_that_a_hook_holds(tmp_path: Path) -> None:
    found = recompiled(tmp_path / "run.log", "L['x'].size()[0] % 4")
    assert found.code != "RCP026"
