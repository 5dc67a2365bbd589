"""FLOPs and bytes, worked out by hand."""

import pytest

from tracelens.logs._onednn_work import bits_of
from tracelens.logs.onednn_verbose import OnednnVerbose, PrimitiveExec


def run(
    primitive: str, mds: str, problem: str, aux: str = "", prop: str = "undef"
) -> PrimitiveExec:
    line = f"onednn_verbose,v1,primitive,exec,cpu,{primitive},x,{prop},{mds},,{aux},{problem},"
    (record,) = OnednnVerbose.parse(line)
    assert isinstance(record, PrimitiveExec)
    return record


def mds(**dtypes: str) -> str:
    return " ".join(f"{arg}:{dtype}::blocked:ab::f0" for arg, dtype in dtypes.items())


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("f64", 64),
        ("f32", 32),
        ("s32", 32),
        ("bf16", 16),
        ("f16", 16),
        ("u8", 8),
        ("boolean", 8),
        ("f8_e5m2", 8),
        ("e8m0", 8),
        ("s4", 4),
        ("f4_e2m1", 4),
        ("undef", 0),
    ],
)
def test_the_size_of_an_element(dtype: str, bits: int) -> None:
    assert bits_of(dtype) == bits


def test_matmul() -> None:
    one = run("matmul", mds(src="u8", wei="s8", bia="f32", dst="u8"), "64x128:128x96")
    assert one.flops == 2 * 64 * 128 * 96
    assert one.bytes == 64 * 128 + 128 * 96 + 4 * 96 + 64 * 96


def test_matmul_with_batches_of_which_one_is_shared() -> None:
    one = run("matmul", mds(src="f16", wei="u4", dst="f16"), "4x2x32:1x32x64")
    assert one.flops == 2 * 4 * 2 * 32 * 64
    assert one.bytes == 2 * (4 * 2 * 32) + (32 * 64) // 2 + 2 * (4 * 2 * 64)


def test_inner_product_with_spatial_dimensions() -> None:
    one = run("inner_product", mds(src="f32", wei="f32", dst="f32"), "mb4ic8ih3iw5oc16")
    assert one.flops == 2 * 4 * 16 * 8 * 15
    assert one.bytes == 4 * (4 * 8 * 15 + 16 * 8 * 15 + 4 * 16)


def test_grouped_convolution() -> None:
    shape = "g2mb2_ic16oc32_ih28oh14kh3sh2dh0ph1_iw28ow14kw5sw2dw0pw2"
    one = run("convolution", mds(src="f32", wei="f32", bia="undef", dst="f32"), shape)
    assert one.flops == 2 * 2 * 32 * 14 * 14 * (16 // 2) * 3 * 5
    assert one.bytes == 4 * (2 * 16 * 28 * 28 + 32 * 8 * 15 + 2 * 32 * 14 * 14)


def test_deconvolution() -> None:
    shape = "mb1_ic16oc8_ih16oh32kh2sh2dh0ph0_iw16ow32kw2sw2dw0pw0"
    one = run("deconvolution", mds(src="bf16", wei="bf16", dst="bf16"), shape)
    assert one.flops == 2 * 16 * 16 * 16 * 8 * 4


def test_three_dimensional_convolution() -> None:
    shape = "mb1_ic3oc4_id6od4kd3sd1dd0pd0_ih6oh4kh3sh1dh0ph0_iw6ow4kw3sw1dw0pw0"
    assert run("convolution", mds(src="f32"), shape).flops == 2 * 4 * 4**3 * 3 * 27


LSTM = "alg:vanilla_lstm direction:unidirectional_left2right activation:undef flags:"


def test_recurrent_network() -> None:
    args = mds(src_layer="f32", wei_layer="f32", wei_iter="f32")
    shape = "l1t5mb3sic64slc32dhc64dic64"
    one = run("rnn", args, shape, LSTM)
    assert one.flops == 2 * 5 * 3 * 4 * 64 * (32 + 64)
    assert one.bytes == 4 * (5 * 3 * 32 + 32 * 4 * 64 + 64 * 4 * 64)
    assert run("rnn", args, shape, LSTM, "backward").flops == 2 * one.flops
    both = LSTM.replace("unidirectional_left2right", "bidirectional_concat")
    assert run("rnn", args, shape, both).flops == 2 * one.flops
    assert run("rnn", args, shape, LSTM.replace("lstm", "rnn")).flops == one.flops // 4


@pytest.mark.parametrize(
    ("primitive", "args", "problem", "flops", "elements"),
    [
        ("reorder", {"src": "f32", "dst": "f32"}, "64x48", 0, 2 * 64 * 48),
        ("eltwise", {"data": "f32"}, "2x16", 32, 2 * 32),
        ("softmax", {"src": "f32", "dst": "f32"}, "2x16", 5 * 32, 2 * 32),
        ("binary", {"src": "f32", "dst": "f32"}, "2x16:2x16", 32, 2 * 32),
        ("concat", {"src": "f32", "dst": "f32"}, "2x8:2x8", 0, 16 + 32),
        ("batch_normalization", {"data": "f32"}, "mb2ic16ih4iw4", 4 * 512, 2 * 512),
        ("layer_normalization", {"src": "f32", "dst": "f32"}, "2x16", 4 * 32, 2 * 32),
        ("reduction", {"src": "f32", "dst": "f32"}, "2x16:2x1", 32, 32 + 2),
        ("shuffle", {"data": "f32"}, "2x16", 0, 2 * 32),
        (
            "pooling",
            {"src": "f32", "dst": "f32"},
            "mb2ic16_ih28oh14kh2sh2dh0ph0_iw28ow14kw2sw2dw0pw0",
            2 * 16 * 14 * 14 * 4,
            2 * 16 * (28 * 28 + 14 * 14),
        ),
    ],
)
def test_primitives_that_move_data(
    primitive: str, args: dict[str, str], problem: str, flops: int, elements: int
) -> None:
    one = run(primitive, mds(**args), problem)
    assert one.flops == flops
    assert one.bytes == 4 * elements


def test_a_sum_adds_all_but_one() -> None:
    three = (
        "src:f32::blocked:a::f0 src:f32::blocked:a::f0 src:f32::blocked:a::f0 dst:f32::any:any::f0"
    )
    assert run("sum", three, "10").flops == 20


def test_attention() -> None:
    args = mds(query="f16", key="f16", val="f16", dst="f16")
    full = run("sdpa", args, "1x8x32x64:1x8x64x128:1x8x128x64")
    assert full.flops == 2 * 8 * 32 * 128 * (64 + 64)
    causal = run("sdpa", args, "1x8x32x64:1x8x64x128:1x8x128x64", "msk:causal_top_left")
    assert causal.flops == full.flops // 2


def test_what_is_not_known_is_not_guessed() -> None:
    assert run("matmul", mds(src="f32", wei="f32"), "*x64:64x64").flops is None
    assert run("matmul", mds(src="f32", wei="f32"), "*x64:64x64").bytes is None
    assert run("telepathy", mds(src="f32"), "64x64").flops is None
    assert run("convolution", mds(src="f32"), "64x64").flops is None
    assert run("convolution", mds(src="f32"), "64x64").bytes is None
