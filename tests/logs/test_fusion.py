"""Fusion: rounds, refusals with their reasons, candidates and where they come from."""

from __future__ import annotations

import pytest

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens import grammars
from tracelens.logs.fusion import (
    Candidate,
    Fused,
    Fusion,
    FusionAttempt,
    FusionBenchmark,
    FusionComplete,
    FusionNote,
    FusionRefused,
    FusionRound,
    SharedData,
)
from tracelens.source import read

POINTWISE = (
    "  SchedulerNode(name='op1'), Pointwise(['[16, 4]', 'origins=OrderedSet([mul, relu])', "
    "'stack_traces = {', '  File \"/home/ana/proj/model.py\", line 4, in f', '    y = x * 2', "
    "'', '}'])"
)


@pytest.mark.parametrize(
    "reason",
    [
        "node1 is extern or nop",
        "intermediate nodes between node1 & node2",
        "numel/rnumel mismatch (non-reduce) (1024, 2048), (1, 64)",
        "device mismatch (cuda:0 vs cpu)",
        "register spilling of the fused kernel",
    ],
)
def test_a_refusal_names_both_nodes_and_the_reason(reason: str) -> None:
    (record,) = Fusion.parse(f"cannot fuse op0_op1 with op2: {reason}")
    assert record == FusionRefused(first="op0_op1", second="op2", reason=reason)


def test_lines_of_one_moment_are_records_of_their_own() -> None:
    text = "fusing op1 with op2\nfusing op8 with op9_op10\ncannot fuse a with b: no shared data"
    assert Fusion.parse(text) == (
        Fused(at=0, first="op1", second="op2"),
        Fused(at=1, first="op8", second="op9_op10"),
        FusionRefused(at=2, first="a", second="b", reason="no shared data"),
    )


def test_a_round_begins_and_ends() -> None:
    text = "===== attempting fusion (2/10): 12 nodes ====="
    assert Fusion.parse(text) == (FusionAttempt(round=2, limit=10, nodes=12),)
    text = "completed fusion round (2/10): fused 12 nodes into 9 nodes\n"
    assert Fusion.parse(text) == (FusionRound(round=2, limit=10, before=12, after=9),)
    text = "===== fusion complete (3 iterations) ====="
    assert Fusion.parse(text) == (FusionComplete(rounds=3),)


def test_a_candidate_says_what_it_computes_and_for_whom() -> None:
    (record,) = Fusion.parse(POINTWISE)
    assert isinstance(record, Candidate)
    assert (record.type, record.name, record.body) == ("SchedulerNode", "op1", "Pointwise")
    assert (record.shape, record.origins) == ("16, 4", ("mul", "relu"))
    (frame,) = record.stack
    assert (frame.file, frame.line, frame.function) == ("/home/ana/proj/model.py", 4, "f")


def test_fused_candidates_repeat_the_frames_of_their_parts() -> None:
    inner = POINTWISE.strip().replace("'", r"\'")
    (record,) = Fusion.parse(f"  FusedSchedulerNode(nodes=op1_op2), snodes: ['{inner}', '{inner}']")
    assert isinstance(record, Candidate)
    assert (record.type, record.name) == ("FusedSchedulerNode", "op1_op2")
    assert [frame.line for frame in record.stack] == [4, 4]


def test_a_reduction_says_how() -> None:
    text = "  SchedulerNode(name='op0'), Reduction(['[s77]', 'sum', 'origins=OrderedSet([sum_1])'])"
    (record,) = Fusion.parse(text)
    assert isinstance(record, Candidate)
    assert (record.body, record.shape, record.how) == ("Reduction", "s77", "sum")


def test_a_benchmarked_fusion_carries_its_factor() -> None:
    text = (
        "cannot fuse (benchmark): fusing OrderedSet(['buf0']) with OrderedSet(['buf1', 'buf2'])"
        " cause 1.212x slowdown"
    )
    (record,) = Fusion.parse(text)
    assert isinstance(record, FusionBenchmark)
    assert (record.verdict, record.factor, record.effect) == ("cannot fuse", 1.212, "slowdown")


def test_loop_ordering_says_how_much_is_shared() -> None:
    text = "op0 and op1 has 4096 shared data\nDon't reorder loops since both nodes are reductions"
    shared, note = Fusion.parse(text)
    assert shared == SharedData(first="op0", second="op1", score=4096)
    assert isinstance(note, FusionNote)


def test_a_refusal_costs_six_tokens() -> None:
    grammar = grammars.load(Fusion.name, Fusion.__module__)
    assert grammar.tokens("cannot fuse op0 with op2: no shared data") == 6


@needs_corpus
@pytest.mark.parametrize("case", ["2.13.0/art_fusion", "2.13.0/kitchen_sink"])
def test_the_first_rounds_begin_with_the_nodes_that_inductor_counted(case: str) -> None:
    (folder,) = cases(case)
    evidence, _ = read([log_of(folder)])
    first = evidence.table(FusionAttempt).where(lambda attempt: attempt.round == 1)
    nodes = sum(row.record.nodes * row.count for row in first)
    assert nodes == truth(folder)["inductor_metrics"]["ir_nodes_pre_fusion"]


@needs_corpus
@pytest.mark.parametrize("version", ["2.8.0", "2.13.0"])
def test_a_round_loses_as_many_nodes_as_it_fuses(version: str) -> None:
    (case,) = cases(f"{version}/art_fusion")
    evidence, _ = read([log_of(case)])
    lost = sum(
        (row.record.before - row.record.after) * row.count for row in evidence.table(FusionRound)
    )
    assert lost == evidence.table(Fused).count > 0


@pytest.mark.parametrize(
    ("text", "score", "none"),
    [
        ("op0 and op1 has 4096 shared data", 4096, ""),
        ("op0 and op1 has shared data", None, ""),
        ("op0 and op1 has no shared data", None, "no"),
    ],
)
def test_what_two_nodes_share(text: str, score: int | None, none: str) -> None:
    (record,) = Fusion.parse(text)
    assert record == SharedData(first="op0", second="op1", score=score, none=none)
