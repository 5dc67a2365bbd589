"""What is said of a backend that gives no kernel in a search."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Severity, analyze

NONE = (
    "W1120 10:00:00.000000 4242 torch/_inductor/codegen/cuda/gemm_template.py:588] [0/0] No "
    "suitable Cutlass GEMM configs found, fallbacks used ( len(ops)=0, output_layout=FixedLayout("
    "'cuda:0', torch.{0}, size=[512, 384], stride=[384, 1]), input_layouts=[FixedLayout('cuda:0', "
    "torch.{0}, size=[512, {1}], stride=[{1}, 1]), FixedLayout('cuda:0', torch.{0}, size=[{1}, 384]"
    ", stride=[384, 1])], input_strides=[[{1}, 1], [384, 1]] )\n"
)


@pytest.mark.parametrize(
    ("dtype", "depth", "is_usual"),
    [
        ("bfloat16", 256, True),
        ("float16", 64, True),
        ("float32", 256, False),
        ("bfloat16", 251, False),
    ],
)
def test_cutlass_has_kernels_for_half_precision(
    dtype: str, depth: int, is_usual: bool, tmp_path: Path
) -> None:
    log = tmp_path / "run.log"
    log.write_text(NONE.format(dtype, depth))
    (found,) = [one for one in analyze(str(log)).findings if one.code == "TUN014"]
    assert found.severity is (Severity.INFO if is_usual else Severity.NONE)
    assert [one.id for one in found.advice] == (
        ["fitting-checkout", "take-off-the-list"] if is_usual else []
    )
    assert "results are the same" in found.message
