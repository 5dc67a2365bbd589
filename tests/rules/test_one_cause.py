"""One cause is told once: graph breaks, and recompiles that come of them."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"


def told(path: str) -> dict[str, Finding]:
    found = analyze(str(FIXTURES / path)).findings
    return {finding.id: finding for finding in found}


def causes(findings: dict[str, Finding]) -> dict[str, str]:
    """Return code -> the code of the finding that explains it."""
    return {
        finding.code: findings[finding.explained_by].code
        for finding in findings.values()
        if finding.explained_by
    }


def test_breaks_of_set_up_code_are_one_story() -> None:
    found = causes(told("GBR022-cold-start-side-effect/fires-hook-and-tables.log"))
    assert found["GBR020"] == found["GBR006"] == found["GBR012"] == "GBR022"


def test_a_function_that_is_lost_belongs_to_what_broke_the_graph() -> None:
    findings = told("GBR006-break-in-loop-skips-frame/fires-try-with-nested.log")
    assert causes(findings)["GBR006"] in {"GBR002", "GBR003"}
    (branch,) = (f for f in findings.values() if f.code == "GBR002")
    assert branch.severity == "error", "the worst of its story"


def test_a_method_that_waits_on_the_stack_for_its_argument_belongs_to_the_break() -> None:
    found = causes(told("RCP008-object-identity-guard/fires-method-on-the-stack.log"))
    assert found["RCP008"] == "GBR001"


def test_an_object_made_anew_in_each_call_is_no_harmless_turn() -> None:
    log = "RCP008-object-identity-guard/fires-object-made-anew.log"
    (finding,) = (one for one in told(log).values() if one.code == "RCP008")
    assert finding.count == 4
    assert finding.severity == "warning"
    assert "deallocated" in finding.message
    assert [one.id for one in finding.advice] == ["same-object"]


def test_the_limit_belongs_to_what_kept_changing() -> None:
    findings = told("RCP001-recompile-limit-hit/fires-string-argument.log")
    assert causes(findings)["RCP001"] == "RCP006"
    (cause,) = (f for f in findings.values() if f.code == "RCP006")
    assert cause.severity == "error"


def test_recompiles_of_a_size_belong_to_the_line_that_needs_the_number() -> None:
    found = causes(told("DYN004-size-specialised-by-code/fires-int-key-text.log"))
    assert found["RCP002"] == "DYN004"


def test_recompiles_below_a_lost_function_belong_to_what_broke_it() -> None:
    """`arrange` is in another file: that the lost `forward` calls it, only the stacks tell."""
    findings = told("GBR006-break-in-loop-skips-frame/fires-calls.log")
    assert causes(findings)["GBR006"] == causes(findings)["RCP006"] == "GBR008"


def test_without_the_stacks_recompiles_in_another_file_stand_by_themselves(tmp_path: Path) -> None:
    log = FIXTURES / "GBR006-break-in-loop-skips-frame/fires-calls.log"
    lines = [line for line in log.read_text().splitlines() if '"dynamo_start"' not in line]
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    found = analyze(str(tmp_path / "run.log")).findings
    (recompiles,) = (finding for finding in found if finding.code == "RCP006")
    assert recompiles.explained_by is None


def test_layers_that_are_compiled_one_by_one_belong_to_their_hooks(tmp_path: Path) -> None:
    log = "GBR012-break-count-summary/fires-hooked-layers.log"
    findings = told(log)
    assert causes(findings) == {"GBR006": "GBR012", "RCP012": "GBR012"}
    (hooks,) = (one for one in findings.values() if one.code == "GBR012")
    assert hooks.severity == "error", "the worst of its story"
    assert hooks.advice[0].id == "no-hooks"
    # The same recompile without hooks has a cause of its own: layers were compiled one by one.
    text = (FIXTURES / log).read_text(encoding="utf-8")
    alone = tmp_path / "run.log"
    alone.write_text("\n".join(line for line in text.split("\n") if "__recompiles" in line))
    assert causes({one.id: one for one in analyze(str(alone)).findings}) == {}


def test_a_layer_that_is_compiled_by_itself_belongs_to_the_function_that_was_lost(
    tmp_path: Path,
) -> None:
    """The first layer gets no gradient, and is compiled by itself as what calls it was given up."""
    lost = FIXTURES / "GBR006-break-in-loop-skips-frame" / "fires-loop.log"
    recompile = (
        "V1120 20:00:00.000000 1 torch/_dynamo/guards.py:5396] [7/1] [__recompiles] "
        "Recompiling function layer in /home/ana/proj/{file}:3\n"
        "V1120 20:00:00.000000 1 torch/_dynamo/guards.py:5396] [7/1] [__recompiles]     "
        "triggered by the following guard failure(s):\n"
        "V1120 20:00:00.000000 1 torch/_dynamo/guards.py:5396] [7/1] [__recompiles]     - 7/0: "
        "tensor 'x' requires_grad mismatch. expected requires_grad=0\n"
    )
    text = lost.read_text(encoding="utf-8")
    log = tmp_path / "run.log"
    for file, cause in (("breaks.py", {"RCP012": "GBR002"}), ("other.py", {})):
        log.write_text(text + recompile.format(file=file), encoding="utf-8")
        found = causes({one.id: one for one in analyze(str(log)).findings})
        assert {key: value for key, value in found.items() if key == "RCP012"} == cause


def test_functions_around_an_operator_that_cannot_be_compiled_are_one_finding() -> None:
    findings = told("GBR013-suppressed-errors/fires-one-operator.log")
    (error,) = (f for f in findings.values() if f.code == "GBR013")
    assert error.count == 3
    assert error.where is not None
    assert error.where.line == 7, "the line that calls the operator"
    assert [one.id for one in error.advice] == ["numbers", "leave-out", "report"]
    assert causes(findings)["GBR006"] == "GBR013"
    (summary,) = (f for f in findings.values() if f.code == "GBR012")
    assert summary.severity == "none"


def test_functions_that_fail_without_a_named_operator_stand_by_themselves(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    text = (FIXTURES / "GBR013-suppressed-errors/fires-cut-before-the-error.log").read_text()
    other = text.replace("CONVERT step", "CONVERT other").replace("line 18", "line 30")
    log.write_text(text + other.replace("14:47:11", "14:47:12"))
    assert [one.code for one in analyze(str(log)).findings].count("GBR013") == 2


def test_places_without_a_rule_are_named_by_the_sum_which_then_stands_by_itself(
    tmp_path: Path,
) -> None:
    findings = told("GBR012-break-count-summary/fires-place-without-rule.log")
    assert {one.code for one in findings.values()} == {"GBR002", "GBR012"}
    assert causes(findings) == {}
    (summary,) = (one for one in findings.values() if one.code == "GBR012")
    assert (summary.severity, summary.where and summary.where.line) == ("info", 26)
    named = summary.message.partition(" By place")[0]
    assert "app.py:26" in named
    assert "(async_op=True for distributed collectives)" in named
    assert "app.py:28, `work.wait()` (Unsupported method call)" in named
    assert "app.py:35" not in named, "it has a finding of its own"
    assert not summary.advice, "where to begin is no change"
    assert "Begin at proj/app.py:26, which the log has first" in summary.message
    assert "most records" not in summary.message, "each has one"
    # The same places, where each has a rule.
    log = tmp_path / "run.log"
    text = (FIXTURES / "GBR012-break-count-summary/fires-place-without-rule.log").read_text()
    for reason in ("async_op=True for distributed collectives", "Unsupported method call"):
        text = text.replace(f"] {reason}\n", "] Data-dependent branching\n")
    log.write_text(text)
    findings = {one.id: one for one in analyze(str(log)).findings}
    assert causes(findings) == {"GBR012": "GBR002"}
    (summary,) = (one for one in findings.values() if one.code == "GBR012")
    assert "No other finding" not in summary.message


def test_no_more_than_three_places_without_a_rule_are_named(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    text = (FIXTURES / "GBR012-break-count-summary/fires-place-without-rule.log").read_text()
    again = text.splitlines(keepends=True)[34:68]
    more = [
        "".join(again)
        .replace("app.py:28", f"app.py:{n}")
        .replace("[1/0]", f"[{n}/0]")
        .replace("line 28", f"line {n}")
        for n in (36, 37)
    ]
    log.write_text(text + "".join(more))
    (summary,) = (one for one in analyze(str(log)).findings if one.code == "GBR012")
    named = summary.message.partition(" By place")[0]
    assert named.endswith(", and 1 more.")
    assert "app.py:37" not in named


@pytest.mark.parametrize(("part", "severity"), [("much", "error"), ("little", "warning")])
def test_a_limit_weighs_what_its_entries_took_of_compiling(part: str, severity: str) -> None:
    """11 of 55 s, and half a second of 53; what changes in it is told as grave as the limit."""
    findings = told(f"RCP001-recompile-limit-hit/fires-{part}-of-compiling.log.gz")
    found = {one.code: one.severity.value for one in findings.values()}
    assert found["RCP001"] == found["RCP006"] == severity
