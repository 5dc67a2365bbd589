"""Recurrent layers that pack their weights, and executions that waited for a core."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.evidence import Times
from tracelens.onednn.recurrent import steps
from tracelens.report import Finding, Severity

REORDER = (
    "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abdec::f0 "
    "dst:f32::blocked:abdEc32e::f0,attr-scratchpad:user,,1x1x{}x4x128,{}\n"
)
CELL = (
    "onednn_verbose,v1,primitive,exec,cpu,rnn,brgemm:avx512_core,forward_inference,"
    "src_layer:f32::blocked:abc::f0 src_iter:f32::blocked:abcd::f0 "
    "wei_layer:f32:a:blocked:abdEc32e::f0 wei_iter:f32:a:blocked:abdEc32e::f0 "
    "bias:f32::blocked:abcd::f0 dst_layer:f32::blocked:abc::f0 dst_iter:f32::blocked:abcd::f0,"
    "attr-scratchpad:user,alg:vanilla_lstm direction:unidirectional_left2right activation:undef "
    "flags:,l1t{}mb16sic128slc256dhc128dic128,0.5\n"
)
HEAD = "onednn_verbose,v1,info,oneDNN v3.12.0 (commit 80afa71049cd69)\n"


def told(tmp_path: Path, calls: int, count: int) -> Finding:
    log = tmp_path / "run.log"
    call = REORDER.format(256, 0.25) + REORDER.format(128, 0.25) + CELL.format(count)
    log.write_text(HEAD + call * calls, "utf-8")
    return next(one for one in analyze(str(log)).findings if one.code == "ONE003")


def test_a_layer_that_is_given_sequences_packs_its_weights_once_for_each(tmp_path: Path) -> None:
    found = told(tmp_path, 30, 32)
    assert found.severity is Severity.NONE
    assert "one per token" not in " ".join(one.text for one in found.advice)


def test_a_layer_that_is_given_single_steps_is_told(tmp_path: Path) -> None:
    found = told(tmp_path, 30, 1)
    assert found.severity is Severity.WARNING
    assert [one.id for one in found.advice] == ["several-steps"]


@pytest.mark.parametrize(
    ("shape", "count"),
    [("l1t32mb5sic128", 32), ("l2t1mb160sic32", 1), ("mb1ic3oc4", None), ("", None)],
)
def test_steps(shape: str, count: int | None) -> None:
    assert steps(shape) == count


def times(*ms: float) -> Times:
    found = Times()
    for one in ms:
        found.add(one)
    return found


def test_a_wait_for_a_core_does_not_recur() -> None:
    assert times(0.1, 0.1, 40.0, 0.1).steady == pytest.approx(0.4, rel=0.05)


def test_the_first_execution_and_a_later_wait_are_both_left_out() -> None:
    assert times(2.0, *[0.1] * 30, 40.0).steady == pytest.approx(3.2, rel=0.05)


@pytest.mark.parametrize(
    "ms",
    [
        (0.1, 0.1, 2.0, 0.1),  # no slice of a scheduler
        (3.0, 3.0, 12.0, 3.0),  # of two kinds, or slower by something else
        (0.1, 0.1, 40.0, 40.0),  # half of them: that recurs
        (0.1, 0.1, 40.0),  # too few to know
    ],
)
def test_what_may_recur_counts(ms: tuple[float, ...]) -> None:
    assert times(*ms).steady == pytest.approx(sum(ms))
