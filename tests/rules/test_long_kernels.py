"""One generated kernel of thousands of lines is why compiling takes long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.test_compile_time import entry, line, told
from tracelens.report import Severity

SLICES = "cpp_fused_copy_new_zeros_select_slice_0"


def kernel(name: str, lines: int) -> str:
    """Return a generated module with one kernel of so many lines."""
    code = [
        "Output code: ",
        f"{name} = async_compile.cpp_pybinding(['const float*', 'float*'], r'''",
        *(f"auto tmp{n} = in_ptr0[{n}];" for n in range(lines - 1)),
        "''')",
        "def call(args):",
        "    arg0_1, = args",
        "    buf0 = empty_strided_cpu((8, ), (1, ), torch.float32)",
        f"    {name}(arg0_1, buf0)",
        "    return (buf0, )",
    ]
    return "".join(line("00:02", "2722", f"[__output_code] {one}") for one in code)


@pytest.mark.parametrize(
    ("name", "lines", "is_told", "is_advised"),
    [
        (SLICES, 3001, True, True),
        (SLICES, 2900, False, False),
        ("cpp_fused_add_mul_0", 3001, True, False),
        ("cpp_fused_add_mul_slice_0", 3001, True, False),
        ("cpp_fused__to_copy_add_slice_0", 3001, True, False),
    ],
)
def test_a_kernel_of_thousands_of_lines_is_no_note(
    name: str, lines: int, is_told: bool, is_advised: bool, tmp_path: Path
) -> None:
    parts = entry("00:00", "00:40").splitlines(keepends=True)
    found = told(tmp_path, parts[0] + kernel(name, lines) + "".join(parts[1:]))
    assert (found.severity is Severity.NONE) is not is_told
    assert (f"`{name}` has " in found.message) is is_told
    assert ("stack-slices" in {one.id for one in found.advice}) is is_advised
    assert "keep-caches" in {one.id for one in found.advice}
