"""The graphs behind Dynamo: stages, metadata, and the parts that DDP compiles."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens.logs.aot_graphs import AotConfig, AotGraph, AotGraphs, CallNote, SplitGraph
from tracelens.logs.graph_code import FxGraph, TensorType
from tracelens.source import read

FORWARD = """TRACED GRAPH
 ===== Forward graph 12 =====
 <eval_with_key>.4 class <lambda>(torch.nn.Module):
    def forward(self, primals_1: "f32[16, 8][8, 1]cpu"):
        # File: /home/ana/proj/model.py:4 in f, code: return x.relu()
        relu: "f32[16, 8][8, 1]cpu" = torch.ops.aten.relu.default(primals_1);  primals_1 = None
        return (relu,)
"""


def test_a_graph_names_its_stage() -> None:
    (graph,) = AotGraphs.parse(FORWARD)
    assert isinstance(graph, AotGraph)
    assert (graph.name, graph.stage, graph.module) == (
        "Forward graph 12", "Forward graph", "<lambda>",
    )  # fmt: skip
    assert graph.inputs[0].type == TensorType(
        dtype="f32", shape=(16, 8), strides=(8, 1), device="cpu"
    )
    assert [node.target for node in graph.nodes] == ["torch.ops.aten.relu.default"]


def test_a_graph_from_the_cache_is_a_graph() -> None:
    text = "Backward graph (from cache)\n\nclass GraphModule(torch.nn.Module):\n" + "\n".join(
        FORWARD.split("\n")[3:]
    )
    (graph,) = AotGraphs.parse(text)
    assert isinstance(graph, AotGraph)
    assert graph.stage == "Backward graph"
    assert len(graph.nodes) == 1


def test_metadata_and_call_notes_are_kept_as_text() -> None:
    (config,) = AotGraphs.parse("aot_config id: 7, fw_metadata=ViewAndMutationMeta(a=[1])")
    assert isinstance(config, AotConfig)
    assert config.config == "7"
    (note,) = AotGraphs.parse("  [0] Tensor(shape=torch.Size([4]))\n  [1] int: 3")
    assert isinstance(note, CallNote)
    assert len(note.lines) == 2


def test_ddp_prints_each_graph_that_it_makes() -> None:
    names = ("orig", "split", "submod_0")
    text = "\n" + "\n".join(f"---{name} graph---\ngraph():\n    %x\n" for name in names)
    pieces = [piece for _, piece in AotGraphs.pieces(text.split("\n"))]
    records = [record for piece in pieces for record in AotGraphs.parse(piece)]
    found = [record.name for record in records if isinstance(record, SplitGraph)]
    assert found == list(names)


@needs_corpus
@pytest.mark.parametrize("version", ["2.1.2", "2.4.1", "2.6.0", "2.13.0", "2.15.0"])
def test_each_graph_that_aot_autograd_counted_has_a_forward(version: str) -> None:
    (case,) = cases(f"{version}/art_aot_graphs")
    evidence, _ = read([log_of(case)])
    stages = [row.record.stage for row in evidence.table(AotGraph)]
    total = truth(case)["counters"]["aot_autograd"]["total"]
    assert stages.count("Forward graph") == stages.count("Backward graph") == total
    assert len(evidence.table(FxGraph)) == len(stages)


@needs_corpus
def test_the_graphs_after_the_passes_hold_the_products() -> None:
    (case,) = cases("2.13.0/art_post_grad_graphs")
    evidence, _ = read([log_of(case)])
    targets = [n.target for row in evidence.table(AotGraph) for n in row.record.nodes]
    assert targets.count("torch.ops.aten.mm.default") == 4
    assert {row.record.stage for row in evidence.table(AotGraph)} == {"AFTER POST GRAD"}
