"""Keys that tell kinds of calls apart are not to be made the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

PREFIX = "V1124 12:00:0{n}.000000 7 torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles] "


def advice(tmp_path: Path, file: str, *keys: str) -> list[str]:
    log = tmp_path / "run.log"
    lines = []
    for n, key in enumerate(keys, 1):
        parts = [
            f"Recompiling function forward in {file}:8",
            "    triggered by the following guard failure(s):",
            f"    - 0/{n - 1}: list(dict.keys(targets))[0] == '{key}'",
        ]
        lines += [f"{PREFIX.format(n=n)}{part}\n" for part in parts]
    log.write_text("".join(lines))
    (finding,) = [one for one in analyze(str(log)).findings if one.code == "RCP027"]
    return [one.id for one in finding.advice]


@pytest.mark.parametrize(
    ("keys", "first"),
    [(["a", "b", "c"], "loop-outside"), (["a", "b"], "same-keys"), (["a", "b", "a"], "same-keys")],
)
def test_kinds_of_calls_take_the_loop_out(keys: list[str], first: str, tmp_path: Path) -> None:
    assert advice(tmp_path, "/home/ana/proj/model.py", *keys)[0] == first


def test_nobody_takes_a_loop_out_of_a_package(tmp_path: Path) -> None:
    file = "/home/ana/venv/lib/python3.11/site-packages/pkg/model.py"
    assert "loop-outside" not in advice(tmp_path, file, "a", "b", "c")
