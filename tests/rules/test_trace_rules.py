"""The trace rules, on small traces for their edges and on real ones where the corpus is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import ROOT, cases, needs_corpus
from tests.traces.writing import Json, kernel, launch, op, read, span
from tracelens.engine import analyze, judge, select_rules
from tracelens.report import Finding, Severity
from tracelens.source import read as read_files
from tracelens.traces.measured import TraceHeader
from tracelens.traces.rows import HeldBy


def found(events: list[Json], **header: int) -> dict[str, Finding]:
    """Return what the trace rules say, by code; each says one thing at most here."""
    in_order: list[Json] = sorted(events, key=lambda event: (event["ts"], -event["dur"]))
    evidence = read(in_order, **header)
    report = judge(evidence, [], rules=select_rules(["TRC"]))
    assert not [verdict for verdict in report.verdicts if verdict.verdict == "crashed"]
    return {finding.code: finding for finding in report.findings}


def steps(*lengths: float) -> list[Json]:
    """Return steps of so many microseconds, without pauses, numbered from 0."""
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    return [
        span("user_annotation", f"ProfilerStep#{number}", start, us)
        for number, (start, us) in enumerate(zip(starts, lengths, strict=True))
    ]


@pytest.mark.parametrize(
    ("lengths", "severity"),
    [
        ((69_400, 630, 470), Severity.INFO),  # most of the trace
        ((9_000, 2_000, 2_000, 2_000, 2_000, 2_000), Severity.NONE),
        ((9_283, 7_188, 6_869, 6_944), None),  # 1.3 times the others
        ((69_400, 630), None),  # two are too few
        ((400, 100, 100), None),  # 0.3 ms more: no matter
    ],
)
def test_a_first_step_is_warm_up_when_it_is_much_longer(
    lengths: tuple[float, ...], severity: Severity | None
) -> None:
    finding = found(steps(*lengths)).get("TRC020")
    assert (finding.severity if finding else None) == severity


def busy_first_step() -> list[Json]:
    """Return steps of 10 ms after one of 50 ms; the device works through all but the first."""
    events = steps(50_000, 10_000, 10_000, 10_000)
    return [*events, *[kernel("sgemm", 50_000 + 100 * at, 100) for at in range(300)]]


def test_an_idle_first_step_is_no_idle_device() -> None:
    assert "TRC001" not in found(busy_first_step())


def test_how_the_profiler_ran_is_a_note_that_silences_nothing() -> None:
    events = [*steps(10_000, 10_000), op("TorchDynamo Cache Lookup", 1_000, 4_000)]
    for options in ({"with_stack": 1}, {"record_shapes": 1}):
        noted = found(events, **options)
        assert noted["TRC018"].severity is Severity.NONE
        assert noted["TRC004"].suppressed_by is None
        assert list(noted)[-1] == "TRC018"


def test_what_the_profiler_adds_is_half_a_microsecond_per_call_and_more_per_operator() -> None:
    calls = [span("python_function", "a.py(1): f", 10 * at, 5) for at in range(2_000)]
    ops = [op("aten::add", 10 * at + 1, 2) for at in range(1_000)]
    data = [
        found([*calls, *ops], **options)["TRC018"].data for options in ({}, {"record_shapes": 1})
    ]
    assert [each["added_ms"] for each in data] == [1.0, 2.5]
    assert data[0]["calls"] == 2_000


def test_a_lookup_that_a_busy_device_hides_costs_nothing() -> None:
    events = [*steps(10_000, 10_000), op("TorchDynamo Cache Lookup", 1_000, 4_000)]
    assert "TRC004" in found(events)
    assert "TRC004" not in found([*events, kernel("sgemm", 0, 19_900)])


@pytest.mark.parametrize("between", [0, 2_000], ids=["nothing", "operators"])
def test_frames_that_follow_each_other_are_a_note_where_operators_run_between(
    between: float,
) -> None:
    events = [op("Torch-Compiled Region: 0/0", 0, 4_000), op("aten::add", 4_000, between)]
    events += [op("Torch-Compiled Region: 1/0", 6_000, 4_000)]
    finding = found(events).get("TRC005")
    assert (finding.severity if finding else None) == (Severity.INFO if between else None)


def test_first_compilations_in_a_trace_without_steps_are_a_note() -> None:
    note = "entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=0/{}"
    events = [op("entire_frame_compile", 0, 90_000), op("aten::mm", 90_000, 10_000)]
    cold = found([*events, span("user_annotation", note.format(0), 5, 1)])
    again = found([*events, span("user_annotation", note.format(1), 5, 1)])
    assert (cold["TRC003"].severity, again["TRC003"].severity) == (Severity.INFO, Severity.ERROR)


def test_kernels_of_a_graph_are_not_launched_one_by_one() -> None:
    kernels = [kernel("k", 20 * at, 2) for at in range(1_000)]
    one_by_one = [launch(20 * at - 3, 3) for at in range(1_000)]
    assert "TRC002" in found([*kernels, *one_by_one])
    assert "TRC002" not in found([*kernels, launch(0, 40, "cudaGraphLaunch")])


def busy_beside(asked: float) -> list[Json]:
    """Return a busy step of 1 ms, whose last kernel is asked for at ``asked``."""
    names = [{"args": {"correlation": number}} for number in range(11)]
    calls = [launch(2 * at, 1) | names[at] for at in range(10)] + [launch(asked, 1) | names[10]]
    ran = [kernel("sgemm", 20 + 85 * at, 85) | names[at] for at in range(10)]
    last = [kernel("sgemm", 945, 55) | names[10]]
    return [*steps(1_000), *calls, *ran, *last, launch(21, 1, "cudaStreamSynchronize")]


@pytest.mark.parametrize("asked", [100, 940], ids=["in time", "late"])
def test_a_busy_device_may_still_be_what_nobody_waits_for(asked: float) -> None:
    """The last kernel waits for those before it, or, asked for late, for the host."""
    finding = found(busy_beside(asked))["TRC030"]
    assert finding.severity is Severity.NONE
    assert ("when the host launches" in (finding.harmless or "")) == (asked == 940)
    assert finding.data["host_share"] == pytest.approx(0.94 if asked == 940 else 0, abs=0.03)


# Real traces.


def trace_of(case: Path) -> str:
    """Return the trace of a case folder."""
    (path,) = case.glob("*trace.json*")
    return str(path)


def ask(path: str) -> list[Finding]:
    evidence, inputs = read_files([path])
    return list(judge(evidence, inputs, rules=select_rules(["TRC"])).findings)


@needs_corpus
@pytest.mark.parametrize("case", cases("real/prof_*"), ids=lambda c: c.name)
def test_an_expert_would_agree(case: Path) -> None:
    diagnosis = json.loads((case / "diagnosis.json").read_text(encoding="utf-8"))
    findings = ask(trace_of(case))
    shown = {finding.code for finding in findings if finding.severity is not Severity.NONE}
    # How the trace was recorded (TRC018) is a note and never shown as something to fix.
    expected = {e["code"] for e in diagnosis["expected"] if e["code"].startswith("TRC")} - {
        "TRC018"
    }
    assert expected <= shown
    assert shown & {entry["code"] for entry in diagnosis["must_not"]} == set()
    assert findings[0].code == diagnosis["first"]


@needs_corpus
@pytest.mark.parametrize("case", cases("2.13.0/prof_*"), ids=lambda c: c.name)
def test_healthy_traces_stay_free_of_warnings(case: Path) -> None:
    loud = {Severity.ERROR, Severity.WARNING}
    codes = {finding.code for finding in ask(trace_of(case)) if finding.severity in loud}
    # That one was profiled from the first call on and compiles three variants of one frame.
    assert codes == ({"TRC003"} if case.name == "prof_decoder_compiled" else set())


@needs_corpus
@pytest.mark.parametrize(
    ("path", "codes"),
    [
        # Busy for 98 % of the time: nothing to say but the copies and chains.
        ("amd_tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", set()),
        ("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", set()),
        # A third of the time goes to a DataLoader without workers, and that is the cause.
        (
            "kineto_tb/tb_plugin/samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
            {"TRC013"},
        ),
        # 900 kernels per step, and 58 us from one to the next.
        ("hta/nccl_parser_config/nccl_data.json.gz", {"TRC002", "TRC024", "TRC027"}),
    ],
    ids=["qwen", "resnet-v100", "resnet50-no-workers", "resnet-a100"],
)
def test_real_traces_of_gpus(path: str, codes: set[str]) -> None:
    assert ROOT is not None
    findings = [f for f in ask(str(ROOT / "traces" / path)) if not f.explained_by]
    warned = {f.code for f in findings if f.severity == Severity.WARNING}
    assert warned == codes


#: What the tool says first of each trace, as it was judged from the raw events.
JUDGED = json.loads(
    (Path(__file__).parents[2] / "docs" / "campaigns" / "traces.json").read_text(encoding="utf-8")
)["traces"]
FIRST = {row["trace"]: (row["first"], row["severity"]) for row in JUDGED}


def test_no_first_finding_is_false_and_most_are_an_experts() -> None:
    right = [row for row in JUDGED if row["judgement"] == "right"]
    assert len(right) >= 0.85 * len(JUDGED) > 25
    assert not [row["trace"] for row in JUDGED if row["judgement"] == "false"]
    assert all(row["why"] for row in JUDGED)


@needs_corpus
@pytest.mark.parametrize("path", FIRST)
def test_the_first_finding_is_what_an_expert_sees(path: str) -> None:
    assert ROOT is not None
    told = [found for found in ask(str(ROOT / path)) if not found.explained_by]
    first = told[0]
    assert (first.code, str(first.severity)) == FIRST[path]


@needs_corpus
def test_most_idle_time_of_long_gaps_has_a_line_where_stacks_were_recorded() -> None:
    assert ROOT is not None
    named = whole = 0.0
    for path in FIRST:
        evidence, _ = read_files([str(ROOT / path)])
        if any(row.record.with_stack for row in evidence.table(TraceHeader)):
            for row in evidence.table(HeldBy):
                whole += row.record.ms
                named += row.record.ms if row.record.frame else 0.0
    assert named >= 0.85 * whole > 100


ALONE = sorted(
    path
    for path in (Path(__file__).parents[2] / "fixtures" / "rules").glob("TRC*/fires-*.json*")
    if path.parent.name[:6] != "TRC018"  # one finding is about all traces that were recorded so
)


@pytest.mark.parametrize("path", ALONE, ids=lambda path: f"{path.parent.name[:6]}-{path.stem}")
def test_each_of_two_traces_is_judged_by_itself(path: Path, tmp_path: Path) -> None:
    """A kernel that both of two ranks run is one row of a table, with the time of both."""
    copies = [tmp_path / f"{name}{''.join(path.suffixes)}" for name in ("one", "two")]
    for copy in copies:
        copy.write_bytes(path.read_bytes())
    code = path.parent.name[:6]

    def said(*paths: Path) -> list[tuple[object, ...]]:
        findings = analyze(*map(str, paths), select=[code]).findings
        return [(f.title, f.message, f.count, f.cost) for f in findings]

    assert sorted(said(*copies), key=str) == sorted(said(copies[0]) * len(copies), key=str)
