"""Runs are kept from call to call, and given back only where nothing has changed."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.live.reports import finding, report
from tracelens.experiment import Knob
from tracelens.live import confirming, load, recording, run_cache
from tracelens.live.conditions import Strain
from tracelens.live.confirming import Means
from tracelens.live.lab import Lab, OutOfTime, Recorded
from tracelens.live.run_cache import RunCache, beside, hashes
from tracelens.live.runs import Run
from tracelens.live.steps import Steps
from tracelens.live.workload import Side, Workload
from tracelens.report import Confirmation, Report

STRAIN = Strain(0.0, load.Usage(1.0, 0))
KNOWN = report(finding())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with a program that reads another file of code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tracelens.live.conditions.accelerators", list)
    (tmp_path / "train.py").write_text("import model")
    (tmp_path / "model.py").write_text("sizes = [64]")
    return tmp_path


def side(folder: Path, *arguments: str, knob: Knob | None = None) -> Side:
    workload = Workload((sys.executable, "train.py", *arguments), cwd=folder)
    return Side(workload, knob) if knob else Side(workload)


def recorded(folder: Path) -> Recorded:
    steps = Steps(calls=30, marker=(0, "step"), begins=2, notes=("a", "b"))
    sources = hashes([str(folder / "model.py"), str(folder / "missing.py")])
    return Recorded(KNOWN, steps, 2.5, {"torch": "2.13.0"}, sources, compiles=1)


def cache(folder: Path, base: Mapping[str, str] | None = None) -> RunCache:
    return RunCache(folder / ".kept", base or {"OMP_NUM_THREADS": "1"}, folder / "own")


def test_what_was_kept_comes_back(folder: Path) -> None:
    one, known = side(folder), recorded(folder)
    cache(folder).keep(one, known)
    assert cache(folder).recorded(one) == known
    block = (Run((1.0, 2.0), 3.0, STRAIN, 9),) * 3
    cache(folder).keep_blocks("step", [(one, known)], [block])
    assert cache(folder).blocks("step", [(one, known)]) == [block]
    assert cache(folder).blocks("run", [(one, known)]) == []
    assert cache(folder, {"OMP_NUM_THREADS": "1", "TERM": "dumb"}).recorded(one) == known


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: side(folder, "--batch=8"),
        lambda folder: side(folder, knob=Knob("more", env={"X": "1"})),
        lambda folder: (folder / "train.py").write_text("import model, time"),
        lambda folder: (folder / "model.py").write_text("sizes = [65]"),
        lambda folder: (folder / "model.py").unlink(),
        lambda _: {"OMP_NUM_THREADS": "2"},
        lambda _: {"OMP_NUM_THREADS": "1", "BATCH": "8"},
    ],
)
def test_what_has_changed_is_run_again(folder: Path, change: object) -> None:
    one, known = side(folder), recorded(folder)
    block = (Run((1.0,), 3.0, STRAIN),) * 3
    cache(folder).keep(one, known)
    cache(folder).keep_blocks("step", [(one, known)], [block])
    done = change(folder)  # type: ignore[operator]
    now = done if isinstance(done, Side) else one
    after = cache(folder, done if isinstance(done, dict) else None)
    assert after.recorded(now) is None
    fresh = replace(known, sources=hashes(known.sources))
    assert after.blocks("step", [(now, fresh)]) == []


def test_another_machine_and_another_tracelens_start_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = side(folder)
    cache(folder).keep(one, recorded(folder))
    with monkeypatch.context() as patch:
        patch.setattr("platform.node", lambda: "elsewhere")
        assert cache(folder).recorded(one) is None
    monkeypatch.setattr(run_cache, "__version__", "9.9")
    assert cache(folder).recorded(one) is None


def test_programs_of_our_own_are_known_by_what_is_in_them(folder: Path) -> None:
    (folder / "own").mkdir()
    for name, text in (("a.py", "one"), ("b.py", "one"), ("c.py", "two")):
        (folder / "own" / name).write_text(text)
    sides = [Side(Workload(("python", str(folder / "own" / name)))) for name in ("a.py", "b.py")]
    cache(folder).keep(sides[0], replace(recorded(folder), sources={}))
    assert cache(folder).recorded(sides[1]) is not None
    assert cache(folder).recorded(Side(Workload(("python", str(folder / "own/c.py"))))) is None


@pytest.mark.parametrize("damage", [b"", b"not gzip", b"\x1f\x8b"])
def test_a_damaged_file_is_as_good_as_none(folder: Path, damage: bytes) -> None:
    one = side(folder)
    cache(folder).keep(one, recorded(folder))
    for file in (folder / ".kept").iterdir():
        file.write_bytes(damage)
    assert cache(folder).recorded(one) is None
    (folder / ".kept").rename(folder / "away")
    (folder / ".kept").write_text("a file in the way")
    cache(folder).keep(one, recorded(folder))
    assert cache(folder).recorded(one) is None


class Patched(Lab):
    """Records and times nothing; after so many timed runs, somebody interrupts it."""

    def __init__(self, folder: Path, runs: int = 1000, gain: float = 2.0) -> None:
        super().__init__(base={}, seconds=1000, keep=beside(folder / "report.json"))
        self.most = runs
        self.gain = gain
        self.made: list[str] = []

    def _record(self, side: Side) -> Recorded:
        self.made.append(f"record {side.knob.text}")
        shown = KNOWN if side.knob.text == "unchanged" else report()
        return replace(recorded(side.workload.cwd or Path()), report=shown)

    def run_once(self, side: Side, of: object) -> Run:
        del of
        if sum(word == "time" for word in self.made) >= self.most:
            raise KeyboardInterrupt
        self.made.append("time")
        gain = 1.0 if side.knob.text == "unchanged" else self.gain
        return Run(tuple(10.0 / gain + 0.001 * (k * 7 % 5) for k in range(12)), 1.0, STRAIN, 12)


def answer(folder: Path, lab: Patched, given: Report = KNOWN) -> Confirmation:
    with lab:
        means = Means(side(folder).workload, sys.executable)
        return confirming.confirm(given, lab, means).findings[0].confirmation


def test_an_interrupted_experiment_goes_on_where_it_was(folder: Path) -> None:
    first = Patched(folder, runs=7)
    with pytest.raises(KeyboardInterrupt):
        answer(folder, first)
    assert first.made == ["record unchanged", "record scalars stay in the graph", *["time"] * 7]
    second = Patched(folder)
    assert answer(folder, second).state == "confirmed"
    assert second.made == ["time"] * 3, "two whole blocks were kept, and the recorded runs"
    third = Patched(folder)
    assert answer(folder, third).state == "confirmed"
    assert third.made == []
    (folder / "model.py").write_text("sizes = [128]")
    fourth = Patched(folder)
    answer(folder, fourth)
    assert fourth.made[:1] == ["record unchanged"]
    assert fourth.made.count("time") == 9


def test_time_that_runs_out_between_two_looks_is_no_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Patched(folder, gain=1.02)
    once = lab.run_once

    def until_three(*given: object) -> Run:
        if lab.made.count("time") == 9:
            raise OutOfTime
        return once(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(lab, "run_once", until_three)
    said = answer(folder, lab)
    assert (said.state, said.pending) == ("confirmed_structure", True)
    assert said.effect is not None
    assert said.effect.blocks == 3
    again = Patched(folder, gain=1.02)
    known = KNOWN.findings[0].model_copy(update={"confirmation": said})
    said = answer(folder, again, KNOWN.model_copy(update={"findings": (known,)}))
    assert said.effect is not None
    assert said.effect.blocks in {5, 8}
    assert len(again.made) == 3 * (said.effect.blocks - 3)


def test_a_verdict_about_another_program_is_not_taken(folder: Path) -> None:
    with Patched(folder) as lab:
        means = Means(side(folder).workload, sys.executable)
        done = confirming.confirm(KNOWN, lab, means)
        assert confirming.confirm(done, lab, means) == done
    with Patched(folder) as lab:
        confirming.confirm(done, lab, means)
        assert lab.made == []
    with Patched(folder) as lab:
        other = Means(side(folder, "--batch=8").workload, sys.executable)
        confirming.confirm(done, lab, other)
        assert lab.made[0] == "record unchanged"
    with Patched(folder) as lab:
        confirming.confirm(done, lab, Means(None, sys.executable))
        assert lab.made == []


def test_a_new_recording_forgets_what_was_kept_for_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "log.txt.gz").touch()
    beside(tmp_path / "report.json").mkdir()
    recording.prepare(tmp_path)
    assert not beside(tmp_path / "report.json").exists()
