"""The what-if table, with runs that are made up."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.live.reports import report
from tracelens.cli._watch import Watch
from tracelens.errors import UsageError
from tracelens.experiment import UNCHANGED
from tracelens.live import rows as setting_rows
from tracelens.live.conditions import Strain
from tracelens.live.exploring import TOGETHER, explore, levers
from tracelens.live.lab import Lab, OutOfTime, Recorded, RunFailed
from tracelens.live.load import Usage
from tracelens.live.numerics import Output
from tracelens.live.run_cache import RunCache
from tracelens.live.runs import Run
from tracelens.live.sampling import TAG, Sampler
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
        runs: int = 1000,
        budget: float = 1000,
        takes: float = 1.0,
        noise: float = 0.0,
    ) -> None:
        super().__init__(base={}, seconds=budget)
        self.takes, self.remaining, self.noise = takes, budget, noise
        self.order: list[str] = []
        self.most = runs

    @property
    def left(self) -> float:
        return self.remaining

    def sample(self, side: Side) -> tuple[Recorded, Run]:
        name = side.knob.text
        if name == "C++ wrapper":
            self.remaining -= self.takes
            raise RunFailed("it ended with exit code 1: no compiler")
        run = self._made(side, self.takes)
        notes = ("torch.set_float32_matmul_precision: no such setting",) * ("float32" in name)
        numbers = (0.5,) if name == "max-autotune" else (0.25,)
        outputs = (Output(0, 0, "[1.0]", (numbers,)),)
        steps = Steps(compile_seconds=2.0, notes=notes, outputs=outputs)
        return Recorded(report(), steps, self.takes, {"threads": "4"}), run

    def run_once(self, side: Side, of: object) -> Run:
        del of
        return self._made(side, self.takes / 4)

    def _made(self, side: Side, took: float) -> Run:
        self.order.append(side.knob.text)
        if len(self.order) > self.most:
            raise OutOfTime
        self.remaining -= took
        faster = {"freezing": 2.0, "max-autotune": 1.5, "eager": 0.5}
        gain = 1.0
        for name, by in faster.items():
            gain *= by if name in side.knob.text else 1.0
        gain *= 1 + self.noise * (len(self.order) * 5 % 7 - 3)
        times = tuple(10 / gain * (1 + 0.001 * (step * 7 % 5)) for step in range(12))
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
    with FakeLab(runs=4) as lab:
        rows = explore(lab, PROGRAM, on_rows=lambda rows: told.append(len(rows)))
    notes = {row["setting"]: row["note"] for row in rows}
    assert notes["freezing"] == "1 run, and an answer needs 3"
    assert notes["max-autotune"] == "not tried: too little time was left"
    assert told[:3] == [2, 3, 4], "a row is there as soon as it has run"
    assert told[-1] == len(rows)


def test_every_row_has_a_run_before_any_has_two_and_what_helps_is_tried_next() -> None:
    with FakeLab() as lab:
        explore(lab, PROGRAM)
    order = [name for name in lab.order if name != "unchanged"]
    together = order.index("freezing + max-autotune")
    first = order[:together]
    assert len(first) == len(set(first)), "no second run before that of all that helps"
    assert {"eager", "freezing", "channels_last", "threads: 2"} <= set(first)
    assert lab.order[0] == lab.order[-1] == "unchanged", "each run has one of them around it"


def test_the_time_is_shared_out_up_front() -> None:
    """A row's first run takes 100 s: nine of them and the last one leave hardly anything."""
    with FakeLab(budget=1400, takes=100, noise=0.004) as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
        assert lab.left >= 0
    tried = [name for name, row in rows.items() if row.get("speedup")]
    assert {"eager", "freezing", "channels_last", "freezing + max-autotune"} <= set(tried)
    low, high = map(float, rows["freezing"]["interval"].split(" to "))
    assert low < rows["freezing"]["speedup"] < high
    assert high / low > 1.05, "one run or two say little, and the interval says so"


def test_what_does_not_fit_is_left_out_and_what_was_asked_for_is_not() -> None:
    with FakeLab(budget=600, takes=100) as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM, asked=["channels_last"])}
        assert lab.left >= 0
    assert "speedup" in rows["channels_last"], "what was asked for comes first"
    assert rows["threads: 2"]["note"] == "not tried: too little time was left"


def test_where_nothing_helps_the_row_of_all_that_helps_says_so() -> None:
    with FakeLab() as lab:
        lab.most = 1000
        made = lab._made
        lab._made = lambda side, took: made(replace(side, knob=UNCHANGED), took)  # type: ignore[method-assign]
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
    assert rows[TOGETHER]["note"] == "not tried: no setting helps"


def test_an_interval_of_few_runs_holds_what_many_say() -> None:
    """Runs are up to 3 % off; whatever was measured first, the truth is not ruled out."""
    with FakeLab(budget=40, noise=0.01) as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
    for name, truth in {"freezing": 2.0, "max-autotune": 1.5, "eager": 0.5}.items():
        low, high = map(float, rows[name]["interval"].split(" to "))
        assert low <= truth <= high, name


def test_results_are_compared_with_those_of_eager() -> None:
    with FakeLab() as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
    assert (rows["max-autotune"]["error"], rows["freezing"]["error"]) == (0.25, 0.0)
    assert "error" not in rows["eager"]


def test_a_row_is_told_when_it_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch(60)
    row: dict[str, object] = {
        "setting": "freezing",
        "compile_s": 2.5,
        "recompiles": 3,
        "graph_breaks": 0,
        "speedup": 1.4,
        "interval": "0.8 to 2.5",
        "note": "1 run, and an answer needs 3",
    }
    watch.rows([{"setting": "unchanged"}, row])
    watch.rows([row])
    said = (
        "tracelens: freezing: 2.5 s of compiling, 3 recompilations; about 1.4 times as fast "
        "(0.8 to 2.5); 1 run, and an answer needs 3.\n"
    )
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
    assert "freezing + max-autotune     3.34        3  3.00 to 3.00  faster" in text
    assert "..." not in text
    assert "C++ wrapper: failed: it ended with exit code 1: no compiler" in text
    assert "recompiles" not in text, "a column in which nothing differs says nothing"


def test_what_a_setting_changes_has_a_column() -> None:
    rows: list[dict[str, object]] = [
        {"setting": "unchanged", "step_ms": 10.0, "compile_s": 2.0, "recompiles": 7},
        {"setting": "dynamic sizes", "step_ms": 9.0, "compile_s": 1.0, "recompiles": 0},
    ]
    assert "  setting        step ms  compile s  recompiles" in page(rows)


def test_runs_are_kept(tmp_path: Path) -> None:
    with FakeLab(runs=20) as lab:
        lab._run_cache = RunCache(tmp_path / "kept", {}, tmp_path)
        explore(lab, PROGRAM)
        begun = set(lab.order)
    with FakeLab() as lab:
        lab._run_cache = RunCache(tmp_path / "kept", {}, tmp_path)
        again = {row["setting"]: row for row in explore(lab, PROGRAM)}
        runs = len(lab.order)
    assert "freezing" in begun
    assert again["freezing"]["verdict"] == "faster"
    assert again["freezing"]["first_call_ms"] == 500.0
    assert again["max-autotune"]["error"] == 0.25, "what was returned is kept, too"
    assert again["freezing + max-autotune"]["speedup"] == 3.0
    with FakeLab() as lab:
        explore(lab, PROGRAM)
        assert 0 < runs < len(lab.order)


def test_the_first_run_of_every_row_lowers_anew_and_the_others_do_not(tmp_path: Path) -> None:
    """All of them put the same word into the key of cached graphs, another one in each table."""
    tags = []
    for _ in range(2):
        cache = RunCache(tmp_path / "kept", {}, tmp_path)
        with FakeLab() as lab:
            lab._run_cache = cache
            sampler = Sampler(lab, PROGRAM)
            tags.append(sampler.side(UNCHANGED).workload.env[TAG])
    with FakeLab() as lab:
        tags.append(Sampler(lab, PROGRAM).side(UNCHANGED).workload.env[TAG])
    assert tags[0] == tags[1] != tags[2]


class AtOnce(FakeLab):
    """Runs settings at once; the C++ wrapper fails beside others as it does alone."""

    def samples(self, sides: Sequence[Side]) -> list[tuple[Recorded, Run] | None]:
        self.groups.append([side.knob.text for side in sides])
        return [None if side.knob.text == "C++ wrapper" else self.sample(side) for side in sides]

    groups: list[list[str]]


def test_first_runs_are_made_at_once_beside_an_unchanged_one() -> None:
    with AtOnce() as lab:
        lab.groups = []
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
    assert all(group[0] == "unchanged" for group in lab.groups)
    begun = [name for group in lab.groups for name in group[1:]]
    assert {"eager", "freezing", "max-autotune"} <= set(begun)
    assert not [name for name in begun if name.startswith("threads")], "they wait by the clock"
    assert len(begun) == len(set(begun)), "once each"
    assert rows["freezing"]["speedup"] == 2.0
    assert rows["freezing + max-autotune"]["speedup"] == 3.0
    assert rows["C++ wrapper"]["note"].startswith("failed: it ended with exit code 1"), "alone, too"
    assert lab.order.count("freezing") == 3


def test_where_nothing_unchanged_ran_beside_rows_that_began_at_once_it_runs_after_them() -> None:
    class Unequal(AtOnce):
        def samples(self, sides: Sequence[Side]) -> list[tuple[Recorded, Run] | None]:
            return [None, *super().samples(sides)[1:]]

    names = ["eager", "freezing", "max-autotune", "dynamic sizes"]
    with Unequal() as lab:
        lab.groups = []
        explore(lab, PROGRAM, asked=names, standard=False)
    assert lab.groups == [["unchanged", "eager", "freezing"]]
    last = lab.order.index("freezing")
    assert lab.order[last + 1] == "unchanged"


def test_there_is_time_left_for_all_that_helps_though_it_compiles_long() -> None:
    """Freezing and tuning take 200 s each, all others 40; together they take 360."""

    class Slow(FakeLab):
        def sample(self, side: Side) -> tuple[Recorded, Run]:
            helps = sum(name in side.knob.text for name in ("freezing", "max-autotune"))
            self.takes = 40 + 160 * helps
            return super().sample(side)

        def run_once(self, side: Side, of: object) -> Run:
            self.takes = 40
            return super().run_once(side, of)

    with Slow(budget=1120) as lab:
        rows = {row["setting"]: row for row in explore(lab, PROGRAM)}
        assert lab.left >= 0
    assert rows["freezing + max-autotune"]["speedup"] == 3.0
