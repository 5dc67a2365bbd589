"""Several values differ from entry to entry, of which a recompile names the first alone."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens import Finding, analyze
from tracelens.dynamo.held_values import differing
from tracelens.logs.guards import Guard, GuardTree
from tracelens.report import Severity

LOGS = Path(__file__).parents[2] / "fixtures" / "rules" / "RCP007-module-int-attribute"
TWO, ONE = LOGS / "fires-two-values-2.13.log.gz", LOGS / "fires-one-of-two-values-2.13.log.gz"


def told(path: Path, code: str) -> Finding:
    (found,) = [one for one in analyze(str(path)).findings if one.code == code]
    return found


def test_what_else_differs_is_changed_with_it() -> None:
    found = told(TWO, "RCP007")
    assert "differ in `t` (0.0, 0.1, 0.25, ...) as well" in found.message
    assert [one.id for one in found.advice] == ["count-outside", "unspec-int", "buffer"]
    wanted = "With it, change `t`: compute with it, as in `torch.ones_like(x) * t`, instead of"
    assert all(wanted in one.text for one in found.advice)


def test_a_value_behind_another_one_is_not_harmless() -> None:
    found = told(TWO, "RCP005")
    assert found.severity is Severity.WARNING
    assert found.harmless is None
    assert "`t` was 0.0, 0.1, 0.25, 0.4: one recompile, and more entries" in found.message
    assert "differ in `self.calls` (0, 1, 2, ...) as well" in found.message
    assert [one.id for one in found.advice] == ["multiply"]
    assert found.advice[0].text.endswith("With it, change `self.calls`.")


def test_a_value_that_is_a_symbol_is_not_named() -> None:
    found = told(ONE, "RCP007")
    assert "as well" not in found.message
    assert not any("With it" in one.text for one in found.advice)
    assert told(ONE, "RCP005").harmless


def test_a_count_that_is_in_a_graph_is_not_only_counted(tmp_path: Path) -> None:
    assert told(ONE, "RCP007").advice[0].id == "count-outside"
    parts = gzip.decompress(ONE.read_bytes()).decode().split("torch.cat([l_y_, times], 1)")
    assert len(parts) > 1
    other = tmp_path / "run.log"
    text = "".join(f"{one}torch.cat([l_y_, times], {n})" for n, one in enumerate(parts))
    other.write_text(text)
    assert "count-outside" not in [one.id for one in told(other, "RCP007").advice]


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        (["L['t'] == 0.0", "L['t'] == 0.1", "L['t'] == 0.2"], ["t"]),
        (["L['t'] == 0.0", "L['t'] == 0.1", "L['t'] == 0.1"], []),
        (["L['t'] == 0.0", "L['t'] == 0.1", "(0.1 + L['t']) == 0.2"], []),
        (["L['t'] == 0.0", "L['t'] == 0.1", "L['t'] == 0.2", "L['u'] == 1"], []),
        (["L['n'] == 5", "L['n'] == 0", "L['n'] == 1"], []),
        (["L['n'] == 5", "L['n'] == 0", "L['n'] == 7"], ["n"]),
        (["L['self'].k == 'a'", "L['self'].k == 'b'", "L['self'].k == 'c'"], ["self.k"]),
        (["L['n'] == None", "L['n'] == True", "L['n'] == False"], []),
    ],
)
def test_what_is_held(asked: list[str], held: list[str]) -> None:
    """What became a symbol is no guard of the newest entry; 0 and 1 are apart by design."""
    guards = [Guard(kind="LAMBDA_GUARD", expression=one) for one in asked]
    trees = {number: GuardTree(guards=(one,)) for number, one in enumerate(guards)}
    assert [one.source for one in differing(trees)] == held
