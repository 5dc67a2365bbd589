"""The command that installs Triton finds it as each wheel of torch requires it."""

from __future__ import annotations

import importlib.metadata
import re

import pytest

from tracelens.rules.err.triton_missing import TritonMissing

LINUX = '; platform_system == "Linux"'


@pytest.mark.parametrize(
    ("required", "found"),
    [
        (f"triton==3.7.0{LINUX}", "triton==3.7.0"),
        (f"triton~=3.8.0{LINUX}", "triton~=3.8.0"),
        (f"pytorch-triton-rocm==3.5.1{LINUX}", "pytorch-triton-rocm==3.5.1"),
        ("sympy>=1.13.3", ""),
    ],
)
def test_what_is_printed_is_what_torch_requires(
    required: str, found: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (remedy,) = [one for one in TritonMissing.remedies if one.id == "install"]
    within = re.search(r'-c "(?P<code>.*)"\)$', str(remedy.code))
    assert within is not None
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: ["filelock", required])
    exec(within["code"])  # noqa: S102 -- the advice itself
    assert capsys.readouterr().out.strip() == found
