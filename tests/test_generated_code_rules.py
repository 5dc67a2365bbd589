"""How the rules about generated code judge: what is worth a warning, what is a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.engine import judge, select_rules
from tracelens.report import Finding, Severity
from tracelens.rules.ind.cpp_kernel_not_vectorised import CppKernelNotVectorised
from tracelens.source import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "rules"


def findings(folder: str, name: str) -> list[Finding]:
    (path,) = (FIXTURES / folder).glob(f"{name}.log*")
    evidence, inputs = read([str(path)])
    return list(judge(evidence, inputs, rules=select_rules([folder[:6]])).findings)


def only(folder: str, name: str) -> Finding:
    (found,) = findings(folder, name)
    return found


@pytest.mark.parametrize(
    ("folder", "name", "severity"),
    [
        ("IND001-fallback-kernel", "fires-cumsum", Severity.INFO),
        ("IND001-fallback-kernel", "fires-cumsum-8-mib", Severity.WARNING),
        ("IND001-fallback-kernel", "quiet-singular-values", Severity.NONE),
        ("IND003-acl-fusions-disabled", "fires-linear-relu", Severity.INFO),
        ("IND004-cpu-inference-not-frozen", "fires-unet", Severity.WARNING),
        ("IND004-cpu-inference-not-frozen", "fires-bert", Severity.INFO),
        ("IND004-cpu-inference-not-frozen", "fires-aarch64-bfloat16", Severity.INFO),
        ("IND005-cpp-kernel-not-vectorised", "fires-index-wraps-around", Severity.WARNING),
        ("IND006-omp-region-inside-serial-loop", "fires-narrow", Severity.ERROR),
        ("IND008-layout-conversion-kernels", "fires-contiguous", Severity.INFO),
        ("IND008-layout-conversion-kernels", "quiet-reshape", Severity.NONE),
        ("IND008-layout-conversion-kernels", "quiet-no-graph", Severity.NONE),
        ("IND012-device-copy-in-graph", "fires-mask-on-cpu", Severity.WARNING),
        ("IND012-device-copy-in-graph", "fires-one-small-tensor", Severity.INFO),
        ("IND017-attention-not-fused", "quiet-x-transformers", Severity.NONE),
        ("IND017-attention-not-fused", "quiet-short-sequence", Severity.NONE),
        ("IND017-attention-not-fused", "quiet-capped-scores", Severity.NONE),
        ("IND017-attention-not-fused", "fires-dropout", Severity.INFO),
        ("IND017-attention-not-fused", "fires-three-dimensions", Severity.WARNING),
        ("IND017-attention-not-fused", "fires-called-with-three", Severity.WARNING),
        ("IND017-attention-not-fused", "quiet-dropout-in-training-only", Severity.NONE),
        ("IND021-int8-gemm-not-lowered", "fires-not-frozen", Severity.WARNING),
        ("IND021-int8-gemm-not-lowered", "fires-weights-only", Severity.INFO),
        ("IND024-layout-optimisation-skipped", "quiet-tiny", Severity.NONE),
        ("IND025-flex-attention-eager", "fires-eager", Severity.ERROR),
    ],
)
def test_severity_follows_from_the_evidence(folder: str, name: str, severity: Severity) -> None:
    assert only(folder, name).severity is severity


@pytest.mark.parametrize(
    ("folder", "name", "line", "function"),
    [
        ("IND001-fallback-kernel", "fires-cumsum", 27, "positions"),
        ("IND005-cpp-kernel-not-vectorised", "fires-index-wraps-around", 24, "rotate"),
        ("IND005-cpp-kernel-not-vectorised", "fires-operator-without-vector-form", 17, "lanes"),
        ("IND006-omp-region-inside-serial-loop", "fires-narrow", 16, "total"),
        ("IND008-layout-conversion-kernels", "fires-contiguous", 17, "swapped"),
        ("IND009-atomic-scatter", "fires-index-add", 18, "messages"),
        ("IND017-attention-not-fused", "fires-masked-with-where", 24, "split"),
    ],
)
def test_the_line_of_the_program_is_named(folder: str, name: str, line: int, function: str) -> None:
    where = only(folder, name).where
    assert where is not None
    assert where.file.startswith("/home/ana/proj/ind")
    assert (where.line, where.function) == (line, function)


def test_a_copy_that_no_line_asks_for_has_no_advice() -> None:
    """Who only sees generated code does not know what to leave out; a reshape has to copy."""
    folder = "IND008-layout-conversion-kernels"
    reasons = [only(folder, name).harmless or "" for name in ("quiet-no-graph", "quiet-reshape")]
    assert "TORCH_LOGS=graph_code" in reasons[0]
    assert "no line of the program asks" in reasons[1]
    assert not only(folder, "quiet-reshape").advice


def test_several_lines_that_ask_for_copies_are_not_denied(tmp_path: Path) -> None:
    """Which of them a kernel belongs to is unknown, and none is said to be missing."""
    (path,) = FIXTURES.glob("IND008-*/fires-contiguous.log")
    before, asks, after = path.read_text().partition("        return (contiguous,)")
    head = before[before.rindex("V1120") :]
    second = (
        "        # File: /home/ana/proj/ind008_layouts.py:18 in swapped, code: x.contiguous()\n"
        f'{head}        contiguous_1: "f32[8, 512, 256][131072, 256, 1]cpu" = l_x_.contiguous()\n'
    )
    (tmp_path / "run.log").write_text(before + second + head + asks + after)
    evidence, inputs = read([str(tmp_path / "run.log")])
    (found,) = judge(evidence, inputs, rules=select_rules(["IND008"])).findings
    assert "lines of the program ask for copies" in (found.harmless or "")


def test_every_layer_is_counted() -> None:
    found = only("IND004-cpu-inference-not-frozen", "fires-resnet")
    assert found.count == 9 + 1  # convolutions, and the classifier
    assert "9 convolutions and 1 matrix product" in found.title


def test_the_sizes_of_a_scalar_loop_are_multiplied_out() -> None:
    found = only("IND005-cpp-kernel-not-vectorised", "fires-index-wraps-around")
    assert f"{16 * 512 * 60:,} elements" in found.message
    assert "`cos`, `sin`" in found.title


@pytest.mark.parametrize(
    ("size", "severity"),
    [
        (1 << 24, Severity.INFO),
        (262_144, Severity.INFO),
        (262_143, None),
    ],
)
def test_random_numbers_count_from_where_eager_ones_are_faster(
    tmp_path: Path, size: int, severity: Severity | None
) -> None:
    """Two dropouts that are fused into one loop."""
    (path,) = FIXTURES.glob("IND005-*/fires-dropout.log")
    (tmp_path / "run.log").write_text(path.read_text().replace("262144L", f"{size}L"))
    evidence, inputs = read([str(tmp_path / "run.log")])
    found = judge(evidence, inputs, rules=select_rules(["IND005"])).findings
    assert [one.severity for one in found] == ([severity] if severity else [])
    for one in found:
        assert f"{size:,} elements" in one.message
        assert [advice.id for advice in one.advice] == ["fallback-random"]


def test_threads_are_started_once_per_outer_turn() -> None:
    found = only("IND006-omp-region-inside-serial-loop", "fires-narrow")
    assert "96 times" in found.title


def test_the_same_finding_has_the_same_id_with_and_without_modules() -> None:
    folder = "IND005-cpp-kernel-not-vectorised"
    whole, alone = only(folder, "fires-index-wraps-around"), only(folder, "fires-kernel-code-alone")
    assert whole.id == alone.id


@pytest.mark.parametrize(("torch", "told"), [(None, False), ((2, 4, 1), True)])
def test_a_newer_torch_is_advised_where_the_version_is_known(
    torch: tuple[int, ...] | None, *, told: bool
) -> None:
    (rule,) = select_rules(["IND005"])
    remedy = next(one for one in rule.remedies if one.id == "newer-torch")
    data = CppKernelNotVectorised.Data(
        cause="scalar", kernels=("cpp_fused_add_0",), functions=(), elements=1 << 23, torch=torch
    )
    assert remedy.applies(data) is told
    assert remedy.until == "2.4"
