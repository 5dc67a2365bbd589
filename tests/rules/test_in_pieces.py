"""What is said of a break in a package for which no change is named, and of what it reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.dynamo import apart
from tracelens.evidence import Table
from tracelens.logs._stack import StackFrame
from tracelens.logs.guards import GuardTree
from tracelens.report import Finding
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
FILTERS = FIXTURES / "GBR009-untraceable-function" / "fires-filters-in-package.log"
TENSOR = FIXTURES / "GBR001-scalar-from-tensor" / "fires-library.log"
OF_PARTS = FIXTURES / "RCP003-first-dynamic-recompile" / "fires-config-set-meanwhile.log.gz"
MEASURE = "TORCHDYNAMO_DISABLE=1"


def first(code: str, text: str, folder: Path) -> Finding:
    log = folder / "run.log"
    log.write_text(text)
    return next(one for one in analyze(str(log)).findings if one.code == code)


@pytest.mark.parametrize(("pieces", "is_said"), [(8, True), (7, False)])
def test_where_nothing_helps_the_run_without_compiling_is_named(
    pieces: int, is_said: bool, tmp_path: Path
) -> None:
    """The functions of the model, of which each is compiled by itself, have guards."""
    text = FILTERS.read_text().replace("warnings.simplefilter", "quieter")
    head = next(line for line in text.splitlines() if "Graph break in user code" in line)
    stamp = head.partition("] [")[0].partition(" torch/")[0]
    for number in range(pieces):
        mark = f"{stamp} torch/_dynamo/guards.py:4000] [{number}/0] [__guards]"
        text += f"{mark} TREE_GUARD_MANAGER:\n{mark} +- RootGuardManager\n"
        at = f"{stamp} torch/_dynamo/guards.py:5394] [{number}/1] [__recompiles]"
        text += f"{at} Recompiling function f{number} in /home/ana/proj/model.py:{number + 1}\n"
    found = first("GBR009", text, tmp_path)
    assert not found.advice
    assert (MEASURE in found.message) is is_said


def test_filters_of_warnings_are_left_out(tmp_path: Path) -> None:
    found = first("GBR009", FILTERS.read_text(), tmp_path)
    assert [one.id for one in found.advice] == ["leave-filters"]
    assert "add(warnings.simplefilter)" in str(found.advice[0].setting)
    assert MEASURE not in found.message
    other = first("GBR009", FILTERS.read_text().replace("simplefilter", "quiet"), tmp_path)
    assert "leave-filters" not in [one.id for one in other.advice]


@pytest.mark.parametrize(
    ("line", "is_unpacked"),
    [
        ("x = x.permute(*perm).contiguous()", True),
        ("x = torch.zeros(2, *perm, 3)", True),
        ("x = x.repeat(int(perm.max()))", False),
        ("y = f(x, a*perm)", False),
        ("y = f(x, **perm)", False),
    ],
)
def test_what_a_call_unpacks_may_be_an_array(line: str, is_unpacked: bool, tmp_path: Path) -> None:
    text = FIXTURES.joinpath("GBR001-scalar-from-tensor", "fires-numpy-number.log").read_text()
    told = {
        finding.title
        for finding in _all("GBR001", _with_code(text, line), tmp_path)
        if finding.where and finding.where.line == 14
    }
    assert told
    assert all(("`perm`, a tensor or a NumPy array" in one) is is_unpacked for one in told)


def _all(code: str, text: str, folder: Path) -> list[Finding]:
    log = folder / "run.log"
    log.write_text(text)
    return [one for one in analyze(str(log)).findings if one.code == code]


def _with_code(text: str, line: str) -> str:
    return re.sub(r"(line 14, in \w+\n[^\n]*__graph_breaks\] {5})[^\n]*", rf"\g<1>{line}", text)


FUNCTION = StackFrame(file="/p/common.py", line=167, function="forward")
PART = "self._modules['m']._modules['0'].add"


@pytest.mark.parametrize(
    ("line", "is_own"),
    [
        ((171, "/p/common.py", "forward", "if self.m[0].add:"), True),
        ((171, "/p/common.py", "forward", "return x if self.add else y"), False),
        ((121, "/p/common.py", "forward", "if self.m[0].add:"), False),
        ((171, "/p/other.py", "forward", "if self.m[0].add:"), False),
        ((171, "/p/common.py", "other", "if self.m[0].add:"), False),
    ],
)
def test_a_line_of_another_method_of_that_name_is_no_line_of_the_function(
    line: tuple[int, str, str, str], is_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "called_by", lambda *_: ("common.C3", ("self.m",)))
    trees: Table[GuardTree] = read([str(OF_PARTS)])[0].table(GuardTree)
    at, file, function, code = line
    frame = StackFrame(file=file, line=at, function=function, code=code)
    found = apart.modules_of(FUNCTION, frame, [], trees, source=PART)
    assert (found.of, found.modules) == (("C3.forward", ("self.m",)) if is_own else ("", ()))
