"""The terminal format, as it is read in 80 columns."""

from __future__ import annotations

import re

import pytest

from tracelens.render import Options
from tracelens.render._strings import clean, elide, width, wrap
from tracelens.render.html import Html
from tracelens.render.text import MAX_FULL, Text
from tracelens.report import Advice, Report

SGR = re.compile(r"\x1b\[[\d;]*m")


def test_the_first_screen_answers_the_questions(reports: dict[str, Report]) -> None:
    lines = Text.render(reports["reference"], Options()).splitlines()
    screen = "\n".join(lines[:30])
    assert " ".join(lines[:3]).startswith(
        "1 of 3 things costs you about 76 % of the time in oneDNN, and 1 more at most 23 "
    )
    assert re.search(r"^time \|O+\| 445 ms$", screen, re.MULTILINE)
    assert "\nerror[ONE001] inner_product 64x64x64 bf16 ran on oneDNN's" in screen
    assert "--> ~/proj/seed.py:14 in forward" in screen
    assert "cost: 340 ms, 76 % of the time in oneDNN (measured); seen 4 times" in screen
    assert "plain C++ that exists to be correct" in screen
    assert "\n         torch._inductor.config.freezing = False\n" in screen
    assert "(torch 2.6 to 2.14)." in " ".join(screen.split())


def test_evidence_keeps_line_numbers_and_both_ends(reports: dict[str, Report]) -> None:
    text = Text.render(reports["reference"], Options())
    line = next(line for line in text.splitlines() if line.startswith("  198 |"))
    assert len(line) == 80
    assert "inner_product,ref:any" in line
    assert line.endswith("84.4229")
    assert "      | ^ first call: 84 ms" in text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_fit(report: Report, columns: int) -> None:
    text = Text.render(report, Options(width=columns, verbose=True))
    pasted = {
        line.rstrip()
        for finding in report.findings
        for advice in finding.advice
        for value in (advice.setting, advice.env, advice.code)
        for line in clean(value or "").splitlines()
    }
    for line in text.splitlines():
        if "your_program.py" in line:  # to be pasted, like what advice says
            continue
        if line.strip() in {item.strip() for item in pasted} or line.startswith("  --> "):
            continue
        assert width(line) <= columns, line


def test_nothing_of_a_log_controls_the_terminal(report: Report) -> None:
    text = Text.render(report, Options(verbose=True))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_colour_only_adds_to_the_words(report: Report) -> None:
    plain = Text.render(report, Options())
    coloured = Text.render(report, Options(color=True))
    assert SGR.sub("", coloured) == plain
    assert ("\x1b[" in coloured) is bool(report.shown)


def test_a_clean_log_says_so_first(reports: dict[str, Report]) -> None:
    text = " ".join(Text.render(reports["clean"], Options()).split())
    assert text.startswith(
        "Nothing to fix in run.log: 1 rule looked at 50 onednn_verbose, 3 output_code and 2 guards "
        "records. 213 lines, 100 % understood; 21 lines from the program itself. 1 rule had "
        "nothing to look at (not recorded, or there was none). Record the run again with: "
        'ONEDNN_VERBOSE=1 TORCH_LOGS="guards,output_code,recompiles" python your'
    )


def test_a_log_of_the_machine_alone_is_not_called_clean(reports: dict[str, Report]) -> None:
    clean = reports["clean"]
    source = clean.inputs[0].model_copy(update={"kinds": {"cpu_info": 2, "recording": 3}})
    machine = clean.model_copy(update={"inputs": (source,)})
    text = Text.render(machine, Options())
    assert text.startswith("Nothing compiled was seen in run.log")


def test_an_error_that_no_rule_knows_comes_first(reports: dict[str, Report]) -> None:
    row = {"error": "InductorError", "message": "no attribute", "count": 1}
    where = {"file": "/home/ana/proj/model.py", "line": 7}
    failed = reports["clean"].model_copy(update={"tables": {"errors": [row | where]}})
    text = Text.render(failed, Options())
    assert text.startswith("No rule explains the error in run.log")
    assert "  InductorError: no attribute\n    at ~/proj/model.py:7\n" in text


def test_what_could_not_be_judged_is_one_command(reports: dict[str, Report]) -> None:
    text = Text.render(reports["reference"], Options())
    logs = "graph_breaks,graph_code,guards,output_code,recompiles"
    command = f'ONEDNN_VERBOSE=1 TORCH_LOGS="{logs}" python your_program.py > run.log 2>&1'
    assert text.count(command) == text.count("python your_program.py") == 1
    assert "IND018 fusion-refused crashed: KeyError: 'buf0'" in text


def test_notes_are_folded(reports: dict[str, Report]) -> None:
    text = Text.render(reports["reference"], Options())
    assert "2 notes, nothing to do:\n" in text
    assert "\n  ONE003 A weight is reordered in every call\n         not reliable while" in text


def test_coverage_says_what_was_not_understood(reports: dict[str, Report]) -> None:
    text = " ".join(Text.render(reports["recompiles"], Options()).split())
    assert "12,644 lines, 99.7 % understood; 658 lines from the program itself." in text
    assert "31 lines that no grammar reads yet: torch/_inductor/scheduler.py:4995 (21)" in text
    assert "5 lines that a grammar refused: guards, first at line 812" in text
    assert "rank1.log is cut off at its end" in text


def test_many_findings_become_one_line_each(reports: dict[str, Report]) -> None:
    report = reports["one"]
    many = tuple(
        report.findings[0].model_copy(update={"id": f"ONE001-{n:06}", "title": f"number {n}"})
        for n in range(40)
    )
    report = report.model_copy(update={"findings": many})
    text = Text.render(report, Options())
    assert "28 more findings (-v tells all):\n  error[ONE001] number 12\n" in text
    assert "more findings" not in Text.render(report, Options(verbose=True))


@pytest.mark.parametrize(("count", "told"), [(200, True), (MAX_FULL + 1, True), (MAX_FULL, False)])
def test_the_first_fix_of_many_findings_is_on_the_first_screen(
    reports: dict[str, Report], count: int, *, told: bool
) -> None:
    report = reports["one"]
    advice = (Advice(text="Leave it out.", setting="torch.x = 1"), Advice(text="Or wait."))
    first = report.findings[0].model_copy(update={"advice": advice})
    findings = tuple(first.model_copy(update={"id": f"ONE001-{n:06x}"}) for n in range(count))
    report = report.model_copy(update={"findings": findings})
    screen = Text.render(report, Options()).splitlines()[:5]
    assert ("  fix: Leave it out." in screen) == told
    assert ("         torch.x = 1" in screen) == told
    assert not any("Or wait" in line for line in screen)
    page = Html.render(report, Options())
    assert page.index("Leave it out.") < page.index('<section aria-labelledby="findings"')


def test_tables_are_for_the_curious(reports: dict[str, Report]) -> None:
    assert "oneDNN primitives" not in Text.render(reports["reference"], Options())
    text = Text.render(reports["reference"], Options(verbose=True))
    assert "oneDNN primitives\n  primitive      implementation  dtypes  shape" in text


def test_cells_are_counted_as_a_terminal_does() -> None:
    assert width("abc") == 3
    assert width("\u65e5\u672c\u8a9e") == 6
    assert width("e\u0301") == 1
    assert elide("abcdefghij", 7) == "abc...j"
    assert elide("\u65e5\u672c\u8a9e" * 9, 10) == "\u65e5\u672c...\u8a9e"
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("x" * 20, 8) == ["x" * 8, "x" * 8, "x" * 4]
    assert wrap("a\n\nb", 8) == ["a", "", "b"]
