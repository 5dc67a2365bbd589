"""Rows of AUTOTUNE tables whose head was not pasted: what they tell without the sizes."""

from __future__ import annotations

from pathlib import Path

from tracelens import Report, analyze

PARAMETERS = "BLOCK_K=32, BLOCK_M=16, BLOCK_N=64, EVEN_K=True, GROUP_M=8, num_stages=5, num_warps=4"
TOOK = "SingleProcess AUTOTUNE benchmarking takes {} seconds and 3.5 seconds precompiling\n"


def _rows(*rows: tuple[str, str]) -> str:
    """Return a table of kernels with their times, the winner first."""
    best = float(rows[0][1])
    return "".join(
        f"  {kernel} {ms} ms {100 * best / float(ms) if ms != 'inf' else 0.0:.1f}% "
        f"{PARAMETERS if kernel.startswith('triton') else ''}\n"
        for kernel, ms in rows
    )


def _analyze(text: str, tmp_path: Path) -> Report:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


def test_a_library_that_wins_is_told_without_the_sizes(tmp_path: Path) -> None:
    text = _rows(("mm", "0.0307"), ("triton_mm_19", "0.0411")) + TOOK.format(2)
    first = _analyze(text, tmp_path).told[0]
    assert first.code == "TUN002"
    assert "`mm`: `mm` 30.7 us, then `triton_mm_19` 41.1 us" in first.message


def test_a_template_names_the_operator(tmp_path: Path) -> None:
    text = _rows(("triton_flex_attention_6", "0.0102"), ("triton_flex_attention_7", "0.0103"))
    (table,) = _analyze(text, tmp_path).tables["autotune"]
    assert (table["op"], table["shape"]) == ("flex_attention", "")


def test_rows_without_their_winner_are_rows(tmp_path: Path) -> None:
    text = _rows(("mm", "0.0307"), ("triton_mm_19", "0.0411"), ("triton_mm_8", "inf"))
    below = text.partition("\n")[2]
    first = _analyze(below, tmp_path).told[0]
    assert first.code == "LOG001"
    assert "no time (`inf`) is no error" in first.message


def test_two_tables_without_sizes_are_not_one_shape_twice(tmp_path: Path) -> None:
    one = _rows(("triton_mm_1", "0.0307"), ("mm", "0.0308")) + TOOK.format(20)
    other = _rows(("mm", "0.0307"), ("triton_mm_1", "0.0308")) + TOOK.format(20)
    codes = {(one.code, one.title) for one in _analyze(one + other, tmp_path).findings}
    assert not [code for code, _ in codes if code == "TUN009"]
    assert not [title for _, title in codes if "changed" in title]
    assert ("TUN003", "2 shapes tuned to a tie") in codes


def test_a_candidate_without_time_is_no_error(tmp_path: Path) -> None:
    text = _rows(("triton_bmm_62", "0.0102"), ("bmm", "0.0203"), ("triton_bmm_60", "inf"))
    found = [one for one in _analyze(text, tmp_path).findings if one.code == "TUN004"]
    assert [one.title for one in found] == ["1 candidate kernel did not run"]
    assert found[0].severity == "none"
    assert "1 without a time (`inf`) did not run" in _analyze(text, tmp_path).told[0].message
    ran = _rows(("triton_bmm_62", "0.0102"), ("bmm", "0.0203"), ("triton_bmm_60", "0.04"))
    assert "TUN004" not in {one.code for one in _analyze(ran, tmp_path).findings}


def test_rows_without_a_kernel_of_torch_are_no_table(tmp_path: Path) -> None:
    told = _analyze(_rows(("query_a", "0.0100"), ("query_b", "0.0200")), tmp_path).told
    assert "TUN002" not in {one.code for one in told}
    for kernels in (("bias_addmm", "addmm"), ("_int_mm", "_scaled_mm"), ("mm", "convolution")):
        text = _rows((kernels[0], "0.0100"), (kernels[1], "0.0200"))
        (table,) = _analyze(text, tmp_path).tables["autotune"]
        assert table["op"] == kernels[1]
