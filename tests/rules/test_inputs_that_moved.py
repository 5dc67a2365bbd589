"""Lines about an input that moved are read as people quote them, with words for addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, TracelensError, analyze

FRAME = '  File "/home/ana/proj/net.py", line 31, in forward\n    h = self.proj(x)\n'


def told(text: str, path: Path) -> list[Finding]:
    path.write_text(f"My graphs are recorded again after each swap:\n\n{text}", encoding="utf-8")
    try:
        return [one for one in analyze(str(path)).told if one.code == "CGR005"]
    except TracelensError:  # nothing of torch's is in it
        return []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("139988122", "139990777"),
        ("0x7f01", "0x7f22"),
        ("...", "..."),
        ("a", "b"),
        ("<addr 1>", "<addr 2>"),
    ],
)
def test_addresses_may_be_left_out(old: str, new: str, tmp_path: Path) -> None:
    line = f"input name: arg3_1. data pointer changed from {old} to {new}. input stack trace:"
    for text in (
        f"static input data pointer changed.\n...\n{line}\n...\n{FRAME}...\n",
        f"{line}\n{FRAME}",
        f"{line} None\n",
    ):
        (found,) = told(text, tmp_path / "post.txt")
        assert "`arg3_1` had new storage" in found.message
        assert [one.id for one in found.advice] == ["write-into", "load-into"]
        assert (found.where is not None and found.where.line == 31) == (FRAME in text)


def test_the_first_line_alone_is_enough(tmp_path: Path) -> None:
    (found,) = told("static input data pointer changed.\n", tmp_path / "post.txt")
    assert found.message.startswith("A parameter, a buffer or a tensor marked as static")


@pytest.mark.parametrize(
    "text",
    [
        "the static input data pointer changed. So we copy it now.\n",
        "input name: user. data was changed from a to b. stack trace:\n",
        # What was recorded again, and how often, is there: once is no finding.
        (
            "[0/0] Recording function=forward, mode=FORWARD, cuda_graph_id=0, inputs: []\n"
            "[0/0] Re-recording function=forward, mode=FORWARD, "
            "reason=static input data pointer changed.\n"
            f"input name: p_1. data pointer changed from 13 to 14. input stack trace: {FRAME}"
        ),
    ],
)
def test_other_lines_are_no_finding(text: str, tmp_path: Path) -> None:
    assert not told(text, tmp_path / "post.txt")
