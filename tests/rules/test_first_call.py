"""What the first call sets up is one story; how long guards take is believed where it can be."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import recompiled
from tracelens import analyze
from tracelens.report import Confidence, Finding, Severity

RULES = Path(__file__).parents[2] / "fixtures" / "rules"


def told(path: Path) -> dict[str, Finding]:
    return {finding.code: finding for finding in analyze(str(path)).findings}


def lines(name: str) -> str:
    return (RULES / name).read_text("utf-8")


LOCK = "GBR022-cold-start-side-effect/fires-library-lock.log"


def test_the_lock_around_the_hooks_is_a_part_of_the_set_up() -> None:
    found = told(RULES / LOCK)
    assert found["GBR007"].explained_by == found["GBR022"].id
    assert found["GBR022"].data["records"] == 4
    assert [one["function"] for one in found["GBR022"].data["setters"]] == [
        "maybe_install_hooks",
        "install_hook",
    ]


def test_the_user_of_a_library_is_not_told_to_change_its_init() -> None:
    assert [one.id for one in told(RULES / LOCK)["GBR022"].advice] == ["first-call"]


def test_a_lock_in_a_function_that_installs_nothing_by_its_name_stands_for_itself(
    tmp_path: Path,
) -> None:
    log = tmp_path / "run.log"
    log.write_text(lines(LOCK).replace("maybe_install_hooks", "maybe_count_calls"), "utf-8")
    found = told(log)
    assert found["GBR007"].explained_by != found["GBR022"].id
    assert found["GBR022"].data["records"] == 2


def guards(tmp_path: Path, *us: float, more: int = 0) -> dict[str, Finding]:
    """Return what is told of entries of one function that are alike, but for their time."""
    packed = RULES / "GRD002-guard-count-large" / "fires-modules.log.gz"
    text = gzip.decompress(packed.read_bytes()).decode()
    checks = [line for line in text.splitlines(keepends=True) if "TYPE_MATCH" in line]
    text = text.replace(checks[-1], "".join(checks[-1:] + checks * more))
    log = tmp_path / "run.log"
    entries = (
        text.replace("909.69 us", f"{one:.2f} us").replace("[0/0]", f"[0/{entry}]")
        for entry, one in enumerate(us)
    )
    log.write_text("".join(entries), "utf-8")
    return told(log)


def test_guards_that_took_longer_than_guards_can_are_not_believed(tmp_path: Path) -> None:
    found = guards(tmp_path, 48_696.26, 470.0)
    assert found["GRD002"].data["us"] == 470.0
    assert found["GRD002"].severity is Severity.NONE, "470 us are a note"
    assert "GRD001" not in found


def test_one_time_that_cannot_be_is_none(tmp_path: Path) -> None:
    assert guards(tmp_path, 48_696.26)["GRD002"].data["us"] is None


def test_many_guards_are_told_below_the_time_they_take(tmp_path: Path) -> None:
    found = guards(tmp_path, 1_100.0)
    assert found["GRD002"].explained_by == found["GRD001"].id


@pytest.mark.parametrize(
    ("us", "severity"), [(4_900.0, Severity.INFO), (5_100.0, Severity.WARNING)]
)
def test_the_length_of_a_step_is_not_known(tmp_path: Path, us: float, severity: Severity) -> None:
    """Below a part of any step, it is no warning: what a step takes is not in the log."""
    assert guards(tmp_path, us, us, more=4)["GRD001"].severity is severity


def test_a_single_reading_is_no_warning(tmp_path: Path) -> None:
    found = guards(tmp_path, 5_100.0, more=4)["GRD001"]
    assert (found.severity, found.confidence) == (Severity.INFO, Confidence.LOW)
    assert "It is a single reading" in found.message


@pytest.mark.parametrize(("ms", "is_told"), [(30.0, True), (100.0, False)])
def test_guards_are_nothing_in_a_call_that_takes_fifty_times_as_long(
    ms: float, is_told: bool, tmp_path: Path
) -> None:
    region = {"ph": "X", "cat": "cpu_op", "name": "Torch-Compiled Region: 0/0", "tid": 7}
    events = [
        {**region, "pid": 7, "ts": 1e6 * n, "dur": 1000 * ms, "args": {"External id": n}}
        for n in range(1, 5)
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    packed = RULES / "GRD001-guard-latency-high" / "fires-modules.log.gz"
    (tmp_path / "run.log").write_bytes(gzip.decompress(packed.read_bytes()))
    found = analyze(str(tmp_path / "run.log"), str(tmp_path / "trace.json"), one_run=True).findings
    assert ("GRD001" in {one.code for one in found}) is is_told


def test_the_quickest_of_several_readings_is_believed(tmp_path: Path) -> None:
    assert "GRD001" not in guards(tmp_path, 1_100.0, 700.0)
    assert guards(tmp_path, 1_100.0, 900.0)["GRD001"].data["us"] == 900.0


@pytest.mark.parametrize(
    ("attribute", "advice"),
    [("layer.weight.grad", ["first-step"]), ("mask", ["first-call", "in-init"])],
)
def test_a_gradient_is_there_after_a_backward_pass_and_no_call_alone(
    attribute: str, advice: list[str], tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    log.write_text(recompiled("loss", f"self.{attribute} is None"), "utf-8")
    assert [one.id for one in told(log)["RCP031"].advice] == advice
