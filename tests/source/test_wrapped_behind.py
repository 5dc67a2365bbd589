"""Who wraps the lines of a record by hand leaves its prefix alone on a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.splitting import differences
from tracelens import analyze
from tracelens.logs.recompile_limits import RecompileLimit
from tracelens.source import read

AT = "W1112 05:36:47.251000 61915 site-packages/torch/_dynamo/convert_frame.py:1016] [2/128]"
HIT = "torch._dynamo hit config.recompile_limit (128)"
FUNCTION = "function: 'forward' (/home/ana/proj/custom_linear.py:140)"
REASON = (
    "last reason: 2/127: tensor 'self._parameters['bias']' size mismatch at index 0. "
    "expected 5120, actual 13824."
)
WRAPPED = f"{AT} {HIT}\n\n{AT}    \n{FUNCTION}\n\n{AT}    \n{REASON}\n"


def limits(path: Path, text: str) -> list[RecompileLimit]:
    path.write_text(text)
    evidence, _ = read([str(path)])
    assert not evidence.unread
    return [row.record for row in evidence.table(RecompileLimit)]


@pytest.mark.parametrize("prefix", ["", "[rank1]:"])
def test_what_stands_below_its_prefix_is_the_records(tmp_path: Path, prefix: str) -> None:
    text = "".join(
        prefix + line if line.strip() else line for line in WRAPPED.splitlines(keepends=True)
    )
    (limit,) = limits(tmp_path / "run.log", text)
    assert (limit.limit, limit.function, limit.line) == (128, "forward", 140)
    assert limit.reason is not None
    (finding, *_) = analyze(tmp_path / "run.log").findings
    assert finding.code == "RCP001"


def test_only_the_line_right_below_goes_on(tmp_path: Path) -> None:
    apart = WRAPPED.replace(f"{AT}    \n{FUNCTION}", f"{AT}    \n\n{FUNCTION}")
    assert [one.function for one in limits(tmp_path / "run.log", apart)] != ["forward"]


@pytest.mark.parametrize("own", ["step 3 of 9", "    loss 0.25", "function of its own"])
def test_lines_of_the_program_do_not(tmp_path: Path, own: str) -> None:
    text = f"{AT} {HIT}\n{AT}    {FUNCTION}\n{AT}    \n{own}\n{AT}    {REASON}\n"
    path = tmp_path / "run.log"
    (limit,) = limits(path, text)
    assert (limit.function, limit.reason is not None) == ("forward", True)
    assert read([str(path)])[0].understood_lines == 4


def test_other_records_take_no_bare_lines(tmp_path: Path) -> None:
    at = "V1120 10:45:41.000000 7 torch/_dynamo/output_graph.py:5396] [0/0] [__graph_code]"
    text = f"{at} TRACED GRAPH\n{at} \n{FUNCTION}\n"
    path = tmp_path / "run.log"
    path.write_text(text)
    evidence, _ = read([str(path)])
    assert evidence.understood_lines <= 2
    assert not evidence.table(RecompileLimit)


@pytest.mark.parametrize("chunk", [64, 128, 300])
@pytest.mark.parametrize("jobs", [2, 3, 7])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_it_is_the_same_in_parts(tmp_path: Path, chunk: int, jobs: int, before: int) -> None:
    path = tmp_path / "run.log"
    path.write_text("loss 0.25\n" * before + WRAPPED * 3 + f"{AT}    \nstep 3\n" + WRAPPED)
    assert not differences(path, chunk, jobs)
