"""A recording stands for the unchanged run: at first, and only where it would be the same."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.live.reports import finding, report
from tests.live.running import TRACELENS
from tests.live.test_confirming import FASTER, PROGRAM, FakeLab
from tracelens.live import confirming
from tracelens.live.lab import Lab, Recorded, RunFailed
from tracelens.live.workload import Side, Workload
from tracelens.report import Confirmation, Finding, Report

ROOT = Path(__file__).parents[2]
LINE = (
    "onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward_inference,"
    "src:f32::blocked:abcd::f0 wei:f32::blocked:Abcd16a::f0 bia:undef::undef::: "
    "dst:f32::blocked:aBcd16b::f0,attr-scratchpad:user,alg:convolution_direct,"
    "mb1_ic3oc16_ih8oh6kh3sh1dh0ph0_iw8ow6kw3sw1dw0pw0,0.05"
)
KNOWN = report(finding())


class Adopting(FakeLab):
    """Knows the unchanged program from its recording, until it is run again."""

    def __init__(self, after: Report, again: Report | RunFailed) -> None:
        super().__init__(KNOWN, after, FASTER)
        self.again = again
        self.stands = True

    def is_adopted(self, side: Side) -> bool:
        return self.stands and not side.knob.settings

    def renew(self, side: Side) -> Recorded:
        self.stands, self.shown[True] = False, self.again
        return self.record(side)


def said(lab: Adopting) -> tuple[list[str], Confirmation]:
    """Return what was said one after the other, and the last of it."""
    states: list[str] = []
    notes: list[str] = []

    def note(_: Report, told: Finding) -> None:
        states.append(told.confirmation.state)
        notes.append(told.confirmation.structure.note if told.confirmation.structure else "")

    with lab:
        done = confirming.confirm(KNOWN, lab, PROGRAM, on_result=note)
    assert notes[0] == "the recording stands for the unchanged run"
    assert "recording" not in notes[-1]
    return states, done.findings[0].confirmation


@pytest.fixture(autouse=True)
def _no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracelens.live.conditions.accelerators", list)


def test_the_first_verdict_needs_one_run_and_the_unchanged_program_follows() -> None:
    lab = Adopting(report(), again=KNOWN)
    states, answer = said(lab)
    assert states[0] == "confirmed_structure"
    assert (answer.state, lab.stands) == ("confirmed", False)


@pytest.mark.parametrize(
    ("again", "reason"), [(report(), "not_applicable"), (RunFailed("signal 11"), "raises")]
)
def test_what_does_not_show_again_is_taken_back(again: Report | RunFailed, reason: str) -> None:
    """A random size, a race: it was in the recording, and gone with the change by chance."""
    states, answer = said(Adopting(report(), again))
    assert states == ["confirmed_structure", "inconclusive"]
    assert answer.reason == reason


def test_a_recording_is_taken_where_the_program_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("__version__ = '2.13.0'")
    script = tmp_path / "program.py"
    script.write_text(f"import torch\nprint({LINE!r}, flush=True)\n")
    base = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "program.py"]
    done = subprocess.run(
        [*TRACELENS, "run", "-q", "-o", "bundle", "--", *command],
        cwd=tmp_path,
        env=base,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    side = Side(Workload(tuple(command), cwd=tmp_path))

    def stands(env: dict[str, str] = base, *more: str) -> bool:
        asked = Side(Workload((*side.workload.argv, *more), cwd=tmp_path))
        bundle = tmp_path / "bundle"
        keep = bundle / ".report.json.runs"
        with Lab(base=env, seconds=0.0, keep=keep, bundle=bundle) as lab:
            return lab._known_before(asked) is not None and lab.is_adopted(asked)

    assert stands(), done.stderr
    assert not stands(base | {"BATCH": "8"})
    assert not stands(base, "--batch=8")
    script.write_text(f"import torch\nprint({LINE!r}, 1, flush=True)\n")
    assert not stands()


def test_changes_are_recorded_ahead_though_the_unchanged_program_is_known() -> None:
    """Two changes at once; whoever needs a run that is there waits for no other."""
    asked: list[list[str]] = []

    class Ahead(Adopting):
        def is_known(self, side: Side) -> bool:
            return not side.knob.settings

        def ahead(self, sides: Sequence[Side]) -> None:
            asked.append([side.knob.text for side in sides if side.knob.settings])

    other = finding("GBR008", number=2)
    with Ahead(report(), again=KNOWN) as lab:
        confirming.confirm(report(finding(), other), lab, PROGRAM)
    assert [len(set(one)) for one in asked] == [2, 1]
