"""What the oneDNN rules conclude from logs whose truth is known by construction."""

from collections.abc import Iterable

import pytest

from tracelens.evidence import Evidence, Place, Times, arguments
from tracelens.logs.onednn_verbose import OnednnVerbose
from tracelens.report import Finding, Severity
from tracelens.rules import Rule
from tracelens.rules.env.cpu_oversubscription import CpuOversubscription
from tracelens.rules.one.reference_kernel_dispatch import ReferenceKernelDispatch
from tracelens.rules.one.weight_reorder_every_iteration import WeightReorderEveryIteration

ARM = "onednn_verbose,v1,info,cpu,isa:AArch64 SVE (256 bits)"
X86 = "onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with Intel DL Boost and bfloat16 support"
TWO_THREADS = "onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:2"
ONE_THREAD = "onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:1"
HEAD = "onednn_verbose,v1,primitive,"


def findings(rule: Rule, lines: Iterable[str]) -> list[Finding]:
    """Ask ``rule`` about a log of which every distinct line is kept once, as a file is read."""
    evidence = Evidence()
    held: dict[str, tuple[int, Times, list[int]]] = {}
    for number, line in enumerate(lines, 1):
        text, ms = OnednnVerbose.measure(line)
        _, times, count = held.setdefault(text, (number, Times(), [0]))
        count[0] += 1
        if ms is not None:
            times.add(ms)
    for text, (number, times, (seen,)) in held.items():
        place = Place("run.log", number)
        shown = times if times.n else None
        evidence.add(OnednnVerbose, text, place, lines=seen, count=seen, times=shown)
    assert not evidence.unread
    return list(rule.check(**arguments(rule.check, evidence)))


def linear(
    impl: str, ms: float, *, dtype: str = "bf16", size: int = 64, stage: str = "exec"
) -> str:
    args = " ".join(
        f"{arg}:{dtype}::blocked:{tag}::f0"
        for arg, tag in (("src", "ab"), ("wei", "ba"), ("bia", "a"), ("dst", "ab"))
    )
    shape = f"mb{size}ic{size}oc{size}"
    return (
        f"{HEAD}{stage},cpu,inner_product,{impl},forward_inference,{args},"
        f"attr-scratchpad:user,,{shape},{ms}"
    )


def reorder(source: str, target: str, shape: str, ms: float, dtype: str = "bf16") -> str:
    return (
        f"{HEAD}exec,cpu,reorder,jit:uni,undef,src:{dtype}::blocked:{source}::f0 "
        f"dst:{dtype}::blocked:{target}::f0,attr-scratchpad:user,,{shape},{ms}"
    )


# ONE001.

DATA_TYPE = "onednn_verbose,v1,cpu,acl,unsupported: datatype is not supported"
BLOCKED = (
    "onednn_verbose,v1,cpu,acl,unsupported: specific blocked format not supported by ACL, "
    "use format_kind_t::any"
)


def trail() -> list[str]:
    """How the cause stands where the weights are packed, and its consequence at the first call."""
    matmul = (
        f"{HEAD}create:dispatch,matmul,cpu,matmul,brg:sve_512,undef,src:bf16::blocked:ab::f0 "
        "wei:bf16:a:any:any::f0 dst:bf16::blocked:ab::f0,,,64x64:64x64,unsupported isa,src/a.cpp:9"
    )
    return [
        ARM,
        "onednn_verbose,v1,info,oneDNN v3.12.0 (commit 80afa71)",
        matmul,
        (
            f"{HEAD}exec,cpu,matmul,gemm:acl,undef,src:bf16::blocked:ab::f0 "
            "wei:bf16:a:blocked:BA8b4a::f0 dst:bf16::blocked:ab::f0,,,64x64:64x64,20"
        ),
        DATA_TYPE,
        f"{HEAD}create:dispatch,reorder,unsupported memory formats configuration,src/b.hpp:17",
        reorder("ab", "ba", "64x64", 0.7).replace("exec", "create:cache_miss"),
        reorder("ab", "ba", "64x64", 1.0),
        BLOCKED,
        linear("ref:any", 0.5, stage="create:cache_miss"),
        *(linear("ref:any", 80 + n) for n in range(4)),
    ]


def test_cause_and_consequence_are_both_found() -> None:
    (finding,) = findings(ReferenceKernelDispatch(), trail())
    quoted = [line.text for line in finding.evidence]
    assert DATA_TYPE in quoted
    assert BLOCKED in quoted
    assert not any("sve_512" in text or "create:dispatch,reorder" in text for text in quoted)
    assert "because of the data types, the memory layout" in finding.message
    assert finding.severity is Severity.ERROR
    assert finding.cost is not None
    assert finding.cost.basis == "estimated"


def convolution(prop: str, *mds: str) -> str:
    return (
        f"{HEAD}exec,cpu,convolution,ref:any,{prop},{' '.join(mds)},attr-scratchpad:user,"
        "alg:convolution_direct,mb8_ic64oc64_ih24oh24kh3sh1dh0ph1_iw24ow24kw3sw1dw0pw1,11837"
    )


LAST, PLAIN = "f16::blocked:acdb::f0", "f16:a:blocked:abcd::f0"


@pytest.mark.parametrize(
    ("prop", "is_told"), [("forward_training", True), ("backward_weights", False)]
)
def test_the_layout_of_a_gradient_says_nothing_of_the_model(prop: str, is_told: bool) -> None:
    """It is written anew, in torch's default layout, by a model in channels-last, too."""
    run = convolution(prop, f"src:{LAST}", f"wei:{PLAIN}", f"dst:{LAST}")
    (finding,) = findings(ReferenceKernelDispatch(), [run] * 3)
    told = [advice.id for advice in finding.advice]
    assert ("channels-last-weights" in told) is is_told
    assert ("bfloat16-convolution" in told) is not is_told


def test_a_second_shape_shares_the_reasons_of_the_first() -> None:
    more = [linear("ref:any", 40 + n, size=32) for n in range(3)]
    first, second = findings(ReferenceKernelDispatch(), [*trail(), *more])
    assert first.id != second.id
    assert DATA_TYPE in [line.text for line in second.evidence]


def test_silence_means_no_candidate_only_where_refusals_were_recorded() -> None:
    runs = [linear("ref:any", 80 + n) for n in range(3)]
    (silent,) = findings(ReferenceKernelDispatch(), [ARM, trail()[2], *runs])
    (unknown,) = findings(ReferenceKernelDispatch(), [ARM, *runs])
    assert "Nothing refused" in silent.message
    assert "does not say why" in unknown.message


def test_an_upgrade_is_advised_to_those_who_do_not_have_it() -> None:
    runs = [linear("ref:any", 80 + n) for n in range(3)]
    versions = {"3.7.1": "2.15", "3.12.0": "2.15", "3.13.3": None}
    for version, since in versions.items():
        header = f"onednn_verbose,v1,info,oneDNN v{version} (commit x)"
        (finding,) = findings(ReferenceKernelDispatch(), [header, ARM, *runs])
        upgrades = [one.text for one in finding.advice if one.id == "newer-wheel"]
        assert len(upgrades) == bool(since)
        assert not since or f"torch>={since}" in upgrades[0]
        assert any(advice.env == "TORCHINDUCTOR_FREEZING=0" for advice in finding.advice)


def test_small_totals_are_no_finding() -> None:
    fast = [linear("acl", 10 + n, dtype="f32") for n in range(10)]
    tiny = [linear("ref:any", 0.1, size=4) for _ in range(3)]
    assert findings(ReferenceKernelDispatch(), [ARM, *fast, *tiny]) == []
    assert len(findings(ReferenceKernelDispatch(), [ARM, *fast, linear("ref:any", 2.0)])) == 1


def test_names_that_only_sound_like_it() -> None:
    lines = [linear(impl, 50.0) for impl in ("x64:gemm:jit", "simple:any", "gemm:jit", "acl")]
    assert findings(ReferenceKernelDispatch(), [X86, *lines]) == []


def test_the_identity_holds_no_times() -> None:
    first = findings(ReferenceKernelDispatch(), [ARM, *[linear("ref:any", 80.0)] * 3])
    second = findings(ReferenceKernelDispatch(), [ARM, *[linear("ref:any", 95.5)] * 7])
    assert [finding.id for finding in first] == [finding.id for finding in second]


# ONE003.


def product(ms: float, props: str = "a") -> str:
    return (
        f"{HEAD}exec,cpu,matmul,gemm:acl,undef,src:bf16::blocked:ab::f0 "
        f"wei:bf16:{props}:blocked:BA8b4a::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,"
        f"32x64:64x64,{ms}"
    )


def test_a_reorder_per_call() -> None:
    lines = [
        line
        for n in range(5)
        for line in (reorder("ba", "BA8b4a", "64x64", 0.5 + n / 100), product(1 + n / 100))
    ]
    (finding,) = findings(WeightReorderEveryIteration(), [ARM, *lines])
    assert finding.count == 5
    assert finding.severity is Severity.WARNING
    assert finding.cost is not None
    assert finding.cost.ms == pytest.approx(5 * 0.52, rel=0.1)


def test_packing_once_is_no_finding() -> None:
    packing = [reorder("ba", "BA8b4a", "64x64", 0.5)] * 3
    calls = [product(1 + n / 100) for n in range(30)]
    assert findings(WeightReorderEveryIteration(), [ARM, *packing, *calls]) == []


def test_layers_that_were_packed_and_ran_once() -> None:
    packing = [reorder("ba", "BA8b4a", "64x64", 0.5)] * 12
    calls = [product(1 + n / 100, props="") for n in range(12)]
    assert findings(WeightReorderEveryIteration(), [ARM, *packing, *calls]) == []


def test_an_activation_of_the_same_shape_is_not_the_weight() -> None:
    lines = [
        line
        for n in range(5)
        for line in (
            reorder("ba", "ab", "64x64", 0.5 + n / 100),
            (
                f"{HEAD}exec,cpu,matmul,jit,undef,src:bf16::blocked:ab::f0 "
                f"wei:bf16:a:blocked:ab::f0 dst:bf16::blocked:ab::f0,,,64x64:64x64,{1 + n}"
            ),
        )
    ]
    assert findings(WeightReorderEveryIteration(), lines) == []


# ENV001.


def calls(primitive_ms: Iterable[float]) -> list[str]:
    return [reorder("ab", "ba", "64x64", ms) for ms in primitive_ms]


WAITS = [0.004, 8.1, 0.003, 12.3, 0.003, 20.4, 0.004, 39.9, 0.003, 4.2]


def test_small_primitives_that_wait_for_the_scheduler() -> None:
    (finding,) = findings(CpuOversubscription(), [X86, TWO_THREADS, *calls(WAITS)])
    assert finding.count == 5
    assert finding.cost is not None
    assert finding.cost.ms == pytest.approx(84.9, rel=0.05)
    assert "2 threads" in finding.message


def test_one_thread_waits_for_other_processes() -> None:
    (finding,) = findings(CpuOversubscription(), [X86, ONE_THREAD, *calls(WAITS)])
    assert "Other processes" in finding.message


def test_slow_in_proportion_to_the_work_is_an_emulator() -> None:
    small = calls([1.9, 0.046, 0.047, 0.048, 0.046, 0.047])
    large = [linear("acl", 83 + n / 10) for n in range(6)]
    for threads in (ONE_THREAD, TWO_THREADS):
        assert findings(CpuOversubscription(), [ARM, threads, *small, *large]) == []


def test_a_slow_first_execution_is_no_wait() -> None:
    lines = [
        line
        for size in range(10, 20)
        for line in (
            reorder("ab", "ba", f"{size}x64", 25),
            *[reorder("ab", "ba", f"{size}x64", 0.01)],
        )
    ]
    assert findings(CpuOversubscription(), [ARM, ONE_THREAD, *lines]) == []


def test_a_few_waits_in_a_long_log_are_other_processes() -> None:
    lines = calls([0.004] * 3000 + [8.0] * 4)
    assert findings(CpuOversubscription(), [X86, TWO_THREADS, *lines]) == []


def signed(
    post_ops: str, shape: str = "4x128x64:4x64x96:4x128x96", head: str = "v1,primitive,"
) -> str:
    mds = "src:s8::blocked:abc::f0 wei:s8::blocked:abc::f0 dst:s8::blocked:abc::f0"
    return (
        f"onednn_verbose,{head}exec,cpu,matmul,ref:any,undef,{mds},"
        f"attr-scratchpad:user{post_ops},,{shape},52.5"
    )


@pytest.mark.parametrize(
    ("post_ops", "shape", "is_masked"),
    [
        (" attr-post-ops:binary_add:f32:1", "4x128x64:4x64x96:4x128x96", True),
        (" attr-post-ops:binary_mul:f32:3:abc", "4x128x64:4x64x96:4x128x96", True),
        (" attr-post-ops:binary_mul:f32:4", "4x128x64:4x64x96:4x128x96", False),
        (" attr-post-ops:binary_add:f32:0+eltwise_relu:0:0", "4x128x64:4x64x96:4x128x96", False),
        (" attr-post-ops:binary_add:f32:7", "4x128x64:4x64x96:4x128x96", False),
        # The batch is 1: an operand as large as the result has no bit for it.
        (" attr-post-ops:binary_add:f32:6", "1x128x64:1x64x96:1x128x96", False),
        ("", "4x128x64:4x64x96:4x128x96", False),
    ],
)
def test_a_post_op_that_lies_across_the_columns_is_suspected(
    post_ops: str, shape: str, *, is_masked: bool
) -> None:
    """It is the more likely reason than signed activations, which fast kernels take by now."""
    (finding,) = findings(ReferenceKernelDispatch(), [X86, *[signed(post_ops, shape)] * 3])
    told = {one.id: one.text for one in finding.advice}
    assert ("post-op-mask" in told) == is_masked
    assert ("unsigned-activations" in told) != is_masked
    if is_masked:
        assert post_ops.partition("post-ops:")[2].partition("+")[0] in told["post-op-mask"]


@pytest.mark.parametrize(
    ("header", "head", "can_tell"),
    [
        ("onednn_verbose,info,oneDNN v2.4.0 (commit abc)", "", False),
        ("onednn_verbose,info,oneDNN v3.0.0 (commit abc)", "", False),
        ("onednn_verbose,info,oneDNN v3.1.0 (commit abc)", "primitive,", True),
        ("onednn_verbose,v1,info,oneDNN v3.7.1 (commit abc)", "v1,primitive,", True),
        ("", "", False),
        ("", "v1,primitive,", True),
    ],
)
def test_a_setting_is_advised_where_this_onednn_knows_it(
    header: str, head: str, *, can_tell: bool
) -> None:
    """`all` and `dispatch` came with 3.1: before that there were numbers only."""
    lines = [*filter(None, [header]), *[signed("", head=head)] * 3]
    (finding,) = findings(ReferenceKernelDispatch(), lines)
    told = [one.id for one in finding.advice]
    assert ("see-refusals" in told) == can_tell
    assert ("newer-onednn" in told) != can_tell
    assert ("ONEDNN_VERBOSE=all would" in finding.message) == can_tell
