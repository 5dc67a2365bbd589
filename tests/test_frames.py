"""Frames join what one compilation left in every log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus import ROOT, cases, log_of, needs_corpus, truth
from tracelens.frames import Frame
from tracelens.logs.autotune import AutotuneTable
from tracelens.logs.guards import GuardTree
from tracelens.logs.output_code import OutputModule
from tracelens.logs.recompiles import Recompile
from tracelens.logs.torch_trace import CompilationMetrics
from tracelens.source import read


@needs_corpus
def test_a_text_log_gives_one_frame_per_compilation() -> None:
    (case,) = cases("2.13.0/seed003_fn_x_n")
    evidence, _ = read([log_of(case)])
    frames = [row.record for row in evidence.table(Frame)]
    compiled = [m["compile_id"] for m in truth(case)["compilation_metrics"] if m.get("co_name")]
    assert [frame.id for frame in frames] == compiled
    assert [len(frame.of(GuardTree)) for frame in frames] == [1, 1, 1]
    assert [len(frame.of(Recompile)) for frame in frames] == [0, 1, 1]
    assert frames[1].function == "fn"
    assert frames[1].line == 8
    assert frames[1].entry == 1
    assert frames[1].compile_seconds is not None
    assert 8 < frames[1].compile_seconds < 9


@needs_corpus
@pytest.mark.parametrize("case", cases("*/torch_trace_kitchen"), ids=lambda c: c.parent.name)
def test_the_structured_log_fills_the_same_frames(case: Path) -> None:
    evidence, _ = read([str(case / "torch_trace")])
    frames = {row.record.id: row.record for row in evidence.table(Frame)}
    assert frames["0/0"].function == "forward"
    assert frames["0/0"].of(OutputModule)
    assert frames["0/0"].of(CompilationMetrics)
    metrics = frames["0/0"].of(CompilationMetrics)[0].record
    assert frames["0/0"].compile_seconds == metrics.entire_frame_compile_time_s


@needs_corpus
def test_an_autotune_table_belongs_to_the_code_generated_after_it() -> None:
    (case,) = cases("2.13.0/autotune_mlp3_float32")
    evidence, _ = read([log_of(case)])
    (frame,) = (row.record for row in evidence.table(Frame))
    assert len(frame.of(AutotuneTable)) == 3


@needs_corpus
def test_two_ranks_are_two_writers() -> None:
    assert ROOT is not None
    (case,) = cases("2.13.0/seed003_fn_x_n__two_ranks")
    evidence, _ = read([log_of(case)])
    frames = [row.record for row in evidence.table(Frame)]
    assert sorted((frame.writer, frame.id) for frame in frames) == [
        (rank, frame) for rank in ("rank0", "rank1") for frame in ("0/0", "0/1", "0/2")
    ]
