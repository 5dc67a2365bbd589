"""Compiled autograd: its graphs, and why they were captured anew."""

from __future__ import annotations

from tests.corpus import cases, log_of, needs_corpus
from tracelens.logs.compiled_autograd import (
    BackwardGraph,
    Capture,
    CaptureNote,
    CompiledAutograd,
)
from tracelens.source import read


def test_a_capture_says_why() -> None:
    (record,) = CompiledAutograd.parse("Cache miss due to dynamic shapes: 3 of 7 sizes")
    assert record == Capture(reason="dynamic shapes: 3 of 7 sizes")
    (note,) = CompiledAutograd.parse("DCE removed 12 nodes")
    assert isinstance(note, CaptureNote)


@needs_corpus
def test_the_captured_graphs_name_the_autograd_nodes() -> None:
    (case,) = cases("2.13.0/compiled_autograd")
    evidence, _ = read([log_of(case)])
    graphs = list(evidence.table(BackwardGraph))
    assert [row.record.module for row in graphs] == [f"CompiledAutograd{n}" for n in range(3)]
    assert all(row.places[0].frame.startswith("!") for row in graphs)
    codes = {o.code for row in graphs for _, o in row.record.calls() if o is not None}
    assert "SumBackward0 (NodeCall 1)" in codes
