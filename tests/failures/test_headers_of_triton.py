# ruff: noqa: E501, S108 -- lines that compilers print
"""What a compiler does not find in Triton's own files, with no traceback beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, TracelensError, analyze

INTEL = "In file included from {at}:9:\n{file}: fatal error: {what}\n   12 | #include <x>\n      |          ^~~\n"


def told(text: str, path: Path) -> list[Finding]:
    path.write_text(text, encoding="utf-8")
    try:
        return list(analyze(str(path)).told)
    except TracelensError:  # nothing of torch's is in it
        return []


@pytest.mark.parametrize(
    ("at", "file", "what", "advised"),
    [
        (
            "/tmp/tmpq1w2e3r4/main.cpp",
            "/home/ana/venv/lib/python3.12/site-packages/triton/backends/intel/include/sycl_functions.h:12:10",
            "'level_zero/ze_api.h' file not found",
            "ERR005 level-zero",
        ),
        (
            "/tmp/tmpq1w2e3r4/main.cpp",
            "/opt/triton/third_party/intel/backend/include/sycl_functions.h:12:10",
            "level_zero/zes_api.h: No such file or directory",
            "ERR005 level-zero",
        ),
        (
            r"C:\Users\ana\AppData\Local\Temp\tmpq1w2e3r4\main.cpp",
            r"C:\venv\Lib\site-packages\triton\backends\intel\include\sycl_functions.h:12:10",
            "'level_zero/ze_api.h' file not found",
            "ERR005 level-zero-windows",
        ),
        (
            "/tmp/tmpq1w2e3r4/hip_utils.c",
            "/opt/venv/lib/python3.12/site-packages/triton/backends/amd/include/x.h:4:10",
            "zlib.h: No such file or directory",
            "ERR006 header",
        ),
        (
            "/tmp/tmpq1w2e3r4/cuda_utils.c",
            "/opt/venv/lib/python3.12/site-packages/triton/backends/nvidia/driver.c:91:3",
            "unknown type name 'CUtensorMapSwizzle'",
            "ERR006 fitting",
        ),
    ],
)
def test_headers_that_triton_includes_are_named(
    at: str, file: str, what: str, advised: str, tmp_path: Path
) -> None:
    first = told(INTEL.format(at=at, file=file, what=what), tmp_path / "post.txt")[0]
    assert f"{first.code} {first.advice[0].id}" == advised
    assert not any("cuda-cudart" in (one.code or "") for one in first.advice)


@pytest.mark.parametrize(
    ("at", "file", "what"),
    [
        ("src/main.cpp", "src/device.h:3:10", "'level_zero/ze_api.h' file not found"),
        (
            "/home/ana/proj/main.c",
            "/home/ana/proj/third_party/fmt/include/fmt.h:3:10",
            "'x.h' file not found",
        ),
        (
            "/home/ana/proj/main.c",
            "/home/ana/proj/backend/include/io.h:3:10",
            "y.h: No such file or directory",
        ),
    ],
)
def test_headers_of_other_programs_are_theirs(
    at: str, file: str, what: str, tmp_path: Path
) -> None:
    assert not told(INTEL.format(at=at, file=file, what=what), tmp_path / "post.txt")


def test_cudas_own_header_is_looked_for_as_before(tmp_path: Path) -> None:
    text = INTEL.format(
        at="/tmp/tmpq1w2e3r4/cuda_utils.c",
        file="/opt/venv/lib/python3.12/site-packages/triton/backends/nvidia/driver.c:1:10",
        what="cuda.h: No such file or directory",
    )
    first = told(text, tmp_path / "post.txt")[0]
    assert first.code == "ERR005"
    assert "package" in [one.id for one in first.advice]
