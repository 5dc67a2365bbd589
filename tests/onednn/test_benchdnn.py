"""Commands of benchdnn, against the options that oneDNN documents."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracelens.logs.onednn_verbose import OnednnVerbose, PrimitiveExec
from tracelens.onednn.benchdnn import command

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
_TYPE = r"(undef|f64|f32|f16|bf16|s32|s8|u8|f8_e4m3|f8_e5m2)"
_TAG = r"(any|[A-Za-z0-9]+)"
_ARG = r"(src|src1|wei|dst|msrc\d+)"
_NAME = r"[a-z_0-9]+"
_NUMBER = r"-?[\d.]+(e-?\d+)?"
#: Option -> what its value may be, as in tests/benchdnn/doc.
OPTIONS = {
    "mode": "P",
    "engine": "cpu|gpu",
    "dir": "FWD_B|FWD_D|FWD_I|BWD_D|BWD_W|BWD_WB",
    "prop": "FWD_I|FWD_D|BWD_DW",
    "cfg": "f32|bf16|f16",
    "dt": rf"{_TYPE}(:{_TYPE}:{_TYPE})?",
    "sdt": rf"{_TYPE}(:{_TYPE})*",
    "ddt": _TYPE,
    "bia-dt": _TYPE,
    "bia_mask": r"\d+",
    "stag": rf"{_TAG}(:{_TAG})*",
    "wtag": _TAG,
    "dtag": _TAG,
    "tag": _TAG,
    "strides": r"[\dx]*(:[\dx]*){1,2}",
    "alg": "[a-zA-Z_]+",
    "alpha": _NUMBER,
    "beta": _NUMBER,
    "axis": r"\d+",
    "direction": "left2right|right2left|concat|sum",
    "attr-scratchpad": "user|library",
    "attr-fpmath": "(strict|bf16|f16|tf32|any)(:true)?",
    "attr-scales": rf"{_ARG}:\d+(:[\w.]+)*(\+{_ARG}:\d+(:[\w.]+)*)*",
    "attr-zero-points": rf"{_ARG}:\d+(:[\w.]+)*(\+{_ARG}:\d+(:[\w.]+)*)*",
    "attr-post-ops": rf"{_NAME}(:[\w.-]+)*(\+{_NAME}(:[\w.-]+)*)*",
}
DRIVERS = {
    "matmul": "matmul",
    "inner_product": "ip",
    "convolution": "conv",
    "deconvolution": "deconv",
    "reorder": "reorder",
    "eltwise": "eltwise",
    "softmax": "softmax",
    "binary": "binary",
    "sum": "sum",
    "rnn": "rnn",
}


def read(line: str) -> PrimitiveExec:
    run = OnednnVerbose.parse(OnednnVerbose.measure(line)[0])[0]
    assert isinstance(run, PrimitiveExec)
    return run


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            (
                "onednn_verbose,v1,primitive,exec,cpu,inner_product,ref:any,forward_inference,"
                "src:bf16::blocked:ab::f0 wei:bf16::blocked:ba::f0 bia:bf16::blocked:a::f0 "
                "dst:bf16::blocked:ab::f0,attr-scratchpad:user,,mb64ic64oc64,84.4"
            ),
            (
                "--ip --dir=FWD_I --dt=bf16:bf16:bf16 --bia-dt=bf16 --stag=ab --wtag=ba --dtag=ab "
                "--attr-scratchpad=user mb64ic64oc64"
            ),
        ),
        (
            (
                "onednn_verbose,v1,primitive,exec,cpu,matmul,ref_int8:any,undef,"
                "src:s8:a:blocked:ab::f0 wei:s8:p:blocked:BA16a64b4a::f8:zpm2 "
                "dst:f32:a:blocked:ab::f0,"
                "attr-scratchpad:user attr-scales:src0:0:f32+wei:2:f32,,33x65:65x17,1.1"
            ),
            (
                "--matmul --dt=s8:s8:f32 --stag=any --wtag=BA16a64b4a --dtag=any "
                "--attr-scratchpad=user --attr-scales=src:0:0.5:f32+wei:2:f32 33x65:65x17"
            ),
        ),
        (
            (
                "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx512_core_vnni,undef,"
                "src:u8:a:blocked:ab::f0 wei:s8:p:blocked:BA16a64b4a::f8:zpm2 "
                "bia:f32:a:blocked:ab::f0_mask2 dst:u8:a:blocked:ab::f0,attr-scratchpad:user "
                "attr-zero-points:src0:0:s32 attr-post-ops:eltwise_relu,,64x128:128x96,0.0061"
            ),
            (
                "--matmul --dt=u8:s8:u8 --bia-dt=f32 --bia_mask=2 --stag=any --wtag=BA16a64b4a "
                "--dtag=any --attr-scratchpad=user --attr-zero-points=src:0:2:s32 "
                "--attr-post-ops=relu 64x128:128x96"
            ),
        ),
        (
            (
                "onednn_verbose,v1,primitive,exec,cpu,convolution,ref:any,backward_weights,"
                "src:bf16::blocked:acdb::f0 wei:bf16:a:blocked:acdb::f0 bia:bf16::blocked:a::f0 "
                "dst:bf16::blocked:acdb::f0,,alg:convolution_direct,"
                "mb2_ic3oc5_ih7oh7kh3sh1dh0ph1_iw7ow7kw3sw1dw0pw1,1.0"
            ),
            (
                "--conv --dir=BWD_WB --dt=bf16:bf16:bf16 --bia-dt=bf16 --stag=acdb --wtag=any "
                "--dtag=acdb mb2_ic3oc5_ih7oh7kh3sh1dh0ph1_iw7ow7kw3sw1dw0pw1"
            ),
        ),
        (
            (
                "onednn_verbose,v1,primitive,exec,cpu,matmul,gemm:jit:bf16,undef,"
                "src:bf16::blocked:ab:32x1:f0 wei:bf16::blocked:ab::f0 dst:f32::blocked:ab::f0,,,"
                "2x16:16x64,0.5"
            ),
            "--matmul --dt=bf16:bf16:f32 --strides=32x1:: --wtag=ab --dtag=ab 2x16:16x64",
        ),
        (
            (
                "onednn_verbose,v1,primitive,exec,cpu,reorder,simple:any,undef,"
                "src:bf16::blocked:abcd::f0 dst:f32::blocked:acdb::f0,,,8x64x56x56,69.6"
            ),
            "--reorder --sdt=bf16 --ddt=f32 --stag=abcd --dtag=acdb 8x64x56x56",
        ),
    ],
)
def test_a_line_becomes_the_command_that_runs_it(line: str, words: str) -> None:
    assert command(read(line)) == f"./benchdnn --mode=P --engine=cpu {words}"


def test_what_has_no_driver_gives_no_command() -> None:
    line = (
        "onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src_s8::blocked:ab:f0 "
        "wei_s8::blocked:ab:f0 dst_s32::blocked:ab:f0,,,64x128:128x96,0.013"
    )
    assert command(read(line)) == ""


def executions() -> Iterator[str]:
    seen = set()
    for path in sorted(RULES.glob("ONE*/*.log")):
        for line in path.read_text(errors="replace").splitlines():
            text = OnednnVerbose.measure(line)[0]
            if line.startswith("onednn_verbose,v1,primitive,exec,cpu") and text not in seen:
                seen.add(text)
                yield text


def test_every_option_is_one_that_oneDNN_documents() -> None:  # noqa: N802
    checked = 0
    for text in executions():
        run = read(text)
        words = command(run).split()
        if not words:
            continue
        checked += 1
        assert words[0] == "./benchdnn"
        assert words[-1] == run.shape
        assert f"--{DRIVERS[run.primitive]}" in words
        for word in words[1:-1]:
            name, equals, value = word.removeprefix("--").partition("=")
            if not equals:
                assert name in DRIVERS.values()
                continue
            assert re.fullmatch(OPTIONS[name], value), f"{word} of {text}"
    assert checked > 150
