"""Kinds that are kept as text, and small ones: each reads its own and finds its facts."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.logs.artifact_notes import ArtifactNote, ArtifactNotes
from tracelens.logs.benchmarking import Benchmarking, ChildRun, ConfigRun, ConfigSkipped
from tracelens.logs.bytecode import Bytecode, BytecodeFragment, BytecodeListing, TracedBytecode
from tracelens.logs.inductor_metrics import GraphMetrics, InductorMetrics, Measure
from tracelens.logs.kernel_code import KernelCode, KernelFragment, KernelPath, KernelSource
from tracelens.logs.kineto import Kineto, ProfilerLine
from tracelens.logs.trace_source import TracedCall, TracedLine, TraceSource
from tracelens.source import read

KERNEL = "CPP+Bindings Kernel:\n#include <a.h>\n{\n    at::vec::Vectorized<float> x;\n}"


def test_a_kernel_is_its_language_and_its_source() -> None:
    (record,) = KernelCode.parse(KERNEL)
    assert isinstance(record, KernelSource)
    assert record.language == "CPP+Bindings"
    assert record.source.startswith("#include <a.h>")
    assert "at::vec" in record.source
    (record,) = KernelCode.parse("}\n\n")
    assert isinstance(record, KernelFragment)
    (record,) = KernelCode.parse("Pallas kernel path: /a/b.py")
    assert record == KernelPath(language="Pallas", path="/a/b.py")
    assert len(KernelCode.pieces([*KERNEL.split("\n"), *KERNEL.split("\n")])) == 2


def test_bytecode_names_the_function() -> None:
    (record,) = Bytecode.parse("MODIFIED BYTECODE f /home/ana/my proj/m.py line 3 \n  3  0 RESUME")
    assert isinstance(record, BytecodeListing)
    assert (record.stage, record.function, record.file, record.line) == (
        "MODIFIED", "f", "/home/ana/my proj/m.py", 3,
    )  # fmt: skip
    (record,) = Bytecode.parse("TRACE LOAD_FAST n []\nTRACE RETURN_VALUE None []")
    assert isinstance(record, TracedBytecode)
    (record,) = Bytecode.parse("             14 LOAD_ATTR                1 (relu)")
    assert isinstance(record, BytecodeFragment)


def test_traced_lines_and_calls() -> None:
    text = (
        "TRACE starts_line /home/ana/m.py:17 in f (g)\n    y = x * n\n\nTRACE starts_line a:1 in h"
    )
    line, other = TraceSource.parse(text)
    assert isinstance(line, TracedLine)
    assert (line.file, line.line, line.code) == ("/home/ana/m.py", 17, "y = x * n")
    assert isinstance(other, TracedLine)
    text = "TRACE FX call mul from /home/ana/m.py:17 in f (g)\n    y = x * n\n        ~~^~~"
    (call,) = TraceSource.parse(text)
    assert isinstance(call, TracedCall)
    assert (call.kind, call.callee, call.line) == ("FX", "mul", 17)


def test_metrics_of_a_graph() -> None:
    text = (
        "Graph Metrics:\n{'num_bytes_accessed': 4*s0 + 8, 'nodes_num_elem': "
        "[(SchedulerNode(name='op0'), 65), (FusedSchedulerNode(nodes=op1_op2), Max(1, s0))], "
        "'node_runtimes': [(SchedulerNode(name='op0'), 1.5e-05)]}"
    )
    (record,) = InductorMetrics.parse(text)
    assert isinstance(record, GraphMetrics)
    assert record.num_bytes is None
    assert record.elements == (
        Measure(type="SchedulerNode", node="op0", amount=65.0),
        Measure(type="FusedSchedulerNode", node="op1_op2", amount=None),
    )
    assert record.runtimes[0].amount == 1.5e-05


def test_spilled_registers_are_a_number() -> None:
    best = "XBLOCK: 1, num_warps: 8: 0.5, nreg 255, nspill 64, #shared-mem 0"
    text = f"Best config for triton_red_0: {best}"
    (record,) = Benchmarking.parse(text)
    assert isinstance(record, ConfigRun)
    assert (record.kernel, record.ms, record.spills) == ("triton_red_0", 0.5, 64)
    text = "Skip config XBLOCK: 4096, num_warps: 4 because of register spilling: 48"
    (record,) = Benchmarking.parse(text)
    assert isinstance(record, ConfigSkipped)
    assert record.spills == 48
    assert Benchmarking.parse("Benchmark all input configs for triton_red_0, get:") == ()


def test_lines_of_the_profilers_library() -> None:
    text = "WARNING:2025-08-12 03:18:23 31:31 init.cpp:155] function cbapi->getCuptiStatus() failed"
    (record,) = Kineto.parse(text)
    assert isinstance(record, ProfilerLine)
    assert (record.level, record.file, record.line) == ("WARNING", "init.cpp", 155)


def test_the_other_artifacts_keep_their_first_line() -> None:
    (record,) = ArtifactNotes.parse("Mutating object of type list\n    source: L['xs']")
    assert isinstance(record, ArtifactNote)
    assert record.title == "Mutating object of type list"


@needs_corpus
def test_real_logs_of_the_small_kinds() -> None:
    (case,) = cases("2.13.0/art_inductor_metrics")
    evidence, _ = read([log_of(case)])
    sizes = [row.record.num_bytes for row in evidence.table(GraphMetrics)]
    assert sizes[:3] == [1472, 260, 516]
    (case,) = cases("2.13.0/autotune_autotuning_benchmarking")
    evidence, _ = read([log_of(case)])
    (row,) = evidence.table(ChildRun)
    assert (row.record.load, row.record.bench) == (14.793051, 0.121138)
    (case,) = cases("2.13.0/art_bytecode")
    evidence, _ = read([log_of(case)])
    listings = evidence.table(BytecodeListing)
    assert listings.where(lambda listing: listing.stage == "ORIGINAL").count == 3
    assert listings.where(lambda listing: listing.stage == "MODIFIED").count == 3


@needs_corpus
@pytest.mark.parametrize("case", ["2.13.0/prof_mlp_compiled", "real/prof_gpt2_compiled_stack"])
def test_the_profiler_starts_and_stops(case: str) -> None:
    (folder,) = cases(case)
    evidence, _ = read([log_of(folder)])
    assert [row.record.message for row in evidence.table(ProfilerLine)] == [
        "profiler_start", "profiler_stop",
    ]  # fmt: skip


def test_a_configuration_is_no_kernel() -> None:
    text = "COORDESC: XBLOCK: 64: 0.006144, nreg 20, nspill 0, #shared-mem 0"
    (record,) = Benchmarking.parse(text)
    assert isinstance(record, ConfigRun)
    assert (record.kernel, record.config, record.ms) == ("", "XBLOCK: 64", 0.006144)
