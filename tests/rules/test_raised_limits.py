"""A known number of variants fits a raised limit: it is advised where the limit was hit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_recompile_advice import ids, recompiled, told
from tracelens.evidence import Place, Seen
from tracelens.frames.compile_seconds import _own_seconds
from tracelens.logs.torch_log import CompileSpan
from tracelens.report import Severity

NOTE = (
    ". Guard failed on a parameter, consider using torch._dynamo.config."
    "force_parameter_static_shapes = False to allow dynamism on parameters."
)
HEAD = "W1122 09:16:00.073000 528 torch/_dynamo/convert_frame.py:1994] [0/8] "
MEMBER = (
    "tensor 'member._modules['body']._parameters['bias']' size mismatch at index 0. expected {}"
)
LAYER = "tensor 'self._modules['body']._parameters['bias']' size mismatch at index 0. expected {}"
WEIGHT = "tensor 'weight' size mismatch at index 0. expected {}"
FROZEN = "tensor 'self._modules['{}']._parameters['bias']' requires_grad mismatch. expected "
FROZEN += "requires_grad=0"


def log(reason: str, count: int, *, hit: bool) -> str:
    note = NOTE if "_parameters" in reason else ""
    reasons = [f"{reason.format(n)}, actual {n + 1}{note}" for n in range(4, 4 + count)]
    text = recompiled("forward", *reasons)
    if "requires_grad" in reason:
        text = recompiled("forward", *(reason.format(n) for n in range(count)))
    limit = f"{HEAD}torch._dynamo hit config.recompile_limit (8)\n"
    limit += f"{HEAD}   function: 'forward' (/home/ana/proj/net.py:14)\n"
    limit += f"{HEAD}   last reason: 0/7: {reason.format(11)}\n"
    return text + limit if hit else text


@pytest.mark.parametrize(
    ("code", "reason", "first", "advised"),
    [
        ("RCP018", MEMBER, "entry-each", "entry-each"),
        ("RCP018", LAYER, "compile-around", "raise-limit"),
        ("RCP012", FROZEN, "raise-limit", "raise-limit"),
    ],
)
def test_a_limit_that_variants_hit_is_raised(
    code: str, reason: str, first: str, advised: str, tmp_path: Path
) -> None:
    found = told(code, log(reason, 8, hit=True), tmp_path)
    assert ids(found)[0] == first
    (advice,) = (one for one in found.advice if one.id == advised)
    assert advice.setting == "torch._dynamo.config.recompile_limit = 64"
    # With entries left there is nothing to raise; with more than there usually are, it was.
    some = told(code, log(reason, 4, hit=False), tmp_path)
    assert advised not in ids(some)
    assert some.severity is not Severity.NONE
    assert told(code, log(reason, 12, hit=False), tmp_path).severity is Severity.NONE


def test_a_weight_that_is_an_argument_has_no_known_number_of_shapes(tmp_path: Path) -> None:
    found = told("RCP002", log(WEIGHT, 12, hit=False), tmp_path)
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("guard", "is_advised"),
    [
        ("self._modules['fc'].active == 'tenant-{}'", True),
        ("active == 'tenant-{}'", False),
    ],
)
def test_a_name_that_a_module_keeps_is_looked_up_where_it_is_set(
    guard: str, is_advised: bool, tmp_path: Path
) -> None:
    found = told("RCP006", recompiled("forward", *map(guard.format, range(4))), tmp_path)
    assert (ids(found)[0] == "keep-chosen") == is_advised
    assert ("look-up-outside" in ids(found)) != is_advised
    if is_advised:
        assert "sets `self.fc.active`" in found.advice[0].text


def spans(*found: tuple[float, float]) -> list[Seen[CompileSpan]]:
    return [
        Seen(
            CompileSpan(frame=f"{number}/0", writer="", seconds=seconds),
            1,
            [Place("run.log", number, "", f"{number}/0", start)],
            "",
        )
        for number, (start, seconds) in enumerate(found)
    ]


@pytest.mark.parametrize(
    ("found", "own"),
    [
        ([(0, 10)], [10]),
        # A frame waits for its backward pass while others are compiled.
        ([(0, 120), (10, 30), (50, 40)], [50, 30, 40]),
        ([(0, 10), (8, 5)], [8, 5]),
        ([(0, 10), (2, 6), (3, 2)], [4, 4, 2]),
        ([(5, 2), (0, 1)], [2, 1]),
    ],
)
def test_seconds_of_compilations_within_are_their_own(
    found: list[tuple[float, float]], own: list[float]
) -> None:
    assert _own_seconds(spans(*found)) == own


ENDED = (
    "torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True. "
    "Excessive recompilations can degrade performance.\n"
)


@pytest.mark.parametrize(
    ("function", "source", "advised"),
    [
        ("orthogonalize", "params[0]", ["parameter-symbols", "raise-limit"]),
        ("forward", "weight", ["compile-around", "parameter-symbols", "raise-limit"]),
        ("project", "self._parameters['weight']", ["compile-around", "raise-limit"]),
    ],
)
def test_parameters_of_an_optimizer_are_of_no_layer(
    function: str, source: str, advised: list[str], tmp_path: Path
) -> None:
    reason = f"tensor '{source}' size mismatch at index 1. expected 640, actual 8{NOTE}"
    text = (
        f"{HEAD}torch._dynamo hit config.recompile_limit (8)\n"
        f"{HEAD}   function: '{function}' (/home/ana/proj/net.py:14)\n"
        f"{HEAD}   last reason: 0/7: {reason}\n{ENDED}"
    )
    assert ids(told("RCP001", text, tmp_path)) == advised
