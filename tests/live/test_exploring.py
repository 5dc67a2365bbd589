"""The what-if table, with runs that are made up."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.live.reports import report
from tracelens.cli._watch import Watch
from tracelens.errors import UsageError
from tracelens.live import rows as setting_rows
from tracelens.live.conditions import Strain
from tracelens.live.exploring import explore, levers
from tracelens.live.lab import Lab, OutOfTime, Recorded, RunFailed
from tracelens.live.load import Usage
from tracelens.live.run_cache import RunCache
from tracelens.live.runs import Run
from tracelens.live.sides import key_of
from tracelens.live.steps import Steps
from tracelens.live.workload import Side, Workload
from tracelens.render import Options
from tracelens.render.text import Text

PROGRAM = Workload(("python", "infer.py"))
NOTHING = Strain(0.0, Usage(0.0, 0))


class FakeLab(Lab):
    """Every setting has its own time of a step; some fail, or have no effect."""

    def __init__(
        self,
        rounds: int = 100,
        budget: float = 1000,
        takes: float = 1.0,
        compiling: float = 2.0,
    ) -> None:
        super().__init__(base={}, seconds=budget)
        self.takes, self.compiling, self.remaining = takes, compiling, budget
        self.asked: list[list[str]] = []
        self.runs = 0
        self.most = rounds

    @property
    def left(self) -> float:
        return self.remaining

    def _record(self, side: Side) -> Recorded | RunFailed:
        self.remaining -= self.takes
        name = side.knob.text
        if name == "C++ wrapper":
            return RunFailed("it ended with exit code 1: no compiler")
        notes = ("torch.set_float32_matmul_precision: no such setting",) * ("float32" in name)
        steps = Steps(compile_seconds=self.compiling, notes=notes)
        return Recorded(report(), steps, self.takes, {"threads": "4"})

    def ahead(self, sides: Sequence[Side]) -> None:
        self.asked.append([side.knob.text for side in sides])

    def run_once(self, side: Side, of: object) -> Run:
        del of
        self.runs += 1
        if self.runs > self.most:
            raise OutOfTime
        faster = {"freezing": 2.0, "max-autotune": 1.5, "eager": 0.5}
        gain = 1.0
        for name, by in faster.items():
            gain *= by if name in side.knob.text else 1.0
        times = tuple(10 / gain * (1 + 0.001 * (step * 7 % 5)) for step in range(12))
        took = max(self.takes - 0.6 * self.compiling, self.takes / 4)
        self.remaining -= took
        return Run(times, took, NOTHING, 12, first_ms=500.0, peak_bytes=300 << 20)


@pytest.fixture(autouse=True)
def _no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracelens.live.conditions.accelerators", list)


def test_each_setting_has_its_row_and_the_best_come_together() -> None:
    with FakeLab() as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
    assert next(iter(rows)) == "unchanged"
    assert rows["unchanged"]["step_ms"] == pytest.approx(10, rel=0.01)
    assert (rows["eager"]["verdict"], rows["eager"]["speedup"]) == ("slower", 0.5)
    assert (rows["freezing"]["verdict"], rows["freezing"]["speedup"]) == ("faster", 2.0)
    assert rows["dynamic sizes"]["verdict"] == "same"
    assert rows["dynamic sizes"]["how"] == "torch.compile(dynamic=True)"
    assert rows["C++ wrapper"]["note"].startswith("failed: it ended with exit code 1")
    assert rows["lower float32 precision"]["note"].startswith("had no effect")
    assert rows["freezing + max-autotune"]["speedup"] == 3.0
    assert rows["channels_last"]["verdict"] == "same"
    assert rows["channels_last"]["how"] == "model.to(memory_format=torch.channels_last)"


def test_what_is_known_when_the_time_is_up_is_told() -> None:
    told: list[int] = []
    with FakeLab(rounds=4) as lab:
        rows = explore(lab, PROGRAM, on_rows=lambda rows: told.append(len(rows)))
    notes = {row["setting"]: row["note"] for row in rows}
    assert notes["freezing"] == "not timed: the time was up"
    assert notes["C++ wrapper"].startswith("failed")
    assert told[:3] == [2, 3, 4], "a row is there as soon as it is recorded"
    assert told[-1] == len(rows)


def test_no_more_rows_are_begun_than_get_an_answer() -> None:
    """Three rounds of two unchanged runs and one per row, each of 100 s."""
    with FakeLab(budget=1700, takes=100) as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
    answers = [name for name, row in rows.items() if row.get("verdict")]
    assert answers == ["eager", "freezing"]
    assert rows["channels_last"]["note"] == "not tried: too little time was left"
    with FakeLab(budget=1700, takes=100) as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM, asked=["channels_last"])}
    assert "verdict" in rows["channels_last"], "what was asked for comes first"


def test_when_runs_were_quicker_than_was_thought_more_rows_are_begun() -> None:
    """The recording was made on a busy machine: it took ten times as long as a run takes now."""
    with FakeLab(budget=1700, takes=10, compiling=0.0) as lab:
        base = lab.record(Side(PROGRAM))
        lab._recorded[key_of(Side(PROGRAM))] = replace(base, seconds=100.0)
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
    assert "verdict" in rows["channels_last"]


def test_a_setting_that_is_known_already_is_a_row_though_the_time_is_short() -> None:
    frozen = next(knob for knob in levers(4, gpu=False) if knob.text == "freezing")
    with FakeLab(budget=1000, takes=100, compiling=0.0) as lab:
        lab.record(Side(PROGRAM, frozen))
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
        assert "compile_s" not in rows["max-autotune"]
    assert rows["freezing"]["compile_s"] == 0.0


def test_what_warm_caches_save_leaves_time_for_more_rows() -> None:
    """Recorded runs lower every graph anew, and timed ones do not: 40 s here, not 100."""
    answered = []
    for compiling in (2.0, 100.0):
        with FakeLab(budget=1700, takes=100, compiling=compiling) as lab:
            rows = explore(lab, PROGRAM)
        answered.append(sum(bool(row.get("verdict")) for row in rows))
    assert answered[0] < answered[1]


def test_rows_may_be_recorded_side_by_side_as_far_as_there_is_time_for_them() -> None:
    with FakeLab() as lab:
        explore(lab, PROGRAM)
    assert lab.asked[0][:2] == ["eager", "freezing"]
    assert lab.asked[1] == lab.asked[0][1:]
    with FakeLab(budget=1700, takes=100) as lab:
        explore(lab, PROGRAM)
    assert lab.asked[0] == ["eager", "freezing", "max-autotune"]


def test_a_row_is_told_when_it_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch(60)
    row: dict[str, object] = {
        "setting": "freezing",
        "compile_s": 2.5,
        "recompiles": 3,
        "graph_breaks": 0,
        "note": "not timed yet",
    }
    watch.rows([{"setting": "unchanged"}, row])
    watch.rows([row])
    said = "tracelens: freezing: 2.5 s of compiling, 3 recompilations; not timed yet.\n"
    assert capsys.readouterr().err == said
    watch.rows([row | {"verdict": "faster", "speedup": 1.5, "interval": "1.4 to 1.6"}])
    assert "freezing: 1.5 times as fast (1.4 to 1.6), faster" in capsys.readouterr().err


def test_steps_are_told_as_people_expect_them() -> None:
    with FakeLab() as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
    freezing, eager = rows["freezing"], rows["eager"]
    assert (freezing["mean_ms"], freezing["p50_ms"], freezing["steps_per_s"]) == (5.01, 5.01, 200.0)
    assert freezing["min_ms"] < freezing["p90_ms"] <= freezing["max_ms"]
    assert freezing["steps"] == 36
    assert freezing["p99_ms"] is None, "the 99th percentile of 36 steps is the largest of them"
    assert (freezing["first_call_ms"], freezing["peak_mb"]) == (500.0, 300)
    # Eager takes 20 ms, the unchanged program 10, and compiling 2 s.
    assert rows["unchanged"]["break_even_calls"] == 200
    assert "break_even_calls" not in eager


def test_rows_of_ones_own_alone() -> None:
    asked = [
        "eager",
        "jemalloc=LD_PRELOAD=libjemalloc.so",
        "frozen=torch._inductor.config.freezing=True",
    ]
    with FakeLab() as lab:
        rows = explore(lab, PROGRAM, asked=asked, standard=False)
    assert [row["setting"] for row in rows] == ["unchanged", "eager", "jemalloc", "frozen"]
    assert rows[2]["how"] == "LD_PRELOAD=libjemalloc.so"
    assert rows[3]["how"] == "torch._inductor.config.freezing=True"
    assert (rows[1]["verdict"], rows[1]["speedup"]) == ("slower", 0.5)


@pytest.mark.parametrize("text", ["freezin", "=A=1", "mine=A", "mine=", "mine=A=1,B"])
def test_a_row_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--row"):
        setting_rows.check(text)


def test_rows_that_are_ones_are_not_refused() -> None:
    for text in ("eager", "freezing", "threads: 3", "mine=A=1,B=x=y"):
        setting_rows.check(text)
    assert setting_rows.named("mine=A=1,B=x=y", []).env == {"A": "1", "B": "x=y"}
    assert setting_rows.named("threads: 3", []).env == {"OMP_NUM_THREADS": "3"}


def test_levers_depend_on_the_machine() -> None:
    names = {knob.text for knob in levers(8, gpu=False)}
    assert {"freezing", "threads: 1", "threads: 4"} <= names
    assert "reduce-overhead" not in names
    assert "reduce-overhead" in {knob.text for knob in levers(1, gpu=True)}


def page(rows: list[dict[str, object]]) -> list[str]:
    shown = report().model_copy(update={"tables": {"explore": rows}})
    return Text.render(shown, Options(width=80)).splitlines()


def test_the_table_fits_a_terminal_and_notes_are_whole() -> None:
    with FakeLab() as lab:
        lines = page(explore(lab, PROGRAM))
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "freezing + max-autotune     3.34        3  faster" in text
    assert "..." not in text
    assert "C++ wrapper: failed: it ended with exit code 1: no compiler" in text
    assert "recompiles" not in text, "a column in which nothing differs says nothing"


def test_what_a_setting_changes_has_a_column() -> None:
    rows: list[dict[str, object]] = [
        {"setting": "unchanged", "step_ms": 10.0, "compile_s": 2.0, "recompiles": 7},
        {"setting": "dynamic sizes", "step_ms": 9.0, "compile_s": 1.0, "recompiles": 0},
    ]
    assert "  setting        step ms  compile s  recompiles" in page(rows)


def test_rounds_are_kept(tmp_path: Path) -> None:
    with FakeLab(rounds=20) as lab:
        lab._run_cache = RunCache(tmp_path / "kept", {}, tmp_path)
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
        assert rows["unchanged"].get("step_ms") is not None
    with FakeLab() as lab:
        lab._run_cache = RunCache(tmp_path / "kept", {}, tmp_path)
        again = {row["setting"]: row for row in explore(lab, PROGRAM)}
        runs = lab.runs
    assert again["freezing + max-autotune"]["speedup"] == 3.0
    with FakeLab() as lab:
        explore(lab, PROGRAM)
        assert 0 < runs < lab.runs
