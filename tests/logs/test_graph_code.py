"""FX graphs: what is read at once, what is read when asked for, and their counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens import grammars
from tracelens.logs import graph_code
from tracelens.logs.graph_code import (
    FxGraph,
    GraphCode,
    GraphFragment,
    GraphSizes,
    GraphTable,
    OtherType,
    SymbolType,
    TensorType,
)
from tracelens.source import read

GRAPH = """TRACED GRAPH
 ===== __compiled_fn_2 =====
 /venv/lib/site-packages/torch/fx/_lazy_graph_module.py class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s77, 8][8, 1]cuda:0", s77: "Sym(s77)"):
        l_x_ = L_x_

        # File: /home/ana/proj/model.py:4 in f, code: y = torch.relu(x @ w) * k
        mm: "f32[s77, 4][4, 1]cuda:0" = torch.ops.aten.mm.default(l_x_, l_w_);  l_x_ = l_w_ = None
        relu = torch.relu(mm);  mm = None
         # Backward of forward node: File: /home/ana/proj/model.py:5 in f, code: return y
        var_mean = torch.ops.aten.var_mean.correction(relu, [1], keepdim = True)
        getitem: "f32[Max(1, s77), 1]" = var_mean[0]
        # No stacktrace found for following nodes
        wrapped = self.body_graph_0(getitem)
        return (wrapped,)

    class body_graph_0(torch.nn.Module):
        def forward(self, x: "f32[4]"):
            sin: "f32[4]" = x.sin()
            return sin
"""


def graph(text: str = GRAPH) -> FxGraph:
    (record,) = GraphCode.parse(text)
    assert isinstance(record, FxGraph)
    return record


def test_a_graph_has_a_name_a_class_and_typed_inputs() -> None:
    found = graph()
    assert (found.name, found.module) == ("__compiled_fn_2", "GraphModule")
    first, second = found.inputs
    assert first.type == TensorType(dtype="f32", shape=("s77", 8), strides=(8, 1), device="cuda:0")
    assert second.type == SymbolType(symbol="s77")


def test_statements_keep_what_they_call_and_the_line_they_come_from() -> None:
    calls = list(graph().calls())
    assert [node.label for node, _ in calls] == [
        "l_x_", "mm", "relu", "var_mean", "getitem", "wrapped", "sin",
    ]  # fmt: skip
    mm, origin = calls[1]
    assert (mm.target, mm.arguments) == ("torch.ops.aten.mm.default", "(l_x_, l_w_)")
    assert mm.type == TensorType(dtype="f32", shape=("s77", 4), strides=(4, 1), device="cuda:0")
    assert origin is not None
    assert (origin.file, origin.line, origin.function) == ("/home/ana/proj/model.py", 4, "f")
    assert origin.code == "y = torch.relu(x @ w) * k"
    assert not origin.backward
    _, origin = calls[3]
    assert origin is not None
    assert origin.backward
    getitem, _ = calls[4]
    assert (getitem.target, getitem.expression) == ("", "var_mean[0]")
    assert getitem.type == TensorType(dtype="f32", shape=("Max(1, s77)", 1))


def test_naming_an_input_is_no_operation() -> None:
    found = graph()
    assert found.statements == len(found.nodes) == 7
    assert len(found.operations) == 6


def test_the_types_of_torch_2_1_have_no_quotes() -> None:
    text = (
        "TRACED GRAPH\n ===== f =====\n <eval_with_key>.1 class GraphModule(torch.nn.Module):\n"
        "    def forward(self, a : torch.Tensor, b: f32[16, 8]):\n        c: b8[2] = a < b"
    )
    first, second = graph(text).inputs
    assert first.type == OtherType(text="torch.Tensor")
    assert second.type == TensorType(dtype="f32", shape=(16, 8))
    assert graph(text).nodes[0].type == TensorType(dtype="b8", shape=(2,))


@pytest.mark.parametrize("line", ["x = = (", "def )(", '    a: "f32[" = foo((', "\t\\", " return"])
def test_no_statement_can_make_a_graph_unreadable(line: str) -> None:
    found = graph(f"TRACED GRAPH\n ===== f =====\n{line}\n        y = torch.relu(x)")
    assert [node.target for node in found.nodes if node.label == "y"] == ["torch.relu"]


def test_a_table_and_sizes_are_read_too() -> None:
    (table,) = GraphCode.parse("TRACED GRAPH\n fn <eval>.0 opcode  name  target\n-----  ----\nx")
    assert isinstance(table, GraphTable)
    (sizes,) = GraphCode.parse("TRACED GRAPH TENSOR SIZES\n===== fn =====\nx: (s0, 8)\n")
    assert isinstance(sizes, GraphSizes)
    assert sizes.sizes == ("x: (s0, 8)",)


def test_a_graph_that_the_log_cuts_off_is_a_fragment() -> None:
    lines = GRAPH.split("\n")
    (record,) = GraphCode.parse("\n".join(lines[6:]))
    assert isinstance(record, GraphFragment)
    assert graph("\n".join(lines[:9])).nodes[-1].target == "torch.relu"


def test_two_graphs_in_one_text_are_two_records() -> None:
    pieces = GraphCode.pieces([*GRAPH.split("\n"), *GRAPH.split("\n")])
    assert len(pieces) == 2


def test_a_graph_costs_ten_tokens_however_long_it_is() -> None:
    grammar = grammars.load(GraphCode.name, GraphCode.__module__)
    assert grammar.tokens(GRAPH + "        x = y\n" * 1000) == 10


@needs_corpus
@pytest.mark.parametrize("version", ["2.1.2", "2.4.1", "2.6.0", "2.8.0", "2.13.0", "2.15.0"])
def test_graphs_and_operations_are_those_that_dynamo_counted(version: str) -> None:
    (case,) = cases(f"{version}/art_graph_code")
    evidence, _ = read([log_of(case)])
    graphs = [
        row.record for row in evidence.table(FxGraph) if row.record.name.startswith("__compiled_fn")
    ]
    stats = truth(case)["counters"]["stats"]
    assert len(graphs) == stats["unique_graphs"]
    assert sum(len(graph.operations) for graph in graphs) == stats["calls_captured"]


@needs_corpus
def test_inputs_are_those_that_the_compilation_metrics_name() -> None:
    (case,) = cases("2.13.0/art_graph_code")
    evidence, _ = read([log_of(case)])
    rows = {row.places[0].frame: row.record for row in evidence.table(FxGraph)}
    metrics = [m for m in truth(case)["compilation_metrics"] if m["graph_op_count"]]
    assert {frame: len(record.inputs) for frame, record in rows.items()} == {
        m["compile_id"]: m["graph_input_count"] for m in metrics
    }


@needs_corpus
def test_every_statement_of_the_corpus_is_a_node() -> None:
    for case in cases("*/*graph*") + cases("*/*inductor*") + cases("2.13.0/kitchen_sink"):
        evidence, _ = read([log_of(case)])
        for row in evidence.table(FxGraph):
            assert len(row.record.nodes) == row.record.statements
            assert all(not isinstance(node.type, OtherType) for node in row.record.nodes)


LINES = st.sampled_from(
    [
        *GRAPH.split("\n")[4:],
        "",
        "  ",
        '    x: "f32[4]"',
        '    x: "f32[4]" = ',
        "    a, b = c = d;  e = None",
        "    x = torch.f(a\tb) ; c",
        "    # File: model.py:4, code:",
        "    # File: model.py:4 in f, code: # File: a.py:5, code: b",
        "    # File: model.py",
        "    #  note File: /m.py:7 in <module>, code: x = f(",
        "    y: Sym(s0 + 1) = s0 + 1",
        '    y: "Sym(s0)" = 4;  s0 = None',
        "    z: f32[2, 3][3, 1]cpu = x + y",
        "class A(torch.nn.Module):",
        "    class A(torch.nn.Module):",
        "return",
        "    return",
        "    x = 'a\u2028b'",
        "    x = a\rb",
    ]
)


@given(st.lists(LINES, max_size=12), st.sampled_from(["", "\n", "x\n"]))
def test_lines_that_are_read_by_themselves_say_what_all_of_the_body_says(
    lines: list[str], before: str
) -> None:
    body = before + "\n".join(lines)
    assert graph_code._statements(body) == list(graph_code._read("body", body))


def test_a_line_that_comes_again_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = graph()
    graph_code._line.cache_clear()
    first = list(found.calls())
    again = graph(GRAPH.replace("__compiled_fn_2", "__compiled_fn_3"))
    monkeypatch.setattr(grammars, "load", None)
    assert list(again.calls()) == first
