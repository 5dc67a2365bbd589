"""RCP008: what a recompile's list leaves out is counted, and not taken for what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

HEAD = "V0228 19:40:00.090000 15 torch/_dynamo/guards.py:2791] [2/{0}] [__recompiles] "
SITE = "Recompiling function forward in /home/ana/proj/model.py:38\n"


def recompile(number: int, entries: list[int]) -> str:
    head = HEAD.format(number)
    lines = [head + SITE, f"{head}    triggered by the following guard failure(s):\n"]
    lines += [
        f"{head}    - 2/{n}: ___check_obj_id(L['self']._modules['attn'].processor, {700 + n})\n"
        for n in entries
    ]
    return "".join(lines)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (recompile(8, [7, 6]), "3 objects or more"),
        (recompile(3, [2, 1, 0]), "4 objects took turns"),
        (recompile(1, [0]) + recompile(2, [1]) + recompile(3, [2]), "4 objects took turns"),
    ],
)
def test_entries_of_which_nothing_is_told(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(text, encoding="utf-8")
    found = next(one for one in analyze(str(path)).findings if one.code == "RCP008")
    assert said in found.message
    assert ("the log does not tell" in found.message) is ("or more" in said)
