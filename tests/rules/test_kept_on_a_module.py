# ruff: noqa: E501 -- lines that torch prints
"""A tensor that compiled code keeps in an attribute is no output that could be cloned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

ERROR = (
    "RuntimeError: Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. "
    'Stack trace: File "/home/ana/proj/net.py", line 77, in forward\n{between}{code}. To prevent overwriting, '
    "clone the tensor outside of torch.compile() or call torch.compiler.cudagraph_mark_step_begin() before each "
    "model invocation.\n"
)
SECOND = '\n  File "/home/ana/proj/rope.py", line 12, in forward\n'


def told(text: str, path: Path) -> list[Finding]:
    path.write_text(text, encoding="utf-8")
    return list(analyze(str(path)).told)


@pytest.mark.parametrize("between", ["", SECOND, "    x = self.rope(x)\n" + SECOND[1:]])
@pytest.mark.parametrize(
    ("code", "kept"),
    [
        ("    self.cos = freqs.cos()", "self.cos"),
        ("    self.mask: torch.Tensor = make(", "self.mask"),
        ("    self.cos = freqs.cos()\n               ^^^^^^^^^^^", "self.cos"),
        ("    return freqs.cos()", ""),
        ("    if self.cos == freqs:", ""),
        ("    self.cache[:n] = k", ""),
        ("    y = self.cos(x)", ""),
    ],
)
def test_what_a_module_keeps_is_made_before(
    between: str, code: str, kept: str, tmp_path: Path
) -> None:
    found = told(ERROR.format(between=between, code=code), tmp_path / "post.txt")
    first = found[0]
    assert first.code == "CGR006"
    assert [one.id for one in first.advice] == (["make-before"] if kept else ["clone", "mark-step"])
    assert kept in first.advice[0].text
    # All of it is read.
    assert not any(one.code == "LOG001" for one in found)


def test_words_of_a_program_around_it_are_read(tmp_path: Path) -> None:
    text = ERROR.format(between="", code="    self.cos = freqs.cos()").replace(
        "RuntimeError: ", "got: "
    )
    first = told(text, tmp_path / "post.txt")[0]
    assert [one.id for one in first.advice] == ["make-before"]
    assert "`self.cos`" in first.message
