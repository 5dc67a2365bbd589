"""Layers of whose result few rows are read: what kernels go over, counted from their loops."""

from pathlib import Path

import pytest

from tracelens import analyze

RULES = Path(__file__).parents[1] / "fixtures" / "rules"
LOG = RULES / "IND032-rows-never-read" / "fires-first.log"
ROWS = "x0<static_cast<int64_t>(4L)"
READ = "loadu(in_ptr0 + "
CALL = "cpp_fused_relu_select_view_0(buf0, buf1)"


def told(tmp_path: Path, old: str, new: str) -> list[str]:
    """Return what is said of the log with one thing changed."""
    text = LOG.read_text(encoding="utf-8")
    assert old in text
    log = tmp_path / "run.log"
    log.write_text(text.replace(old, new), encoding="utf-8")
    return [one.title for one in analyze(str(log), select=["IND032"]).findings]


@pytest.mark.parametrize(("rows", "fires"), [(1, True), (32, True), (33, False), (128, False)])
def test_one_row_in_four_may_be_read(tmp_path: Path, rows: int, fires: bool) -> None:
    found = told(tmp_path, ROWS, f"x0<static_cast<int64_t>({rows}L)")
    assert found == [f"a layer computes 128 rows, of which at most {rows} are read"] * fires


def test_a_symbolic_loop_may_read_all(tmp_path: Path) -> None:
    assert not told(tmp_path, ROWS, "x0<static_cast<int64_t>(ks0)")


def test_each_use_in_a_loop_counts(tmp_path: Path) -> None:
    (found,) = told(tmp_path, READ, "loadu(in_ptr0 + x1); loadu(in_ptr0 + ")
    assert "at most 8 are read" in found


@pytest.mark.parametrize(
    "other",
    [
        f"{CALL}\n        buf9 = torch.ops.aten.sort.default(buf0)",
        f"{CALL}\n        cpp_unknown_1(buf0, buf1)",
    ],
)
def test_what_else_reads_it_may_read_all(tmp_path: Path, other: str) -> None:
    prefix = "V1123 16:43:56.058000 20879 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
    assert not told(tmp_path, CALL, other.replace("\n", f"\n{prefix}"))


def test_a_result_that_is_returned_is_read(tmp_path: Path) -> None:
    assert not told(tmp_path, "return (buf1, )", "return (buf1, buf0, )")


def test_another_name_for_it_may_read_all(tmp_path: Path) -> None:
    assert not told(tmp_path, "#pragma GCC ivdep", "auto in_ptr9 = in_ptr0;  // reuse")


@pytest.mark.parametrize(("index", "fires"), [("x1 + 65536L*x0", True), ("2048L*x1 + x0", False)])
def test_a_column_of_as_many_rows_as_a_row_is_long_is_not_a_row(
    tmp_path: Path, index: str, fires: bool
) -> None:
    old = "in_ptr0 + static_cast<int64_t>(x1 + 65536L*x0)"
    found = told(tmp_path, old, f"in_ptr0 + static_cast<int64_t>({index})")
    assert bool(found) is fires
