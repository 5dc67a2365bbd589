"""When layouts are worth a warning: enough time, enough of it, and somebody who can change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.onednn.test_more_rules import conv, layers, matmul, one
from tests.onednn.test_rules import HEAD, X86
from tracelens import analyze
from tracelens.report import Severity
from tracelens.rules.one.activation_layout_ping_pong import ActivationLayoutPingPong
from tracelens.rules.one.gemm_fallback_convolution import GemmFallbackConvolution


def as_signals(lines: list[str]) -> list[str]:
    """Return the lines with each image as torch hands a signal over: of height 1."""
    lines = [line.replace("x16x16,", "x1x256,") for line in lines]
    return [
        line.replace("_ih16oh16kh3sh1dh0ph1_iw16ow16", "_ih1oh1kh1sh1dh0ph0_iw256ow256")
        for line in lines
    ]


def test_signals_have_no_other_layout_and_are_no_warning() -> None:
    """A user of a library cannot write its layers anew."""
    images, signals = layers(32, 48), as_signals(layers(32, 48))
    assert one(ActivationLayoutPingPong(), X86, *images).severity is Severity.WARNING
    found = one(ActivationLayoutPingPong(), X86, *signals)
    assert (found.advice, found.severity) == ((), Severity.NONE)
    assert "no channels-last layout" in (found.harmless or "")


def test_a_convolution_of_a_signal_is_a_note() -> None:
    images = [conv("x64:gemm:jit", 5.0)] * 4
    assert one(GemmFallbackConvolution(), X86, *images).severity is Severity.WARNING
    found = one(GemmFallbackConvolution(), X86, *as_signals(images))
    assert (found.advice, found.severity) == ((), Severity.NONE)


@pytest.mark.parametrize(("others", "expected"), [(30.0, Severity.WARNING), (100.0, Severity.INFO)])
def test_a_fortieth_of_the_time_is_no_warning(others: float, expected: Severity) -> None:
    """3.2 ms of conversions are 7 % of 43 ms, and 3 % of 113 ms."""
    rest = [matmul("brg_matmul:avx512_core", others / 4)] * 4
    found = one(ActivationLayoutPingPong(), X86, *layers(32, 48), *rest)
    assert found.severity is expected


REORDER = (
    f"{HEAD}exec,cpu,reorder,jit:uni,undef,src:f32::blocked:acdb::f0 "
    "dst:f32::blocked:Acdb16a::f0,attr-scratchpad:user,,16x3x7x7,{ms}\n"
)
COMPILED = Path(__file__).parents[2] / (
    "fixtures/rules/RCP016-zero-one-specialisation/quiet-next-token.log"
)


def test_a_run_that_compiles_is_judged_by_what_it_took_with_any_backend(tmp_path: Path) -> None:
    """Generic copies take 0.9 ms: all of some pasted lines, and next to nothing of a run."""
    slow = REORDER.replace("jit:uni", "simple:any").replace("16x3x7x7", "16x16x8x8")
    for before, told in (("", True), (COMPILED.read_text("utf-8"), False)):
        log = tmp_path / "run.log"
        log.write_text(before + slow.format(ms=0.3) * 3, encoding="utf-8")
        codes = {one.code for one in analyze(str(log)).findings}
        assert ("ONE005" in codes) is told


def test_signals_are_not_made_channels_last(tmp_path: Path) -> None:
    """`channels_last` raises for three dimensions; of images it stays the advice."""
    (folder,) = (Path(__file__).parents[2] / "fixtures" / "rules").glob("ONE007-*")
    text = (folder / "quiet-signals.log").read_text(encoding="utf-8")
    log = tmp_path / "run.log"
    for height, advised in (("ih1oh1kh1", False), ("ih9oh7kh3", True)):
        log.write_text(text.replace("ih1oh1kh1", height), encoding="utf-8")
        found = [one for one in analyze(log).findings if one.code == "ONE007"]
        assert found
        assert any(one.severity is not Severity.NONE for one in found) is advised
