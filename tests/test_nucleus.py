"""Top-p sampling that sorts whole rows: the sort is named, and not the sum behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

PREFIX = "V1101 10:00:00.000000 7 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
CODE = """\
Output code:
# AOT ID: ['0_inference']
cpp_fused__softmax_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0) {{}}
''')
cpp_fused_sub_1 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0) {{}}
''')
def call(args):
    arg0_1, = args
    assert_size_stride(arg0_1, ({rows}, {length}), ({length}, 1))
    buf0 = torch.ops.aten.{rank}
    buf1 = buf0[0]
    assert_size_stride(buf1, ({rows}, {length}), ({length}, 1))
    buf2 = empty_strided_cpu(({rows}, {length}), ({length}, 1), torch.float32)
    {kernel}(buf1, buf2)
    buf3 = torch.ops.aten.cumsum.default({summed}, dim=-1, dtype=None)
    buf4 = buf3
    {drawn}
    return (buf4, )
def get_args():
    arg0_1 = rand_strided(({rows}, {length}), ({length}, 1), device='cpu', dtype=torch.{dtype})
"""
SORT = "sort.stable(arg0_1, stable=False, dim=1, descending=True)"
USUAL = {
    "rank": SORT,
    "rows": 8,
    "length": 32000,
    "kernel": "cpp_fused__softmax_0",
    "summed": "buf2",
    "drawn": "",
    "dtype": "float32",
}
DRAWN = "buf5 = torch.ops.aten.multinomial.default(buf4, 1)"


def findings(folder: Path, **changes: object) -> dict[str, Finding]:
    code = CODE.format(**{**USUAL, **changes})
    (folder / "run.log").write_text("".join(f"{PREFIX}{line}\n" for line in code.splitlines()))
    found = (one for one in analyze(str(folder / "run.log")).findings if one.code == "IND001")
    return {one.data["operators"][0]: one for one in found}


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, True),
        ({"length": 4096}, True),
        ({"length": 4095}, False),
        ({"rows": "s27"}, True),
        ({"dtype": "int64"}, False),
        # Where neither a softmax nor a draw is there, a loss may need the whole order.
        ({"kernel": "cpp_fused_sub_1"}, False),
        ({"kernel": "cpp_fused_sub_1", "drawn": DRAWN}, True),
        ({"rank": "topk.default(arg0_1, 1024)"}, False),
        # What is summed up was never sorted.
        ({"summed": "arg0_1"}, False),
    ],
)
def test_a_sort_of_long_rows_is_told_where_top_p_sampling_sums_them_up(
    tmp_path: Path, changes: dict[str, object], *, is_told: bool
) -> None:
    found = findings(tmp_path, **changes)
    assert ("aten.sort" in found) is is_told
    if is_told:
        assert found["aten.sort"].severity is Severity.WARNING
        assert [one.id for one in found["aten.sort"].advice] == ["top-p"]


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, False),
        ({"rank": "topk.default(arg0_1, 1024)"}, False),
        ({"kernel": "cpp_fused_sub_1"}, False),
        ({"summed": "arg0_1"}, True),
    ],
)
def test_a_sum_of_what_was_sorted_is_not_accused(
    tmp_path: Path, changes: dict[str, object], *, is_told: bool
) -> None:
    """Of 8 rows of 32,000 the sort took 24 ms on one core, the sum 0.3 ms."""
    found = findings(tmp_path, **changes)["aten.cumsum"]
    assert (found.severity is not Severity.NONE) is is_told
    assert all(one.id != "top-p" for one in found.advice)


@pytest.mark.parametrize(("maker", "told"), [("abs_neg_sub", "nearest"), ("mul_sub", "top-p")])
def test_of_distances_the_smallest_are_taken(tmp_path: Path, maker: str, told: str) -> None:
    """Typical sampling sorts by how far the surprise of a token is from the mean."""
    rank = "sort.stable(buf9, stable=False, dim=1, descending=False)"
    code = CODE.format(**{**USUAL, "rank": rank}).replace("cpp_fused_sub_1", f"cpp_fused_{maker}_1")
    shape = "(8, 32000), (32000, 1), torch.float32"
    made = f"    buf9 = empty_strided_cpu({shape})\n    cpp_fused_{maker}_1(arg0_1, buf9)\n"
    code = code.replace("    buf0 = ", f"{made}    buf0 = ", 1)
    log = tmp_path / "run.log"
    log.write_text("".join(f"{PREFIX}{line}\n" for line in code.splitlines()))
    found = [one for one in analyze(str(log)).findings if one.data.get("is_top_p")]
    assert [advice.id for one in found for advice in one.advice] == [told]


def test_many_sums_and_sorts_are_read_in_time(tmp_path: Path) -> None:
    """Each sort looks a few kernels ahead, whatever the length of the code."""
    found = findings(tmp_path, drawn="\n    ".join([DRAWN] * 2000))
    assert "aten.sort" in found
