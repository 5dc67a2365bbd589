"""Attention that is taken apart, told from what only looks like it."""

from __future__ import annotations

import msgspec
import pytest

from tracelens.engine import select_rules
from tracelens.evidence import Evidence
from tracelens.evidence.tables import Place, Seen
from tracelens.inductor.attention import Unfused, fused_calls, unfused_attention
from tracelens.inductor.attention_causes import (
    FUSED,
    Cause,
    by_module,
    cause_of,
    folded,
    reason,
    severity,
    why,
)
from tracelens.inductor.attention_chain import plain_attention
from tracelens.inductor.attention_options import OPTIONS, in_library
from tracelens.inductor.origins import Lines
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.output_code import OutputCode, OutputModule
from tracelens.report import Severity

ROWS = """\
cpp_fused__safe_softmax_6 = async_compile.cpp_pybinding(['const float*', 'float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0, float* out_ptr1)
{ auto tmp1 = exp(0); }
''')
"""
#: A kernel that writes two sets of values per row, and of weights.
BOTH = (
    ROWS.replace("_safe_softmax_6", "_softmax_both_7")
    .replace("'float*', 'float*']", "'float*', 'float*', 'float*', 'float*']")
    .replace("float* out_ptr1)", "float* out_ptr1, float* out_ptr2, float* out_ptr3)")
)
#: One that adds to the scores what it reads beside them.
ADDED = (
    ROWS.replace("__safe_softmax_6", "__softmax_add_12")
    .replace("float* out_ptr0, ", "const float* in_ptr1, ")
    .replace("*', 'float*', 'float*']", "*', 'const float*', 'float*']")
)
KERNELS = "".join(
    f"""\
{name} = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C" void kernel(const float* in_ptr0, float* out_ptr0)
{{ auto tmp1 = {body}; }}
''')
"""
    for name, body in {
        "cpp_fused__softmax_mul_0": "exp(0)",
        "cpp_fused__safe_softmax_native_dropout_1": "exp(0)",
        "cpp_fused__log_softmax_2": "exp(0)",
        "cpp_fused_clone_3": "loadu(in_ptr0)",
        "cpp_fused_flex_attention_4": "kernel_micro_gemm(0)",
        "cpp_fused_bmm_5": "kernel_micro_gemm(0)",
        "cpp_fused__softmax_clamp_min_div_linalg_vector_norm_8": "exp(0)",
        "cpp_fused__softmax_add_div_sum_9": "exp(0)",
        "cpp_fused__softmax_cumsum_10": "exp(0)",
        "cpp_fused__softmax_div_mul_tanh_11": "exp(0)",
        "cpp_fused_mul_13": "exp(0)",
        "cpp_fused_clone_14": "COPY",
        "cpp_fused_div_exp_max_sub_sum_15": "exp(0)",
    }.items()
).replace("tmp1 = COPY", "tmp0 = loadu(in_ptr0)")


def module(
    *lines: str, inputs: str = "arg0_1, arg1_1", keys: int | str = 64, graph: str = ""
) -> Seen[OutputModule]:
    row = f"64*{keys}" if isinstance(keys, str) else 64 * keys
    allocations = [
        f"    buf{n} = empty_strided_cpu((8, 64, {keys}), ({row}, {keys}, 1), torch.float32)"
        for n in range(6)
    ]
    body = [f"    {line}" for line in lines]
    text = "\n".join(
        [
            "Output code:",
            KERNELS,
            ROWS,
            BOTH,
            ADDED,
            "def call(args):",
            f"    {inputs} = args",
            *allocations,
            *body,
        ]
    )
    (record,) = OutputCode.parse(text)
    assert isinstance(record, OutputModule)
    assert record.others == ()
    if graph:
        record = record.model_copy(update={"aot_id": f"0_{graph}"})
    return Seen(record, 1, [Place("run.log", 1)], text)


def found(*lines: str, inputs: str = "arg0_1, arg1_1") -> list[Unfused]:
    return list(unfused_attention(module(*lines, inputs=inputs)))


FIRST = "extern_kernels.bmm(arg0_1, arg1_1, out=buf0)"
LAST = "extern_kernels.bmm(buf1, arg1_1, out=buf2)"


def test_a_softmax_between_two_products_is_attention() -> None:
    (one,) = found(FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, )")
    assert one.scores.size == (8, 64, 64)
    assert (one.is_decomposed, one.has_dropout, one.is_shared) == (False, False, False)


def test_a_softmax_that_is_written_out_is_told_by_its_traced_graph_alone() -> None:
    """Without the graph, an exponential over its sum may be anything."""
    lines = (FIRST, "cpp_fused_div_exp_max_sub_sum_15(buf0, buf1)", LAST, "return (buf2, )")
    (one,) = found(*lines)
    assert one.is_by_hand
    graphs = Lines(Evidence().table(FxGraph))
    assert list(plain_attention(module(*lines), graphs)) == []


def test_weights_that_are_normalized_once_more_are_no_attention() -> None:
    """A softmax over the slots, and each slot's weights divided by their sum."""
    for kernel in ("softmax_clamp_min_div_linalg_vector_norm_8", "softmax_add_div_sum_9"):
        assert found(FIRST, f"cpp_fused__{kernel}(buf0, buf1)", LAST, "return (buf2, )") == []
    assert found(FIRST, "cpp_fused__softmax_cumsum_10(buf0, buf1)", LAST, "return (buf2, )")


def test_capped_scores_have_a_cause_of_their_own() -> None:
    """scaled_dot_product_attention would leave the tanh out; nothing on a CPU is faster."""
    tanh = FIRST, "cpp_fused__softmax_div_mul_tanh_11(buf0, buf1)", LAST, "return (buf2, )"
    (one,) = found(*tanh)
    assert cause_of(one) is Cause.CAPPED
    assert reason(Cause.CAPPED, [one], fused=False)
    (plain,) = found(FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, )")
    assert cause_of(plain) is Cause.WRITTEN_OUT
    assert reason(Cause.WRITTEN_OUT, [plain], fused=False) is None


@pytest.mark.parametrize(
    ("cause", "device", "told"),
    [
        ("capped", "cuda", ["flex"]),
        ("capped", "cpu", []),
        ("written out", "cuda", ["sdpa", "flex"]),
        ("written out", "cpu", ["sdpa"]),
    ],
)
def test_flex_attention_is_for_scores_that_change_and_for_no_cpu(
    cause: str, device: str, told: list[str]
) -> None:
    (rule,) = select_rules(["IND017"])
    known = {"attentions": 1, "bytes": None, "keys": 512, "needs_tf32": False}
    data = rule.Data.model_validate({"cause": cause, "device": device, **known})
    assert [advice.id for advice in rule.advise(data)] == told


@pytest.mark.parametrize(("read", "is_carried"), [("buf3, buf0", True), ("buf3, arg0_1", False)])
def test_scores_that_the_next_layer_adds_to_its_own_are_needed(
    read: str, *, is_carried: bool
) -> None:
    """No fused kernel returns them; a mask that all layers add is another thing."""
    first, second = found(
        FIRST,
        "cpp_fused__softmax_mul_0(buf0, buf1)",
        LAST,
        "extern_kernels.bmm(buf2, arg1_1, out=buf3)",
        f"cpp_fused__softmax_add_12({read}, buf4)",
        "extern_kernels.bmm(buf4, arg1_1, out=buf5)",
        "return (buf5, )",
    )
    # Nothing reads those of the second, which adds the first as it would a mask.
    assert (first.is_carried, second.is_carried) == (is_carried, False)
    assert (first.adds_carried, second.adds_carried) == (False, is_carried)
    assert (first.scores.name, second.scores.name) == ("buf0", "buf3")
    expected = Cause.CARRIED if is_carried else Cause.WRITTEN_OUT
    assert cause_of(first) is expected
    assert cause_of(second) is (Cause.LAST if is_carried else Cause.WRITTEN_OUT)
    assert bool(reason(expected, [first], fused=False)) is is_carried


def test_a_bias_that_all_layers_add_is_nobodys_scores() -> None:
    """As of positions: a product that each softmax reads, beside one of its own."""
    first, second = found(
        "extern_kernels.bmm(arg2_1, arg3_1, out=buf9)",
        FIRST,
        "cpp_fused__softmax_add_12(buf0, buf9, buf1)",
        LAST,
        "extern_kernels.bmm(buf2, arg1_1, out=buf3)",
        "cpp_fused__softmax_add_12(buf3, buf9, buf4)",
        "extern_kernels.bmm(buf4, arg1_1, out=buf5)",
        "return (buf5, )",
    )
    assert (first.scores.name, second.scores.name) == ("buf0", "buf3")
    assert not first.is_carried
    assert not second.is_carried


def test_dropout_and_a_call_that_torch_took_apart_show_in_the_name() -> None:
    kernel = "cpp_fused__safe_softmax_native_dropout_1(buf0, buf1)"
    (one,) = found(FIRST, kernel, LAST, "return (buf2, )")
    assert one.is_decomposed
    assert one.has_dropout


def test_another_kernel_may_lie_before_the_second_product() -> None:
    (one,) = found(
        FIRST,
        "cpp_fused__softmax_mul_0(buf0, buf1)",
        "cpp_fused_clone_3(buf1, buf3)",
        "extern_kernels.bmm(buf3, arg1_1, out=buf2)",
        "return (buf2, )",
    )
    assert one.last.code.text.startswith("extern_kernels.bmm(buf3")


@pytest.mark.parametrize(
    ("mixed", "is_it"),
    [
        ("buf3 = extern_kernels.convolution(buf1, arg2_1, stride=(1,))", False),
        ("extern_kernels.mm(buf1, arg2_1, out=buf3)", False),
        ("cpp_fused_clone_3(buf1, buf3)", True),
    ],
)
def test_heads_that_talk_after_the_softmax_are_no_fused_attention(mixed: str, is_it: bool) -> None:
    """Their weights are mixed before the second product: followed, the advice computed others."""
    lines = [FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", mixed]
    last = ["extern_kernels.bmm(buf3, arg1_1, out=buf2)", "return (buf2, )"]
    assert bool(found(*lines, *last, inputs="arg0_1, arg1_1, arg2_1")) is is_it


def test_products_may_be_templates() -> None:
    assert found(
        "cpp_fused_bmm_5(arg0_1, buf0)",
        "cpp_fused__softmax_mul_0(buf0, buf1)",
        "cpp_fused_bmm_5(buf1, buf2)",
        "return (buf2, )",
    )


def test_weights_that_are_returned_are_shared() -> None:
    (one,) = found(FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, buf1, )")
    assert one.is_shared


def test_weights_that_are_kept_for_the_backward_are_not() -> None:
    (one,) = found(
        FIRST.replace("arg", "primals_").replace("_1", ""),
        "cpp_fused__softmax_mul_0(buf0, buf1)",
        "extern_kernels.bmm(buf1, primals_1, out=buf2)",
        "return (buf2, buf1, )",
        inputs="primals_0, primals_1",
    )
    assert not one.is_shared


def test_without_a_line_no_other_library_is_named() -> None:
    """Options of libraries that the program may not use help nobody."""
    said = in_library("", "", 0)
    assert not any(package in said for package in OPTIONS)
    assert "does not name the line" in said


@pytest.mark.parametrize(
    ("dtype", "keys", "graph", "slower"),
    [
        ("float32", 255, "primals", True),
        ("float32", 256, "primals", False),
        ("bfloat16", 1023, "primals", True),
        ("bfloat16", 1024, "primals", False),
        ("float32", 64, "arg", False),
        ("bfloat16", 64, "arg", False),
    ],
)
def test_in_training_on_a_cpu_few_keys_are_no_reason_to_fuse(
    dtype: str, keys: int, graph: str, *, slower: bool
) -> None:
    """Of both directions together; inference gains from 64 keys on, or loses nothing."""
    inputs = ("primals_0", "primals_1") if graph == "primals" else ("arg0_1", "arg1_1")
    size = f"(64, 64, {keys}), ({64 * keys}, {keys}, 1), torch.{dtype}"
    (one,) = found(
        *(f"buf{n} = empty_strided_cpu({size})" for n in (0, 1)),
        f"extern_kernels.bmm({inputs[0]}, {inputs[1]}, out=buf0)",
        "cpp_fused__softmax_mul_0(buf0, buf1)",
        f"extern_kernels.bmm(buf1, {inputs[1]}, out=buf2)",
        "return (buf2, )",
        inputs=", ".join(inputs),
    )
    said = reason(Cause.WRITTEN_OUT, [one], fused=False)
    assert bool(said) is slower
    assert not slower or "saves memory" in (said or "")


@pytest.mark.parametrize(
    ("kernel", "keys", "expected"),
    [
        ("cpp_fused__softmax_add_12(buf0, arg2_1, buf1)", 128, Severity.INFO),
        ("cpp_fused__softmax_add_12(buf0, arg2_1, buf1)", 129, Severity.WARNING),
        ("cpp_fused__softmax_mul_0(buf0, buf1)", 128, Severity.WARNING),
        ("cpp_fused__softmax_mul_0(buf0, buf1)", 32, Severity.INFO),
    ],
)
def test_a_mask_on_few_scores_is_no_reason_to_fuse_for_speed(
    kernel: str, keys: int, expected: Severity
) -> None:
    """Measured in windows of 49 to 128 keys: as long. From 196 on it was faster."""
    lines = (FIRST, kernel, LAST, "return (buf2, )")
    (one,) = unfused_attention(module(*lines, inputs="arg0_1, arg1_1, arg2_1", keys=keys))
    assert severity(Cause.WRITTEN_OUT, [one] * 4) is expected
    assert ("as long" in why(Cause.WRITTEN_OUT, one)) is ("add" in kernel and keys <= 128)


@pytest.mark.parametrize(
    ("keys", "layers", "call_ms", "expected", "is_folded"),
    [
        (60, 1, 0.0, Severity.INFO, True),  # 120 KiB
        (64, 1, 0.0, Severity.INFO, False),  # 128
        (60, 2, 0.0, Severity.INFO, False),  # 240, of two layers
        (255, 1, 0.0, Severity.INFO, False),  # 510
        (256, 1, 0.0, Severity.WARNING, False),
        (256, 1, 20.0, Severity.WARNING, False),  # some 0.4 ms of them
        (256, 1, 22.0, Severity.INFO, False),
        (256, 1, 90.0, Severity.INFO, True),
    ],
)
def test_few_scores_are_a_note_or_nothing(
    keys: int, layers: int, call_ms: float, expected: Severity, *, is_folded: bool
) -> None:
    """Measured on one core: 68 KiB in one head of 132 keys were 0.03 to 0.09 ms slower."""
    lines = (FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, )")
    (one,) = unfused_attention(module(*lines, keys=keys))
    group = [one] * layers
    assert severity(Cause.WRITTEN_OUT, group, call_ms) is expected
    assert bool(reason(Cause.WRITTEN_OUT, group, call_ms, fused=False)) is is_folded


def test_few_scores_are_judged_so_on_a_cpu_alone_and_where_all_sizes_are_known() -> None:
    """A GPU starts two kernels less, however few they are; in float32 that is a note."""
    lines = (FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, )")
    (one,) = unfused_attention(module(*lines, keys=48))
    assert reason(Cause.WRITTEN_OUT, [one], fused=False)
    (symbolic,) = unfused_attention(module(*lines, keys="s0"))
    for group in ([one, symbolic], [_on_gpu(one)]):
        assert reason(Cause.WRITTEN_OUT, group, fused=False) is None
    assert severity(Cause.WRITTEN_OUT, [one, symbolic]) is Severity.WARNING


@pytest.mark.parametrize(
    ("keys", "dtype", "expected"),
    [
        (512, "float32", Severity.INFO),
        (513, "float32", Severity.WARNING),
        (512, "bfloat16", Severity.WARNING),
    ],
)
def test_in_float32_a_gpu_gains_little_by_a_fused_kernel(
    keys: int, dtype: str, expected: Severity
) -> None:
    lines = (FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, )")
    (one,) = unfused_attention(module(*lines, keys=keys))
    one.scores.dtype = dtype
    assert severity(Cause.WRITTEN_OUT, [_on_gpu(one)]) is expected


def _on_gpu(one: Unfused) -> Unfused:
    kernel = one.kernel.model_copy(update={"language": "triton"})
    return msgspec.structs.replace(one, kernel=kernel)


def test_a_loss_is_no_attention() -> None:
    assert found(FIRST, "cpp_fused__log_softmax_2(buf0, buf1)", LAST, "return (buf2, )") == []


def test_a_softmax_without_a_second_product_is_no_attention() -> None:
    assert found(FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", "return (buf1, )") == []


def test_fused_kernels_are_known() -> None:
    seen = module(
        "buf9 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(arg0_1, arg1_1)",
        "cpp_fused_flex_attention_4(arg0_1, buf0)",
        FIRST,
        "return (buf0, )",
    )
    assert [name for _, name in fused_calls(seen.record)] == [
        "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default",
        "cpp_fused_flex_attention_4",
    ]


def test_the_softmax_keeps_the_dimensions_that_bmm_folds() -> None:
    for size, dimensions in [("8, 64, 1", 3), ("2, 4, 64, 1", 4), ("2, 2, 2, 64, 1", 5)]:
        (one,) = found(
            FIRST,
            f"buf6 = empty_strided_cpu(({size}), (1, 1, 1), torch.float32)",
            "cpp_fused__safe_softmax_6(buf0, buf6, buf1)",
            LAST,
            "return (buf2, )",
        )
        assert one.dimensions == dimensions
        assert cause_of(one) is (Cause.DECOMPOSED if dimensions == FUSED else Cause.DIMENSIONS)
        assert folded(one) == (None if dimensions == FUSED else dimensions)


def test_weights_in_memory_of_another_shape_have_the_dimensions_of_their_name() -> None:
    kernel = "cpp_fused__softmax_mul_0(buf0, buf6)"
    view = "buf6 = reinterpret_tensor(buf5, (2, 4, 64, 64), (16384, 4096, 64, 1), 0)  # reuse"
    last = LAST.replace("buf1", "buf6")
    (one,) = found(FIRST, view, kernel, last, "return (buf2, )")
    assert one.dimensions == FUSED
    (one,) = found(FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, )")
    assert one.dimensions == FUSED - 1
    assert cause_of(one) is Cause.WRITTEN_OUT


TWICE = """\
buf6 = empty_strided_cpu((8, 1, 64), (64, 64, 1), torch.float32)
buf7 = empty_strided_cpu((8, 64, 1), (64, 1, 64), torch.float32)"""
ROUTING = [
    FIRST,
    *TWICE.splitlines(),
    "cpp_fused__softmax_both_7(buf0, buf6, buf1, buf7, buf2)",
    "extern_kernels.bmm(buf1, arg1_1, out=buf3)",
    "cpp_fused_clone_3(buf3, buf4)",
    "extern_kernels.bmm(buf2, buf4, out=buf5)",
    "return (buf5, )",
]


def test_scores_that_are_normalized_twice_are_a_mixture_of_experts() -> None:
    """One kernel writes the weights of both softmaxes, or each has a kernel of its own."""
    assert found(*ROUTING) == []
    two = [
        "cpp_fused__softmax_mul_0(buf0, buf1)",
        "cpp_fused__softmax_mul_0(buf0, buf2)",
    ]
    assert found(FIRST, *two, *ROUTING[4:]) == []


@pytest.mark.parametrize(
    ("made", "is_attention"),
    [
        ("extern_kernels.mm(arg0_1, arg1_1, out=buf6)", False),
        ("cpp_fused_clone_3(arg1_1, buf6)", True),
    ],
)
def test_few_gates_in_the_kernel_of_the_experts_may_be_what_is_normalized(
    made: str, *, is_attention: bool
) -> None:
    gates = "buf6 = empty_strided_cpu((512, 8), (8, 1), torch.float32)"
    softmax = "cpp_fused__softmax_add_12(buf0, buf6, buf1)"
    assert bool(found(FIRST, gates, made, softmax, LAST, "return (buf2, )")) is is_attention


def test_weights_of_one_softmax_may_go_to_two_products() -> None:
    """Relative positions: the same weights times the values, and times the positions."""
    second = "extern_kernels.bmm(buf1, arg0_1, out=buf3)"
    (one,) = found(
        FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, second, "return (buf2, buf3, )"
    )
    assert one.last.code.text == LAST


def test_a_kernel_that_keeps_other_weights_for_the_backward_is_attention() -> None:
    """It writes the weights and, for the backward alone, the same without what was dropped."""
    (one,) = found(
        FIRST,
        *TWICE.splitlines(),
        "cpp_fused__softmax_both_7(buf0, buf6, buf1, buf7, buf2)",
        "extern_kernels.bmm(buf1, arg1_1, out=buf3)",
        "return (buf3, buf2, )",
    )
    assert one.scores.name == "buf0"


@pytest.mark.parametrize(
    ("cause", "by_module", "told"),
    [
        ("written out", True, ["need-weights"]),
        ("written out", False, ["sdpa"]),
        ("dropout", True, ["no-dropout"]),
    ],
)
def test_a_module_of_torch_is_told_not_to_return_the_weights(
    cause: str, by_module: bool, told: list[str]
) -> None:
    (rule,) = select_rules(["IND017"])
    known = {"attentions": 1, "bytes": None, "keys": 512, "needs_tf32": False, "device": "cpu"}
    data = rule.Data.model_validate({"cause": cause, "by_module": by_module, **known})
    assert [advice.id for advice in rule.advise(data)] == told


@pytest.mark.parametrize(
    ("node", "is_it"), [("multi_head_attention_forward", True), ("scores", False)]
)
def test_the_nodes_name_the_function_of_the_module(node: str, is_it: bool) -> None:
    nodes = f"# Topologically Sorted Source Nodes: [{node}], Original ATen: [aten.bmm]"
    (one,) = found(nodes, FIRST, "cpp_fused__softmax_mul_0(buf0, buf1)", LAST, "return (buf2, )")
    assert by_module(one) is is_it


#: q times k, q times a table, and the softmax of their sum; and the same with a given mask.
RELATIVE = (
    "cpp_fused_clone_3(arg0_1, buf5)",
    "extern_kernels.bmm(buf5, arg1_1, out=buf0)",
    "extern_kernels.bmm(buf5, arg2_1, out=buf3)",
    "cpp_fused_clone_3(buf3, buf4)",
    "cpp_fused__softmax_add_12(buf0, buf4, buf1)",
    LAST,
    "return (buf2, )",
)
MASKED = tuple(line.replace("buf4, buf1", "arg2_1, buf1") for line in RELATIVE)
#: The bias of another layer, which these queries come from, is no bias of theirs.
STACKED = (
    "extern_kernels.bmm(arg0_1, arg2_1, out=buf4)",
    "cpp_fused_clone_3(buf4, buf5)",
    "extern_kernels.bmm(buf5, arg1_1, out=buf0)",
    "cpp_fused__softmax_add_12(buf0, buf4, buf1)",
    LAST,
    "return (buf2, )",
)


@pytest.mark.parametrize(
    ("lines", "graph", "is_harmless"),
    [
        (RELATIVE, "forward", True),
        (RELATIVE, "inference", False),
        (MASKED, "forward", False),
        (STACKED, "forward", False),
    ],
)
def test_a_bias_that_trains_has_no_fused_kernel_on_a_cpu(
    lines: tuple[str, ...], graph: str, is_harmless: bool
) -> None:
    """aten takes scaled_dot_product_attention apart for a mask that requires a gradient."""
    inputs = "arg0_1, arg1_1, arg2_1"
    (one,) = unfused_attention(module(*lines, inputs=inputs, keys=1024, graph=graph))
    assert cause_of(one) is Cause.WRITTEN_OUT
    assert bool(reason(Cause.WRITTEN_OUT, [one], fused=False)) is is_harmless
