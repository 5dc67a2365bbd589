"""In which precision products ran: what the lines of real machines prove, and what they do not."""

from pathlib import Path

import pytest

from tests.corpus import ROOT, needs_corpus
from tracelens.engine import judge
from tracelens.logs._isa import Level, level, matrix_types, native_types, vector_types
from tracelens.logs.onednn_verbose import OnednnVerbose, PrimitiveExec
from tracelens.onednn.precision import Arithmetic, arithmetic, is_emulated
from tracelens.report import Report
from tracelens.source import read

BF16 = "Intel AVX-512 with Intel DL Boost and bfloat16 support"
PLAIN = "Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions"
AMX = "Intel AVX10.1 and Intel AMX with bfloat16 and 8-bit integer support"
AMX_OLD = (
    "Intel AVX-512 with float16, Intel DL Boost and bfloat16 support and "
    "Intel AMX with bfloat16 and 8-bit integer support"
)
ARM = "AArch64 SVE (256 bits)"


def product(types: str, impl: str, fpmath: str = "", engine: str = "cpu") -> PrimitiveExec:
    source, weights, result = types.split(":")
    allowed = f" attr-fpmath:{fpmath}" if fpmath else ""
    line = (
        f"onednn_verbose,v1,primitive,exec,{engine},matmul,{impl},undef,"
        f"src:{source}::blocked:ab::f0 wei:{weights}::blocked:ab::f0 dst:{result}::blocked:ab::f0,"
        f"attr-scratchpad:user{allowed},,8x16:16x32,"
    )
    (run,) = OnednnVerbose.parse(line)
    assert isinstance(run, PrimitiveExec)
    return run


@pytest.mark.parametrize(
    ("isa", "newest", "vector", "matrix"),
    [
        ("Intel SSE4.1", Level.SSE41, set(), set()),
        ("Intel AVX", Level.AVX, set(), set()),
        ("Intel AVX2 with Intel DL Boost", Level.AVX2, set(), set()),
        (
            "Intel AVX2 with Intel DL Boost, float16 and bfloat16 support",
            Level.AVX2,
            {"bf16", "f16"},
            set(),
        ),
        (PLAIN, Level.AVX512, set(), set()),
        ("Intel AVX-512 with Intel DL Boost", Level.AVX512, set(), set()),
        (BF16, Level.AVX512, {"bf16"}, set()),
        (f"{BF16} on Ymm/Zmm", Level.AVX512, {"bf16"}, set()),
        (AMX_OLD, Level.AVX512, {"bf16", "f16"}, {"bf16", "int8"}),
        (AMX, Level.AVX10, {"bf16", "f16"}, {"bf16", "int8"}),
        (
            "Intel AVX10.2 and Intel AMX with float8, float16, bfloat16 and 8-bit integer support",
            Level.AVX10,
            {"bf16", "f16"},
            {"bf16", "f16", "int8", "f8"},
        ),
        (ARM, Level.UNKNOWN, set(), set()),
        ("Generic", Level.UNKNOWN, set(), set()),
        ("", Level.UNKNOWN, set(), set()),
    ],
)
def test_instruction_sets(isa: str, newest: Level, vector: set[str], matrix: set[str]) -> None:
    assert level(isa) is newest
    assert vector_types(isa) == vector
    assert matrix_types(isa) == matrix


def test_what_has_instructions_in_words() -> None:
    assert native_types(AMX_OLD) == "bf16 (AMX), f16, int8 (AMX)"
    assert native_types(BF16) == "bf16"
    assert native_types(PLAIN) == native_types(ARM) == ""


def test_a_permission_is_no_proof() -> None:
    said = arithmetic(product("f32:f32:f32", "brg_matmul:avx512_core", "bf16"), BF16)
    assert said[:3] == ("f32", "bf16", "f32")
    assert said.is_declined
    assert not said.is_lowered
    assert not arithmetic(product("f32:f32:f32", "brg_matmul:avx512_core", "strict")).is_declined


def test_short_weights_between_float32_arguments_are_one() -> None:
    said = arithmetic(product("f32:bf16:f32", "gemm:acl", "bf16"), ARM)
    assert said[:3] == ("f32", "bf16", "bf16")
    assert said.is_lowered
    # The attribute is not printed by every version; the weights are.
    assert arithmetic(product("f32:bf16:f32", "gemm:acl"), ARM).is_lowered


def test_amx_has_no_float32() -> None:
    said = arithmetic(product("f32:f32:f32", "brg_matmul:avx10_1_512_amx", "any"), AMX)
    assert said[:3] == ("f32", "bf16", "bf16")


def test_a_gpu_does_not_tell() -> None:
    run = product("f32:f32:f32", "jit:gemm:any", "tf32", engine="gpu")
    assert arithmetic(run, BF16)[:3] == ("f32", "tf32", "unknown")
    assert not is_emulated(product("bf16:bf16:bf16", "jit:gemm:any", engine="gpu"), PLAIN)


def test_integers() -> None:
    run = product("u8:s8:f32", "brg_matmul:avx512_core_vnni")
    assert arithmetic(run)[:3] == ("u8", "u8", "int8")
    unpacked = product("bf16:s8:bf16", "brg_matmul:avx512_core_bf16", "bf16:true")
    assert arithmetic(unpacked)[:3] == ("bf16", "bf16", "bf16")


def test_how_bfloat16_is_multiplied() -> None:
    fast = product("bf16:bf16:bf16", "brg_matmul:avx512_core_bf16")
    slow = product("bf16:bf16:bf16", "gemm:jit:bf16")
    reference = product("bf16:bf16:bf16", "ref:any")
    assert arithmetic(fast, BF16) == Arithmetic("bf16", "bf16", "bf16", "by vector instructions")
    assert is_emulated(slow, PLAIN)
    assert not is_emulated(slow, BF16)
    assert not is_emulated(slow, ARM)
    assert "plain loops" in arithmetic(reference, ARM).why


def report(path: str) -> Report:
    evidence, inputs = read([path])
    return judge(evidence, inputs, rules=[])


@needs_corpus
def test_the_table_of_a_real_machine() -> None:
    assert ROOT is not None
    slow = report(str(ROOT / "corpus/2.13.0/seed002_mkldnn_matmul_bf16/log.txt"))
    rows = slow.tables["precision"]
    permitted = [row for row in rows if row["primitive"] in {"matmul", "inner_product"}]
    assert {(row["requested"], row["ran_in"]) for row in permitted} == {("bf16", "f32")}
    assert {row["impl"] for row in permitted} == {"brg_matmul:avx512_core"}
    arm = report(str(ROOT / "corpus/aarch64/12_fpmath_env_bf16.log"))
    used = [row for row in arm.tables["precision"] if row["dtypes"] == "f32:bf16:f32"]
    assert [(row["requested"], row["ran_in"], row["count"]) for row in used] == [
        ("bf16", "bf16", 3)
    ]


def test_torch_says_whether_cuda_may_use_tf32(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    prefix = "V1120 10:34:45.458000 24485 torch/_dynamo/guards.py:5396] [0/0] [__guards] "
    tree = [
        "",
        "TREE_GUARD_MANAGER:",
        "+- RootGuardManager",
        '| +- GLOBAL_STATE: ___check_global_state() against {"allow_tf32":true,"num_threads":2}',
    ]
    path.write_text("".join(f"{prefix}{line}\n" for line in tree), encoding="utf-8")
    assert report(str(path)).environment.model_dump()["tf32"] is True
