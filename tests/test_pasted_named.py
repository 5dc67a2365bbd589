"""What a paste shows is in the title and the advice, not only what kind of paste it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracelens import Finding, Severity, analyze

SIDE_BY_SIDE = """\
AUTOTUNE mm(64x4096, 4096x4096)          AUTOTUNE mm(64x4096, 4096x11008)
  mm 0.0300 ms 100.0%                      triton_mm_27 0.0500 ms 100.0%
  triton_mm_8 0.0400 ms 75.0%              mm 0.1000 ms 50.0%
SingleProcess AUTOTUNE takes 4.0 seconds SingleProcess AUTOTUNE takes 3.0 seconds
"""
NEWEST_FIRST = """\
AUTOTUNE addmm(64x128, 128x256)
SingleProcess AUTOTUNE benchmarking takes 10.5 seconds and 0.5 seconds precompiling
  triton_mm_72 0.1126 ms 70.0%
  triton_mm_75 0.0799 ms 98.7%
  mm 0.0788 ms 100.0%
"""
REPORT = """\
1. Data dependent error.
    When exporting, we were unable to evaluate the value of `u3`.
    This was encountered 2 times.
    This occurred at the following user stacktrace: 
        File /home/ana/proj/main.py, lineno 9, in <module>
        File /home/ana/proj/shop.py, lineno 21, in price
             `if bag[-1] > limit:`
        Locals:
            bag: Tensor(shape: torch.Size([4]))
    And the following framework stacktrace: 
        File /opt/torch/_prims_common/__init__.py, lineno 30, in check

    As a result, it was specialized to a constant (e.g. `True` in the 1st occurrence), and asserts were inserted into the graph.

    Please add `torch._check(...)` to the original code to assert this data-dependent assumption.
2. Missing fake kernel.
    torch.ops.shop.price is missing a fake kernel implementation.
"""  # noqa: E501, W291 -- as torch prints it
SHAPES = "V1120 12:45:21.000000 903 torch/fx/experimental/symbolic_shapes.py:7243] [1/1] "
UTILS = "E1120 12:45:21.000000 903 torch/_dynamo/utils.py:3014] "


def _told(text: str, tmp_path: Path) -> list[Finding]:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return list(analyze(str(path)).told)


def _words(found: Finding) -> str:
    return " ".join((found.title, found.message, *(one.text for one in found.advice)))


def test_tables_side_by_side_are_two_tables(tmp_path: Path) -> None:
    (found,) = _told(SIDE_BY_SIDE, tmp_path)
    assert found.code == "TUN002"
    assert "1 of 2 tuned shapes" in found.title
    assert "`mm(64x4096, 4096x4096)`: `mm` 30 us, then `triton_mm_8` 40 us" in found.message


def test_two_tables_in_one_line_that_overlap_are_not_split(tmp_path: Path) -> None:
    text = SIDE_BY_SIDE.replace(
        "75.0%              ", "75.0% BLOCK_M=64, BLOCK_N=128, num_warps=8 "
    )
    assert not any(one.code == "TUN002" for one in _told(text, tmp_path))


def test_lines_that_end_in_an_escape_are_read(tmp_path: Path) -> None:
    text = "AUTOTUNE mm(64x64, 64x64)\n  mm 0.0300 ms 100.0%\n  triton_mm_8 0.0400 ms 75.0%\n"
    found, *_ = _told(text.replace("\n", "\\n\n"), tmp_path)
    assert found.code == "TUN002"


def test_of_a_log_with_its_newest_line_first_no_row_is_of_the_head_above_it(tmp_path: Path) -> None:
    told = _told(NEWEST_FIRST, tmp_path)
    titles = " ".join(one.title for one in told)
    assert "`mm` is the fastest of 3" in titles
    assert any("took 11 s" in one.message for one in told)
    assert not any("addmm" in one.message and "fastest" in one.message for one in told)


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("eval 2*s0 >= 16 [guard added] at shop.py:5 in fn", "`2*s0 >= 16` at shop.py:5"),
        ("eval Eq(s0, 4) [guard added] at shop.py:5 in fn", "`s0` became the constant 4 at shop"),
        (f"{SHAPES}eval s0 <= 9 [guard added] at shop.py:5 in fn", "`s0 <= 9` at shop.py:5"),
        (f"{SHAPES}eval Eq(4, s7) [guard added] at shop.py:5 in fn", "`s7` became the constant 4"),
    ],
)
def test_a_condition_on_a_size_is_in_the_title(line: str, title: str, tmp_path: Path) -> None:
    found, *_ = _told(f"{line}\n", tmp_path)
    assert (found.code, found.severity) == ("LOG001", Severity.INFO)
    assert title in found.title
    assert "compiled again" in found.message


@pytest.mark.parametrize("expression", ["u0 <= 10", "Eq(u0, 5)"], ids=["bound", "one value"])
def test_what_is_checked_while_it_runs_compiles_nothing_again(
    expression: str, tmp_path: Path
) -> None:
    """``torch._check`` of a number that is read from a tensor: another one raises."""
    line = f"{SHAPES}runtime_assert {expression} [guard added] at shop.py:5 in fn\n"
    found, *_ = _told(line, tmp_path)
    assert f"checked in every call: `{expression}` at shop.py:5" in found.title
    assert "raises" in found.message
    assert "compiled again:" not in found.message
    assert "constant" not in found.message


@pytest.mark.parametrize(
    ("sizes", "is_small"), [((8, 1), True), ((0, 8), True), ((8, 2), False), ((10, 11), False)]
)
def test_a_mark_is_not_said_to_make_one_entry_serve_a_size_of_one(
    sizes: tuple[int, int], is_small: bool, tmp_path: Path
) -> None:
    line = "tensor 'x' size mismatch at index 0. expected {}, actual {}\n".format(*sizes)
    found, *_ = (one for one in _told(line, tmp_path) if one.code == "LOG001")
    assert ("mark_dynamic" in found.message) is not is_small
    assert ("0 or 1" in found.message) is is_small


def test_recordings_for_three_sizes_tell_the_sizes_and_what_helps(tmp_path: Path) -> None:
    lines = [f"Recording cudagraph tree for symint key {n}" for n in (10, 13, 16)]
    (found,) = _told("\n".join(lines) + "\n", tmp_path)
    assert "3 sizes: 10, 13, 16" in found.title
    assert "cudagraph_skip_dynamic_graphs" in _words(found)
    (found,) = _told("\n".join(lines[:2]) + "\n", tmp_path)
    assert "sizes" not in found.title


def test_an_input_that_moved_is_named_with_its_place(tmp_path: Path) -> None:
    text = (
        "static input data pointer changed.\n"
        "input name: primals_2. data pointer changed from 139988 to 139990. input stack trace:"
        '   File "/home/ana/proj/main.py", line 18, in forward\n    return self.shop(x)\n'
        '  File "/home/ana/proj/shop.py", line 9, in forward\n    return x + self.bag\n'
    )
    (found,) = _told(text, tmp_path)
    assert found.code == "CGR005"
    assert "`primals_2` had new storage" in found.message
    assert str(found.where).endswith("proj/shop.py:9 in forward")
    assert "copy_" in found.advice[0].text


def test_the_end_of_a_limit_tells_its_last_reason_and_what_helps(tmp_path: Path) -> None:
    site = "W1101 02:43:39.336000 143 torch/_dynamo/convert_frame.py:896] [1/64] "
    text = (
        f"{site}   last reason: 1/0: tensor 'L['x']' size mismatch at index 2. expected 16,"
        " actual 8\n"
        f'{site}To log all recompilation reasons, use TORCH_LOGS="recompiles".\n'
    )
    found, *_ = _told(text, tmp_path)
    assert (found.code, "hit the limit" in found.title) == ("RCP001", True)
    assert "the size of `x` in dimension 2" in found.message
    assert "dynamic" in found.advice[0].text


@pytest.mark.parametrize(
    ("symbol", "code"), [("aoti_torch_check", "ERR007"), ("cublasCreate_v2", "ERR006")]
)
def test_a_symbol_of_torch_that_is_missing_is_no_broken_toolchain(
    symbol: str, code: str, tmp_path: Path
) -> None:
    text = (
        "torch._inductor.exc.CppCompileError: C++ compile error\n\nOutput:\n"
        f"a.obj : error LNK2019: unresolved external symbol {symbol} referenced in function k\n"
    )
    found, *_ = _told(text, tmp_path)
    assert found.code == code


def test_an_error_in_symbolic_shapes_is_a_bug_of_the_compiler(tmp_path: Path) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/ana/venv/lib/python3.12/site-packages/torch/fx/experimental/'
        'symbolic_shapes.py", line 604, in rebind_unbacked\n    if u1.node.hint is not None:\n'
        "AttributeError: 'float' object has no attribute 'node'\n"
    )
    found, *_ = _told(text, tmp_path)
    assert found.code == "ERR017"


def test_a_reason_without_its_function_is_in_the_title(tmp_path: Path) -> None:
    text = "triggered by the following guard failure(s):\n    - 0/0: L['self'].step == 3\n"
    found, *_ = _told(text, tmp_path)
    assert "`self.step == 3`" in found.title.replace("L['self']", "self")


def test_the_entries_of_draft_export_are_in_the_title(tmp_path: Path) -> None:
    (found,) = _told(REPORT, tmp_path)
    assert "only data tells `u3` at proj/shop.py:21 (`if bag[-1] > limit:`)" in found.title
    assert "`shop.price` has no fake kernel" in found.title


@pytest.mark.parametrize(
    "line",
    [
        "Accuracy failed: allclose not within tol=0.001",
        "RMSE (res-fp64): 0.01394, (ref-fp64): 0.00001 and shape=torch.Size([10, 9]).",
    ],
)
def test_a_comparison_that_failed_is_told_with_what_settles_it(line: str, tmp_path: Path) -> None:
    (found,) = _told(f"{UTILS}{line}\n", tmp_path)
    assert "comparison of compiled with eager results" in found.title
    assert found.advice[0].env == "TORCHINDUCTOR_EMULATE_PRECISION_CASTS=1"


@pytest.mark.parametrize(
    "text",
    [
        (
            "subprocess.CalledProcessError: Command '['ocloc', 'compile', '-file', '/tmp/ab/k.spv',"
            " '-device', 'bmg']' returned non-zero exit status 255.\n"
        ),
        (
            "python: /home/ana/venv/lib/python3.13/site-packages/triton/backends/intel/include/"
            "sycl_functions.h:82: create_module(ze_context_handle_t): Assertion `binary_ptr !="
            " nullptr' failed.\nAborted (core dumped) python app.py\n"
        ),
    ],
)
def test_what_builds_kernels_for_intel_gpus_is_no_bug_of_inductor(
    text: str, tmp_path: Path
) -> None:
    found, *_ = _told(text, tmp_path)
    assert (found.code, found.severity) == ("ERR022", Severity.ERROR)


RAN = "onednn_verbose,v1,primitive,exec,cpu,"
REORDER = "reorder,jit:uni,undef,src:u8::blocked:ab::f0 dst:u8:p:blocked:AB8b24a::f0,,,896x152,3.5"


@pytest.mark.parametrize(
    "broken",
    [
        REORDER.replace(",src", ",\n          src"),
        REORDER.replace(" dst", "\n  dst").replace(",,,", "\n  ,,,"),
        REORDER.replace(" dst", "\ndst").replace("896x152,3.5", "\n896x152, 3.5"),
    ],
)
def test_a_line_of_onednn_that_was_broken_by_hand_is_one(broken: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    text = f"First:\n{RAN}{broken}\n\nSecond:\n{RAN}{REORDER}\n"
    path.write_text(text, encoding="utf-8")
    report = analyze(str(path))
    (found,) = [one for one in report.told if one.code == "ONE019"]
    assert found.title.endswith("reorder on `jit:uni`")
    assert found.count == 2
    assert "does it once" in found.message
    assert found.evidence[0].line == 2


def test_what_a_program_prints_behind_a_cut_line_of_onednn_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    cut = REORDER.partition(" dst")[0]
    path.write_text(f"{RAN}{cut}\nEpoch 1, loss 3.5\n{RAN}{REORDER}\n", encoding="utf-8")
    told = analyze(str(path)).told
    assert not any("Epoch" in line.text for one in told for line in one.evidence)


def test_another_assertion_of_a_program_for_intel_gpus_is_its_own(tmp_path: Path) -> None:
    text = "python: /home/ana/proj/sycl/sort.cpp:82: int main(): Assertion `n > 0' failed.\n"
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    try:
        told = analyze(str(path)).told
    except Exception:
        return
    assert "ERR022" not in {one.code for one in told}


def test_a_schema_with_aliases_is_told_by_its_message_alone(tmp_path: Path) -> None:
    text = (
        "Found a custom (non-ATen) operator whose output has alias annotations:\n"
        "shop::price(Tensor(a0!) d, Tensor x) -> ().\n"
        "We only support functionalizing operators whose outputs do not have alias\nannotations.\n"
    )
    found, *_ = _told(text, tmp_path)
    assert found.code == "ERR000"
    assert "custom operator" in found.title
    assert any("mutates_args" in (one.code or "") for one in found.advice)


def test_a_message_that_eager_code_raises_too_names_no_stage(tmp_path: Path) -> None:
    (found,) = _told("mat1 and mat2 shapes cannot be multiplied (4x8 and 4x8)\n", tmp_path)
    assert found.title.endswith("mat1 and mat2 shapes cannot be multiplied (4x8 and 4x8)")
    assert not re.search("Inductor|Dynamo|AOTAutograd", found.message)
    assert "does not tell whether compiled code had a part in it" in found.message


@pytest.mark.parametrize(
    "line", ["Failed to pickle cache key", "Failed to load package from path /home/ana/p.pt2"]
)
def test_what_torch_raises_and_warns_of_is_an_error_only_with_its_name(
    line: str, tmp_path: Path
) -> None:
    (found,) = _told(f"{line}\n", tmp_path)
    assert found.severity is Severity.INFO
    found, *_ = _told(f"RuntimeError: {line}\n", tmp_path)
    assert found.severity is Severity.ERROR


def test_an_explanation_that_is_pasted_often_counts_as_often(tmp_path: Path) -> None:
    part = (
        "  Explanation: Dynamo does not support tracing `Tensor.item()` with"
        " config.capture_scalar_outputs=False.\n"
        "  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True`.\n\nand then\n"
    )
    (found,) = [one for one in _told(3 * part, tmp_path) if one.code == "GBR001"]
    assert found.count == 3
