"""Graph breaks inside of installed packages: whose break it is, and what helps from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Report

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"


def report_of(code: str, name: str) -> Report:
    (folder,) = FIXTURES.glob(f"{code}-*")
    return analyze(str(folder / name))


def shown(report: Report) -> list[Finding]:
    return [one for one in report.findings if one.severity.name != "NONE" and not one.explained_by]


def test_a_lost_function_is_told_with_its_own_break_not_with_another_on_its_way() -> None:
    report = report_of("GBR006", "fires-beside-another.log")
    first, *others = shown(report)
    assert first.code == "GBR006"
    assert "requires_grad=True at oddlib/__init__.py:12" in first.message
    (branch,) = [one for one in others if one.code == "GBR002"]
    assert "oddlib/__init__.py:16" in branch.title


def test_the_modules_through_which_a_line_is_reached_are_named() -> None:
    report = report_of("GBR006", "fires-beside-another.log")
    first = shown(report)[0]
    (inner,) = [advice for advice in first.advice if advice.id == "see-parts"]
    assert "`self.body` (from oddlib/__init__.py:40 on)" in inner.text
    assert "self.embed" not in inner.text  # it does not lead there


def test_what_the_caller_of_a_method_calls_is_named_before_what_the_method_does() -> None:
    """The blocks hold the network; the method that leads there calls small parts alone."""
    report = report_of("GBR008", "fires-by-a-method.log")
    (found,) = [one for one in shown(report) if one.code == "GBR008"]
    (inner,) = [advice for advice in found.advice if advice.id == "compile-inner"]
    assert "such as `self.blocks.0`, `self.blocks.1`, `self.charge`, each by" in inner.text


@pytest.mark.parametrize(("line", "is_named"), [(40, True), (41, False)])
def test_the_network_is_compiled_where_the_loss_of_a_package_breaks(
    line: int, is_named: bool, tmp_path: Path
) -> None:
    """Not where the line that leads to the break calls it, too: it may be what breaks."""
    (folder,) = FIXTURES.glob("GBR008-*")
    text = (folder / "fires-loss-of-a-package.log").read_text()
    log = tmp_path / "run.log"
    log.write_text(text.replace(":40 in compute_loss", f":{line} in compute_loss"))
    (found,) = [one for one in analyze(str(log)).findings if one.code == "GBR008"]
    inner = [advice.text for advice in found.advice if advice.id == "compile-inner"]
    assert bool(inner) is is_named
    assert all(
        "Compile `net`, by `torch.compile`, and no longer `compute_loss`" in t for t in inner
    )


def test_modules_are_advised_only_where_modules_are_called() -> None:
    """A plain function that draws numbers in a library has no modules to compile instead."""
    first = shown(report_of("GBR016", "fires-library-generator.log"))[0]
    assert [advice.id for advice in first.advice] == ["leave-uncompiled"]
    assert "compile-inner" not in {advice.id for advice in first.advice}
    inside = shown(report_of("GBR018", "fires-torch-geometric.log"))[0]
    assert "see-parts" in {advice.id for advice in inside.advice}  # no guards name them


def test_where_an_optimizer_breaks_the_graph_its_step_is_left_uncompiled() -> None:
    report = report_of("GBR002", "fires-library-optimizer.log")
    first = shown(report)[0]
    assert [advice.id for advice in first.advice] == ["leave-step"]


def test_a_break_without_a_stack_in_torch_s_polyfills_is_no_place_of_its_own() -> None:
    report = report_of("GBR016", "fires-library-generator.log")
    places = [one.where.file for one in shown(report) if one.where]
    assert places
    assert not any("polyfills" in place for place in places)


def test_a_backward_hook_s_advice_is_not_the_switch_that_raises() -> None:
    report = report_of("GBR012", "fires-backward-hook.log")
    (finding,) = [one for one in report.findings if one.code == "GBR012"]
    assert finding.title.endswith("Module-level backwards hooks require compiled autograd")
    assert [advice.id for advice in finding.advice] == ["no-hooks"]
    assert not any(advice.setting for advice in finding.advice)


def test_a_gradient_that_a_library_asks_for_is_not_asked_for_elsewhere_by_its_user() -> None:
    (first,) = shown(report_of("GBR010", "fires-library.log"))
    assert first.code == "GBR010"
    assert [advice.id for advice in first.advice] == ["see-parts"]
    own = shown(report_of("GBR010", "fires-backward-2.13.log"))[0]
    assert [advice.id for advice in own.advice] == ["backward-outside", "trace-autograd"]


FURTHER_IN = next(FIXTURES.glob("GBR002-*")) / "fires-further-in.log"
LEADS = "such as `self.body.stem`, each by"


def first_advice(log: Path) -> str:
    return shown(analyze(str(log)))[0].advice[0].text


def test_what_a_module_further_in_calls_beside_the_way_is_named(tmp_path: Path) -> None:
    assert LEADS in first_advice(FURTHER_IN)
    text = FURTHER_IN.read_text("utf-8")
    kept = [line for line in text.splitlines() if "['stem']._modules['" not in line]
    small = tmp_path / "run.log"  # a layer that holds no modules
    small.write_text("\n".join(kept) + "\n", "utf-8")
    first = shown(analyze(str(small)))[0]
    assert first.advice == ()
    assert "No change is named: " in first.message


def test_the_clock_of_a_recording_is_not_part_of_the_way(tmp_path: Path) -> None:
    lines = FURTHER_IN.read_text("utf-8").splitlines()
    calls = [at for at, line in enumerate(lines) if 'module.py", line 1778' in line]
    prefix = lines[calls[1]].partition(" File ")[0]
    site = "/home/ana/venv/lib/python3.11/site-packages/tracelens/live/inject/tracelens_injected"
    lines[calls[1] : calls[1]] = [
        f'{prefix} File "{site}/steps.py", line 146, in timed',
        f"{prefix}   return function(*args, **kwargs)",
    ]
    log = tmp_path / "run.log"
    log.write_text("\n".join(lines) + "\n", "utf-8")
    assert LEADS in first_advice(log)


WRAPPED = next(FIXTURES.glob("GBR007-*")) / "fires-wrapped.log"
HELPER = """
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4483] [9/0] [__guards] TREE_GUARD_MANAGER:
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4483] [9/0] [__guards] +- RootGuardManager
V1120 15:00:00.000000 1 torch/_dynamo/guards.py:4483] [9/0] [__guards] | +- GLOBAL_STATE: ___check_global_state()
"""  # noqa: E501 -- lines of a log


def test_what_a_lost_wrapper_calls_is_named_by_its_class(tmp_path: Path) -> None:
    def first(text: str) -> tuple[str, str]:
        log = tmp_path / "run.log"
        log.write_text(text, "utf-8")
        (found,) = [one for one in analyze(str(log)).findings if one.code == "GBR007"]
        if not found.advice:
            return "", found.message
        return found.advice[0].id, found.advice[0].code or ""

    text = WRAPPED.read_text("utf-8")
    advice, code = first(text)
    assert advice == "compile-classes"
    assert 'in {"Net"}' in code
    process = text.split()[2]
    helper = HELPER.replace(" 1 torch", f" {process} torch")
    unnamed = first(text + helper)  # a function would be compiled no longer
    layer = first(text.replace("wraplib.Net'", "torch.nn.modules.linear.Linear'"))
    for advice, told in (unnamed, layer):
        assert advice == ""
        assert "No change is named: the line is in `wraplib`" in told
