"""Loops over a size as the graphs show them, rounds that an argument says, and a few modes."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Severity

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"


def found(name: str, code: str) -> Finding:
    (folder,) = FIXTURES.glob(f"{code}-*")
    (one,) = (one for one in analyze(folder / name).findings if one.code == code)
    return one


def ids(one: Finding) -> list[str]:
    return [advice.id for advice in one.advice]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("fires-loop-in-graphs-2.13.log", "h = torch.tanh(h + x[:, t])"),
        ("fires-loop-from-1-2.13.log", "h = torch.tanh(h + 2)"),
    ],
)
def test_a_loop_is_told_by_what_the_graphs_repeat(name: str, line: str) -> None:
    """The guard on the size names the first line that uses the input, and not the loop."""
    one = found(name, "RCP002")
    assert f"What the graphs repeat is proj/app.py:8, `{line}`." in one.message
    assert ids(one) == ["compile-body", "pad"]


def test_as_many_rounds_for_every_size_are_no_loop_over_it() -> None:
    one = found("fires-rounds-are-fixed-2.13.log", "RCP002")
    assert "repeat" not in one.message
    assert ids(one) == ["pad", "record-dynamic"]


def test_without_graphs_nothing_is_said_of_a_loop(tmp_path: Path) -> None:
    (folder,) = FIXTURES.glob("RCP002-*")
    text = (folder / "fires-loop-from-1-2.13.log").read_text()
    log = tmp_path / "run.log"
    log.write_text("".join(one for one in text.splitlines(True) if "__graph_code" not in one))
    (one,) = (one for one in analyze(log).findings if one.code == "RCP002")
    assert "repeat" not in one.message


def test_a_graph_that_does_not_agree_is_an_objection(tmp_path: Path) -> None:
    (folder,) = FIXTURES.glob("RCP002-*")
    lines = (folder / "fires-loop-from-1-2.13.log").read_text().splitlines(True)
    at = next(n for n, one in enumerate(lines) if "[0/3]" in one and "torch.tanh(" in one)
    log = tmp_path / "run.log"
    log.write_text("".join(lines[:at] + lines[at + 1 :]))
    (one,) = (one for one in analyze(log).findings if one.code == "RCP002")
    assert "repeat" not in one.message


def test_layers_of_which_a_number_says_how_many_are_compiled_by_themselves() -> None:
    """`Compute with tensors instead` stands for no layers."""
    one = found("fires-slice-of-layers-2.13.log.gz", "RCP004")
    assert ids(one) == ["compile-body"]


def test_what_a_hook_fills_is_read_whatever_path_leads_there() -> None:
    one = found("quiet-filled-in-closure-2.13.log", "RCP017")
    assert one.severity is Severity.NONE
    assert one.count == 1
    one = found("fires-filled-by-hook-2.13.log.gz", "RCP017")
    assert ids(one) == ["call-first"]


def test_three_modes_are_a_remark_and_four_a_warning(tmp_path: Path) -> None:
    assert found("fires-three-modes-2.13.log", "RCP006").severity is Severity.INFO
    (folder,) = FIXTURES.glob("RCP006-*")
    text = (folder / "fires-three-modes-2.13.log").read_text()
    again = [one for one in text.splitlines(True) if "[0/2]" in one and "__recompiles]" in one]
    more = "".join(again).replace("[0/2]", "[0/3]").replace("0/1: ", "0/2: ")
    log = tmp_path / "run.log"
    log.write_text(text + more.replace("mode == 'sum'", "mode == 'max'"))
    (one,) = (one for one in analyze(log).findings if one.code == "RCP006")
    assert one.severity is Severity.WARNING


def test_a_list_that_indexes_is_passed_as_a_tensor(tmp_path: Path) -> None:
    """Its numbers are constants, with dynamic=False or without it."""
    line = "[0/1] [__recompiles] "
    prefix = "V1120 12:06:10.834000 77 torch/_dynamo/guards.py:4483] "
    for code, expected in (("return x[rows]", "list-as-tensor"), ("x + rows", "record-dynamic")):
        text = ""
        for n in range(1, 5):
            at = prefix + line.replace("0/1", f"0/{n}")
            text += f"{at}Recompiling function f in /home/ana/proj/net.py:12\n"
            text += f"{at}    triggered by the following guard failure(s):\n"
            text += f"{at}    - 0/{n - 1}: rows[0] == {n + 7}  # {code}  # proj/net.py:13 in f\n"
        log = tmp_path / "run.log"
        log.write_text(text)
        (one,) = (one for one in analyze(log).findings if one.code == "RCP004")
        assert ids(one)[0] == expected


def test_flags_of_one_list_are_one_cause(tmp_path: Path) -> None:
    one = found("fires-flags-2.13.log", "RCP006")
    assert one.title == "`shallow` is compiled for each combination of the flags in `keep`"
    assert one.count == 7
    assert ids(one) == ["flags-to-python"]
    (folder,) = FIXTURES.glob("RCP006-*")
    log = tmp_path / "run.log"
    for index, flags in (("0", False), ("2", True)):
        text = (folder / "fires-flags-2.13.log").read_text().replace("keep[1]", f"keep[{index}]")
        log.write_text(text.replace("keep[2]", f"keep[{index}]"))
        titles = [one.title for one in analyze(log).findings if one.code == "RCP006"]
        assert len(titles) == 1
        assert ("combination" in titles[0]) is flags
