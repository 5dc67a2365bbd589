"""What is advised about a branch goes by what the log shows of its sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Advice

FOLDER = Path(__file__).parents[2] / "fixtures/rules/GBR002-data-dependent-branch"


def advice(path: Path) -> dict[str, Advice]:
    (finding,) = [one for one in analyze(str(path)).findings if one.code == "GBR002"]
    return {one.id: one for one in finding.advice}


def of(what: str) -> dict[str, Advice]:
    return advice(FOLDER / f"fires-side-{what}-2.13.log")


def test_a_side_that_is_seen_to_compute_is_selected() -> None:
    told = of("computes")
    assert list(told) == ["select", "check-outside"]
    assert told["select"].text.endswith("compute both and select.")


def test_a_side_that_nobody_took_may_raise_as_well() -> None:
    """What is asked of is computed by a layer: nobody knows it before the call."""
    told = of("unseen")
    assert list(told) == ["select"]
    assert "If the branch only raises" in told["select"].text


def test_a_side_that_is_seen_to_raise_is_a_check() -> None:
    told = of("raises")
    assert list(told) == ["raise-in-graph", "check-in-eager", "check-outside"]
    assert "If" not in told["raise-in-graph"].text
    assert told["check-outside"].text.endswith("check it before the call.")


def test_sides_that_call_modules_are_not_both_computed() -> None:
    assert list(of("calls")) == ["compile-parts", "cond"]


@pytest.mark.parametrize(
    "code", ["x = x.relu()", "self.n += 1", "x = relu(self.limit)", "self.n.copy_(x)"]
)
def test_a_side_that_calls_no_module_is_computed(code: str, tmp_path: Path) -> None:
    text = (FOLDER / "fires-side-calls-2.13.log").read_text(encoding="utf-8")
    log = tmp_path / "run.log"
    log.write_text(text.replace("# x = torch.relu(self.big(x))", f"# {code}"), encoding="utf-8")
    assert list(advice(log)) == ["select"]


def test_what_a_module_computed_before_is_not_known_early(tmp_path: Path) -> None:
    """The argument is used by another line before: it may be another tensor by then."""
    text = (FOLDER / "fires-side-computes-2.13.log").read_text(encoding="utf-8")
    old = "# if x.max() > 1:  # ome/ana/proj/app.py:12 in computes"
    log = tmp_path / "run.log"
    assert old in text
    log.write_text(text.replace(old, "# x = x * 2  # ome/ana/proj/app.py:11 in computes"))
    assert "check-outside" not in advice(log)
