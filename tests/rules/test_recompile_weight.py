"""Recompiles for sizes are a warning where most of the measured compile time went to them."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
NAMES = {
    "RCP002": "RCP002-tensor-size-keeps-changing",
    "RCP003": "RCP003-first-dynamic-recompile",
    "RCP016": "RCP016-zero-one-specialisation",
}
SECONDS = re.compile(r'"entire_frame_compile_time_s": [\d.]+')


def told(code: str, tmp_path: Path, *seconds: float) -> Finding:
    """Return the finding of the rule where the compilations took so long, one after the other."""
    text = (FIXTURES / NAMES[code] / "fires-most-of-compile-time.log").read_text()
    assert len(SECONDS.findall(text)) == len(seconds)
    each = iter(seconds)
    log = tmp_path / "run.log"
    log.write_text(SECONDS.sub(lambda _: f'"entire_frame_compile_time_s": {next(each)}', text))
    (finding,) = [one for one in analyze(str(log)).findings if one.code == code]
    return finding


#: Below the threshold each rule says what it said before it knew the seconds.
LIGHT = {"RCP002": Severity.INFO, "RCP003": Severity.NONE, "RCP016": Severity.NONE}


@pytest.mark.parametrize("code", sorted(LIGHT))
@pytest.mark.parametrize(
    ("first", "again", "heavy"),
    [
        (20.0, 20.0, True),  # 20 s, and half
        (19.9, 19.9, False),  # half, and less than 20 s
        (1.0, 19.9, False),  # nearly all, and less than 20 s
        (100.0, 100.0, True),
        (100.2, 100.0, False),  # more than 20 s, and less than half
        (1000.0, 900.0, False),
        (100.0, 42.0, False),  # less than a third
    ],
)
def test_both_thresholds_have_two_sides(
    code: str, first: float, again: float, heavy: bool, tmp_path: Path
) -> None:
    parts = [again / 2, again / 2] if code == "RCP002" else [again]
    finding = told(code, tmp_path, first, *parts)
    told_as_note = code != "RCP002" and again >= max(20.0, 0.3 * (first + again))
    light = Severity.INFO if told_as_note else LIGHT[code]
    assert finding.severity is (Severity.WARNING if heavy else light)
    assert ("that compiling took" in finding.message) is (heavy or told_as_note)
    assert "expected" not in finding.title or not (heavy or told_as_note)
    if heavy:
        assert finding.cost is not None
        assert finding.cost.basis == "measured"
        assert finding.cost.ms == pytest.approx(1000 * again, rel=0.05)


def test_the_clocks_of_a_log_make_no_warning_of_a_note() -> None:
    logs = chain.from_iterable((FIXTURES / name).glob("*.log") for name in NAMES.values())
    for log in logs:
        if "entire_frame_compile_time_s" not in log.read_text():
            heavy = [f for f in analyze(str(log)).findings if "that compiling took" in f.message]
            assert heavy == [], log


def test_what_a_warning_says_can_be_done(tmp_path: Path) -> None:
    finding = told("RCP003", tmp_path, 92.0, 100.0)
    assert finding.advice[0].code == "torch._dynamo.maybe_mark_dynamic(x, 0)"
    assert "nothing" not in {advice.id for advice in finding.advice}
