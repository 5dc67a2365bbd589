# ruff: noqa: E501 -- what torch prints
"""What compilations took and where graphs broke, as Python prints objects and counters of Dynamo."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_pasted_breaks import codes, told
from tracelens import Severity, TracelensError, analyze

METRICS = (
    "CompilationMetrics(compile_id='0/0', frame_key='1', co_name='forward', co_filename='/home/ana/proj/model.py', "
    "co_firstlineno=95, cache_size=0, accumulated_cache_size=0, guard_count=396, graph_op_count=354, "
    "start_time=1723607655.8655994, entire_frame_compile_time_s={whole}, backend_compile_time_s={backend}, "
    "inductor_compile_time_s=4.5, code_gen_time_s=None, fail_type=None, restart_reasons=set(), has_guarded_code=True)"
)
AS_DICT = "{{'compile_id': '0/0', 'co_name': 'forward', 'co_filename': '/home/ana/proj/model.py', 'entire_frame_compile_time_s': {whole}, 'backend_compile_time_s': {backend}}}"
DRESSED = ["{}", "Logging inductor compilation metrics: {}", "%s {}"]


@pytest.mark.parametrize("dress", DRESSED)
def test_a_long_compilation_is_told_with_its_parts(tmp_path: Path, dress: str) -> None:
    text = dress.format(METRICS.format(whole="40.0", backend="30.0"))
    first, *_ = told(tmp_path, f"{text}\n")
    assert (first.code, first.severity) == ("CMP001", Severity.INFO)
    assert "40 s" in first.title
    assert all(part in first.message for part in ("Dynamo 10 s", "AOTAutograd 25.5 s", "`forward`"))


def test_as_a_dictionary_it_says_the_same(tmp_path: Path) -> None:
    first, *_ = told(tmp_path, f"{AS_DICT.format(whole='40.0', backend='30.0')}\n")
    assert (first.code, "40 s" in first.title) == ("CMP001", True)


@pytest.mark.parametrize(("whole", "shown"), [("29.0", False), ("31.0", True), ("9.0", False)])
def test_what_any_start_takes_is_no_finding(tmp_path: Path, whole: str, shown: bool) -> None:
    found = codes(tmp_path, f"{METRICS.format(whole=whole, backend='5.0')}\n")
    assert ("CMP001" in found) is shown
    assert found[-1] == "LOG001"


def test_in_a_log_it_is_what_a_start_takes(tmp_path: Path) -> None:
    head = "I0612 10:00:00.000000 7 torch/_dynamo/utils.py:1] [0/0] [__perf_hints] "
    text = f"{METRICS.format(whole='40.0', backend='30.0')}\n" + 40 * f"{head}Skip padding\n"
    assert "CMP001" not in codes(tmp_path, text)


def test_several_compilations_are_added_up(tmp_path: Path) -> None:
    lines = [METRICS.format(whole="8.0", backend="5.0") for _ in range(3)]
    first, *_ = told(tmp_path, "".join(f"%s {line}\n" for line in lines))
    assert (first.code, "24 s" in first.title) == ("CMP001", True)


def test_the_line_of_times_of_torchs_benchmark_is_told(tmp_path: Path) -> None:
    line = "TIMING: code_gen:17.5 inductor_compile:42.5 backend_compile:72.5 entire_frame_compile:87.5 total_wall_time:87.5\n"
    (found,) = told(tmp_path, line)
    assert (found.code, "87.5 s" in found.title) == ("CMP001", True)
    assert "Dynamo 15 s, AOTAutograd 30 s, Inductor 25 s" in found.message


def test_its_sum_is_read_with_what_somebody_wrote_behind_it(tmp_path: Path) -> None:
    text = "Compilation time (from dynamo_timed): 87.5  # <----- here\n"
    log = tmp_path / "run.log"
    log.write_text(text)
    report = analyze(str(log))
    assert [one.code for one in report.told] == ["CMP001"]
    assert not report.coverage.unread


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        ("call_function BuiltinVariable(print) [ConstantVariable(str)] {}", "GBR003", "print"),
        ("generic_jump TensorVariable()", "GBR002", "tensor"),
        ("Tensor.item", "GBR001", "tensor"),
        (
            "call_function UserDefinedObjectVariable(method) [ConstantVariable(int)] {}",
            "GBR009",
            "a function",
        ),
    ],
)
def test_reasons_that_a_counter_holds_are_breaks(
    tmp_path: Path, reason: str, code: str, words: str
) -> None:
    text = "STATS graph_break\n" + f"- `('{reason}', 17)` -- from where?\n"
    first, *_ = told(tmp_path, text)
    assert (first.code, words in first.title) == (code, True)


@pytest.mark.parametrize("form", ["Counter({{{}}})", "{{{}}}", "reasons: Counter({{{}}})"])
def test_a_counter_of_reasons_by_itself_is_read(tmp_path: Path, form: str) -> None:
    reasons = "'Tensor.item': 3, \"call_function BuiltinVariable(print) [] {}\": 2"
    log = tmp_path / "run.log"
    log.write_text(f"{form.format(reasons)}\n")
    found = {one.code for one in analyze(str(log)).told}
    assert found >= {"GBR001", "GBR003"}


@pytest.mark.parametrize(
    "text",
    [
        "Counter({'call me': 3, 'Tensor': 2, 'numpy': 4})",
        "Counter({'numpy': 12, 'torch': 3, 'pandas': 2})",
        "{'numpy': 1.26, 'scipy': 1.11}",
        "{'inline-block': 4, 'flex': 2}",
        "{'missing: age': 4, 'missing: name': 2}",
        "{'missing: EMAIL': 4}",
        "{'data dependent tests': 4, 'plain tests': 10}",
        "Counter({'Failed to trace route': 4, 'timeout': 2})",
        "{'Attempted to call support': 3}",
        "{'builtin: yes': 3}",
        "most common: [('inline', 5), ('block', 3)]",
        "('inline comment', 5)",
    ],
)
def test_another_counter_is_the_programs_own(tmp_path: Path, text: str) -> None:
    log = tmp_path / "run.log"
    log.write_text(f"{text}\n")
    with pytest.raises(TracelensError, match=r"nothing from torch|was recognised"):
        analyze(str(log))


@pytest.mark.parametrize(
    "reason",
    [
        "inline in skipfiles: info | helper /home/ana/proj/log.py",
        "inline with __closure__",
        "builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False",
        "missing: STORE_GLOBAL",
        "data dependent operator: aten._local_scalar_dense.default",
        "dynamic shape operator: aten.nonzero.default",
        "Attempted to call function marked as skipped",
    ],
)
def test_a_counter_of_one_reason_is_read(tmp_path: Path, reason: str) -> None:
    log = tmp_path / "run.log"
    log.write_text(f'Counter({{"{reason}": 3}})\n')
    assert any(one.code.startswith("GBR") for one in analyze(str(log)).told)


def test_a_type_is_no_name_of_a_function(tmp_path: Path) -> None:
    text = "Graph break: call_function UserDefinedObjectVariable({}) [] {{}} from user code at:\n"
    place = '  File "/home/ana/proj/model.py", line 7, in forward\n    y = self.act(x)\n'
    for name in ("method", "builtin_function_or_method", "method_descriptor"):
        first, *_ = told(tmp_path, text.format(name) + place)
        assert (first.code, f"`{name}`" in first.title) == ("GBR009", False)
