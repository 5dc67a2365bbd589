"""Torch's structured log against what was counted inside the process that wrote it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus import ROOT, cases, needs_corpus, truth
from tracelens.grammars import Unreadable
from tracelens.logs import torch_trace
from tracelens.logs._starts import CompileStart
from tracelens.logs.aot_graphs import AotGraph
from tracelens.logs.cudagraphs import CudagraphSkip
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.inductor_debug import CacheBypass, CacheEvent, HashDetails
from tracelens.logs.output_code import CodeFile
from tracelens.logs.recompiles import Recompile
from tracelens.logs.torch_trace import CompilationMetrics, TorchTrace, TorchVersion
from tracelens.source import read

TRACED = [case for case in cases("*/torch_trace_kitchen") if list(case.glob("truth.json*"))]


@needs_corpus
@pytest.mark.parametrize("case", TRACED, ids=lambda case: case.parent.name)
def test_compilations_are_those_that_dynamo_counted(case: Path) -> None:
    facts = truth(case)
    evidence, inputs = read([str(case / "torch_trace")])
    metrics = evidence.table(CompilationMetrics)
    ours = Counter((row.record.co_name, row.record.guard_count) for row in metrics)
    theirs = Counter(
        (metric["co_name"], metric["guard_count"])
        for metric in facts["compilation_metrics"]
        if metric.get("co_name") is not None
    )
    assert ours == theirs
    assert [row.record.pytorch_version for row in evidence.table(TorchVersion)] in (
        [facts["torch"]],
        [],
    )
    assert not evidence.unread
    assert sum(source.kinds["torch_trace"] for source in inputs) > 50


def test_the_compile_id_comes_from_the_envelope() -> None:
    assert TorchTrace.frame_of('{"str": ["a", 1]}') == ""
    assert TorchTrace.frame_of('{"x": {}, "frame_id": 3, "frame_compile_id": 1}\n{}') == "3/1"
    assert TorchTrace.frame_of('{"x": {}, "frame_id": 3, "compiled_autograd_id": 0}') == "!0/3/0"
    assert TorchTrace.frame_of("{broken") == ""


@given(
    st.sampled_from(["{", '{"a": 1}', '{"x": {"y": "}"}}', "}", "", " {}", "{} "]),
    st.sampled_from(["", "\n", "\n\n", "\r\n"]),
    st.text("{}a\n\r\t\x85\u2028", max_size=6),
)
def test_a_record_is_cut_as_its_grammar_cuts_it(envelope: str, newline: str, payload: str) -> None:
    text = envelope + newline + payload
    short = torch_trace._cut(text)
    try:
        (whole,) = super(TorchTrace, TorchTrace).parse(text)
    except Unreadable:
        assert short == ()
    else:
        assert short in ((whole,), ())


def test_a_payload_that_its_kind_refuses_is_accounted_for(tmp_path: Path) -> None:
    head = "V1120 11:02:58.170000 13148 torch/_dynamo/utils.py:2350] "
    path = tmp_path / "trace.log"
    path.write_text(
        head
        + '{"artifact": {"name": "torch_version"}, "has_payload": "x"}\n\tnot json\n'
        + head
        + '{"compilation_metrics": {"co_name": "f", "guard_count": 3}, "frame_id": 0}\n'
    )
    evidence, _ = read([str(path)])
    assert [unread.lines for unread in evidence.unread] == [2]
    assert [row.record.guard_count for row in evidence.table(CompilationMetrics)] == [3]


def test_what_a_cache_said_is_what_the_text_log_says() -> None:
    head = '{"artifact": {"name": "%s", "encoding": "json"}, "frame_id": 0, "has_payload": "x"}\n'
    miss = '{"key": "fabc", "components": ["[h1] gm: f()\\n\\ndef f():", "[h2] a[b]: 1"]}'
    event, details = TorchTrace.parse(head % "fx_graph_cache_miss" + miss)
    assert event == CacheEvent(cache="fx graph cache", outcome="miss", key="fabc")
    assert isinstance(details, HashDetails)
    assert [(part.hash, part.part) for part in details.components] == [("h1", "gm"), ("h2", "a[b]")]
    reason = '{"cache_bypass_reason": "Unsupported pass", "key": null}'
    (bypass,) = TorchTrace.parse(head % "aotautograd_cache_bypass" + reason)
    assert bypass == CacheBypass(reason="Unsupported pass", cache="AOTAutograd cache")


def test_the_metrics_tell_the_settings_and_the_reason_of_a_skip() -> None:
    metrics, skip = TorchTrace.parse(
        '{"compilation_metrics": {"co_name": "f", "inductor_config": "{\\"freezing\\": true}", '
        '"dynamo_config": "not json", "cudagraph_skip_reason": '
        '"skipping cudagraphs due to mutated inputs (1 instances)"}, "frame_id": 0}'
    )
    assert isinstance(metrics, CompilationMetrics)
    assert metrics.settings == {"inductor.freezing": True}
    assert skip == CudagraphSkip(cause="mutated inputs", detail="1 instances")


REAL = [*TRACED, *cases("real/pyg_gcn_gat"), *cases("real/gpt2_train_autocast")]
HEAD = '{"artifact": {"name": "%s", "encoding": "string"}, "frame_id": 0, "has_payload": "x"}\n'


@needs_corpus
@pytest.mark.parametrize("case", REAL, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_reasons_and_graphs_are_read_in_every_version(case: Path) -> None:
    evidence, _ = read([str(case / "torch_trace")])
    assert not evidence.unread
    graphs = evidence.table(FxGraph)
    kinds = {type(row.record) for row in graphs}
    assert kinds == {FxGraph, AotGraph}
    assert all(row.record.nodes for row in graphs if " = " in row.text)
    assert all(row.record.inputs for row in graphs if "def forward(self):" not in row.text)
    if case.parent.name != "2.4.1":  # before the reasons were written
        assert evidence.table(Recompile).count >= 4
        assert evidence.table(GraphBreak).count >= 1
        assert all(row.record.file and row.record.line for row in evidence.table(Recompile))


@needs_corpus
def test_recompiles_are_those_that_dynamo_counted() -> None:
    for case in TRACED:
        metrics = truth(case)["compilation_metrics"]
        again = {m["compile_id"] for m in metrics if not m["compile_id"].endswith("/0")}
        events = read([str(case / "torch_trace")])[0].table(Recompile).events()
        assert {place.frame for place, _ in events} in (again, set())


@needs_corpus
def test_structured_logs_of_others_are_read() -> None:
    assert ROOT is not None
    paths = [path for path in (ROOT / "traces" / "tlparse").rglob("*log*") if path.is_file()]
    evidence, inputs = read([str(path) for path in paths])
    refused = [unread for unread in evidence.unread if "not JSON" not in unread.reason]
    assert not refused
    assert len(evidence.table(FxGraph)) > 40
    ranks = {place.writer for place, _ in evidence.table(FxGraph).events()}
    assert {"rank0", "rank1", "rank2", "rank5"} <= ranks
    assert len(inputs) > 15


def test_a_recompile_is_named_by_the_metrics_of_its_code(tmp_path: Path) -> None:
    head = "V1120 11:02:58.170000 13148 torch/_dynamo/utils.py:2350] "
    ids = '"frame_id": %d, "frame_compile_id": %d'
    metrics = (
        '{"compilation_metrics": {"co_name": "f", "co_filename": "/home/ana/proj/m.py", '
        '"co_firstlineno": 8}, ' + ids % (2, 0) + "}\n"
    )
    reasons = '{"artifact": {"name": "recompile_reasons", "encoding": "json"}, ' + ids + "}\n"
    several = '\t[\n\t"2/1: n == 3",\n\t"2/0: n == 2\\nUser stack trace:\\n  File \\"/home/ana'
    several += '/proj/m.py\\", line 9, in f\\n    if n:"\n\t]\n'
    path = tmp_path / "trace.log"
    path.write_text(
        head
        + metrics
        + head
        + reasons % (2, 1)
        + "\t2/0: n == 2\n"
        + head
        + reasons % (2, 2)
        + several
        + head
        + reasons % (5, 1)
        + "\t5/0: s == 'a'\n"
    )
    evidence, _ = read([str(path)])
    assert not evidence.unread
    one, two, other = evidence.table(Recompile)
    assert (one.record.function, one.record.file, one.record.line) == (
        "f",
        "/home/ana/proj/m.py",
        8,
    )
    assert [failure.entry for failure in two.record.failures] == ["2/1", "2/0"]
    assert [frame.line for frame in two.record.failures[1].stack] == [9]
    assert one.quote(at=one.record.failures[0].at).text == "2/0: n == 2"
    assert two.quote(at=two.record.failures[1].at).text.startswith('"2/0: n == 2')
    assert two.quote(at=two.record.failures[1].at).line == 7
    assert other.record.function == "frame 5"


def test_a_break_is_quoted_where_it_stands() -> None:
    text = HEAD % "dynamo_graph_break_reason" + (
        "Graph break in user code at /home/ana/proj/m.py:12\n"
        "Graph Break Reason: Data-dependent branching\n"
        "  Explanation: Detected data-dependent branching.\n"
        "User code traceback:\n"
        '  File "/home/ana/proj/m.py", line 12, in f\n'
        "    if x.sum() > 0:\n"
        "\n"
        "NoneType: None\n"
    )
    (record,) = TorchTrace.parse(text.rstrip("\n"))
    assert isinstance(record, GraphBreak)
    assert (record.at, record.line, record.text) == (1, 12, "Data-dependent branching")
    assert [frame.function for frame in record.stack] == ["f"]


def test_inputs_may_stand_on_lines_of_their_own() -> None:
    text = (
        '{"aot_forward_graph": {}, "frame_id": 0, "has_payload": "x"}\n'
        "class GraphModule(torch.nn.Module):\n"
        "    def forward(\n"
        "        self,\n"
        '        primals_1: "f32[16, s7][8, 1]cpu",  # PlainAOTInput(idx=0)\n'
        '        primals_2: "Sym(s7)",  # PlainAOTInput(idx=1)\n'
        "    ):\n"
        '        mm: "f32[16, 4][4, 1]cpu" = torch.ops.aten.mm.default(primals_1, primals_1)\n'
        "        return (mm,)"
    )
    (graph,) = TorchTrace.parse(text)
    assert isinstance(graph, AotGraph)
    assert [parameter.input for parameter in graph.inputs] == ["primals_1", "primals_2"]
    assert [str(parameter.type) for parameter in graph.inputs][1] == "symbol='s7'"
    assert [node.target for node in graph.nodes] == ["torch.ops.aten.mm.default"]


def test_an_envelope_that_was_cut_is_not_understood() -> None:
    with pytest.raises(Unreadable):
        TorchTrace.parse('{"describe_tensor": {"id": 1, "nd')


def test_a_compilation_begins_with_the_stack_that_led_to_it() -> None:
    """The second function is compiled below the call of the first, which is not in its stack."""
    log = "fixtures/rules/GBR006-break-in-loop-skips-frame/fires-calls.log"
    evidence, _ = read([str(Path(__file__).parents[2] / log)])
    starts = [(p.frame, row.record.stack) for p, row in evidence.table(CompileStart).events()]
    assert [(frame, stack[-1].function, stack[-1].line) for frame, stack in starts[:2]] == [
        ("0/0", "forward", 7),
        ("1/0", "arrange", 1),
    ]
    assert {stack[0].file for _, stack in starts} == {"/home/ana/proj/ragged.py"}
    assert "forward" not in {frame.function for frame in starts[1][1]}


def test_code_that_is_in_two_files_names_both(tmp_path: Path) -> None:
    log = tmp_path / "dedicated_log_torch_trace.log"
    code = "\tdef call(args):\n\t    arg0_1, = args\n\t    return (arg0_1, )\n"
    head = (
        "V0101 00:00:0%d.000000 9 torch/_inductor/graph.py:1] "
        '{"inductor_output_code": {"filename": "/home/ana/%s.py"}, "frame_id": %d, '
        '"frame_compile_id": 0, "attempt": 0, "has_payload": "0"}\n'
    )
    files = enumerate(("one", "two"))
    log.write_text("".join(head % (at, name, at) + code for at, name in files))
    evidence, _ = read([str(log)])
    paths = [row.record.path for row in evidence.table(CodeFile)]
    assert paths == ["/home/ana/one.py", "/home/ana/two.py"]
