"""The printed result of explain, and the tables of compile times."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens.dynamo import phases
from tracelens.dynamo.breaks import sites
from tracelens.logs.compile_times import CompileTimes, Phase, PhaseTimes
from tracelens.logs.explain import Explain, Explanation
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.plugins import manifest
from tracelens.source import read
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

TEXT = """Graph Count: 2
Graph Break Count: 1
Op Count: 3
Break Reasons:
  Break Reason 1:
    Reason: Failed to trace builtin operator
  Explanation: Dynamo does not know how

  Developer debug context: builtin print
    User Stack:
      <FrameSummary file /home/ana/proj/model.py, line 9 in main>
      <FrameSummary file /home/ana/proj/model.py, line 4 in fn>
Ops per Graph:
  Ops 1:
    <built-in function add>
    <built-in method cos>
  Ops 2:
    <built-in function mul>
Out Guards:
  Guard 1:
    Name: "L['x']"
Compile Times: TorchDynamo compilation metrics:
Function, Runtimes (s)
gc, 0.0003, 0.0406"""


def test_graphs_breaks_and_operations() -> None:
    record, told = Explain.parse(TEXT)
    assert isinstance(record, Explanation)
    assert isinstance(told, GraphBreak)
    assert (told.family, told.line, told.announced) == ("builtin", 4, True)
    assert (record.graphs, record.breaks, record.ops) == (2, 1, 3)
    (reason,) = record.break_reasons
    assert reason.reason == "Failed to trace builtin operator"
    assert "Developer debug context: builtin print" in reason.details
    assert [(frame.line, frame.function) for frame in reason.stack_frames] == [
        (9, "main"),
        (4, "fn"),
    ]
    assert [len(graph.operations) for graph in record.graph_ops] == [2, 1]
    assert record.phases == (Phase(name="gc", seconds=("0.0003, 0.0406",)),)


LISTED = (
    "[GraphCompileReason(reason='Tensor.item', user_stack=[<FrameSummary file "
    "/home/ana/proj/train.py, line 70 in step>, <FrameSummary file /home/ana/proj/model.py, "
    "line 33 in f>], graph_break=True)]"
)


@pytest.mark.parametrize(
    ("text", "family", "line"),
    [
        (LISTED, "scalar", 33),
        (LISTED.strip("[]"), "scalar", 33),
        (
            (
                "reason='generic_jump TensorVariable()', "
                "user_stack=[<FrameSummary file /home/ana/proj/model.py, line 9 in f>]"
            ),
            "branch",
            9,
        ),
        (
            (
                "  Break Reason 3:\n    Reason: call_function BuiltinVariable(print) "
                "[ConstantVariable(str)] {}\n    User Stack:\n"
                "      <FrameSummary file /home/ana/proj/model.py, line 4 in fn>"
            ),
            "builtin",
            4,
        ),
        (
            (
                "GraphCompileReason(reason='Data-dependent branching\\n  Explanation: Detected "
                "data-dependent branching', user_stack=[], graph_break=True)"
            ),
            "branch",
            0,
        ),
    ],
)
def test_a_listed_reason_is_a_break(text: str, family: str, line: int) -> None:
    segmenter = Segmenter(Kinds(manifest.current().logs), "run.log")
    segmenter.feed([one.encode() + b"\n" for one in text.split("\n")])
    (row,) = segmenter.finish().table(GraphBreak)
    assert (row.record.family, row.record.line) == (family, line)


def test_what_ended_no_graph_is_no_break() -> None:
    records = Explain.parse(
        "GraphCompileReason(reason='return_value', user_stack=[], graph_break=False)"
    )
    assert not [record for record in records if isinstance(record, GraphBreak)]


def test_a_break_that_the_log_tells_of_as_well_counts_once() -> None:
    text = (
        "V1120 10:34:45.458000 24485 torch/_dynamo/symbolic_convert.py:5124] [0/0] "
        "[__graph_breaks] Graph break in user code at /home/ana/proj/model.py:33\n"
        "V1120 10:34:45.458000 24485 torch/_dynamo/symbolic_convert.py:5124] [0/0] "
        f"[__graph_breaks] Graph Break Reason: Tensor.item\n{LISTED}"
    )
    segmenter = Segmenter(Kinds(manifest.current().logs), "run.log")
    segmenter.feed([one.encode() + b"\n" for one in text.split("\n")])
    (site,) = sites(segmenter.finish().table(GraphBreak))
    assert site.count == 1


def test_a_phase_has_a_total() -> None:
    text = (
        "TorchDynamo compilation metrics:\nFunction                  Runtimes (s)\n"
        "------------------------  --------------\n_compile.<locals>.inner   1.0, 0.5\ngc  0.25"
    )
    (record,) = CompileTimes.parse(text)
    assert isinstance(record, PhaseTimes)
    assert [(phase.name, phase.total) for phase in record.phases] == [
        ("_compile.<locals>.inner", 1.5),
        ("gc", 0.25),
    ]


@needs_corpus
def test_a_real_explanation_counts_what_the_program_saw() -> None:
    (case,) = cases("2.13.0/explain_print")
    evidence, _ = read([log_of(case)])
    (row,) = evidence.table(Explanation)
    told = truth(case)["user"]
    assert (row.record.graphs, row.record.breaks, row.record.ops) == (
        told["graph_count"], told["graph_break_count"], told["op_count"],
    )  # fmt: skip
    assert sum(len(graph.operations) for graph in row.record.graph_ops) == told["op_count"]


@needs_corpus
def test_the_compile_times_are_those_of_the_frames() -> None:
    (case,) = cases("2.13.0/explain_print")
    evidence, _ = read([log_of(case)])
    (row,) = evidence.table(PhaseTimes)
    inner = next(p for p in row.record.phases if p.name == "_compile.compile_inner")
    frames = [m["entire_frame_compile_time_s"] for m in truth(case)["compilation_metrics"]]
    assert len(inner.seconds) == 2
    assert all(min(abs(s - f) for f in frames if f) < 0.25 for s in inner.seconds)
    assert phases.tables(evidence)["compile_phases"][0]["runs"] == 2
