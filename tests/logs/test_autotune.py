"""AUTOTUNE tables: every form from torch 2.0 to 2.15, and what follows from operator and sizes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens import analyze
from tracelens.logs.autotune import Autotune, AutotuneTable, Gemm
from tracelens.source import read


def table(*lines: str) -> AutotuneTable:
    (record,) = Autotune.parse("\n".join(lines))
    assert isinstance(record, AutotuneTable)
    return record


def test_the_newest_form_is_read_whole() -> None:
    found = table(
        "Autotune Choices Stats:",
        '{"num_choices": 20, "num_triton_choices": 19, "best_kernel": "mm", "best_time": 0.3848,'
        ' "best_triton_pos": 1, "best_triton_time": 0.6, "best_triton_kernel": "triton_mm_16",'
        ' "best_triton_kernel_desc": "ALLOW_TF32=False"}',
        "AUTOTUNE mm(3840x1152, 1152x49136)",
        "strides: [1, 3840], [49152, 1]",
        "dtypes: torch.bfloat16, torch.bfloat16",
        "  mm 0.3848 ms 100.0% ",
        "  triton_mm_16 0.6288 ms 61.2% ACC_TYPE='tl.float32', ALLOW_TF32=False, num_warps=4",
        "SingleProcess AUTOTUNE benchmarking takes 1.5 seconds and 0.25 seconds precompiling for 20"
        " choices and 0.125 seconds prescreening",
    )
    assert found.op == "mm"
    assert found.sizes == ((3840, 1152), (1152, 49136))
    assert found.strides == ((1, 3840), (49152, 1))
    assert found.dtypes == ("bfloat16", "bfloat16")
    assert [choice.kernel for choice in found.choices] == ["mm", "triton_mm_16"]
    assert found.choices[1].parameters.startswith("ACC_TYPE='tl.float32', ALLOW_TF32=False")
    assert found.stats is not None
    assert found.stats.num_triton_choices == 19
    assert (found.seconds, found.precompiling, found.prescreening) == (1.5, 0.25, 0.125)
    assert (found.process, found.tried) == ("SingleProcess", 20)
    assert [choice.at for choice in found.choices] == [5, 6]


@pytest.mark.parametrize(
    ("footer", "seconds", "precompiling", "tried"),
    [
        ("SingleProcess AUTOTUNE takes 2.9499 seconds", 2.9499, None, None),
        ("SubProcess AUTOTUNE takes 1.2345 seconds", 1.2345, None, None),
        (
            "SingleProcess AUTOTUNE benchmarking takes 6 seconds and 0.5 seconds precompiling",
            6,
            0.5,
            None,
        ),
        (
            "X AUTOTUNE benchmarking takes 3 seconds and 0.5 seconds precompiling for 2 choices",
            3.0,
            0.5,
            2,
        ),
    ],
)
def test_the_footer_of_every_version(
    footer: str, seconds: float, precompiling: float | None, tried: int | None
) -> None:
    found = table("AUTOTUNE mm(8x8, 8x8)", "  mm 0.1 ms 100.0%", footer)
    assert (found.seconds, found.precompiling, found.tried) == (seconds, precompiling, tried)


def test_seconds_of_torch_2_0_are_milliseconds() -> None:
    found = table("AUTOTUNE mm(8x8, 8x8)", "  triton_mm_4 0.0082s 100.0%", "  mm 0.0102s 80.4%")
    assert [choice.ms for choice in found.choices] == [0.0082, 0.0102]


def test_a_choice_that_did_not_run_is_infinite_and_never_wins() -> None:
    found = table(
        "AUTOTUNE linear_unary(64x16, 32x16, 32)",
        "  cpp_CppMicroGemmFP32Vec_0 inf ms 0.0% ",
        "  _linear_pointwise 0.0277 ms 100.0% ",
    )
    assert math.isinf(found.choices[0].ms)
    assert found.best is not None
    assert found.best.kernel == "_linear_pointwise"
    assert found.lead is None


def test_a_time_of_zero_divides_nothing() -> None:
    found = table(
        "AUTOTUNE addmm(128, 64x256, 256x128)",
        "  bias_addmm 0.0000 ms <DIVIDED BY ZERO ERROR>",
        "  addmm 0.0120 ms 0.0%",
    )
    assert found.best is not None
    assert found.best.kernel == "bias_addmm"
    assert found.best.percent is None
    assert found.lead is None
    assert found.gflops(found.best) is None


@pytest.mark.parametrize(
    ("header", "gemm"),
    [
        ("mm(256x64, 64x32)", Gemm(1, 256, 32, 64)),
        ("addmm(128, 64x256, 256x128)", Gemm(1, 64, 128, 256)),
        ("bmm(8x64x128, 8x128x32)", Gemm(8, 64, 32, 128)),
        ("baddbmm(8x64x32, 8x64x128, 8x128x32)", Gemm(8, 64, 32, 128)),
        ("linear_unary(64x256, 512x256, 512)", Gemm(1, 64, 512, 256)),
        ("linear_binary(64x256, 64x512, 512x256, 512)", Gemm(1, 64, 512, 256)),
        # MKL's packed weight has no logical shape: N comes from the third operand.
        ("packed_linear(64x256, 1459233x1, 512x256)", Gemm(1, 64, 512, 256)),
        ("mm(s0x64, 64x32)", None),
        ("mm(256x64, 65x32)", None),
        ("convolution(2x16x28x28, 32x16x3x3)", None),
    ],
)
def test_the_matrix_product_follows_from_operator_and_sizes(header: str, gemm: Gemm | None) -> None:
    assert table(f"AUTOTUNE {header}").gemm == gemm


def test_rates_count_a_multiplication_and_an_addition() -> None:
    found = table("AUTOTUNE mm(1000x1000, 1000x1000)", "  mm 1.0 ms 100.0%")
    assert found.gflops(found.choices[0]) == pytest.approx(2000)


@pytest.mark.parametrize(
    ("kernel", "generated"),
    [
        ("triton_mm_7", True),
        ("cpp_packed_gemm_0", True),
        ("cpp_CppMicroGemmFP32Vec_0", True),
        ("cutlass_3b1f", True),
        ("decompose_k_mm_32_split_3", True),
        ("mm", False),
        ("bias_addmm", False),
        ("_mkl_linear", False),
        ("_linear_pointwise", False),
    ],
)
def test_names_tell_templates_from_libraries(kernel: str, generated: bool) -> None:
    found = table("AUTOTUNE mm(8x8, 8x8)", f"  {kernel} 0.1 ms 100.0%")
    assert found.choices[0].is_template is generated


@pytest.mark.parametrize(
    "lines",
    [
        ["AUTOTUNE mm(8x8, 8x8)"],
        ["AUTOTUNE mm(8x8, 8"],
        ["Autotune Choices Stats:"],
        ["Autotune Choices Stats:", '{"num_choices": 2, "num_tri'],
        ["AUTOTUNE mm(8x8, 8x8)", "strides: [8, 1], [8, 1]"],
    ],
)
def test_a_table_that_was_cut_off_holds_what_is_there(lines: list[str]) -> None:
    found = table(*lines)
    assert found.choices == ()
    assert found.best is None
    assert found.stats is None


def test_each_table_is_a_record_with_or_without_statistics() -> None:
    old = [
        "AUTOTUNE mm(8x8, 8x8)",
        "  mm 0.1 ms 100.0%",
        "SingleProcess AUTOTUNE takes 1.0 seconds",
    ]
    new = ["Autotune Choices Stats:", '{"num_choices": 1}', *old]
    pieces = Autotune.pieces([*new, *new, *old, *old])
    assert [offset for offset, _ in pieces] == [0, 5, 10, 13]
    assert all(len(Autotune.parse(text)) == 1 for _, text in pieces)


def test_a_program_may_interrupt_a_table(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(
        "AUTOTUNE mm(8x8, 8x8)\n  mm 0.1 ms 100.0%\nloss 0.5 ms later\n  bmm 7 apples\n"
        "AUTOTUNE mm(4x4, 4x4)\n  mm 0.2 ms 100.0%\n"
    )
    evidence, (source,) = read([str(path)])
    assert [row.record.shape for row in evidence.table(AutotuneTable)] == ["8x8, 8x8", "4x4, 4x4"]
    assert source.kinds == {"autotune": 2}
    assert evidence.understood_lines == 4


def test_the_report_shows_who_won(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(
        "AUTOTUNE mm(8x8, 8x8)\ndtypes: torch.float32, torch.float32\n  mm 0.2 ms 100.0%\n"
        "  triton_mm_1 0.5 ms 40.0%\nSingleProcess AUTOTUNE takes 1.5 seconds\n"
    )
    evidence, _ = read([str(path)])
    assert Autotune.tables(evidence)["autotune"] == [
        {
            "op": "mm",
            "shape": "8x8, 8x8",
            "dtype": "float32",
            "winner": "mm",
            "winner_ms": 0.2,
            "runner_up": "triton_mm_1",
            "ratio": 2.5,
            "template_wins": False,
            "seconds": 1.5,
        }
    ]


TUNED = [case for case in cases("2.*/autotune_*") if "__" not in case.name]


@needs_corpus
@pytest.mark.parametrize("case", TUNED, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_the_winner_is_the_one_that_torch_names(case: Path) -> None:
    evidence, _ = read([log_of(case)])
    assert [unread for unread in evidence.unread if unread.kind == "autotune"] == []
    for row in evidence.table(AutotuneTable):
        found = row.record
        assert found.best is not None
        assert found.tried in (None, len(found.choices))
        assert found.gemm is not None
        if found.stats is not None:
            assert found.stats.best_kernel == found.best.kernel
            assert found.stats.best_time == pytest.approx(found.best.ms, abs=1e-4)


@needs_corpus
def test_tables_are_counted_whatever_carried_the_log() -> None:
    for case in cases("2.13.0/autotune_mlp3_float32*"):
        evidence, _ = read([log_of(case)])
        ranks = 2 if case.name.endswith("two_ranks") else 1
        assert evidence.table(AutotuneTable).count == 3 * ranks, case.name


@pytest.mark.parametrize(("place", "said"), [(1, "then `triton"), (2, "the best of Triton's is")])
def test_who_is_between_the_two_is_not_known(place: int, said: str, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        "Autotune Choices Stats:\n"
        '{"num_choices": 17, "best_kernel": "bias_addmm", "best_time": 0.33, '
        f'"best_triton_pos": {place}, "best_triton_time": 0.36, '
        '"best_triton_kernel": "triton_mm_27"}\n'
        "AUTOTUNE addmm(1024x3072, 1024x1024, 1024x3072)\n"
    )
    (found,) = [one for one in analyze(str(log)).findings if one.code == "TUN002"]
    assert said in found.message


def test_statistics_tell_the_two_best_where_no_row_is_printed() -> None:
    stats = (
        "Autotune Choices Stats:\n"
        '{"num_choices": 17, "best_kernel": "bias_addmm", "best_time": 0.33, '
        '"best_triton_pos": 2, "best_triton_time": 0.36, "best_triton_kernel": "triton_mm_27"}\n'
        "AUTOTUNE addmm(1024x3072, 1024x1024, 1024x3072)"
    )
    (table,) = Autotune.parse(stats)
    assert isinstance(table, AutotuneTable)
    assert [(one.kernel, one.ms) for one in table.choices] == [
        ("bias_addmm", 0.33),
        ("triton_mm_27", 0.36),
    ]
    # Rows say more; and where a template is the best, it is one candidate and not two.
    (table,) = Autotune.parse(f"{stats}\n  bias_addmm 0.3300 ms 100.0%")
    assert isinstance(table, AutotuneTable)
    assert len(table.choices) == 1
    (table,) = Autotune.parse(stats.replace("bias_addmm", "triton_mm_27").replace("0.36", "0.33"))
    assert isinstance(table, AutotuneTable)
    assert len(table.choices) == 1
