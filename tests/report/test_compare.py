"""Comparing reports: which finding is which, what got worse, and which counters moved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import cases, log_of, needs_corpus, truth
from tracelens import analyze
from tracelens.cli import main
from tracelens.render import Options
from tracelens.render.compare import FORMATS
from tracelens.render.compare._words import label, sentences
from tracelens.report import Cost, Finding, Outcome, Report, Severity, Verdict, Where
from tracelens.report.compare import Comparison, Counter, compare

FIXTURES = Path(__file__).parents[2] / "fixtures"
LOG = FIXTURES / "logs" / "samples" / "aarch64-bf16-linear.log"
LAST = Options(width=80)


@pytest.fixture(scope="module")
def report() -> Report:
    return analyze(str(LOG))


def finding(code: str = "GBR012", **more: Any) -> Finding:
    given = {"id": f"{code}-1", "code": code, "name": "x", "severity": Severity.WARNING}
    return Finding(**{**given, "title": "a title", "message": "", **more})


def with_findings(report: Report, *findings: Finding, **more: Any) -> Report:
    codes = {one.code: one for one in findings}
    verdicts = {one.code: one for one in report.verdicts}
    for code in codes:
        verdicts[code] = Verdict(code=code, name="x", verdict=Outcome.FIRED)
    update = {"findings": findings, "verdicts": tuple(verdicts.values()), "tables": {}}
    return report.model_copy(update={**update, **more})


def judged(report: Report, code: str, outcome: Outcome) -> Report:
    verdicts = [one for one in report.verdicts if one.code != code]
    said = Verdict(code=code, name="x", verdict=outcome, needs=("TORCH_LOGS=x",))
    return report.model_copy(update={"verdicts": (*verdicts, said)})


def states(comparison: Comparison) -> dict[str, list[str]]:
    return {name: [one.code for one in found] for name, found in comparison.findings if found}


def counter(comparison: Comparison, name: str, of: str | None = None) -> Counter:
    (found,) = [one for one in comparison.counters if (one.name, one.of) == (name, of)]
    return found


# Findings.


def test_a_report_beside_itself_has_nothing_new(report: Report) -> None:
    found = compare([report, report])
    assert set(states(found)) == {"same"}
    assert {one.state for one in found.counters} == {"same"}
    assert found.differs == ()


def test_more_of_the_same_is_worse_and_less_is_better(report: Report) -> None:
    few = with_findings(report, finding(data={"pieces": 24}))
    many = with_findings(report, finding(data={"pieces": 80}))
    worse = compare([few, many])
    assert states(worse) == {"worse": ["GBR012"]}
    (change,) = worse.findings.worse[0].changes
    assert (change.name, change.before, change.after) == ("pieces", 24, 80)
    assert states(compare([many, few])) == {"better": ["GBR012"]}


def test_a_time_within_noise_is_the_same_and_one_beyond_is_not(report: Report) -> None:
    def of(ms: float) -> Report:
        return with_findings(report, finding(cost=Cost(ms=ms, basis="measured")))

    assert states(compare([of(100), of(110)])) == {"same": ["GBR012"]}
    assert states(compare([of(100), of(130)])) == {"worse": ["GBR012"]}
    assert states(compare([of(130), of(100)])) == {"better": ["GBR012"]}


def test_a_longer_run_of_the_same_program_is_not_worse(report: Report) -> None:
    def of(count: int) -> Report:
        cost = Cost(ms=float(count), share=0.5, basis="measured")
        return with_findings(report, finding("ONE001", count=count, cost=cost))

    assert states(compare([of(10), of(1000)])) == {"same": ["ONE001"]}


def test_severity_decides_before_numbers(report: Report) -> None:
    before = with_findings(report, finding(severity=Severity.ERROR, data={"records": 1}))
    after = with_findings(report, finding(severity=Severity.INFO, data={"records": 9}))
    assert states(compare([before, after])) == {"better": ["GBR012"]}


def test_a_finding_keeps_its_name_when_its_file_is_renamed(report: Report) -> None:
    before = finding(id="GBR005-a", where=Where(file="/p/train.py", line=3, function="step"))
    after = finding(id="GBR005-b", where=Where(file="/p/train_2.py", line=9, function="step"))
    found = compare([with_findings(report, before), with_findings(report, after)])
    assert states(found) == {"same": ["GBR012"]}


def test_two_findings_about_different_things_are_not_one(report: Report) -> None:
    before = finding("IND002", id="IND002-a", data={"operator": "convolution"})
    after = finding("IND002", id="IND002-b", data={"operator": "_mkl_linear"})
    found = compare([with_findings(report, before), with_findings(report, after)])
    assert states(found) == {"new": ["IND002"], "fixed": ["IND002"]}


def test_gone_is_fixed_only_where_the_rule_could_look(report: Report) -> None:
    before, after = with_findings(report, finding()), with_findings(report)
    quiet = judged(after, "GBR012", Outcome.QUIET)
    assert states(compare([before, quiet])) == {"fixed": ["GBR012"]}
    blind = judged(after, "GBR012", Outcome.ABSENT)
    found = compare([before, blind])
    assert states(found) == {"not_judged": ["GBR012"]}
    assert "TORCH_LOGS=x" in found.findings.not_judged[0].why
    assert states(compare([blind, before])) == {"not_judged": ["GBR012"]}


def test_what_is_harmless_on_both_sides_is_not_told(report: Report) -> None:
    harmless = with_findings(report, finding(severity=Severity.NONE))
    assert states(compare([harmless, with_findings(report)])) == {}
    assert states(compare([harmless, with_findings(report, finding())])) == {"worse": ["GBR012"]}


def test_a_silenced_finding_is_not_fixed(report: Report) -> None:
    before = with_findings(report, finding())
    after = with_findings(report, finding(suppressed_by="ENV001"))
    assert states(compare([before, after])) == {"not_judged": ["GBR012"]}


# Counters.


def tables(report: Report, **rows: list[dict[str, Any]]) -> Report:
    run = report.runs[0].model_copy(update={"watched": ("graph_breaks", "torch_trace")})
    return report.model_copy(update={"tables": rows, "runs": (run,)})


def breaks(**counts: int) -> list[dict[str, Any]]:
    return [
        {"file": "a.py", "line": 1, "type": name, "count": count, "frames_skipped": 0}
        for name, count in counts.items()
    ]


def test_breaks_are_counted_by_cause_and_none_is_zero_where_it_was_watched(report: Report) -> None:
    before = tables(report, graph_breaks=breaks(logger=6, explicit=2))
    after = tables(report, graph_breaks=breaks(explicit=2))
    found = compare([before, after, tables(report)])
    assert counter(found, "graph_breaks").values == (8, 2, 0)
    assert counter(found, "graph_breaks", "logger").values == (6, 0, 0)
    assert counter(found, "graph_breaks", "explicit").state == "better"
    assert (counter(found, "graph_breaks").before, counter(found, "graph_breaks").after) == (8, 0)


def test_what_was_not_recorded_is_unknown_and_not_zero(report: Report) -> None:
    before = tables(report, graph_breaks=breaks(logger=6))
    run = before.runs[0].model_copy(update={"watched": ("onednn_verbose",)})
    blind = before.model_copy(update={"tables": {}, "runs": (run,)})
    found = compare([before, blind])
    assert counter(found, "graph_breaks").after is None
    assert counter(found, "graph_breaks").state == "unknown"
    assert "evidence" in [one.name for one in found.differs]


def test_what_neither_side_shares_is_not_called_unchanged(report: Report) -> None:
    before = with_findings(report, finding("GBR003"))
    after = judged(with_findings(report), "GBR003", Outcome.ABSENT)
    found = compare([before, after])
    assert states(found) == {"not_judged": ["GBR003"]}
    apart = found.model_copy(update={"counters": ()})
    assert sentences(apart)[0] == "Nothing was recorded on both sides, so nothing is compared"
    frames = Counter(name="frames", before=1, after=1, values=(1, 1), state="same")
    both = found.model_copy(update={"counters": (frames,)})
    assert sentences(both)[0] == "No finding is new, fixed, worse or better"


def onednn(report: Report, count: int, ms: float, impl: str = "ref:any") -> Report:
    row = {"primitive": "matmul", "impl": impl, "class": "reference", "count": count, "ms": ms}
    row["class"] = "reference" if impl.startswith("ref") else "optimised"
    return report.model_copy(update={"tables": {"primitives": [row]}})


def test_onednn_time_is_judged_only_for_the_same_work(report: Report) -> None:
    slow, fast = onednn(report, 10, 50.0), onednn(report, 10, 5.0, "brg_matmul:avx512")
    found = compare([slow, fast])
    assert counter(found, "onednn_ms").state == "better"
    assert counter(found, "reference_share").values == (1.0, 0.0)
    assert counter(found, "onednn_ms", "matmul ref:any").values == (50.0, 0.0)
    longer = compare([slow, onednn(report, 100, 400.0)])
    assert counter(longer, "onednn_ms").state == "changed"
    assert counter(longer, "onednn_ms_per_product").state == "better"


def test_a_search_with_another_winner_is_told_but_not_for_its_number(report: Report) -> None:
    def of(winner: str) -> Report:
        row = {"op": "mm", "shape": "8x8", "dtype": "f32", "winner": winner, "winner_ms": 1.0}
        return report.model_copy(update={"tables": {"autotune": [row]}})

    assert compare([of("triton_mm_3"), of("triton_mm_17")]).winners == ()
    (one,) = compare([of("triton_mm_3"), of("bias_addmm")]).winners
    assert one.values == ("triton_mm_3", "bias_addmm")


def timed(report: Report, mean: float, **more: Any) -> Report:
    row = {"kind": "step", "name": None, "n": 20, "mean_ms": mean, "std_ms": 0.5}
    row |= {"min_ms": mean - 1, "max_ms": mean + 1}
    return report.model_copy(update={"tables": {"steps": [row], **more}})


def test_eager_and_compiled_stand_side_by_side_with_their_spread(report: Report) -> None:
    operators = [{"category": "cpu_op", "name": "aten::mm", "count": 3, "self_ms": 1.0}]
    eager = timed(report, 20.0, operators=operators)
    compiled = timed(report, 8.0, operators=operators, regions=[{"name": "0/0"}])
    found = compare([eager, compiled])
    assert [(one.mode, one.speedup) for one in found.modes] == [("eager", None), ("compiled", 2.5)]
    assert found.modes[0].time.std == 0.5
    assert counter(found, "step_ms").state == "better"
    assert counter(found, "throughput").state == "better"
    assert "2.5 x" in text(found)


@pytest.mark.parametrize(("middle", "told"), [(8.7, True), (9.2, False), (10.0, False)])
def test_a_mean_of_outliers_has_its_median_beside_it(
    report: Report, middle: float, *, told: bool
) -> None:
    """From a tenth on they are apart."""
    operators = [{"category": "cpu_op", "name": "aten::mm", "count": 3, "self_ms": 1.0}]
    both = [timed(report, mean, operators=operators) for mean in (20.0, 10.0)]
    for one, median in zip(both, (19.8, middle), strict=True):
        one.tables["steps"][0]["median_ms"] = median
    both[1].tables["regions"] = [{"name": "0/0"}]
    said = text(compare(both))
    assert ("the median of it" in said) is told
    assert ("median" in said.partition("speed-up")[0]) is told
    assert (f"{middle} ms" in said) is told


def test_what_was_timed_once_as_a_whole_may_hold_a_slow_first_call(report: Report) -> None:
    operators = [{"category": "cpu_op", "name": "aten::mm", "count": 3, "self_ms": 1.0}]
    whole = {"kind": "trace", "n": 1, "mean_ms": 50.0}
    eager = tables(report, steps=[whole], operators=operators)
    compiled = tables(report, steps=[whole], operators=operators, regions=[{"name": "0/0"}])
    (said,) = [one for one in compare([eager, compiled]).differs if one.name == "spread"]
    assert "a slow first call may be in it" in said.says
    assert said.values == ("eager", "compiled")
    stepped = timed(report, 8.0, operators=operators, regions=[{"name": "0/0"}])
    for other in (eager, timed(report, 20.0, operators=operators)):
        found = compare([other, stepped if other is not eager else eager])
        assert "spread" not in [one.name for one in found.differs]


def test_compiling_takes_at_least_as_long_as_the_searches_in_it(report: Report) -> None:
    frames = [{"frame": "0/0", "compile_s": 0.2}]
    before = tables(report, frames=frames, autotune=[{"op": "mm", "seconds": 44.0}])
    after = tables(report, frames=[{"frame": "0/0", "compile_s": 60.0}], autotune=[])
    assert counter(compare([before, after]), "compile_s").values == (44.0, 60.0)


def test_results_stand_beside_times_where_somebody_compared_them(report: Report) -> None:
    operators = [{"category": "cpu_op", "name": "aten::mm", "count": 3, "self_ms": 1.0}]
    eager = timed(report, 20.0, operators=operators)
    regions, tried = [{"name": "0/0"}], [{"setting": "unchanged", "error": 0.0125}]
    compiled = timed(report, 8.0, operators=operators, regions=regions)
    with_error = timed(report, 8.0, operators=operators, regions=regions, explore=tried)
    assert [one.error for one in compare([eager, with_error]).modes] == [None, 0.0125]
    for renderer in FORMATS:
        if renderer.name != "json":
            shown = renderer.load().render(compare([eager, with_error]), Options())
            assert "0.0125" in shown, renderer.name
            plain = renderer.load().render(compare([eager, compiled]), Options())
            assert "gainst eager" not in plain


def test_what_differs_beside_the_logs_is_said(report: Report) -> None:
    said = report.environment.model_copy(update={"torch": "2.6.0", "threads": 4})
    other = report.model_copy(update={"environment": said})
    mine = report.environment.model_copy(update={"torch": "2.13.0", "threads": 8})
    found = compare([other, report.model_copy(update={"environment": mine})])
    assert [one.name for one in found.differs] == ["torch", "threads"]
    assert found.differs[0].values == ("2.6.0", "2.13.0")


# What is written.


def text(comparison: Comparison, **more: Any) -> str:
    form = next(form for form in FORMATS if form.name == "text")
    return form.load().render(comparison, Options(**{"width": 80, **more}))


def test_every_format_takes_every_comparison(report: Report) -> None:
    hostile = finding(title="<script>alert(1)</script> @me #1 `x` | y", data={"pieces": 1})
    worse = hostile.model_copy(update={"data": {"pieces": 2}})
    comparison = compare([with_findings(report, hostile), with_findings(report, worse), report])
    for form in FORMATS:
        page = form.load().render(comparison, LAST)
        assert page == form.load().render(comparison, LAST)
        if form.name == "html":
            assert "<script>alert" not in page
            assert "://" not in page
        if form.name == "json":
            assert Comparison.model_validate_json(page) == comparison
        if form.name == "text":
            assert max(map(len, page.splitlines())) <= 80


def test_markdown_keeps_to_the_characters_that_it_may_have(report: Report) -> None:
    findings = [finding(id=f"GBR012-{i}", where=Where(file=f"f{i}.py")) for i in range(300)]
    comparison = compare([with_findings(report), with_findings(report, *findings)])
    form = next(form for form in FORMATS if form.name == "markdown")
    for most in (500, 5000):
        assert len(form.load().render(comparison, Options(max_chars=most))) <= most


def test_the_command_reads_logs_and_saved_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], report: Report
) -> None:
    saved = tmp_path / "report.json"
    saved.write_text(report.to_json())
    out = tmp_path / "page.html"
    assert main(["diff", str(saved), str(LOG), "-f", "json", "-o", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["findings"]["new"] == found["findings"]["fixed"] == []
    assert found["differs"] == []
    assert [run["name"] for run in found["runs"]] == ["before", "after"]
    assert out.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 0),
        (["--fail-on", "error"], 0),
        (["--fail-on", "warning"], 1),
        (["--at-most", "graph_breaks=+1"], 1),
        (["--at-most", "graph_breaks=+50%"], 1),
        (["--at-most", "graph_breaks=+2"], 0),
        (["--at-most", "graph_breaks=4"], 0),
        (["--at-most", "graph_breaks=3"], 1),
        (["--at-most", "graph_brakes=3"], 2),
        (["--at-most", "graph_breaks<3"], 2),
    ],
)
def test_the_exit_code_is_1_beyond_a_limit(
    tmp_path: Path, report: Report, options: list[str], code: int
) -> None:
    paths = []
    for name, count in (("before", 2), ("after", 4)):
        held = with_findings(report, *[finding()][: count == 4])
        held = tables(judged(held, "GBR012", Outcome.FIRED), graph_breaks=breaks(logger=count))
        (tmp_path / f"{name}.json").write_text(held.to_json())
        paths.append(str(tmp_path / f"{name}.json"))
    assert main(["compare", *paths, "-q", *options]) == code


def test_one_input_is_not_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(LOG)]) == 2
    assert "nothing to compare with" in capsys.readouterr().err


# The corpus.

#: What truth.json counts, by our names. Inductor's own count of kernels is one of loop nests, and
#: that of library calls has those that freezing makes at compile time: their direction is compared.
PAIRS = (
    ("real/gpt2_train_autocast", "real/gpt2_train_fixed"),
    ("real/resnet_f32_nofreeze", "real/resnet_f32_frozen"),
)


def counted(case: Path) -> dict[str, float]:
    facts = truth(case)
    entries = facts["compilation_metrics"]
    counters = facts["counters"]
    return {
        "entries": len(entries),
        "compile_s": sum(one["entire_frame_compile_time_s"] or 0 for one in entries),
        "guards": sum(one["guard_count"] or 0 for one in entries),
        "recompiles": sum(bool(one["recompile_reason"]) for one in entries),
        "graph_breaks": sum(counters.get("graph_break", {}).values()),
        "graphs": counters["stats"]["unique_graphs"],
        "kernels": facts["inductor_metrics"]["generated_kernel_count"],
    }


@needs_corpus
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1].partition("/")[2])
def test_every_counter_of_the_truth_that_differs_is_named(pair: tuple[str, str]) -> None:
    folders = [cases(name)[0] for name in pair]
    found = compare([analyze(log_of(folder)) for folder in folders])
    before, after = map(counted, folders)
    differ = {name for name in before if before[name] != after[name]}
    assert len(differ) >= 2
    for name in differ:
        one = counter(found, name)
        assert one.before is not None
        assert one.after is not None
        assert (one.after > one.before) == (after[name] > before[name]), name
        assert _words_of(one) in text(found)


def _words_of(one: Counter) -> str:
    from tracelens.render.compare import _words

    return _words.name(one)


@needs_corpus
def test_the_pairs_of_the_corpus_tell_their_story() -> None:
    train = compare([analyze(log_of(cases(name)[0])) for name in PAIRS[0]])
    assert {"GBR004", "RCP022"} <= set(states(train)["fixed"])
    assert "new" not in states(train)
    assert "worse" not in states(train)
    assert counter(train, "recompiles").values == (6, 1)
    resnet = compare([analyze(log_of(cases(name)[0])) for name in PAIRS[1]])
    assert {"IND004", "ONE003"} <= set(states(resnet)["fixed"])
    assert counter(resnet, "reorders_per_product").state == "better"
    assert counter(resnet, "onednn_ms_per_product").state == "better"


@needs_corpus
@pytest.mark.parametrize(
    ("eager", "compiled"),
    [("prof_mlp_eager", "prof_mlp_compiled"), ("prof_cnn_eager_all", "prof_cnn_frozen")],
)
def test_profiles_of_eager_and_compiled_code_give_the_speed_up(eager: str, compiled: str) -> None:
    paths = [str(cases(f"2.13.0/{name}")[0] / "trace.json.gz") for name in (eager, compiled)]
    found = compare([analyze(path) for path in paths])
    assert [one.mode for one in found.modes] == ["eager", "compiled"]
    speedup = found.modes[1].speedup
    assert speedup is not None
    assert speedup == pytest.approx(found.modes[0].time.mean / found.modes[1].time.mean, rel=0.01)


# Operators and kernels of traces.

PARTS = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.000001, 1e4), max_size=6)


def traced(report: Report, times: dict[str, float], steps: int | None) -> Report:
    tables: dict[str, list[dict[str, Any]]] = {
        "kernels": [{"name": name, "sum_ms": round(ms, 6)} for name, ms in times.items()],
        "ops": [
            {"name": "aten::mm", "shapes": name, "dtype": "bf16", "sum_ms": round(ms, 6)}
            for name, ms in times.items()
        ],
        "modules": [
            {"module": f"Net > {name}", "device_ms": 9e9, "self_device_ms": round(ms, 6)}
            for name, ms in times.items()
        ],
        "module_ops": [
            {"module": "OptimizedModule_0 > Net", "name": name, "sum_ms": round(ms, 6)}
            for name, ms in times.items()
        ],
    }
    if steps:
        row = {"kind": "step", "name": None, "rank": None, "n": steps, "mean_ms": 1.0}
        tables["steps"] = [row]
    return report.model_copy(update={"tables": tables})


@settings(max_examples=30, deadline=None)
@given(PARTS, PARTS)
def test_kernels_and_operators_add_up_on_both_sides(
    report: Report, before: dict[str, float], after: dict[str, float]
) -> None:
    comparison = compare([traced(report, before, 3), traced(report, after, 3)])
    found = {
        "kernel_ms": "",
        "op_ms": "aten::mm ",
        "module_ms": "Net > ",
        "module_op_ms": "Net ",
    }
    for name, prefix in found.items():
        held = [one for one in comparison.counters if one.name == name]
        parts = {one.of: one for one in held if one.of is not None}
        suffix = " bf16" if name == "op_ms" else ""
        assert set(parts) == {f"{prefix}{part}{suffix}" for part in before | after}
        for side, times in (("before", before), ("after", after)):
            total = sum(getattr(one, side) or 0.0 for one in parts.values())
            assert total == pytest.approx(sum(round(ms, 6) for ms in times.values()), abs=1e-6)
            if times and before and after:
                (whole,) = [one for one in held if one.of is None]
                assert getattr(whole, side) == pytest.approx(total, abs=1e-6)


def test_a_kernel_that_is_gone_is_none_of_the_time(report: Report) -> None:
    comparison = compare(
        [traced(report, {"a": 4.0, "b": 2.0}, 3), traced(report, {"a": 1.0, "c": 1.0}, 3)]
    )
    found = {one.of: one for one in comparison.counters if one.name == "kernel_ms"}
    assert {of: (one.before, one.after, one.state) for of, one in found.items()} == {
        None: (6.0, 2.0, "better"),
        "a": (4.0, 1.0, "better"),
        "b": (2.0, 0.0, "better"),
        "c": (0.0, 1.0, "worse"),
    }


def test_more_steps_are_not_worse_kernels(report: Report) -> None:
    comparison = compare([traced(report, {"a": 4.0}, 3), traced(report, {"a": 8.0}, 6)])
    assert counter(comparison, "kernel_ms").state == "changed"
    assert counter(comparison, "op_ms").state == "changed"


def test_the_page_has_contents_with_counts_that_lead_somewhere(report: Report) -> None:
    one, other = with_findings(report, finding()), with_findings(report, finding("GBR002"))
    (form,) = [form for form in FORMATS if form.name == "html"]
    page = form.load().render(compare([one, other]), LAST)
    contents = page.partition('<nav class="contents"')[2].partition("</nav>")[0]
    anchors = re.findall(r'href="#(\w+)"', contents)
    assert '<div class="page alone">' in page  # the space around headings and badges
    assert anchors[:2] == ["inputs", "findings"]
    assert all(page.count(f' id="{anchor}"') == 1 for anchor in anchors)
    assert re.findall(r"<h2 id=\"(\w+)\"", page) == anchors
    assert re.findall(r'class="count">(\d+)', contents)[:2] == ["2", "2"]


@pytest.mark.parametrize(("compiled", "state"), [(False, "better"), (True, "changed")])
def test_operators_that_were_compiled_are_neither_better_nor_worse(
    report: Report, compiled: bool, state: str
) -> None:
    def of(count: int, regions: int) -> Report:
        called = {"name": "aten::mul", "category": "cpu_op", "count": count, "self_ms": count}
        return tables(report, operators=[called], regions=[{"name": "0/0"}] * regions)

    found = compare([of(240, 0), of(32, int(compiled))])
    assert {counter(found, name).state for name in ("operator_calls", "operator_ms")} == {state}


@pytest.mark.parametrize(
    ("eager", "before"),
    [("aten::mul", 0.0), ("Torch-Compiled Region: 0/0", None)],  # whose kernels are not recorded
)
def test_what_operators_were_fused_into_is_neither_better_nor_worse(
    report: Report, eager: str, before: float | None
) -> None:
    def of(*names: str) -> Report:
        called = [{"name": n, "category": "cpu_op", "count": 1, "self_ms": 4.0} for n in names]
        regions = [{"name": "0/0"}] if "Region" in names[0] else []
        return tables(report, operators=called, regions=regions)

    made = ("Torch-Compiled Region: 0/0", "graph_0_cpp_fused_mul_0", "cpp_fused_add_1")
    found = compare([of(eager), of(*made)])
    kernels = [one for one in found.counters if one.name == "cpp_kernel_ms"]
    assert {one.of: one.after for one in kernels} == {
        None: 8.0,
        "cpp_fused_mul_0": 4.0,
        "cpp_fused_add_1": 4.0,
    }
    assert {one.state for one in kernels}.isdisjoint({"better", "worse"})
    assert counter(found, "cpp_kernel_ms").before == before


def test_a_call_of_a_frame_is_named_by_the_frame_alone() -> None:
    """The column has room for thirty characters."""
    region = "Torch-Compiled Region: 0/0"
    one = Counter(name="region_ms", of=region, before=None, after=1.0, values=(None, 1.0))
    assert label(one) == "a call of compiled code: 0/0"
