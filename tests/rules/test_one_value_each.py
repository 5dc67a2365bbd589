"""Whether the entry that is compiled for a condition is bound to one value as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

AT = "V1128 10:00:{second:02}.000000 7 torch/_dynamo/guards.py:5396] [0/{entry}] "
LENGTH = "(((-1) + {x}.size()[1]) // 2) == {value}  # (_inductor/kernel/conv.py:1091 in lowering)"


def recompiled(entry: int, values: list[int]) -> str:
    head = AT.format(second=10 * entry, entry=entry) + "[__recompiles] "
    reasons = [LENGTH.format(x="x", value=value) for value in values]
    lines = [
        "Recompiling function forward in /home/ana/proj/model.py:12",
        "    triggered by the following guard failure(s):",
        *(f"    - 0/{entry - 1 - n}: {reason}" for n, reason in enumerate(reasons)),
    ]
    return "".join(f"{head}{line}\n" for line in lines)


def guarded(entry: int, value: int | None) -> str:
    head = AT.format(second=10 * entry + 5, entry=entry) + "[__guards] "
    lines = ["TREE_GUARD_MANAGER:", "+- RootGuardManager"]
    lines += [] if value is None else [f"+- LAMBDA_GUARD: {LENGTH.format(x=X, value=value)}"]
    lines += [f"+- LAMBDA_GUARD: 9 <= {X}.size()[1] <= 2048  # y = x + 1  # model.py:14 in forward"]
    return "".join(f"{head}{line}\n" for line in lines)


X = "L['x']"


@pytest.mark.parametrize("value", [46, None])
def test_an_entry_that_holds_a_value_serves_no_others(tmp_path: Path, value: int | None) -> None:
    path = tmp_path / "run.log"
    path.write_text(guarded(0, 47) + recompiled(1, [47]) + guarded(1, value), encoding="utf-8")
    (found,) = (one for one in analyze(str(path)).findings if one.code == "RCP023")
    serves = "is bound to no value of" in found.message
    assert serves is (value is None)
    assert ("An entry serves one value of" in found.message) is not serves
