"""When layouts are worth a warning: enough time, enough of it, and somebody who can change them."""

from __future__ import annotations

import pytest

from tests.onednn.test_more_rules import conv, layers, matmul, one
from tests.onednn.test_rules import X86
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
    assert ([advice.id for advice in found.advice], found.severity) == (
        ["two-dimensional"],
        Severity.INFO,
    )


def test_a_convolution_of_a_signal_is_no_warning_where_nobody_knows_whose_it_is() -> None:
    images = [conv("x64:gemm:jit", 5.0)] * 4
    assert one(GemmFallbackConvolution(), X86, *images).severity is Severity.WARNING
    assert one(GemmFallbackConvolution(), X86, *as_signals(images)).severity is Severity.INFO


@pytest.mark.parametrize(("others", "expected"), [(30.0, Severity.WARNING), (100.0, Severity.INFO)])
def test_a_fortieth_of_the_time_is_no_warning(others: float, expected: Severity) -> None:
    """3.2 ms of conversions are 7 % of 43 ms, and 3 % of 113 ms."""
    rest = [matmul("brg_matmul:avx512_core", others / 4)] * 4
    found = one(ActivationLayoutPingPong(), X86, *layers(32, 48), *rest)
    assert found.severity is expected
