"""Kernels whose results nothing reads (NUM003), on a log in which one thing is changed."""

import gzip
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
LOG = RULES / "NUM003-result-never-read" / "fires-upsampling.log.gz"
CALL = "cpp_fused__unsafe_index_put_new_zeros_2(convert_element_type_3, buf7, buf10)"
ALLOCATED = "buf10 = empty_strided_cpu("


def told(tmp_path: Path, old: str = "", new: str = "") -> list[Finding]:
    text = gzip.decompress(LOG.read_bytes()).decode()
    line = next(one for one in text.split("\n") if CALL in one)
    prefix = line[: line.index(CALL)]
    assert old in text
    log = tmp_path / "run.log"
    log.write_text(text.replace(old, new.replace("\n", f"\n{prefix}")), encoding="utf-8")
    return list(analyze(str(log), select=["NUM003"]).findings)


def test_a_buffer_that_is_used_before_it_is_filled_is_an_error(tmp_path: Path) -> None:
    (found,) = told(tmp_path)
    assert found.severity.value == "error"
    assert found.data["buffers"] == ["buf10"]
    assert found.where is not None
    assert [one.id for one in found.advice] == ["keep-order", "repeat-interleave"]


@pytest.mark.parametrize(
    "more",
    [
        "cpp_fused_unknown_9(buf10)",
        "buf90 = buf10; del buf10  # reuse\ncpp_fused_unknown_9(buf90)",
        "buf90 = buf10; del buf10  # reuse\nbuf91 = buf90; del buf90  # reuse\nbuf91.zero_()",
        "buf90 = reinterpret_tensor(buf10, (4, 4), (4, 1), 0)",
        "primals_1.copy_(buf10)",
        "buf90 = torch.ops.aten.sort.default(buf10)",
        "extern_kernels.mm(buf10, buf10, out=buf90)",
        "if buf90: pass",
    ],
)
def test_what_is_mentioned_again_or_not_understood_is_quiet(tmp_path: Path, more: str) -> None:
    assert not told(tmp_path, CALL, f"{CALL}\n{more}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ALLOCATED, "buf10 = empty_strided_p2p("),
        (CALL, CALL.replace("buf10", "primals_1")),
        ("return (None,", "return (None, buf10,"),
        ("return (", "result = ("),
        ('"index out of bounds', '"a value'),
    ],
)
def test_memory_of_others_a_result_and_a_check_are_quiet(
    tmp_path: Path, old: str, new: str
) -> None:
    assert not told(tmp_path, old, new)


def test_a_check_of_a_size_reads_nothing(tmp_path: Path) -> None:
    check = "assert_size_stride(buf10, (4, 4, 32), (128, 32, 1), 'input')"
    assert told(tmp_path, CALL, f"{CALL}\n{check}")


def test_nothing_that_uses_it_early_is_a_warning(tmp_path: Path) -> None:
    (found,) = told(tmp_path, ", buf10, ", ", buf98, ")
    assert found.severity.value == "warning"
    assert not [one for one in found.advice if one.id == "keep-order"]


@pytest.mark.parametrize(
    ("call", "is_read"),
    [(CALL.replace("buf10", "buf90"), False), (CALL.replace("buf7", "buf90"), True)],
)
def test_memory_that_is_used_again_reads_what_it_held_or_fills_it(
    tmp_path: Path, call: str, *, is_read: bool
) -> None:
    """The last parameter of the kernel is filled, the second one is read."""
    again = f"{CALL}\nbuf90 = buf10; del buf10  # reuse\n{call.replace('buf10', 'buf91')}"
    buffers = [name for one in told(tmp_path, CALL, again) for name in one.data["buffers"]]
    assert ("buf10" not in buffers) is is_read
