"""Advice on generated code that holds for some operators and some versions only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo.run_facts import InRun
from tracelens.inductor.remedies import freeze
from tracelens.judging.fitting import _is_past
from tracelens.rules.ind.complex_ops_not_lowered import ComplexOpsNotLowered
from tracelens.rules.ind.cpp_kernel_not_vectorised import CppKernelNotVectorised

HINT = (
    "I1120 14:59:53.{:06} 24986 torch/_inductor/graph.py:1002] [0/0] [__perf_hints] "
    "Using FallbackKernel: torch.ops.aten.{}"
)


@pytest.mark.parametrize(
    ("operators", "advised"),
    [
        (["view_as_complex.default", "mul.Tensor", "view_as_real.default"], ["real-numbers"]),
        # torch.stft, and the real and imaginary part of its result
        (["_fft_r2c.default", "view_as_real.default"], []),
        (["_fft_c2r.default", "complex.default"], []),
    ],
)
def test_a_fourier_transform_is_no_rotation(
    tmp_path: Path, operators: list[str], advised: list[str]
) -> None:
    lines = [HINT.format(at, operator) for at, operator in enumerate(operators)]
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    (found,) = [one for one in analyze(str(tmp_path)).findings if one.code == "IND010"]
    assert [one.id for one in found.advice] == advised


@pytest.mark.parametrize(
    ("release", "is_past"), [([2, 3, 1], False), ([2, 4, 0], False), ([2, 5, 0], True)]
)
def test_a_newer_torch_is_advised_where_there_is_one_that_vectorizes_more(
    release: list[int], is_past: bool
) -> None:
    (newer,) = [one for one in CppKernelNotVectorised.remedies if one.id == "newer-torch"]
    data = CppKernelNotVectorised.Data(cause="scalar", kernels=(), functions=(), elements=1)
    assert _is_past(newer.advice(data), release) is is_past


@pytest.mark.parametrize(
    ("operators", "advice"),
    [
        (("aten.view_as_complex", "aten.mul", "aten.view_as_real"), "real-numbers"),
        (("aten.view_as_complex", "aten.mul", "aten.add", "aten.complex"), "two-parts"),
        ((), "two-parts"),
    ],
)
def test_a_rotation_is_advised_where_complex_numbers_are_only_multiplied(
    operators: tuple[str, ...], advice: str
) -> None:
    data = ComplexOpsNotLowered.Data(operators=operators, calls=3, bytes=64)
    assert [one.id for one in ComplexOpsNotLowered().advise(data)] == [advice]


@pytest.mark.parametrize("uses_inductor", [True, None])
def test_that_freezing_is_inductors_is_said_where_another_may_be_at_work(
    uses_inductor: bool | None,
) -> None:
    data = InRun(is_compiled=True, uses_inductor=uses_inductor)
    assert freeze().applies(data)
    said = "does not say which backend compiles. Only where" in freeze().advice(data).text
    assert said is (uses_inductor is None)
