"""The scheduler's nodes, their buffers, and kernels that are not vectorized."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens.logs.schedule import (
    Buffer,
    BufferUsers,
    IrNode,
    Schedule,
    ScheduleLog,
    VectorizationDisabled,
)
from tracelens.source import read

DUMP = """BEFORE FUSION
op0: ExternKernelSchedulerNode(ExternKernelOut)
op0.writes = [StarDep(name='buf0', mode=None)]
op0.outputs = [
    buf0: ExternKernelOut
    buf0.layout = FixedLayout('cuda:0', torch.bfloat16, size=[((s0 + 7)//8), 4], stride=[4, 1])
]
op0.node.kernel = extern_kernels.mm


op1: SchedulerNode(ComputedBuffer)
op1.writes = [MemoryDep('buf1', c0, {c0: 64})]
"""


def test_a_dump_is_cut_into_its_nodes() -> None:
    pieces = [piece for _, piece in ScheduleLog.pieces(DUMP.split("\n"))]
    nodes = [record for piece in pieces for record in ScheduleLog.parse(piece)]
    assert [(n.name, n.type, n.holds) for n in nodes if isinstance(n, IrNode)] == [
        ("op0", "ExternKernelSchedulerNode", "ExternKernelOut"),
        ("op1", "SchedulerNode", "ComputedBuffer"),
    ]


def test_a_node_tells_its_buffers_and_its_kernel() -> None:
    (_, text), *_ = ScheduleLog.pieces(DUMP.split("\n")[1:])
    (node,) = ScheduleLog.parse(text)
    assert isinstance(node, IrNode)
    assert node.kernel == "extern_kernels.mm"
    assert node.buffers == (
        Buffer(buffer="buf0", device="cuda:0", dtype="bfloat16", size=("((s0 + 7)//8)", 4)),
    )


def test_a_scalar_kernel_has_a_reason() -> None:
    text = "Disabled vectorization: op: index_expr\nDisabled vectorization: dtype torch.int64"
    assert ScheduleLog.parse(text) == (
        VectorizationDisabled(reasons=("op: index_expr", "dtype torch.int64")),
    )


def test_the_rest_is_kept_as_text() -> None:
    (record,) = ScheduleLog.parse("Schedule:\n [SchedulerNode(name='op0')]")
    assert record == Schedule(body="[SchedulerNode(name='op0')]")
    (record,) = ScheduleLog.parse("===== AFTER SCHEDULING =====\n{\n    'a': ['op0'],\n}")
    assert isinstance(record, BufferUsers)


@needs_corpus
def test_the_nodes_before_fusion_are_those_that_inductor_counted() -> None:
    (case,), (same_program,) = cases("2.13.0/art_ir_pre_fusion"), cases("2.13.0/art_fusion")
    evidence, _ = read([log_of(case)])
    nodes = evidence.table(IrNode)
    assert nodes.count == truth(same_program)["inductor_metrics"]["ir_nodes_pre_fusion"]
    assert all(row.record.buffers for row in nodes)


@needs_corpus
@pytest.mark.parametrize(("version", "count"), [("2.1.2", 4), ("2.4.1", 2)])
def test_old_versions_say_when_they_give_up_vectorizing(version: str, count: int) -> None:
    (case,) = cases(f"{version}/art_schedule")
    evidence, _ = read([log_of(case)])
    table = evidence.table(VectorizationDisabled)
    assert sum(len(row.record.reasons) * row.count for row in table) == count
