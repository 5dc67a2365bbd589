"""What the other oneDNN rules conclude from logs whose truth is known by construction."""

import pytest

from tests.onednn.test_rules import ARM, HEAD, ONE_THREAD, X86, findings, linear, reorder
from tracelens.engine import select_rules
from tracelens.onednn.reasons import Reason
from tracelens.onednn.remedies import against
from tracelens.report import Finding, Severity, Where
from tracelens.rules import Rule
from tracelens.rules.log.executions_not_recorded import ExecutionsNotRecorded
from tracelens.rules.one.activation_layout_ping_pong import ActivationLayoutPingPong
from tracelens.rules.one.amx_available_not_used import AmxAvailableNotUsed
from tracelens.rules.one.deferred_to_nobody import DeferredToNobody
from tracelens.rules.one.disguised_reference_gemm import DisguisedReferenceGemm
from tracelens.rules.one.fast_implementation_rejected import FastImplementationRejected
from tracelens.rules.one.gemm_fallback_convolution import GemmFallbackConvolution
from tracelens.rules.one.integer_weights_not_decompressed import IntegerWeightsNotDecompressed
from tracelens.rules.one.isa_capped import IsaCapped
from tracelens.rules.one.low_precision_emulated import LowPrecisionEmulated
from tracelens.rules.one.many_tiny_primitives import ManyTinyPrimitives
from tracelens.rules.one.plain_layout_weights import PlainLayoutWeights
from tracelens.rules.one.plain_prepack_target import PlainPrepackTarget
from tracelens.rules.one.post_op_not_fused import PostOpNotFused
from tracelens.rules.one.primitive_cache_thrash import PrimitiveCacheThrash
from tracelens.rules.one.reference_kernel_dispatch import ReferenceKernelDispatch
from tracelens.rules.one.runtime_dims import RuntimeDims
from tracelens.rules.one.slow_reorder_implementation import SlowReorderImplementation
from tracelens.rules.one.strict_accumulation_f16 import StrictAccumulationF16
from tracelens.rules.one.verbose_summary import VerboseSummary

INFO = "onednn_verbose,v1,info,"
VERSION = f"{INFO}oneDNN v3.12.0 (commit 80afa71)"
AMX = f"{INFO}cpu,isa:Intel AVX10.1 and Intel AMX with bfloat16 and 8-bit integer support"
NO_BF16 = f"{INFO}cpu,isa:Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions"


def conv(impl: str, ms: float, *, tag: str = "abcd", oc: int = 32, groups: int = 1) -> str:
    group = f"g{groups}" if groups > 1 else ""
    return (
        f"{HEAD}exec,cpu,convolution,{impl},forward_training,src:f32:a:blocked:{tag}::f0 "
        f"wei:f32:a:blocked:abcd::f0 bia:undef::undef::: dst:f32:a:blocked:{tag}::f0,"
        f"attr-scratchpad:user,alg:convolution_direct,{group}mb2_ic16oc{oc}_ih16oh16kh3sh1dh0ph1_"
        f"iw16ow16kw3sw1dw0pw1,{ms}"
    )


def matmul(
    impl: str,
    ms: float,
    shape: str = "64x256:256x256",
    *,
    types: str = "bf16:bf16:bf16",
    tag: str = "ba",
    attrs: str = "",
    stage: str = "exec",
    aux: str = "",
) -> str:
    source, weights, result = types.split(":")
    return (
        f"{HEAD}{stage},cpu,matmul,{impl},undef,src:{source}::blocked:ab::f0 "
        f"wei:{weights}::blocked:{tag}::f0 dst:{result}::blocked:ab::f0,"
        f"attr-scratchpad:user{attrs},{aux},{shape},{ms}"
    )


def one(rule: Rule, *lines: str) -> Finding:
    (finding,) = findings(rule, lines)
    return finding


# ONE002.


def test_only_the_default_layout_is_to_blame() -> None:
    plain = [conv("x64:gemm:jit", 5.0)] * 4
    last = [conv("x64:gemm:jit", 5.0, tag="acdb")] * 4
    assert one(GemmFallbackConvolution(), X86, *plain).severity is Severity.WARNING
    assert one(GemmFallbackConvolution(), X86, *last).severity is Severity.INFO


def test_a_convolution_of_microseconds_is_no_warning() -> None:
    """Four of 46 us are a third of what oneDNN took, and nothing beside a recompile of 50 s."""
    for ms, expected in ((0.046, Severity.INFO), (0.2, Severity.WARNING)):
        lines = [conv("x64:gemm:jit", ms)] * 4
        assert one(GemmFallbackConvolution(), X86, *lines).severity is expected


@pytest.mark.parametrize("impl", ["gemm:acl", "indirect_gemm:acl", "brg_conv_fwd:avx512_core"])
def test_convolutions_that_are_no_fallback(impl: str) -> None:
    assert findings(GemmFallbackConvolution(), [conv(impl, 5.0)] * 4) == []


def test_gemm_of_another_architecture_is_not_this_rules() -> None:
    assert findings(GemmFallbackConvolution(), [ARM, *[conv("gemm:jit", 5.0)] * 4]) == []


def test_first_executions_and_waits_do_not_accuse_a_small_convolution() -> None:
    fast = [conv("jit:avx512_core", 20.0, oc=64)] * 5
    once = [conv("x64:gemm:jit", 84.0)]
    waits = [conv("x64:gemm:jit", ms) for ms in (0.01, 0.01, 12.0)]
    assert findings(GemmFallbackConvolution(), [X86, *fast, *once]) == []
    assert findings(GemmFallbackConvolution(), [X86, *fast, *waits]) == []


def test_equal_work_elsewhere_makes_the_estimate() -> None:
    lines = [conv("x64:gemm:jit", 5.0)] * 4 + [conv("jit:avx512_core", 1.0, tag="acdb")] * 4
    cost = one(GemmFallbackConvolution(), X86, *lines).cost
    assert cost is not None
    assert (cost.basis, cost.ms) == ("estimated", 16.0)


# ONE004.


def layers(*widths: int, times: int = 4, out: bool = True) -> list[str]:
    lines = []
    for _ in range(times):
        for width in widths:
            shape = f"2x{width}x16x16"
            lines.append(reorder("abcd", "aBcd16b", "2x16x16x16", 0.2, "f32"))
            lines.append(conv("jit:avx512_core", 1.0, tag="aBcd16b", oc=width))
            if out:
                lines.append(reorder("aBcd16b", "abcd", shape, 0.2, "f32"))
    return lines


def test_layers_between_conversions() -> None:
    found = one(ActivationLayoutPingPong(), X86, *layers(32, 48))
    assert found.count == 16
    assert found.cost is not None
    assert found.cost.basis == "upper_bound"


def test_one_layer_may_be_the_whole_network() -> None:
    assert findings(ActivationLayoutPingPong(), [X86, *layers(32)]) == []


def test_conversions_on_one_side_only_are_no_ping_pong() -> None:
    assert findings(ActivationLayoutPingPong(), [X86, *layers(32, 48, out=False)]) == []


def test_a_single_eager_pass_is_no_habit() -> None:
    assert findings(ActivationLayoutPingPong(), [X86, *layers(32, 48, times=1)]) == []


# ONE005, ONE006.


def simple(ms: float, shape: str = "64x64x32x32") -> str:
    return reorder("abcd", "acdb", shape, ms, "f32").replace("jit:uni", "simple:any")


def test_a_generic_copy_is_measured_against_the_others() -> None:
    others = [reorder("abcd", "aBcd16b", "64x64x32x32", 4.0, "f32")] * 3
    assert findings(SlowReorderImplementation(), [X86, *others, *[simple(8.0)] * 4]) == []
    slow = one(SlowReorderImplementation(), X86, *others, *[simple(80.0)] * 4)
    assert slow.cost is not None
    assert slow.cost.ms == pytest.approx(304, rel=0.05)


def test_packing_and_small_tensors_take_it_rightly() -> None:
    once = [simple(80.0)] * 2
    small = [simple(0.9, "4x4x4x4")] * 50
    assert findings(SlowReorderImplementation(), [X86, *once, *small]) == []


def test_creations_of_two_processes_are_no_repetition() -> None:
    made = [
        matmul("brg_matmul:avx2", 0.4, f"{n}x64:64x64", stage="create:cache_miss") for n in range(9)
    ]
    assert findings(PrimitiveCacheThrash(), [VERSION, *made]) == []
    assert findings(PrimitiveCacheThrash(), [VERSION, VERSION, *made, *made]) == []
    again = one(PrimitiveCacheThrash(), VERSION, *made, *made)
    assert again.count == 9
    assert again.cost is not None
    assert again.cost.ms == pytest.approx(3.6)


def test_hits_are_no_misses() -> None:
    hits = [matmul("brg_matmul:avx2", 0.001, stage="create:cache_hit")] * 50
    assert findings(PrimitiveCacheThrash(), [VERSION, *hits]) == []


# ONE008, ONE009, ONE010, ONE012.


def test_a_new_enough_header_is_not_capped() -> None:
    for header in (X86, AMX, ARM, f"{INFO}cpu,isa:Intel AVX2", f"{INFO}cpu,isa:Generic"):
        assert findings(IsaCapped(), [header, matmul("brg_matmul:avx2", 1.0)]) == []
    assert one(IsaCapped(), f"{INFO}cpu,isa:Intel AVX").severity is Severity.WARNING


def test_bfloat16_without_instructions() -> None:
    lines = [matmul("gemm:jit:bf16", 5.0)] * 4
    assert one(LowPrecisionEmulated(), NO_BF16, *lines).cost is None
    for header in (X86, AMX, ARM):
        assert findings(LowPrecisionEmulated(), [header, *lines]) == []


def test_bfloat16_that_is_faster_all_the_same_is_left_alone() -> None:
    lines = [matmul("gemm:jit:bf16", 5.0)] * 4
    slower = [matmul("brg_matmul:avx512_core", 9.0, types="f32:f32:f32")] * 4
    faster = [matmul("brg_matmul:avx512_core", 3.0, types="f32:f32:f32")] * 4
    assert findings(LowPrecisionEmulated(), [NO_BF16, *lines, *slower]) == []
    cost = one(LowPrecisionEmulated(), NO_BF16, *lines, *faster).cost
    assert cost is not None
    assert cost.ms == pytest.approx(8.0)


def test_what_one001_accuses_is_not_accused_again() -> None:
    lines = [NO_BF16, *[matmul("ref:any", 50.0)] * 4]
    assert len(findings(ReferenceKernelDispatch(), lines)) == 1
    for rule in (LowPrecisionEmulated(), PlainLayoutWeights(), AmxAvailableNotUsed()):
        assert findings(rule, lines) == []
    weights = [matmul("ref:any", 50.0, types="f32:s8:f32")] * 4
    (finding,) = findings(IntegerWeightsNotDecompressed(), [X86, *weights])
    assert finding.severity is Severity.INFO
    assert finding.cost is None


@pytest.mark.parametrize(
    ("impl", "shape", "types", "fires"),
    [
        ("brg_matmul:avx512_core_bf16", "64x256:256x256", "bf16:bf16:bf16", True),
        ("brg_matmul:avx10_1_512_amx", "64x256:256x256", "bf16:bf16:bf16", False),
        ("brg_matmul:avx512_core_bf16", "8x256:256x256", "bf16:bf16:bf16", False),
        ("brg_matmul:avx10_1_512", "64x256:256x256", "f16:f16:f16", True),  # as bfloat16
        ("brg_matmul:avx10_1_512", "8x256:256x256", "f16:f16:f16", False),
        ("brg_matmul:avx512_core_vnni", "64x256:256x256", "u8:s8:f32", True),
        ("gemm:jit:bf16", "64x256:256x256", "bf16:bf16:bf16", False),
    ],
)
def test_products_that_amx_could_take(impl: str, shape: str, types: str, fires: bool) -> None:
    lines = [AMX, *[matmul(impl, 2.0, shape, types=types)] * 4]
    assert bool(findings(AmxAvailableNotUsed(), lines)) is fires
    assert findings(AmxAvailableNotUsed(), [X86, *lines[1:]]) == []


@pytest.mark.parametrize(
    ("version", "attrs", "fires"),
    [("3.12.0", "", True), ("3.8.1", "", False), ("3.12.0", " attr-acc-mode:relaxed", False)],
)
def test_strict_accumulation(version: str, attrs: str, fires: bool) -> None:
    runs = [matmul("gemm:acl", 2.0, types="f16:f16:f16", attrs=attrs)] * 3
    header = f"{INFO}oneDNN v{version} (commit x)"
    assert bool(findings(StrictAccumulationF16(), [header, ARM, *runs])) is fires
    assert findings(StrictAccumulationF16(), [header, X86, *runs]) == []


# ONE013, ONE015.


def gelu(ms: float, shape: str = "64x256", *, backward: bool = False) -> str:
    kind = "backward_data" if backward else "forward_training"
    return (
        f"{HEAD}exec,cpu,eltwise,jit:avx512_core_bf16,{kind},data:bf16::blocked:ab::f0 "
        "diff:undef::undef:::,attr-scratchpad:user,alg:eltwise_gelu_erf alpha:0 beta:0,"
        f"{shape},{ms}"
    )


def test_an_activation_of_the_size_of_a_result() -> None:
    lines = [matmul("brg_matmul:avx512_core_bf16", 1.0), gelu(0.2)] * 4
    assert one(PostOpNotFused(), X86, *lines).severity is Severity.INFO
    assert one(PostOpNotFused(), ARM, *lines).severity is Severity.NONE
    other = [matmul("brg_matmul:avx512_core_bf16", 1.0), gelu(0.2, "64x512")] * 4
    assert findings(PostOpNotFused(), [X86, *other]) == []


def test_an_activation_that_is_fused_elsewhere_or_trained() -> None:
    lines = [matmul("brg_matmul:avx512_core_bf16", 1.0), gelu(0.2)] * 4
    fused = matmul("brg_matmul:avx512_core_bf16", 1.0, attrs=" attr-post-ops:eltwise_gelu_erf")
    assert findings(PostOpNotFused(), [X86, *lines, fused]) == []
    assert findings(PostOpNotFused(), [X86, *lines, gelu(0.2, backward=True)]) == []


def test_many_tiny_products() -> None:
    def iteration(count: int, ms: float) -> list[str]:
        body = [matmul("brg_matmul:avx2", ms, "8x64:64x64")] * count
        return [matmul("brg_matmul:avx2", ms, "8x32:32x64"), *body]

    assert len(findings(ManyTinyPrimitives(), iteration(120, 0.004) * 5)) == 1
    assert findings(ManyTinyPrimitives(), iteration(60, 0.004) * 5) == []
    assert findings(ManyTinyPrimitives(), iteration(120, 0.4) * 5) == []
    assert findings(ManyTinyPrimitives(), iteration(500, 0.004)) == []


# ONE014, ONE017, ONE018.


def test_integer_weights_are_unpacked_by_generated_kernels() -> None:
    for types in ("bf16:s8:bf16", "u8:s8:f32"):
        runs = [matmul("brg_matmul:avx512_core_bf16", 9.0, types=types)] * 3
        assert findings(IntegerWeightsNotDecompressed(), [X86, *runs]) == []


def test_open_sizes() -> None:
    mask = "runtime_dims_masks:1:0"
    made = matmul("brg_matmul:avx2", 0.2, "*x64:64x64", stage="create:cache_miss", aux=mask)
    slow = made.replace("brg_matmul:avx2", "gemm:jit")
    inner = made.replace("create:", "create_nested:")
    refused = f"{HEAD}create:dispatch,brgemm_matmul,runtime dimension is not supported,src/a.cpp:9"
    assert one(RuntimeDims(), X86, made).severity is Severity.NONE
    assert one(RuntimeDims(), X86, refused, slow).severity is Severity.INFO
    assert findings(RuntimeDims(), [ARM, inner, matmul("gemm:acl", 1.0)]) == []


def test_plain_weights() -> None:
    runs = [matmul("brg_matmul:avx512_core_bf16", 1.0)] * 6
    assert one(PlainLayoutWeights(), X86, *runs).count == 6


@pytest.mark.parametrize(
    "other",
    [
        matmul("brg_matmul:avx512_core_bf16", 1.0, tag="BA16a64b2a"),
        matmul("brg_matmul:avx512_core_bf16", 1.0, "256x64:64x256", tag="ab"),
    ],
    ids=["packed later", "trained"],
)
def test_weights_that_are_packed_or_trained_in_the_same_log(other: str) -> None:
    runs = [matmul("brg_matmul:avx512_core_bf16", 1.0)] * 6
    assert findings(PlainLayoutWeights(), [X86, *runs, other]) == []


@pytest.mark.parametrize(
    ("shape", "tag", "count"),
    [
        ("1x256:256x256", "ba", 6),
        ("64x64:64x64", "ba", 6),
        ("64x256:256x256", "ab", 6),
        ("4x64x256:4x256x256", "acb", 6),
        ("64x256:256x256", "ba", 2),
    ],
    ids=["one row", "small", "perhaps an activation", "batch", "not repeated"],
)
def test_what_is_no_plain_weight(shape: str, tag: str, count: int) -> None:
    runs = [matmul("brg_matmul:avx512_core_bf16", 1.0, shape, tag=tag)] * count
    assert findings(PlainLayoutWeights(), [X86, *runs]) == []


# ONE019 to ONE022, LOG007.


def test_the_summary_is_a_note_unless_starting_took_the_time() -> None:
    steady = [matmul("brg_matmul:avx2", 1.0)] * 30
    assert one(VerboseSummary(), *steady).severity is Severity.NONE
    start = matmul("brg_matmul:avx2", 80.0, "8x64:64x64")
    later = [matmul("brg_matmul:avx2", 0.1, "8x64:64x64")] * 5
    assert one(VerboseSummary(), start, *later).severity is Severity.INFO


def test_a_late_execution_is_no_first_one() -> None:
    usual = [matmul("brg_matmul:avx2", 1.0)] * 10
    found = one(VerboseSummary(), *usual, matmul("brg_matmul:avx2", 801.0), *usual)
    assert found.severity is Severity.NONE
    assert found.title == "most of oneDNN's time went to matmul on `brg_matmul:avx2`"
    assert found.data["first_ms"] == 0
    assert "took 21 ms, and a few that took far longer 800 ms more." in found.message
    assert "first" not in found.message


def test_one_kind_is_not_said_to_be_one_of_one() -> None:
    line = matmul("brg_matmul:avx2", 1.0, "8x64:64x64")
    assert one(VerboseSummary(), line).message.startswith("1 execution of matmul bf16 8x64:64x64")
    other = matmul("brg_matmul:avx2", 2.0, "8x32:32x64")
    assert one(VerboseSummary(), line, other).message.startswith(
        "2 executions of 2 kinds took 3 ms"
    )


DEFERRED = (
    f"{HEAD}create:dispatch,matmul,cpu,matmul,gemm:acl,undef,src:f16::blocked:ab::f0 "
    "wei:f16::blocked:ab::f0 dst:f16::blocked:ab::f0,attr-scratchpad:user,,8x8:8x8,"
    "falling back to brgemm for GEMV,src/a.cpp:1"
)


def f16(impl: str, stage: str) -> str:
    return matmul(impl, 3.0, "8x8:8x8", types="f16:f16:f16", tag="ab", stage=stage)


def test_deferred_to_somebody_or_nobody() -> None:
    created = f16("ref:any", "create:cache_miss")
    alone = one(DeferredToNobody(), VERSION, ARM, DEFERRED, created)
    assert alone.severity is Severity.ERROR
    both = one(DeferredToNobody(), VERSION, ARM, DEFERRED, created, f16("ref:any", "exec"))
    assert both.severity is Severity.INFO
    assert both.id == alone.id
    fast = f16("brg:sve_256", "create:cache_miss")
    assert findings(DeferredToNobody(), [VERSION, ARM, DEFERRED, fast]) == []
    assert findings(DeferredToNobody(), [VERSION, ARM, DEFERRED]) == []


def test_gemm_jit_is_what_it_says_on_x86_only() -> None:
    runs = [matmul("gemm:jit:bf16", 9.0)] * 3
    assert one(DisguisedReferenceGemm(), ARM, *runs).severity is Severity.WARNING
    assert findings(DisguisedReferenceGemm(), [X86, *runs]) == []
    nested = matmul("gemm:jit:bf16", 0.2, stage="create_nested:cache_miss")
    assert one(DisguisedReferenceGemm(), ARM, nested).severity is Severity.NONE
    weights = [matmul("gemm:jit", 9.0, types="bf16:s8:bf16")] * 3
    assert findings(DisguisedReferenceGemm(), [ARM, *weights]) == []


def test_a_plain_target_foretells_until_the_product_is_seen() -> None:
    packed = reorder("ab", "ba", "64x64", 0.5)
    assert one(PlainPrepackTarget(), ARM, packed).severity is Severity.INFO
    assert one(PlainPrepackTarget(), ARM, packed, linear("ref:any", 80)).severity is Severity.NONE
    assert findings(PlainPrepackTarget(), [ARM, packed, linear("acl", 10)]) == []
    assert findings(PlainPrepackTarget(), [X86, packed]) == []
    assert findings(PlainPrepackTarget(), [ARM, reorder("ab", "AB8a4b", "64x64", 0.5)]) == []


def test_a_header_alone_misses_nothing() -> None:
    header = [VERSION, ONE_THREAD, ARM]
    assert findings(ExecutionsNotRecorded(), header) == []
    created = linear("ref:any", 0.5, stage="create:cache_miss")
    assert one(ExecutionsNotRecorded(), *header, created).severity is Severity.WARNING
    assert findings(ExecutionsNotRecorded(), [*header, created, linear("ref:any", 80)]) == []


def test_what_edits_a_line_of_a_library_is_for_its_authors() -> None:
    """The user of a package converts the model, and does not rewrite its convolutions."""
    (rule,) = select_rules(["ONE002"])
    given = [one.advice(None) for one in rule.remedies if one.id == "channels-per-group"]
    library = Where(file="/home/ana/venv/lib/python3.11/site-packages/filters/conv.py", line=7)
    for where, told in ((library, True), (Where(file="/home/ana/proj/conv.py", line=7), False)):
        found = rule.finding("x", title="", message="", where=where, advice=given)
        said = [one.text.startswith("For the authors of `filters`") for one in found.advice]
        assert any(said) is told


@pytest.mark.parametrize(
    ("compiled", "training", "told"),
    [(True, False, True), (True, True, False), (False, False, False)],
)
def test_a_layout_is_advised_to_be_frozen_only_where_freezing_may_help(
    *, compiled: bool, training: bool, told: bool
) -> None:
    data = FastImplementationRejected.Data(
        primitive="convolution", reason="LAYOUT", is_compiled=compiled, is_training=training
    )
    assert ("freeze" in against(Reason.LAYOUT, data)) is told
    assert "freeze" not in against(Reason.BIAS, data)


@pytest.mark.parametrize(
    ("shape", "told"),
    [("mb1_ic8oc8_ih1oh1kh1sh1dh0ph0_iw9ow9kw3", False), ("mb1_ic8oc8_ih9oh9kh3_iw9ow9kw3", True)],
)
def test_signals_are_not_to_be_channels_last(shape: str, *, told: bool) -> None:
    data = FastImplementationRejected.Data(primitive="convolution", reason="LAYOUT", shape=shape)
    assert ("channels_last" in against(Reason.LAYOUT, data)) is told
