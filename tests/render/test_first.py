"""The first screen: one sentence, where the time went, and how to record once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracelens import analyze
from tracelens.plugins import manifest
from tracelens.render import Options, _first, _spent
from tracelens.render._again import _PLACED, again, program
from tracelens.render.html import Html
from tracelens.render.markdown import Markdown
from tracelens.render.text import Text
from tracelens.report import Advice, Cost, Finding, Outcome, Report, Run, Severity, Verdict


def finding(code: str, cost: Cost | None = None, **changes: Any) -> Finding:
    facts = {"id": f"{code}-000000", "code": code, "name": "x", "severity": Severity.WARNING}
    said = {"title": f"{code} is wrong", "message": "", "advice": [Advice(text="Change it.")]}
    return Finding.model_validate({**facts, **said, "cost": cost, **changes})


@pytest.fixture
def one(reports: dict[str, Report]) -> Report:
    return reports["one"]


def with_(report: Report, *findings: Finding, **update: Any) -> Report:
    return report.model_copy(update={"findings": findings, **update})


def share(value: float, of: str, basis: str = "measured") -> Cost:
    return Cost.model_validate({"ms": value * 100, "share": value, "of": of, "basis": basis})


def test_shares_of_one_thing_are_added_and_others_are_not(one: Report) -> None:
    step, whole = "each step", "all oneDNN execution time"
    told = [finding("ONE001", share(0.25, step)), finding("ONE002", share(0.15, step))]
    told += [finding("ONE003", share(0.3, whole)), finding("ONE004"), finding("ONE005")]
    said = _first.verdict(with_(one, *told))
    assert said == "2 of 5 things cost you about 40 % of each step; first to fix: ONE001 is wrong"


def test_the_costs_told_are_those_of_the_first_finding(one: Report) -> None:
    whole = "all oneDNN execution time"
    told = [
        finding("RCP001", Cost(ms=90_000, basis="measured")),
        finding("ONE003", share(0.3, whole)),
    ]
    assert _first.verdict(with_(one, *told)) == (
        "2 of 2 things cost you about 90 s; first to fix: RCP001 is wrong"
    )
    assert _first.verdict(with_(one, *reversed(told))) == (
        "1 of 2 things costs you about 30 % of all oneDNN execution time, and 1 more about 90 s; "
        "first to fix: ONE003 is wrong"
    )
    quick = finding("RCP001", Cost(ms=20, basis="measured"))
    assert _first.verdict(with_(one, told[1], quick)).startswith(
        "1 of 2 things costs you about 30 % of all oneDNN execution time; first to fix: "
    )


def test_time_in_which_a_device_is_idle_counts_once(one: Report) -> None:
    """What holds it up, or is waited for, is part of it; with parts alone they are added."""
    part = "the steady part of the trace"
    idle = finding("TRC001", share(0.63, part, "upper_bound"))
    parts = [finding("TRC024", share(0.24, part, "upper_bound"))]
    other = finding("TRC019", share(0.2, part, "upper_bound"))

    def costs(*told: Finding) -> str:
        return _first.verdict(with_(one, *told)).partition(" of the steady")[0]

    assert costs(idle, *parts) == "2 of 2 things cost you at most 63 %"
    assert costs(idle, *parts, other) == "3 of 3 things cost you at most 83 %"
    assert costs(*parts, other) == "2 of 2 things cost you at most 44 %"
    known = finding("TRC013", share(0.5, part))
    said = _first.verdict(with_(one, known, idle))
    assert said.startswith(f"1 of 2 things costs you about 50 % of {part}, and 1 more at most 13 %")
    apart = finding("TRC024", share(0.24, part, "upper_bound"), run="run2")
    assert costs(idle, apart) == "2 of 2 things cost you at most 87 %"


@pytest.mark.parametrize(
    ("share_of_other", "says"),
    [
        (0.37, "2 of 2 things cost you at most 100 %"),
        (0.85, "1 of 2 things costs you at most 85 %"),
    ],
)
def test_bounds_that_are_more_than_all_overlap(
    one: Report, share_of_other: float, says: str
) -> None:
    whole = "all oneDNN execution time"
    told = [finding("CMP008", share(0.63, whole, "upper_bound"))]
    told.append(finding("ONE002", share(share_of_other, whole, "upper_bound")))
    assert _first.verdict(with_(one, *told)).startswith(says)


def test_what_names_no_change_is_not_the_first_to_fix(one: Report) -> None:
    silent = finding("RCP012", Cost(ms=870, basis="estimated"), advice=[])
    other = finding("RCP003", Cost(ms=400, basis="estimated"))
    assert _first.verdict(with_(one, silent, other)) == (
        "2 of 2 things cost you about 1.3 s; first to fix: RCP003 is wrong"
    )
    lesser = finding("RCP003", severity=Severity.INFO)
    assert _first.verdict(with_(one, silent, lesser)).endswith("; first to read: RCP012 is wrong")
    said: dict[str, Any] = {"title": "compiling took about 52.4 s", "data": {"seconds": 52.4}}
    assert _first.verdict(with_(one, silent, finding("CMP001", **said))) == (
        "2 things found; first to fix: compiling took about 52.4 s"
    )


@pytest.mark.parametrize(
    ("start", "code", "says"),
    [
        (60.0, "TRC023", "Not in the bar: 60 ms before the first kernel: starting."),
        (60.0, "TRC024", "Not in the bar: 60 ms before the first kernel."),
        (9.0, "TRC023", ""),
    ],
)
def test_the_bar_says_what_lies_before_it(one: Report, start: float, code: str, says: str) -> None:
    row = {"run": "run1", "device": "0", "phase": "window", "compute_ms": 30.0, "idle_ms": 70.0}
    slices = [{"run": "run1", "device": "0", "start_ms": start + at, "ms": 1.0} for at in (1, 0)]
    told = finding(code, data={"before_ms": 40.0} if code == "TRC023" else {})
    report = with_(one, told, tables={"time": [row], "activity": slices})
    lines = _spent.lines(_spent.by_run(report), 80)
    assert ("Not in the bar" in lines[-1]) is bool(says)
    assert lines[-1].strip() == says or not says


def test_a_bound_is_called_one(one: Report) -> None:
    told = [finding("RCP001", Cost(ms=3000, basis="upper_bound")), finding("RCP002")]
    assert _first.verdict(with_(one, *told)).startswith("1 of 2 things costs you at most 3 s;")


def test_a_bound_is_told_behind_what_is_known(one: Report) -> None:
    step = "each step"
    told = [finding("TRC004", share(0.066, step)), finding("TRC005", share(0.08, step))]
    told += [finding(f"TRC0{n}", share(0.1, step, "upper_bound")) for n in (12, 13)]
    assert _first.verdict(with_(one, *told)).startswith(
        "2 of 4 things cost you about 14.6 % of each step, and 2 more at most 20 %; first to fix:"
    )
    told = [finding("RCP001", Cost(ms=3000, basis="upper_bound"))]
    told += [finding("RCP002", Cost(ms=2000, basis="measured")), finding("RCP004")]
    assert _first.verdict(with_(one, *told)).startswith(
        "1 of 3 things costs you about 2 s, and 1 more at most 3 s; first to fix:"
    )


def test_a_first_bound_of_something_else_is_not_left_out(one: Report) -> None:
    """What is known is 1.6 % of the trace: that is not what the first one costs."""
    told = [finding("TRC024", share(0.93, "the 2 profiled steps", "upper_bound"))]
    told += [finding("TRC007", share(0.016, "the trace", "estimated"))]
    assert _first.verdict(with_(one, *told)).startswith(
        "1 of 2 things costs you at most 93 % of the 2 profiled steps; first to fix: TRC024"
    )


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        (21_000, "1 of 3 things costs you at most 21 s; first to fix: GBR001"),
        (3, "1 of 3 things costs you about 7.8 % of all oneDNN execution time; first to fix:"),
    ],
)
def test_a_first_bound_in_seconds_is_told_where_it_is_more_than_shares(
    one: Report, bound: float, says: str
) -> None:
    whole = "all oneDNN execution time"
    told = [finding("GBR001", Cost(ms=bound, basis="upper_bound")), finding("GRD001")]
    told += [finding("ONE003", Cost(ms=8.5, share=0.078, basis="measured", of=whole))]
    assert _first.verdict(with_(one, *told)).startswith(says)


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (0.14, "2 of 2 things cost you at most 82 % of the trace; first to fix: TRC024"),
        (0.7, "1 of 2 things costs you about 70 % of the trace, and 1 more at most 68 %; first"),
    ],
)
def test_a_first_bound_counts_where_it_is_more_than_is_known(
    one: Report, known: float, says: str
) -> None:
    told = [finding("TRC024", share(0.68, "the trace", "upper_bound"))]
    told += [finding("TRC007", share(known, "the trace", "estimated"))]
    assert _first.verdict(with_(one, *told)).startswith(says)


def test_what_is_not_known_is_not_claimed(one: Report) -> None:
    told = [finding("GBR001"), finding("GBR002", severity=Severity.INFO)]
    said = _first.verdict(with_(one, *told))
    assert said.startswith("2 things found, 1 of them worth fixing first; what they cost is not")


def test_what_several_runs_have_alike_is_one_thing(one: Report) -> None:
    alike = [finding("LOG001", run=f"run{n}") for n in range(29)]
    told = [finding("GBR001", run="run3"), *alike]
    assert _first.verdict(with_(one, *told)) == (
        "2 things found in 29 runs; what they cost is not known from these logs; first to fix: "
        "GBR001 is wrong"
    )
    assert _first.verdict(with_(one, *alike)).startswith(
        "1 thing found in 29 runs; what it costs is not known"
    )
    costly = [finding("RCP001", Cost(ms=500, basis="measured"), run=f"run{n}") for n in (1, 2)]
    assert _first.verdict(with_(one, *costly, *alike)).startswith(
        "1 of 2 things in 29 runs costs you about 1 s;"
    )
    assert _first.verdict(with_(one, *costly, finding("RCP002", run="run3"))).startswith(
        "1 of 2 things in 3 runs costs you about 1 s;"
    )
    apart = [finding("RCP001", run="run1"), finding("RCP002", run="run2")]
    assert "2 things found;" in _first.verdict(with_(one, *apart))


@pytest.mark.parametrize(
    ("code", "changes", "said"),
    [
        ("CMP001", {"title": "compiling took 37 s", "data": {"seconds": 37.0}}, "took 37 s"),
        ("TUN009", {"title": "it took 42.1 s", "data": {"seconds": 42.1}, "ms": 42_000}, "42.1 s"),
        ("LOG007", {"title": "the log was cut"}, "was cut"),
        ("NUM004", {"title": "products in bfloat16"}, "in bfloat16"),
        ("ENV001", {"title": "threads wait"}, "; what it costs is not known from this log"),
        ("TUN002", {"title": "won", "data": {"seconds": 15.0}, "ms": 15_000}, "15 s (measured)"),
    ],
)  # fmt: skip
def test_one_finding_whose_title_says_all_is_told_without_a_cost(
    one: Report, code: str, changes: dict[str, Any], said: str
) -> None:
    ms = changes.get("ms")
    facts = {name: value for name, value in changes.items() if name != "ms"}
    alone = finding(code, Cost(ms=ms, basis="measured") if ms else None, **facts)
    verdict = _first.verdict(with_(one, alone))
    assert verdict.startswith(f"One thing to look at: {alone.title}")
    assert verdict.endswith(said)


def test_costs_of_others_are_not_taken_for_that_of_the_first(one: Report) -> None:
    other = finding("TUN002", Cost(ms=44_000, basis="measured"))
    assert _first.verdict(with_(one, finding("GBR004"), other)) == (
        "1 of 2 things costs you about 44 s; first to fix, though its cost is unknown: "
        "GBR004 is wrong"
    )
    for first in (other, finding("LOG001"), finding("GRD001", data={"us": 910.0})):
        assert "; first to fix: " in _first.verdict(with_(one, first, other))


def test_a_failure_comes_first(one: Report) -> None:
    told = [finding("ERR001"), finding("ONE001", share(0.5, "all"))]
    assert _first.verdict(with_(one, *told)) == (
        "The program failed: ERR001 is wrong; 1 more finding"
    )


@pytest.mark.parametrize(
    ("severity", "data", "begins"),
    [
        (Severity.ERROR, {"ended_program": True}, "The program failed: "),
        (Severity.ERROR, {}, "The program failed: "),
        (Severity.ERROR, {"suppressed": True}, "An error was suppressed: "),
        (Severity.INFO, {}, "One thing to look at: "),
    ],
)
def test_a_program_failed_only_where_its_error_was_no_suppressed_one_and_no_quoted_one(
    one: Report, severity: Severity, data: dict[str, bool], begins: str
) -> None:
    told = finding("ERR017", severity=severity, data=data)
    assert _first.verdict(with_(one, told)).startswith(begins)


MILD, WARNING = Severity.INFO, Severity.WARNING


@pytest.mark.parametrize(
    ("severities", "begins"),
    [
        ([MILD], "No errors or warnings; one thing to look at: RCP003 is wrong"),
        ([WARNING], "One thing to look at: RCP003 is wrong"),
        ([MILD, MILD], "No errors or warnings; 2 of 2 things cost you about 4 s; first to fix: "),
        ([WARNING, MILD], "2 of 2 things cost you about 4 s; first to fix: "),
    ],
)
def test_it_is_said_that_there_is_information_alone(
    one: Report, severities: list[Severity], begins: str
) -> None:
    cost = Cost(ms=2000.0, basis="estimated")
    codes = ("RCP003", "RCP016")[: len(severities)]
    told = zip(codes, severities, strict=True)
    report = with_(one, *(finding(code, cost, severity=severity) for code, severity in told))
    assert _first.verdict(report).startswith(begins)
    first = " ".join(Text.render(report, Options(color=False)).split())
    assert ("No errors or warnings; " in first) is (WARNING not in severities)


def test_nor_is_it_where_the_program_failed_for_an_unknown_reason(one: Report) -> None:
    failed = with_(one, finding("RCP003", severity=MILD), tables={"errors": [{"error": "x"}]})
    assert "No errors" not in _first.verdict(failed)


def test_the_bar_adds_up(one: Report) -> None:
    frames = [
        {"frame": "0/0", "compile_s": 6.0},
        {"frame": "0/1", "compile_s": 1.5, "backward_s": 0.5},
    ]
    window = {"phase": "window", "window_ms": 2000.0, "compute_ms": 1200.0, "idle_ms": 800.0}
    tables = {"frames": frames, "time": [window, {"phase": "step 1", "compute_ms": 600.0}]}
    found = _spent.spent(one.model_copy(update={"tables": tables}))
    assert found is not None
    assert found.total_ms == 10_000
    assert {part.name: part.ms for part in found.parts} == {
        "compile": 6000, "recompiles": 2000, "device": 1200, "idle": 800,
    }  # fmt: skip
    assert sum(part.share for part in found.parts) == pytest.approx(1)
    drawn = _spent.bar(found, 52)
    assert drawn == "|" + "C" * 30 + "R" * 10 + "D" * 6 + "." * 4 + "|"
    assert found.of == "the trace and compile times"


def on_cpu(**kinds: float) -> Finding:
    data = {"kinds": kinds, "on_cpu": True, "busy_share": 0.9}
    return finding("TRC030", data=data, severity=Severity.NONE)


def test_searches_are_a_part_of_compiling_even_where_that_seems_shorter(one: Report) -> None:
    frames = [{"frame": "0/0", "compile_s": 6.0}, {"frame": "0/1", "compile_s": 2.0}]

    def parts(*seconds: float) -> dict[str, float]:
        tables = {"frames": frames, "autotune": [{"seconds": one} for one in seconds]}
        found = _spent.spent(one.model_copy(update={"tables": tables}))
        assert found is not None
        assert found.total_ms == max(8000, 1000 * sum(seconds))
        return {part.name: part.ms for part in found.parts}

    assert parts() == {"compile": 6000, "recompiles": 2000}
    assert parts(3.0, 1.0) == {"compile": 2000, "recompiles": 2000, "tuning": 4000}
    assert parts(7.0) == {"recompiles": 1000, "tuning": 7000}
    assert parts(44.0) == {"tuning": 44_000}


def test_recompiles_that_were_expected_are_told_beside_the_bar(one: Report) -> None:
    frames = [
        {"frame": "0/0", "compile_s": 6.0},
        {"frame": "0/1", "compile_s": 1.0},
        {"frame": "0/2", "compile_s": 1.0},
    ]
    harmless = {"severity": Severity.NONE, "harmless": "it had to be"}

    def said(*findings: Finding) -> str:
        drawn = _spent.by_run(with_(one, *findings, tables={"frames": frames}))
        return " ".join(" ".join(_spent.lines(drawn, 80)).split())

    told = "; about 1.5 s of the recompiles were expected: see notes."
    expected = finding("RCP003", Cost(ms=1500, basis="estimated"), **harmless)
    assert said(expected).endswith(told)
    report = with_(one, expected, tables={"frames": frames})
    assert told[:-1] in " ".join(Html.render(report, Options()).split())
    more = finding("RCP010", Cost(ms=9000, basis="measured"), id="RCP010-1", **harmless)
    assert said(more).endswith("; the recompiles were expected: see notes.")  # no more than all
    both = expected.model_copy(update={"count": 2})  # of two, whose backward is not in the cost
    assert said(both).endswith("; the recompiles were expected: see notes.")
    charged = finding("DYN003", Cost(ms=1900, basis="estimated"), id="DYN003-1")
    assert "expected" not in said(both, charged)
    assert "expected" not in said(expected, charged)  # they are that finding's
    for other in (
        finding("RCP003", Cost(ms=1500, basis="estimated")),
        finding("RCP003", Cost(ms=1500, basis="upper_bound"), **harmless),
        finding("RCP003", Cost(ms=150, basis="estimated"), **harmless),
        finding("GBR003", Cost(ms=1500, basis="estimated"), **harmless),
    ):
        assert "expected" not in said(other)


def test_a_trace_of_the_cpu_has_a_bar(one: Report) -> None:
    steps = [
        {"kind": "step", "mean_ms": 7.0},
        {"kind": "trace", "mean_ms": 30.0, "rank": 0},
        {"kind": "trace", "mean_ms": 50.0, "rank": 1},
    ]
    report = with_(one, on_cpu(gemm=0.5, Python=0.2, generated=0.2), tables={"steps": steps})
    found = _spent.spent(report)
    assert found is not None
    assert [(part.name, round(part.ms, 6), part.letter) for part in found.parts] == [
        ("gemm", 20, "G"), ("Python and waiting", 8, "Y"), ("generated", 8, "E"),
        ("the rest", 4, "-"),
    ]  # fmt: skip
    assert found.of == "the trace"
    assert "gemm 20 ms (50 %)" in Text.render(report, Options())
    assert "gemm 20 ms" in Html.render(report, Options())
    beside = with_(one, on_cpu(gemm=0.7, Python=0.7), tables={"steps": steps})
    assert _spent.spent(beside) is None


@pytest.mark.parametrize(("seconds", "count"), [(30.0, 2), (3.0, 1)])
def test_what_ran_is_drawn_apart_where_compiling_would_hide_it(
    one: Report, seconds: float, count: int
) -> None:
    steps = [{"kind": "trace", "mean_ms": 100.0}]
    tables = {"steps": steps, "frames": [{"frame": "0/0", "compile_s": seconds}]}
    report = with_(one, on_cpu(gemm=0.5, Python=0.2, generated=0.3), tables=tables)
    bars = _spent.by_run(report).bars
    assert len(bars) == count
    assert sum(bar.total_ms for bar in bars) == pytest.approx(1000 * seconds + 100)
    names = [bar.run for bar in bars]
    assert names == (["compile", "run"] if count > 1 else [""])
    text = Text.render(report, Options())
    assert ("\nrun     |G" in text) == (count > 1)
    # A part that is the only one needs no bar of its own.
    alone = with_(one, tables={"mkl": [{"ms": 0.1}], "frames": tables["frames"]})
    assert len(_spent.by_run(alone).bars) == 1


@pytest.mark.parametrize("cells", [10, 40, 80, 200])
def test_a_small_part_is_seen_and_the_bar_is_as_wide_as_asked(one: Report, cells: int) -> None:
    tables = {"frames": [{"frame": "0/0", "compile_s": 1000}], "mkl": [{"ms": 0.1}]}
    found = _spent.spent(one.model_copy(update={"tables": tables}))
    assert found is not None
    drawn = _spent.bar(found, cells)
    assert len(drawn) == cells
    assert "K" in drawn


def test_unrelated_runs_have_bars_of_their_own_and_no_sum(one: Report) -> None:
    seconds = {"run1": 1.0, "run2": 30.0, "run3": 2.0, "run4": 4.0, "run5": 0.0}
    frames = [{"frame": "0/0", "compile_s": s, "run": name} for name, s in seconds.items()]
    runs = tuple(Run(name=name, inputs=(f"{name}.log",)) for name in seconds)
    report = with_(one, runs=runs, tables={"frames": frames})
    found = _spent.by_run(report)
    assert [(bar.run, bar.total_ms) for bar in found.bars] == [
        ("run2", 30_000), ("run4", 4_000), ("run3", 2_000),
    ]  # fmt: skip
    assert found.lead == "Time in the 3 longest of 4 runs that tell it"
    text = Text.render(report, Options())
    assert f"{found.lead}:\nrun2 |CCC" in text
    assert "37 s" not in text
    page = Html.render(report, Options())
    assert page.count("Where the time went in run") == 3
    assert "37 s" not in page
    assert f"{found.lead}:\nrun2 |CCC" in Markdown.render(report, Options())


def test_one_run_of_several_that_tells_its_time_is_named(one: Report) -> None:
    runs = (Run(name="a", inputs=("a.log",)), Run(name="b", inputs=("b.log",)))
    frames = [{"frame": "0/0", "compile_s": 3.0, "run": "b"}]
    found = _spent.by_run(with_(one, runs=runs, tables={"frames": frames}))
    assert [bar.run for bar in found.bars] == ["b"]
    assert found.lead == ""
    assert _spent.lines(found, 60)[0].startswith("b    |C")
    alone = _spent.by_run(with_(one, runs=runs[1:], tables={"frames": frames}))
    assert _spent.lines(alone, 60)[0].startswith("time |C")


def test_the_page_begins_with_the_fix_of_a_single_finding(one: Report) -> None:
    fix = Advice(text="Install a compiler.", code="apt-get install g++")
    page = Html.render(with_(one, finding("ERR001", advice=(fix,))), Options())
    first_screen = page.partition('id="findings"')[0]
    assert "Start here" in first_screen
    assert "apt-get install g++" in first_screen


def test_no_evidence_draws_no_bar(one: Report) -> None:
    assert _spent.spent(one) is None


@pytest.mark.parametrize(
    ("code", "kinds", "needs"),
    [
        ("GBR001", {"graph_breaks": 1}, "needs TORCH_TRACE"),
        ("GBR001", {"graph_breaks": 1, "torch_trace": 3}, "needs a profiler trace"),
        ("GBR001", {"torch_trace": 3, "chrome_trace": 1}, "tracelens compare"),
        ("CMP003", {"recording": 1}, "needs TORCH_TRACE"),
        ("CMP007", {"recording": 1}, "tracelens compare"),
        ("RCP001", {"recompiles": 1}, "needs a profiler trace"),
        ("RCP024", {"recompiles": 1}, "told by the findings about each function"),
        ("ONE001", {"output_code": 1}, "needs ONEDNN_VERBOSE=1"),
        ("NUM001", {"output_code": 1}, "about results"),
        ("XYZ001", {"output_code": 1}, "needs a profiler trace"),
    ],
)
def test_a_cost_that_is_not_known_says_what_would_show_it(
    one: Report, code: str, kinds: dict[str, int], needs: str
) -> None:
    source = one.inputs[0].model_copy(update={"kinds": kinds})
    report = with_(one, finding(code), inputs=(source,))
    assert needs in _first.unknown_cost(report.findings[0], report)
    for renderer in (Text, Markdown, Html):
        shown = " ".join(renderer.render(report, Options()).replace("\\", "").split())
        assert needs in shown


def test_beyond_a_limit_only_a_trace_shows_what_eager_calls_cost(one: Report) -> None:
    source = one.inputs[0].model_copy(update={"kinds": {"recompiles": 1}})
    for is_hit, needs in ((True, "a profiler trace"), (False, "TORCH_TRACE=trace_dir")):
        told = finding("RCP006", data={"is_hit": is_hit})
        report = with_(one, told, inputs=(source,))
        assert needs in _first.unknown_cost(told, report)


@pytest.mark.parametrize(
    ("data", "code", "what"),
    [({}, "TRC005", "all pieces"), ({"skipped": 2, "records": 2}, "TRC008", "all that runs")],
)
def test_a_trace_tells_what_breaks_cost_together(
    one: Report, data: dict[str, Any], code: str, what: str
) -> None:
    inputs = (one.inputs[0].model_copy(update={"kinds": {"chrome_trace": 1}}),)
    one = one.model_copy(update={"inputs": inputs})
    broken = finding("GBR001", data=data)
    told = finding(code, share(0.18, "each step", "upper_bound"), explained_by="GBR001-000000")
    said = _first.unknown_cost(broken, with_(one, broken, told))
    assert said.startswith(f"unknown by itself; {what}")
    assert said.endswith(f"at most 18 ms, 18 % of each step ({code})")
    for other in (
        finding(code),
        finding("TRC001", told.cost),
        finding(code, told.cost, run="run2"),
        finding(code, told.cost, suppressed_by="ENV001"),
    ):
        assert "by itself" not in _first.unknown_cost(broken, with_(one, broken, other))
    assert "by itself" not in _first.unknown_cost(finding("IND001"), with_(one, broken, told))


def test_what_guards_take_at_each_call_is_no_unknown_cost(one: Report) -> None:
    guards = finding("GRD001").model_copy(update={"data": {"us": 910.0}})
    report = with_(one, guards)
    assert _first.unknown_cost(report.findings[0], report).startswith("0.91 ms at each call")
    assert _first.verdict(report).endswith("it costs 0.91 ms at each call")


def test_a_known_cost_needs_nothing(one: Report) -> None:
    report = with_(one, finding("GBR001", Cost(ms=3, basis="measured")))
    assert _first.unknown_cost(report.findings[0], report) == ""


def absent(*needs: str) -> tuple[Verdict, ...]:
    return tuple(
        Verdict(code=f"RCP{n:03}", name="x", verdict=Outcome.ABSENT, needs=(switch,))
        for n, switch in enumerate(needs)
    )


LOGS = "TORCH_LOGS=recompiles"


def test_a_failure_is_not_recorded_again(one: Report) -> None:
    report = with_(one, finding("ERR001"), verdicts=absent(LOGS))
    assert again(report) is None
    ended = finding("DYN001", data={"ended_program": True})
    assert again(with_(one, ended, verdicts=absent(LOGS))) is None
    assert again(with_(one, finding("ONE001"), verdicts=absent(LOGS))) is not None


def test_what_run_has_recorded_is_not_asked_for_again(one: Report) -> None:
    source = one.inputs[0].model_copy(update={"kinds": {"recording": 3, "guards": 1}})
    report = with_(one, finding("ONE001"), verdicts=absent(LOGS), inputs=(source,))
    assert again(report) is None
    advised = again(with_(report, finding("IND001")))
    assert advised is not None
    assert advised.command == "tracelens run --trace -- python your_program.py"


def test_a_program_that_compiles_nothing_is_not_told_to_log_compilation(one: Report) -> None:
    source = one.inputs[0].model_copy(update={"kinds": {"onednn_verbose": 9}})
    report = with_(one, verdicts=absent(LOGS, "ONEDNN_VERBOSE=dispatch"), inputs=(source,))
    advised = again(report)
    assert advised is not None
    assert "TORCH_LOGS" not in advised.command
    assert advised.command.startswith("ONEDNN_VERBOSE=all python"), "what the log has stays in it"


def test_what_a_finding_tells_to_change_is_not_set(one: Report) -> None:
    told = finding("ENV005", advice=(Advice(text="Switch it off.", env='TORCH_LOGS=""'),))
    other = finding("ENV005", advice=(Advice(text="Switch it off.", env="TORCH_LOGS=warning"),))
    report = with_(one, other, verdicts=absent(LOGS, "ONEDNN_VERBOSE=1"))
    advised = again(report)
    assert advised is not None
    assert "TORCH_LOGS" not in advised.command
    assert told.advice


def test_a_finding_without_a_line_is_recorded_again_with_the_graph(one: Report) -> None:
    """Only where the log holds generated code, and no graph that would name its lines."""
    told = with_(one, finding("IND017", where=None))
    kinds: dict[str, int] = {"output_code": 3}
    source = one.inputs[0].model_copy(update={"kinds": kinds})
    advised = again(with_(told, *told.findings, inputs=(source,)))
    assert advised is not None
    assert advised.command.startswith('TORCH_LOGS="graph_code,output_code" python')
    assert "1 finding has no line" in advised.why
    for more in ("graph_code", "aot_graphs", "torch_trace"):
        source = one.inputs[0].model_copy(update={"kinds": {**kinds, more: 1}})
        advised = again(with_(told, *told.findings, inputs=(source,)))
        assert advised is None or "no line" not in advised.why


def test_rules_that_name_lines_of_generated_code_are_known() -> None:
    asking = {"FxGraph", "LibraryCall", "LibraryRun"}
    rules = manifest.current().rules
    found = {rule.code for rule in rules if asking & {table.name for table in rule.tables}}
    # A difference of results, summaries and what is said of a whole run have no line of their own;
    # IND002 only asks whether the weights are the module's, rules of recompiles and GBR001, what
    # takes a number or a size, and the last three, what stands beside it, or whose a line is.
    asked = {"IND002", "RCP002", "RCP005", "RCP007", "RCP016", "GBR001", "GBR002"}
    beside = {"GBR019", "IND019", "ERR017"}
    assert found - {"NUM001", "ONE019", "CMP001", "CMP008"} - asked - beside == _PLACED


def test_the_command_is_shown_once_and_last(one: Report) -> None:
    report = with_(one, finding("ONE001"), verdicts=absent(LOGS, "torch.profiler.profile(...)"))
    text = Text.render(report, Options())
    assert text.count("your_program.py") == 1
    assert text.rstrip().endswith("python your_program.py > run.log 2>&1")
    assert "torch.profiler" not in text


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["/home/ana/proj/train.py"], "python /home/ana/proj/train.py"),
        (["/home/ana/proj/train.py"] * 2, "python /home/ana/proj/train.py"),
        (["/home/ana/proj/a.py", "/home/ana/proj/b.py"], "python your_program.py"),
        (["/home/ana/a b.py"], "python your_program.py"),
        (["/home/ana/$(x).py"], "python your_program.py"),
        (["/venv/lib/site-packages/pytest/__main__.py"], "python your_program.py"),
    ],
)
def test_the_command_names_the_program_where_it_is_known(
    one: Report, files: list[str], said: str
) -> None:
    stacks = [{"stack": [{"file": file, "line": 3, "function": "<module>"}]} for file in files]
    told = [finding("GBR001", data=data) for data in stacks]
    assert program(with_(one, *told)) == said


def test_what_another_run_has_recorded_shows_nothing_of_this_one(one: Report) -> None:
    traced = one.inputs[0].model_copy(update={"path": "t.json", "kinds": {"chrome_trace": 1}})
    logged = one.inputs[0].model_copy(update={"path": "a.log", "kinds": {"output_code": 1}})
    runs = (Run(name="run1", inputs=("a.log",)), Run(name="run2", inputs=("t.json",)))
    told = [finding("IND001", run=name) for name in ("run1", "run2")]
    report = with_(one, *told, inputs=(logged, traced), runs=runs)
    first, second = (_first.unknown_cost(each, report) for each in report.findings)
    assert "needs a profiler trace" in first
    assert "compare" in second


def test_only_what_was_judged_is_called_clean(reports: dict[str, Report]) -> None:
    clean = reports["clean"]
    absent = tuple(one for one in clean.verdicts if one.verdict is Outcome.ABSENT)
    failed = clean.model_copy(update={"tables": {"errors": [{"error": "E", "count": 1}]}})
    badges = {
        "Nothing to fix": clean,
        "Nothing could be judged": clean.model_copy(update={"verdicts": absent}),
        "Nothing was read": reports["empty"],
        "No rule explains the error": failed,
    }
    for headline, report in badges.items():
        page = Html.render(report, Options())
        assert f"<h1>{headline}</h1>" in page
        assert ("</svg>clean</span>" in page) is (headline == "Nothing to fix")


@pytest.mark.parametrize(("engine", "part"), [("cpu", "oneDNN"), ("gpu", "device")])
def test_what_ran_on_a_gpu_is_time_of_the_device(engine: str, part: str, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(
        f"onednn_verbose,v1,primitive,exec,{engine},matmul,jit:gemm:any,undef,"
        "src:f16::blocked:ab::f0 wei:f16::blocked:ba::f0 dst:f16::blocked:ab::f0,"
        "attr-scratchpad:user,,22x2048:2048x8192,0.88\n"
    )
    report = analyze(path)
    found = _spent.spent(report)
    assert found is not None
    assert [(one.name, one.ms) for one in found.parts] == [(part, 0.88)]
    (row,) = report.tables["primitives"]
    assert engine.startswith(row.get("engine", "cpu"))
