"""Events and dynamic shapes of the structured log, against a naive reading of the same payloads."""

from __future__ import annotations

import gzip
import json
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import ROOT, cases, needs_corpus
from tracelens import analyze
from tracelens.dynamo import phases
from tracelens.dynamo.phases import BACKWARD, FRAME, FramePhases, ProcessPhases, total
from tracelens.evidence import Evidence
from tracelens.frames import Frame
from tracelens.logs import Tick
from tracelens.logs._opaque_payloads import OPAQUE, reason
from tracelens.logs._payloads import READERS
from tracelens.logs._shapes import SHAPES, FileName
from tracelens.logs.compile_errors import Failure
from tracelens.logs.compiled_autograd import Capture
from tracelens.logs.dynamic import (
    Assumed,
    ChangedValue,
    CreateSymbol,
    Derived,
    Dynamic,
    FakeKernel,
    GuardAdded,
    MarkedDynamic,
    Replaced,
    UnbackedSymbol,
)
from tracelens.logs.inductor_debug import CacheEvent
from tracelens.logs.torch_trace import CompilationMetrics, TorchTrace
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures"
MARKED = FIXTURES / "logs" / "torch_trace" / "marked"
PREFIX = re.compile(r"(?:\[rank\d+\]:)?V\d{4} [^\]]*\] (\{.*)$")
HEAD = "V1120 11:02:58.17%04d 13148 torch/_dynamo/utils.py:2350] "
IDS = '"frame_id": 0, "frame_compile_id": 0'


def records(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the name, the envelope and the payload of each record, without any grammar."""
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    opened = openers.get(path.suffix, open)
    envelope: dict[str, Any] = {}
    payload: list[str] = []
    with opened(path, "rt") as lines:
        for line in (*lines, ""):
            match = PREFIX.match(line)
            if (match or not line) and envelope:
                key = next(iter(envelope))
                name = envelope[key]["name"] if key == "artifact" else key
                yield name, envelope, "\n".join(payload)
            if match:
                envelope, payload = json.loads(match[1]), []
            elif line.startswith("\t"):
                payload.append(line[1:].rstrip("\n"))


def frame_of(envelope: dict[str, Any]) -> str:
    if "frame_id" not in envelope:
        return ""
    return f"{envelope['frame_id']}/{envelope['frame_compile_id']}"


def structured_logs() -> list[Path]:
    """Return the whole logs of the corpus, from torch 2.4 to 2.15."""
    return [
        path
        for case in (*cases("*/torch_trace_kitchen"), *cases("real/*"))
        for path in sorted(case.glob("torch_trace/dedicated_log_*"))
    ]


def evidence_of(path: Path) -> Evidence:
    return read([str(path)])[0]


def trace(tmp_path: Path, *texts: str) -> Evidence:
    """Return what a log of these records says: the envelope, and the payload on lines below."""
    path = tmp_path / "trace.log"
    lines = [HEAD % at + text.replace("\n", "\n\t") + "\n" for at, text in enumerate(texts)]
    path.write_text("".join(lines))
    return read([str(path)])[0]


def event(said: str, phase: str, us: float, **args: object) -> str:
    payload = {"name": said, "ts": us, "args": {"compile_id": "0/0"} | args, "ph": phase}
    return f'{{"chromium_event": {{}}, {IDS}, "has_payload": "x"}}\n' + json.dumps(
        payload, indent=0
    )


@needs_corpus
@pytest.mark.parametrize("path", structured_logs(), ids=lambda path: "-".join(path.parts[-4:-2]))
def test_phases_are_what_the_events_say(path: Path) -> None:
    """Dynamo measures a frame with the clock of its events: they agree with the metrics."""
    begun: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    naive: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    metrics: dict[str, Counter[float]] = defaultdict(Counter)
    for name, envelope, payload in records(path):
        if name == "chromium_event":
            said = json.loads(payload)
            key = frame_of(envelope), said["args"].get("fn_name", said["name"])
            if said["ph"] == "B":
                begun[key].append(said["ts"])
            elif said["ph"] == "E":
                naive[key].append((said["ts"] - begun[key].pop()) / 1e6)
        elif name in {"compilation_metrics", "bwd_compilation_metrics"}:
            said = envelope[name]
            seconds = said["entire_frame_compile_time_s"] or said.get("duration_us", 0) / 1e6
            metrics[name][round(seconds, 3)] += 1
    evidence = evidence_of(path)
    ours = {
        (place.frame, phase): sum(runs)
        for place, row in evidence.table(FramePhases).events()
        for phase, runs in row.record.seconds.items()
    }
    assert ours == pytest.approx({key: sum(runs) for key, runs in naive.items()}, abs=1e-6)
    rows = [row.record.seconds for row in evidence.table(FramePhases)]
    if not naive:
        assert "2.4.1" in path.parts  # before the events were written
        return
    for kind, names in (("compilation_metrics", FRAME), ("bwd_compilation_metrics", BACKWARD)):
        runs = [run for row in rows for name in names for run in row.get(name, ())]
        assert Counter(round(run, 3) for run in runs) == metrics[kind]


@needs_corpus
@pytest.mark.parametrize("path", structured_logs(), ids=lambda path: "-".join(path.parts[-4:-2]))
def test_shapes_are_what_the_envelopes_say(path: Path) -> None:
    files: dict[int, str] = {}
    naive: defaultdict[str, Counter[tuple[object, ...]]] = defaultdict(Counter)
    for name, envelope, _ in records(path):
        said: Any = envelope.get(name)
        if name == "str":
            files[said[1]] = said[0]
        elif name == "create_symbol":
            user = said["user_stack"][-1]
            naive[name][
                frame_of(envelope),
                said["symbol"],
                said["val"],
                said["source"],
                f"[{said['vr'][1:-1]}]",
                files[user["filename"]],
                user["line"],
            ] += 1
        elif name == "guard_added_fast":
            user = said["user_stack"][-1] if said["user_stack"] else None
            naive[name][
                frame_of(envelope),
                said["expr"],
                files[user["filename"]] if user else None,
                user["line"] if user else None,
            ] += 1
        elif name == "symbolic_shape_specialization":
            naive[name][frame_of(envelope), said["symbol"], said["value"]] += 1
    evidence = evidence_of(path)
    assert not evidence.unread
    assert not evidence.known
    assert naive["create_symbol"] == Counter(
        (
            p.frame,
            r.record.symbol,
            r.record.value,
            r.record.source,
            f"[{r.record.low}, {r.record.high}]",
            r.record.where and r.record.where.file,
            r.record.where and r.record.where.line,
        )
        for p, r in evidence.table(CreateSymbol).events()
    )
    assert naive["guard_added_fast"] == Counter(
        (
            p.frame,
            r.record.expression,
            r.record.where and r.record.where.file,
            r.record.where and r.record.where.line,
        )
        for p, r in evidence.table(GuardAdded).events()
    )
    assert naive["symbolic_shape_specialization"] == Counter(
        (p.frame, r.record.symbol, r.record.target) for p, r in evidence.table(Replaced).events()
    )


@needs_corpus
def test_every_record_is_read_or_left_for_a_reason() -> None:
    assert ROOT is not None
    paths = [*structured_logs(), *(ROOT / "traces" / "tlparse").rglob("dedicated_log_*")]
    names = {name for path in paths for name, _, _ in records(path)}
    assert len(names) > 40
    read_ = {*READERS, *SHAPES, "chromium_event", "compilation_metrics", "torch_version"}
    read_.add("dynamo_start")
    assert {name for name in names - read_ if reason(name) is None} == set()
    assert not read_ & OPAQUE.keys()


def test_a_record_that_nobody_knows_is_counted_as_such(tmp_path: Path) -> None:
    evidence = trace(
        tmp_path,
        f'{{"artifact": {{"name": "of_another_program", "encoding": "string"}}, {IDS}}}\na\nb',
        f'{{"describe_tensor": {{"id": 1}}, {IDS}}}',
    )
    assert evidence.known == {"torch_trace of_another_program": [3, 1]}
    assert evidence.understood_lines == 1


def test_a_phase_inside_itself_and_one_without_an_end(tmp_path: Path) -> None:
    evidence = trace(
        tmp_path,
        event("pass", "B", 1_000_000),
        event("pass", "B", 2_000_000),
        event("pass", "E", 3_000_000),
        event("entire_frame_compile", "B", 3_000_000, fn_name="_compile.compile_inner"),
        event("pass", "E", 9_000_000),
        event("fx_graph_cache_miss", "i", 9_000_000),
    )
    (row,) = evidence.table(FramePhases)
    assert row.record.seconds == {"pass": (1.0, 8.0)}
    assert evidence.kinds["torch_trace"] == 6
    assert not evidence.unread


def test_an_event_that_was_cut_is_not_understood(tmp_path: Path) -> None:
    cut = event("pass", "E", 1.0).replace('"ts"', '"ts')
    evidence = trace(tmp_path, cut)
    assert [unread.reason.partition(":")[0] for unread in evidence.unread] == ["not JSON"]
    assert TorchTrace.tick(b'{"name": "x", "ph": "i", "ts": 1}') is None
    assert TorchTrace.tick(b'{"name": "x", "ph": "E", "ts": 2.5}') == Tick("x", "", 2.5, ends=True)


def test_metrics_and_events_and_the_printed_table_count_once(tmp_path: Path) -> None:
    """All three say ten seconds; the backward pass, which no metrics hold, is five."""
    metrics = (
        '{"compilation_metrics": {"compile_id": "0/0", "co_name": "f", '
        f'"entire_frame_compile_time_s": 10.0}}, {IDS}}}'
    )
    events = [
        event("entire_frame_compile", "B", 1e6, fn_name="_compile.compile_inner"),
        event("entire_frame_compile", "E", 11e6, fn_name="_compile.compile_inner"),
        event("entire_backward_compile", "B", 20e6, fn_name="backward._backward_impl"),
        event("entire_backward_compile", "E", 25e6, fn_name="backward._backward_impl"),
    ]
    table = tmp_path / "run.log"
    table.write_text(
        "V1120 11:02:58.170000 13148 torch/_dynamo/guards.py:1] [0/0] [__guards] GUARDS:\n"
        "TorchDynamo compilation metrics:\n"
        "Function                   Runtimes (s)\n"
        "-----------------------  --------------\n"
        "_compile.compile_inner          10.0000\n"
        "backward._backward_impl          5.0000\n"
    )
    path = tmp_path / "trace.log"

    def seconds(*texts: str, text_log: bool) -> list[str]:
        path.write_text("".join(HEAD % 0 + text.replace("\n", "\n\t") + "\n" for text in texts))
        report = analyze(*([str(path)] if texts else []), *([str(table)] if text_log else []))
        return [finding.title for finding in report.findings if finding.code == "CMP001"]

    told = ["compiling took 15 s"]
    assert seconds(*events, text_log=False) == told
    assert seconds(metrics, *events, text_log=False) == told
    assert seconds(metrics, *events, text_log=True) == told
    assert seconds(*events, text_log=True) == told
    assert seconds(text_log=True) == told
    assert seconds(metrics, text_log=False) == ["compiling took 10 s"]


def test_frames_have_their_seconds_from_events_alone(tmp_path: Path) -> None:
    evidence = trace(
        tmp_path,
        event("entire_frame_compile", "B", 1e6, fn_name="_compile.compile_inner"),
        event("entire_frame_compile", "E", 3e6, fn_name="_compile.compile_inner"),
        event("entire_backward_compile", "B", 4e6, fn_name="backward._backward_impl"),
        event("entire_backward_compile", "E", 7e6, fn_name="backward._backward_impl"),
    )
    (frame,) = (row.record for row in evidence.table(Frame))
    assert (frame.compile_seconds, frame.backward_seconds) == (2.0, 3.0)
    assert [row["phase"] for row in phases.tables(evidence)["compile_phases"]] == [
        "backward._backward_impl",
        "_compile.compile_inner",
    ]
    (process,) = (row.record for row in evidence.table(ProcessPhases))
    assert total({p.name: p.seconds for p in process.phases}, FRAME) == 2.0


def test_an_input_is_read_alike_however_it_is_cut(tmp_path: Path) -> None:
    """Events of one phase that stand in two ranges of a file are one phase."""
    parts = [trace(tmp_path, event("pass", "B", 1e6)), trace(tmp_path, event("pass", "E", 3e6))]
    parts[0].merge(parts[1], shift=6)
    (row,) = parts[0].table(FramePhases)
    assert row.record.seconds == {"pass": (2.0,)}


def test_what_changed_is_what_the_text_log_says(tmp_path: Path) -> None:
    args = {"cached": "8", "new": "4", "name": "L['x']"}
    evidence = trace(
        tmp_path,
        event("automatic_dynamic", "i", 1.0, dim_changed=0, reason="size change", **args),
        event("automatic_dynamic", "i", 2.0, dim_changed="scalar", reason="scalar change", **args),
    )
    assert [row.record.what for row in evidence.table(ChangedValue)] == ["size(0)", "val"]
    assert evidence.table(MarkedDynamic).count == 2
    (told,) = Dynamic.parse("automatic dynamic size L['x'] size(0) 4 != 8")
    assert next(iter(evidence.table(ChangedValue))).record == told


def test_payloads_of_an_export(tmp_path: Path) -> None:
    stack = '"user_stack": [{"line": 7, "name": "f", "filename": 3, "loc": "if n > 4:"}]'
    evidence = trace(
        tmp_path,
        '{"str": ["/home/ana/proj/m.py", 3]}',
        f'{{"create_unbacked_symbol": {{"symbol": "u0", "vr": "[-int_oo, int_oo]", {stack}}}}}',
        f'{{"expression_created": {{"method": "gt", "result": "u0 > 4", "arguments": ["u0"], '
        f"{stack}}}}}",
        f'{{"guard_added": {{"expr": "u0 > 4", "prefix": "eval", {stack}}}, {IDS}}}',
        f'{{"guard_added_fast": {{"expr": "u0 > 4", {stack}}}, {IDS}}}',
        f'{{"guard_added": {{"expr": "u0 > 1", "prefix": "eval", {stack}}}, {IDS}}}',
        '{"propagate_real_tensors_provenance": {"expr": "u0 > 4", "result": "False", '
        f"{stack}}}}}",
        '{"missing_fake_kernel": {"op": "mylib::add"}}',
        '{"mismatched_fake_kernel": {"op": "mylib::mul", "reason": "sizes differ"}}',
    )
    assert not evidence.unread
    assert [row.record for row in evidence.table(FileName)] == [
        FileName(number=3, file="/home/ana/proj/m.py")
    ]
    (unbacked,) = (row.record for row in evidence.table(UnbackedSymbol))
    assert (unbacked.low, unbacked.high) == ("-int_oo", "int_oo")
    assert unbacked.where is not None
    assert (unbacked.where.file, unbacked.where.line) == ("/home/ana/proj/m.py", 7)
    assert [row.record.expression for row in evidence.table(GuardAdded)] == ["u0 > 4", "u0 > 1"]
    assert evidence.table(GuardAdded).count == 2
    assert [row.record.condition for row in evidence.table(Assumed)] == ["u0 > 4"]
    assert [row.record.arguments for row in evidence.table(Derived)] == [("u0",)]
    assert [(r.record.operator, r.record.problem) for r in evidence.table(FakeKernel)] == [
        ("mylib::add", "missing"),
        ("mylib::mul", "mismatched"),
    ]


def test_the_text_log_says_what_was_assumed() -> None:
    (record,) = Dynamic.parse("propagate_real_tensors evaluate_expr(Eq(u0, 0)) -> False")
    assert record == Assumed(condition="Eq(u0, 0)", result="False")


def test_two_logs_of_one_run_tell_of_shapes_and_exceptions_once() -> None:
    (traced,) = MARKED.glob("dedicated_log_*")
    text = MARKED / "run.log.xz"
    alone, both = evidence_of(text), read([str(text), str(traced)])[0]
    for kind in (CreateSymbol, GuardAdded, Replaced, Failure):
        assert evidence_of(traced).table(kind).count >= 1
        assert both.table(kind).count == alone.table(kind).count
    ids = {
        tuple(
            (finding.id, finding.count)
            for finding in analyze(*paths).findings
            if finding.code == "DYN002"
        )
        for paths in ([str(text)], [str(traced)], [str(text), str(traced)])
    }
    assert len(ids) == 1


def test_states_of_caches_in_the_payload(tmp_path: Path) -> None:
    evidence = trace(
        tmp_path,
        f'{{"artifact": {{"name": "aotautograd_cache_hash"}}, {IDS}}}\n'
        '{"key": "a1", "cache_state": "miss", "components": []}',
        f'{{"artifact": {{"name": "fx_graph_cache_hash"}}, {IDS}}}\n{{"key": "f1"}}',
        f'{{"artifact": {{"name": "compiled_autograd_compile_reasons"}}, {IDS}}}\n'
        '[\n"Cache miss due to new autograd node: torch::autograd::GraphRoot"\n]',
    )
    assert [row.record.outcome for row in evidence.table(CacheEvent)] == ["miss"]
    assert evidence.table(Capture).count == 1
    assert not evidence.table(CompilationMetrics)
