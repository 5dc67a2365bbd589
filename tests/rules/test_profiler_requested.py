"""A table without columns of a GPU is judged by the program that stands beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, analyze

RULE = "  ".join(["-" * 22, *["-" * 12] * 6])
TABLE = f"""
{RULE}
                  Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls
{RULE}
           aten::addmm        61.20%       9.412ms        70.05%      10.773ms     107.730us           100
           aten::relu_         8.11%       1.247ms        12.02%       1.849ms      18.490us           100
{RULE}
Self CPU time total: 15.380ms
"""  # noqa: E501 -- as it is printed


def told(program: str, path: Path) -> Finding:
    path.write_text(f"Why are there no times of my GPU?\n\n{program}\n{TABLE}", encoding="utf-8")
    (found,) = (one for one in analyze(str(path)).findings if one.code == "TRC022")
    return found


CUDA = "acts = [ProfilerActivity.CPU, ProfilerActivity.CUDA]\nwith profile(activities=acts) as p:"
CPU = "with profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:"
MODEL = "net = Net().to('cuda:0')\n"


@pytest.mark.parametrize(
    ("program", "severity", "advised"),
    [
        (MODEL + CUDA, "warning", "not-recorded"),
        ("net = Net().cuda()\n" + CUDA, "warning", "not-recorded"),
        # Without activities torch records all that it can.
        (MODEL + "with torch.profiler.profile() as p:", "warning", "not-recorded"),
        (MODEL + CPU, "warning", "activities"),
        (MODEL + "with torch.autograd.profiler.profile() as p:", "warning", "activities"),
        # It may have run on the CPU all the same.
        (CUDA, "info", "not-recorded"),
        ('dev = "cuda" if torch.cuda.is_available() else "cpu"\n' + CUDA, "info", "not-recorded"),
        (CPU, "none", "activities"),
        ("# net = Net().cuda()\n" + CPU, "none", "activities"),
        ("", "none", "activities"),
    ],
)
def test_a_device_that_was_asked_for_is_missed(
    program: str, severity: str, advised: str, tmp_path: Path
) -> None:
    found = told(program, tmp_path / "post.txt")
    assert found.severity == severity
    assert found.advice[0].id == advised
    assert ("not-recorded" in [one.id for one in found.advice]) == (advised == "not-recorded")
