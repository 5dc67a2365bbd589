"""A few pasted lines are judged, too, by what stands beside what."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.onednn.test_rules import ARM, HEAD, findings, linear, reorder
from tracelens import analyze
from tracelens.onednn.runs import Spent
from tracelens.report import Confidence, Severity
from tracelens.rules.one.activation_layout_ping_pong import ActivationLayoutPingPong
from tracelens.rules.one.amx_available_not_used import AmxAvailableNotUsed
from tracelens.rules.one.plain_layout_weights import PlainLayoutWeights
from tracelens.rules.one.weight_reorder_every_iteration import WeightReorderEveryIteration

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
SHAPES = (64, 128, 256)


def weighted(size: int, ms: float) -> str:
    args = f"src:f32::blocked:ab::f0 wei:f32:a:blocked:BA{size}a::f0 dst:f32::blocked:ab::f0"
    return (
        f"{HEAD}exec,cpu,matmul,brg_matmul:avx512_core,undef,{args},"
        f"attr-scratchpad:user,,32x{size}:{size}x{size},{ms}"
    )


def packed(size: int, ms: float) -> str:
    return reorder("ba", f"BA{size}a", f"{size}x{size}", ms, dtype="f32")


def calls(ms: float, sizes: tuple[int, ...] = SHAPES) -> list[str]:
    return [line for size in sizes for line in (packed(size, ms), weighted(size, 1.0))]


def test_a_reorder_before_each_of_three_calls() -> None:
    (finding,) = findings(WeightReorderEveryIteration(), calls(0.5))
    assert finding.confidence is Confidence.MEDIUM
    assert finding.data["is_excerpt"]
    assert (finding.data["reorders"], finding.data["executions"]) == (3, 3)
    assert finding.data["share"] == pytest.approx(1 / 3)
    assert "33 %" in finding.message


@pytest.mark.parametrize(
    "lines",
    [
        # They take less than a fifth of the time shown, or are two.
        calls(0.2),
        calls(0.5, SHAPES[:2]),
        # Packed first, then used: that is how weights are packed once.
        [*(packed(size, 0.5) for size in SHAPES), *(weighted(size, 1.0) for size in SHAPES)],
    ],
)
def test_no_reorder_before_each_call(lines: list[str]) -> None:
    assert not findings(WeightReorderEveryIteration(), lines)


def test_in_a_long_log_one_iteration_shows_nothing() -> None:
    others = [weighted(512 + n, 0.01) for n in range(60)]
    assert not findings(WeightReorderEveryIteration(), [*calls(0.5), *others])


def convolution(channels: int, tag: str, ms: float) -> str:
    args = (
        f"src:f32:a:blocked:{tag}::f0 wei:f32:a:blocked:ABcd16b16a::f0 "
        f"bia:undef::undef::: dst:f32:a:blocked:{tag}::f0"
    )
    sizes = f"mb1_ic{channels}oc{channels}_ih14oh14kh1sh1dh0ph0_iw14ow14kw1sw1dw0pw0"
    return (
        f"{HEAD}exec,cpu,convolution,jit:avx512_core,forward_training,{args},"
        f"attr-scratchpad:user,alg:convolution_direct,{sizes},{ms}"
    )


def surrounded(channels: int, ms: float, layer: float = 1.0) -> list[str]:
    shape = f"1x{channels}x14x14"
    into = reorder("abcd", "aBcd16b", shape, ms, dtype="f32")
    back = reorder("aBcd16b", "abcd", shape, ms, dtype="f32")
    return [into, convolution(channels, "aBcd16b", layer), back]


def test_two_layers_between_their_conversions() -> None:
    (finding,) = findings(ActivationLayoutPingPong(), [*surrounded(16, 0.5), *surrounded(32, 0.5)])
    assert finding.confidence is Confidence.MEDIUM
    assert finding.data["ranks"] == [4]
    assert [one.id for one in finding.advice] == ["channels-last", "compile"]


@pytest.mark.parametrize(
    "lines",
    [
        [*surrounded(16, 0.1), *surrounded(32, 0.1)],
        surrounded(16, 0.5),
        # One conversion at the input and one at the output of the network.
        [
            reorder("abcd", "aBcd16b", "1x16x14x14", 0.5, dtype="f32"),
            convolution(16, "aBcd16b", 1.0),
            convolution(32, "aBcd16b", 1.0),
            reorder("aBcd16b", "abcd", "1x32x14x14", 0.5, dtype="f32"),
        ],
    ],
)
def test_too_little_to_say_so(lines: list[str]) -> None:
    assert not findings(ActivationLayoutPingPong(), lines)


def left(channels: int, ms: float, *, between: int = 0) -> list[str]:
    """Return two layers, between which something is computed in the default layout."""
    shape = f"1x{channels}x14x14"
    away = reorder("aBcd16b", "abcd", shape, ms, dtype="f32")
    again = reorder("abcd", "aBcd16b", shape, ms, dtype="f32")
    others = [plain(64, 0.1)] * between
    layer = convolution(channels, "aBcd16b", 1.0)
    return [layer, away, *others, again, layer.replace("ih14", "ih15")]


def test_one_tensor_that_leaves_its_layout_and_goes_straight_back() -> None:
    (finding,) = findings(ActivationLayoutPingPong(), left(16, 0.5))
    assert finding.confidence is Confidence.MEDIUM
    assert "straight back" in finding.title
    assert (finding.data["reorders"], finding.data["ms"]) == (2, 1.0)
    assert [one.text.split("exec,cpu,")[1].split(",")[0] for one in finding.evidence] == [
        "convolution",
        "reorder",
        "reorder",
    ]
    # It takes less than a fifth of the time; other work stands between; the size is another one.
    assert not findings(ActivationLayoutPingPong(), left(16, 0.2))
    assert not findings(ActivationLayoutPingPong(), left(16, 0.5, between=2))
    first, away, again, last = left(16, 0.5)
    assert not findings(
        ActivationLayoutPingPong(), [first, away, again.replace("1x16x", "1x32x"), last]
    )


def plain(size: int, ms: float, impl: str = "brg_matmul:avx512_core_bf16") -> str:
    args = "src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0"
    return (
        f"{HEAD}exec,cpu,matmul,{impl},undef,{args},"
        f"attr-scratchpad:user,,68x{size}:{size}x{size},{ms}"
    )


def test_three_products_with_plain_weights() -> None:
    lines = [plain(size, 1.0) for size in (192, 256, 384)]
    (finding,) = findings(PlainLayoutWeights(), lines)
    assert finding.confidence is Confidence.LOW
    assert not findings(PlainLayoutWeights(), lines[:2])


def test_a_kernel_for_amx_shows_that_it_is_there() -> None:
    amx = plain(256, 1.0, "brg_matmul:avx10_1_512_amx")
    (finding,) = findings(AmxAvailableNotUsed(), [amx, plain(384, 1.0)])
    assert finding.data["is_excerpt"]
    assert "brg_matmul:avx10_1_512_amx" in finding.evidence[0].text
    # Without it, and without a header, nobody knows of AMX; another header says that it is not.
    assert not findings(AmxAvailableNotUsed(), [plain(384, 1.0)])
    assert not findings(AmxAvailableNotUsed(), [ARM, amx, linear("brg:any", 1.0)])


def test_text_and_table_tell_the_same_share() -> None:
    names = ["ONE001-reference-kernel-dispatch/fires-aarch64-operators.log.gz"]
    names += ["ONE009-low-precision-emulated/fires-operators.log"]
    for name in names:
        report = analyze(str(RULES / name))
        rows = report.tables["primitives"]
        for finding in report.findings:
            if finding.code != "ONE001" or finding.data["primitive"] == "rnn":
                continue
            keys = ("primitive", "impl", "dtypes", "shape")
            same = [r["share"] for r in rows if all(r[k] == finding.data[k] for k in keys)]
            assert sum(same) == pytest.approx(finding.data["share"], abs=2e-4)
        assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=0.01)


def test_benchmarks_of_autotuning_are_no_iterations(tmp_path: Path) -> None:
    name = "ONE015-many-tiny-primitives/fires-many-layers.log.gz"
    text = gzip.decompress((RULES / name).read_bytes()).decode()
    table = (
        "AUTOTUNE mm(64x32, 32x16)\n  mm 0.0100 ms 100.0%\n  cpp_CppMicroGemmFP32Vec_0 0.02 ms\n"
    )
    path = tmp_path / "run.log"
    path.write_text(text + table, encoding="utf-8")
    assert [f.code for f in analyze(str(RULES / name), select=["ONE015"]).findings] == ["ONE015"]
    assert not analyze(str(path), select=["ONE015"]).findings


def spread(executions: int, ms: float, share: float) -> list[str]:
    """Return a log in which weights are reordered before every use, for ``ms`` in all."""
    times = executions // 2
    each = ms / times
    return [packed(64, each), weighted(64, each / share - each)] * times


@pytest.mark.parametrize(
    ("executions", "ms", "severity", "why"),
    [
        (62, 0.45, Severity.NONE, "they take 0.45 ms in all"),
        (62, 0.55, Severity.WARNING, None),
        (60, 0.1, Severity.INFO, None),  # a fragment: what it shows is a part of a longer run
        (600, 0.1, Severity.NONE, "they take 100 us in all"),
        (600, 100.0, Severity.WARNING, None),
    ],
)
def test_a_share_of_next_to_nothing_is_a_note(
    executions: int, ms: float, severity: Severity, why: str | None
) -> None:
    (finding,) = findings(WeightReorderEveryIteration(), spread(executions, ms, 0.22))
    assert finding.data["share"] == pytest.approx(0.22, abs=0.01)
    assert finding.severity is severity
    assert finding.harmless == why


@pytest.mark.parametrize(
    ("times", "ms", "severity"),
    [
        (12, 0.45, Severity.NONE),  # 72 executions
        (12, 0.55, Severity.WARNING),
        (10, 0.45, Severity.INFO),  # 60: a fragment
    ],
)
def test_so_are_activations_to_and_fro(times: int, ms: float, severity: Severity) -> None:
    lines = [
        line
        for _ in range(times)
        for channels in (16, 32)
        for line in surrounded(channels, ms / (4 * times), 0.1)
    ]
    (finding,) = findings(ActivationLayoutPingPong(), lines)
    assert finding.data["ms"] == pytest.approx(ms)
    assert finding.severity is severity


def test_of_a_whole_run_less_than_a_millisecond_is_not_worth_a_word() -> None:
    """Of pasted lines only the share is known; a run that compiles shows how much it is in all."""
    pasted, run = Spent(10.0), Spent(10.0, is_run=True)
    assert pasted.matters(0.3)
    assert not pasted.matters(0.1)
    assert not run.matters(0.9)
    assert run.matters(1.0)
    assert Spent(1000.0).matters(1.0)
