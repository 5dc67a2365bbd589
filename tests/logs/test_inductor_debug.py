"""Inductor's and Dynamo's own words: steps, caches, products, skipped frames."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens.logs import Record
from tracelens.logs.dynamo_debug import (
    CompilationMetrics,
    CompilerStep,
    DynamoDebug,
    FrameCompiled,
    FrameSkipped,
    GraphCompiled,
    TracedFrames,
    TraceStep,
)
from tracelens.logs.inductor_debug import (
    CacheBypass,
    CacheEvent,
    CompileStep,
    CompileThreads,
    CompileTime,
    DebugFolder,
    HashDetails,
    InductorDebug,
    LayoutForced,
    LayoutSkipped,
    MmShape,
    PeakMemory,
    TunedMm,
)
from tracelens.source import read


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("Step 3: torchinductor compiling FORWARDS graph 93",
         CompileStep(action="compiling", direction="FORWARDS", graph=93)),
        ("FX codegen and compilation took 1.853s", CompileTime(seconds=1.853)),
        ("fx graph cache hit for key abc", CacheEvent(cache="fx graph cache", outcome="hit",
                                                      key="abc")),
        ("Bypassing FX Graph Cache because 'frozen parameters'",
         CacheBypass(reason="frozen parameters", cache="fx graph cache")),
        ("Bypassing autograd cache due to: Unsupported call_function target",
         CacheBypass(reason="Unsupported call_function target", cache="AOTAutograd cache")),
        ("aten.bmm   | 8  | s77 | 64 | 32 | 12   ", MmShape(op="aten.bmm", b="8", m="s77",
                                                           n="64", k="32", count=12)),
        ("Tuned aten.mm: m=16, n=4, k=s0", TunedMm(op="aten.mm", m="16", n="4", k="s0")),
        ("compile_threads set to 1 for win32", CompileThreads(count=1, how="for win32")),
        ("compile_threads set to 32", CompileThreads(count=32)),
        ("Skip layout opt because all convolution channels are too small",
         LayoutSkipped(reason="all convolution channels are too small")),
        ("Force channels last inputs for 2 conv for the current graph with id 9",
         LayoutForced(count=2, graph=9)),
        ("model__0_forward_1 debug trace: /tmp/x.0", DebugFolder(model="model__0_forward_1",
                                                                 path="/tmp/x.0")),  # noqa: S108
        ("Baseline peak memory: 576", PeakMemory(method="Baseline", bytes=576)),
    ],
)  # fmt: skip
def test_inductor(text: str, record: Record) -> None:
    assert InductorDebug.parse(text) == (record,)


def test_a_cache_key_is_taken_apart_when_asked() -> None:
    text = (
        "FX graph cache hash details for key fxyz:\n[kix] gm: GraphModule()\n\ndef f(x): pass\n"
        "[cev] grad_enabled: True\n[abc] inductor_config[comment]: b''"
    )
    (record,) = InductorDebug.parse(text)
    assert isinstance(record, HashDetails)
    assert record.key == "fxyz"
    assert [(part.hash, part.part, part.value) for part in record.components] == [
        ("kix", "gm", "GraphModule()"),
        ("cev", "grad_enabled", "True"),
        ("abc", "inductor_config[comment]", "b''"),
    ]


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("Step 1: torchdynamo start tracing f /home/ana/proj/model.py:17",
         TraceStep(step="start", function="f", file="/home/ana/proj/model.py", line=17)),
        ("Step 1: torchdynamo done tracing <lambda> (RETURN_VALUE)",
         TraceStep(step="done", function="<lambda>", how="RETURN_VALUE")),
        ("Step 2: calling compiler function inductor",
         CompilerStep(doing="calling", compiler="inductor")),
        ("skipping: _fn (reason: in skipfiles, file: /home/ana/m.py)",
         FrameSkipped(function="_fn", reason="in skipfiles", file="/home/ana/m.py")),
        (("COMPILING GRAPH due to GraphCompileReason(reason='return_value', user_stack=[x],"
         " graph_break=False)"), GraphCompiled(reason="return_value",
                                              user_stack=", user_stack=[x]")),
        ("TorchDynamo attempted to trace the following frames: [\n  * f /m.py:1\n  * g /m.py:2\n]",
         TracedFrames(frames=("f /m.py:1", "g /m.py:2"))),
        ("CompilationMetrics(compile_id='0/0')",
         CompilationMetrics(metrics="(compile_id='0/0')")),
    ],
)  # fmt: skip
def test_dynamo(text: str, record: Record) -> None:
    assert DynamoDebug.parse(text) == (record,)


@needs_corpus
def test_the_cache_misses_and_products_are_those_that_inductor_counted() -> None:
    (case,) = cases("2.13.0/inductor_debug")
    evidence, _ = read([log_of(case)])
    counters = truth(case)["counters"]
    misses = evidence.table(CacheEvent).where(lambda event: event.outcome == "miss")
    assert misses.count == counters["inductor"]["fxgraph_cache_miss"]
    products = {
        f"{r.record.op}_{r.record.m}_{r.record.n}_{r.record.k}": r.record.count
        for r in evidence.table(MmShape)
    }
    assert products == counters["aten_mm_info"]
    assert all(row.record.components for row in evidence.table(HashDetails))


@needs_corpus
@pytest.mark.parametrize("version", ["2.1.2", "2.4.1", "2.6.0", "2.8.0", "2.13.0", "2.15.0"])
def test_every_graph_begins_and_ends(version: str) -> None:
    (case,) = cases(f"{version}/art_inductor")
    evidence, _ = read([log_of(case)])
    steps = evidence.table(CompileStep)
    begun = steps.where(lambda step: step.action == "compiling").count
    assert begun == steps.where(lambda step: step.action == "done compiling").count > 0
    assert not evidence.known


@needs_corpus
def test_the_frames_that_dynamo_compiled() -> None:
    (case,) = cases("2.13.0/all_debug")
    evidence, _ = read([log_of(case)])
    compiled = evidence.table(FrameCompiled)
    assert {(row.record.function, row.record.line) for row in compiled} == {("<lambda>", 17)}
    metrics = evidence.table(CompilationMetrics).count
    assert compiled.count == metrics == len(truth(case)["compilation_metrics"])


@pytest.mark.parametrize(
    ("text", "op", "batch", "m"),
    [
        ("Tuned aten.mm: m=16, n=4, k=8, mat1_dtype=torch.float32", "aten.mm", "", "16"),
        ("Tuned aten.bmm: batch=4, m=5, n=6, k=8, mat1_dtype=torch.float32", "aten.bmm", "4", "5"),
        ("Tuned aten.baddbmm: batch_size=s0, m=5, n=6, k=8", "aten.baddbmm", "s0", "5"),
    ],
)
def test_a_batch_of_matrix_products(text: str, op: str, batch: str, m: str) -> None:
    (record,) = InductorDebug.parse(text)
    assert isinstance(record, TunedMm)
    assert (record.op, record.batch, record.m) == (op, batch, m)
