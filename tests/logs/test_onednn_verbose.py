"""The oneDNN log kind: byte layer, grammar, models, environment and table."""

import pytest

from tracelens import grammars
from tracelens.evidence import Evidence, Place, Times
from tracelens.grammars import Unreadable
from tracelens.logs.onednn_verbose import (
    DispatchRejection,
    LibraryMessage,
    LibraryRejection,
    NestedCreate,
    OnednnVerbose,
    PrimitiveCreate,
    PrimitiveExec,
    UkernelExec,
)
from tracelens.summaries.onednn_verbose import tables

LINEAR = (
    "onednn_verbose,v1,primitive,exec,cpu,inner_product,ref:any,forward_inference,"
    "src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 bia:bf16::blocked:a::f0 "
    "dst:bf16::blocked:ab::f0,attr-scratchpad:user,,mb64ic64oc64,84.4229"
)


def read(line: str) -> object:
    (record,) = OnednnVerbose.parse(OnednnVerbose.measure(line)[0])
    return record


def ran(line: str) -> PrimitiveExec:
    record = read(line)
    assert isinstance(record, PrimitiveExec)
    return record


# The byte layer.


@pytest.mark.parametrize(
    ("line", "text", "ms"),
    [
        (LINEAR, LINEAR.removesuffix("84.4229"), 84.4229),
        ("onednn_verbose,exec,cpu,x,,64x64,0", "onednn_verbose,exec,cpu,x,,64x64,", 0.0),
        ("dnnl_verbose,exec,cpu,x,,8,1.5e-05", "dnnl_verbose,exec,cpu,x,,8,", 1.5e-05),
        (
            "onednn_verbose,v1,1795172686561.872070,primitive,exec,cpu,x,,8,27.927",
            "onednn_verbose,v1,primitive,exec,cpu,x,,8,",
            27.927,
        ),
        (
            "onednn_verbose,1654764776622.947998,exec,cpu,x,,8,2",
            "onednn_verbose,exec,cpu,x,,8,",
            2.0,
        ),
        (
            "onednn_verbose,v1,graph,compile:cache_miss,cpu,1,dnnl_backend,2.06",
            "onednn_verbose,v1,graph,compile:cache_miss,cpu,1,dnnl_backend,",
            2.06,
        ),
        (
            "onednn_verbose,v1,primitive,exec:external,Kernel,3.25",
            "onednn_verbose,v1,primitive,exec:external,Kernel,",
            3.25,
        ),
    ],
)
def test_time_and_time_stamp_are_put_aside(line: str, text: str, ms: float) -> None:
    assert OnednnVerbose.measure(line) == (text, ms)
    assert OnednnVerbose.measure(text) == (text, None)


@pytest.mark.parametrize(
    "line",
    [
        "onednn_verbose,v1,info,gpu,gemm,consider:G gemm HHS TNN 16 16,score:4337337.487821",
        "onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:2",
        "onednn_verbose,v1,primitive,create:dispatch,matmul,unsupported isa,src/a.cpp:99",
        "onednn_verbose,v1,not,a,real,line",
        "onednn_verbose",
        "onednn_verbose,17",
        "",
    ],
)
def test_a_line_without_time_stays_as_it_is(line: str) -> None:
    assert OnednnVerbose.measure(line) == (line, None)


def test_output_of_the_program_may_be_glued_to_the_time() -> None:
    assert OnednnVerbose.measure(f"{LINEAR}====") == OnednnVerbose.measure(LINEAR)


@pytest.mark.parametrize("cut", [",84.4229", "64oc64,84.4229", "wei:bf16", ",mb64ic64oc64,84.4229"])
def test_a_line_that_was_cut_off_is_refused(cut: str) -> None:
    text, ms = OnednnVerbose.measure(LINEAR[: LINEAR.index(cut)])
    assert ms is None
    with pytest.raises(Unreadable):
        OnednnVerbose.parse(text)


@pytest.mark.parametrize("dots", ["...", "…", " ... "])
@pytest.mark.parametrize("mark", ["onednn_verbose,v1,primitive,exec", "dnnl_verbose,exec"])
def test_dots_stand_for_the_fields_that_somebody_left_out(mark: str, dots: str) -> None:
    text, ms = OnednnVerbose.measure(f"{mark},cpu,matmul,ref:any,{dots},16x32:32x64,15.5")
    (run,) = OnednnVerbose.parse(text)
    assert isinstance(run, PrimitiveExec)
    assert (run.impl, run.mds, run.problem.tensors, ms) == ("ref:any", (), ("16x32", "32x64"), 15.5)


@pytest.mark.parametrize(
    "rest",
    [
        "cpu,matmul,ref:any,...,16x32:32x64,...,15.5",  # twice: nobody knows how many fields each
        "cpu,matmul,ref:any,undef,src:f32::blocked:ab::f0,,...,,16x32:32x64,15.5",  # for none
    ],
)
def test_dots_that_stand_for_nobody_knows_what_are_refused(rest: str) -> None:
    with pytest.raises(Unreadable):
        OnednnVerbose.parse(OnednnVerbose.measure(f"onednn_verbose,v1,primitive,exec,{rest}")[0])


def test_a_line_that_only_looks_like_one_is_refused() -> None:
    with pytest.raises(Unreadable, match="unexpected 'not,a,real,line'"):
        OnednnVerbose.parse("onednn_verbose,v1,not,a,real,line")


# Executions.


def test_a_linear_layer_on_the_reference_implementation() -> None:
    run = ran(LINEAR)
    assert (run.engine, run.primitive, run.impl) == ("cpu", "inner_product", "ref:any")
    assert run.prop_kind == "forward_inference"
    assert run.dtypes == {"src": "bf16", "wei": "bf16", "bia": "bf16", "dst": "bf16"}
    assert run.precision == "bf16"
    assert run.shape == "mb64ic64oc64"
    assert run.problem.named == {"mb": 64, "ic": 64, "oc": 64}
    assert [md.tag for md in run.weights] == ["ba"]
    assert run.weights[0].is_plain
    assert run.attributes.scratchpad == "user"


@pytest.mark.parametrize(
    "line",
    [
        (
            "onednn_verbose,primitive,exec,cpu,inner_product,ref:any,forward_inference,"
            "src_bf16::blocked:ab::f0 wei_bf16::blocked:ba::f0 bia_bf16::blocked:a::f0 "
            "dst_bf16::blocked:ab::f0,attr-scratchpad:user,,mb64ic64oc64,1"
        ),
        (
            "onednn_verbose,exec,cpu,inner_product,ref:any,forward_inference,"
            "src_bf16::blocked:ab:f0 wei_bf16::blocked:ba:f0 bia_bf16::blocked:a:f0 "
            "dst_bf16::blocked:ab:f0,attr-scratchpad:user ,,mb64ic64oc64,1"
        ),
        LINEAR.replace("_verbose,v1,", "_verbose,v0,"),
        LINEAR.replace("onednn_verbose,v1,primitive,", "dnnl_verbose,"),
    ],
)
def test_every_form_of_the_line_says_the_same(line: str) -> None:
    assert ran(line) == ran(LINEAR)


def test_descriptors_of_a_convolution() -> None:
    run = ran(
        "onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward_training,"
        "src:f32:a:blocked:aBcd16b::f0 wei:f32:ap:blocked:ABcd16b16a::f0 bia:undef::undef::: "
        "dst:f32:a:blocked:aBcd16b:32x1:f8:zpm2,attr-scratchpad:user,alg:convolution_direct,"
        "g2mb2_ic16oc32_ih28oh28kh3sh1dh0ph1_iw28ow28kw3sw1dw0pw1,22.021"
    )
    src, wei, bia, dst = run.mds
    assert (src.props, wei.props, wei.tag) == ("a", "ap", "ABcd16b16a")
    assert (bia.dtype, bia.kind, bia.tag) == ("undef", "undef", "")
    assert (dst.strides, dst.flags) == ("32x1", "f8:zpm2")
    assert not wei.is_plain
    assert run.dtypes == {"src": "f32", "wei": "f32", "dst": "f32"}
    assert run.setting("alg") == "convolution_direct"
    assert run.shape == "g2mb2_ic16oc32_ih28oh28kh3sh1dh0ph1_iw28ow28kw3sw1dw0pw1"
    assert run.problem.named["g"] == 2
    assert run.problem.named["kw"] == 3


def test_attributes_of_a_quantised_product() -> None:
    run = ran(
        "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_vnni,undef,"
        "src:u8:a:blocked:ab::f0 wei:s8:p:blocked:BA16a64b4a::f8:zpm2 "
        "bia:f32:a:blocked:ab::f0_mask2 dst:u8:a:blocked:ab::f0,attr-scratchpad:user "
        "attr-fpmath:bf16:true attr-scales:src0:0:f32+wei:6:f16:128x1 attr-zero-points:src0:0:s32 "
        "attr-post-ops:sum+eltwise_hardswish:0.166667:0.5+eltwise_clip:0:1e+06+"
        "binary_add:bf16:3:ab attr-acc-mode:relaxed,,64x128:128x96,0.0061"
    )
    attributes = run.attributes
    assert attributes.fpmath == "bf16:true"
    assert [(s.scaled, s.detail) for s in attributes.scales] == [
        ("src0", "0:f32"),
        ("wei", "6:f16:128x1"),
    ]
    assert [(z.scaled, z.detail) for z in attributes.zero_points] == [("src0", "0:s32")]
    assert [(p.op, p.detail) for p in attributes.post_ops] == [
        ("sum", ""),
        ("eltwise_hardswish", "0.166667:0.5"),
        ("eltwise_clip", "0:1e+06"),
        ("binary_add", "bf16:3:ab"),
    ]
    assert attributes.others == ("attr-acc-mode:relaxed",)
    assert run.mds[2].mask == 2
    assert run.precision == "u8:s8:f32:u8"
    assert run.problem.dims == ((64, 128), (128, 96))


def test_names_of_arguments_hold_underscores() -> None:
    run = ran(
        "onednn_verbose,exec,cpu,rnn,ref,backward,src_layer_f32::blocked:abc:f0 "
        "diff_wei_layer_f32:a:blocked:abcde:448x448x64x13x1:f0 wei_iter_f8_e5m2::any:any:f0,,"
        "alg:vanilla_lstm direction:unidirectional_left2right activation:undef flags:,"
        "l1t5mb3sic13slc7dhc13dic13,2"
    )
    assert [(md.arg, md.dtype) for md in run.mds] == [
        ("src_layer", "f32"),
        ("diff_wei_layer", "f32"),
        ("wei_iter", "f8_e5m2"),
    ]
    assert run.mds[1].strides == "448x448x64x13x1"
    assert [s.key for s in run.aux] == ["alg", "direction", "activation", "flags"]
    assert run.setting("flags") == ""
    assert run.is_training


def test_the_blas_interface_has_no_implementation() -> None:
    run = ran(
        "onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src_s8::blocked:ab:f0 "
        "wei_s8::blocked:ab:f0 dst_s32::blocked:ab:f0,lda:64 ldb:96,,64x128:128x96,0.013"
    )
    assert run.impl == ""
    assert run.attributes.others == ("lda:64", "ldb:96")


def test_creations_micro_kernels_and_nested_primitives_are_apart() -> None:
    rest = "cpu,matmul,gemm:jit:bf16,undef,src:bf16::blocked:ab::f0,,,*x16:16x64,0.25"
    nested = read(f"onednn_verbose,v1,primitive,create_nested:cache_miss,{rest}")
    made = read(f"onednn_verbose,create:cache_hit,{rest}")
    micro = read(f"onednn_verbose,v1,ukernel,exec,{rest}")
    assert isinstance(nested, NestedCreate)
    assert isinstance(made, PrimitiveCreate)
    assert not isinstance(made, NestedCreate)
    assert made.cache == "cache_hit"
    assert isinstance(micro, UkernelExec)
    assert not isinstance(micro, PrimitiveExec)
    assert nested.problem.dims is None


# Refusals.


def test_a_refusal_with_its_problem() -> None:
    refusal = read(
        "onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,brg:sve_512,undef,"
        "src:bf16::blocked:ab::f0 wei:bf16:a:any:any::f0 dst:bf16::blocked:ab::f0,"
        "attr-scratchpad:user attr-post-ops:sum,,64x64:64x64,fall back to x, y, based on z,"
        "src/cpu/aarch64/matmul/brgemm_matmul.cpp:99"
    )
    assert isinstance(refusal, DispatchRejection)
    assert (refusal.component, refusal.primitive, refusal.impl) == (
        "matmul",
        "matmul",
        "brg:sve_512",
    )
    assert refusal.shape == "64x64:64x64"
    assert refusal.message == "fall back to x, y, based on z"
    assert (refusal.file, refusal.line) == ("src/cpu/aarch64/matmul/brgemm_matmul.cpp", 99)


def test_a_refusal_without_problem() -> None:
    refusal = read(
        "onednn_verbose,v1,primitive,create:dispatch,convolution,unsupported feature for padding: "
        "f,t,l padding not supported,src/cpu/x64/jit_avx512_common_1x1_conv_kernel.cpp:680"
    )
    assert isinstance(refusal, DispatchRejection)
    assert (refusal.component, refusal.primitive) == ("convolution", "")
    assert refusal.message == "unsupported feature for padding: f,t,l padding not supported"
    assert refusal.line == 680


def test_a_refusal_of_the_compute_library() -> None:
    refusal = read("onednn_verbose,v1,cpu,acl,unsupported:  only supports 2 spatial dimensions")
    assert refusal == LibraryRejection(
        engine="cpu", owner="acl", message="only supports 2 spatial dimensions"
    )


# Cost of reading.


def test_a_typical_line_costs_few_tokens() -> None:
    grammar = grammars.load("onednn_verbose", "tracelens.logs.onednn_verbose")
    text = OnednnVerbose.measure(LINEAR)[0]
    assert grammar.tokens(text) == 17
    assert grammar.tokens("mb64ic64oc64", "problem") == 3
    assert grammar.tokens("attr-scratchpad:user", "attributes") == 2


# What a report shows.


def evidence(*lines: str) -> Evidence:
    found = Evidence()
    for number, line in enumerate(lines, 1):
        text, ms = OnednnVerbose.measure(line)
        times = Times()
        if ms is not None:
            times.add(ms)
        found.add(
            OnednnVerbose, text, Place("run.log", number), lines=1, times=times if times.n else None
        )
    return found


def test_the_environment_is_what_the_header_says() -> None:
    found = evidence(
        "onednn_verbose,v1,info,oneDNN v3.7.1 (commit 8d263e693366ef8db40acc569cc7d8edf644556d)",
        "onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:2",
        "onednn_verbose,v1,info,cpu,isa:AArch64 SVE (256 bits)",
        "onednn_verbose,v1,info,gpu,runtime:none",
    )
    assert OnednnVerbose.environment(found) == {
        "onednn": "3.7.1",
        "isa": "AArch64 SVE (256 bits)",
        "native_types": None,
        "threads": 2,
        "device": "cpu",
    }
    assert set(OnednnVerbose.environment(Evidence()).values()) == {None}


def test_the_table_is_sorted_by_time_and_adds_up() -> None:
    fast = LINEAR.replace("ref:any", "acl").replace("84.4229", "0.5")
    plain = LINEAR.replace(",attr-scratchpad:user,", ",,")
    rows = tables(evidence(fast, LINEAR, fast, plain))["primitives"]
    assert [(row["impl"], row["class"], row["count"]) for row in rows] == [
        ("ref:any", "reference", 2),
        ("acl", "optimised", 2),
    ]
    assert [row["ms"] for row in rows] == [168.8, 1.0]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=1e-3)
    assert rows[1]["median_ms"] == 0.5
    assert rows[1]["gflops"] == pytest.approx(2 * 64**3 / 0.5 / 1e6, rel=1e-3)
    assert rows[0]["dtypes"] == "bf16"
    assert rows[0]["shape"] == "mb64ic64oc64"


def test_no_executions_no_table() -> None:
    assert tables(Evidence()) == {}


def test_what_looks_like_a_place_in_a_file_is_none() -> None:
    line = "onednn_verbose,v1,cpu,debuginfo,platform,cache,L1d:48KB,L2:1024KB,smt:1"
    (record,) = OnednnVerbose.parse(line)
    assert record == LibraryMessage(
        api="cpu", level="debuginfo", message="platform,cache,L1d:48KB,L2:1024KB,smt:1"
    )


def test_a_warning_may_name_its_place() -> None:
    line = (
        "onednn_verbose,v1,primitive,warning,ukernel,Scratchpad is not cache-line aligned,"
        "src/cpu/x64/ukernel/brgemm.cpp:207"
    )
    (record,) = OnednnVerbose.parse(line)
    assert record == LibraryMessage(
        api="primitive",
        level="warning",
        message="ukernel,Scratchpad is not cache-line aligned",
        file="src/cpu/x64/ukernel/brgemm.cpp",
        line=207,
    )
