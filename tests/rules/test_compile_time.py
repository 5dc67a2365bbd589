"""What is said of compile time: of a log that ends within a compilation, and beside guards."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding, Report, Severity
from tracelens.rules import Rule
from tracelens.rules.cmp.compile_time_dominates import CompileTimeDominates
from tracelens.rules.cmp.serving_start_time import ServingStartTime

GUARDS = "torch/_dynamo/guards.py"


def line(when: str, at: str, text: str, number: str = "0/0") -> str:
    return f"V1120 12:{when}.000000 7 {GUARDS}:{at}] [{number}] {text}\n"


def entry(start: str, end: str, number: str = "0/0", us: float = 100.0) -> str:
    checks = [f"| +- LENGTH_CHECK: len(L['x{n}']) == 2" for n in range(int(us))]
    parts = ["TREE_GUARD_MANAGER:", "+- RootGuardManager", *checks]
    tree = "".join(line(end, "4483", f"[__guards] {part}", number) for part in parts)
    begun = line(start, "4786", "[__guards] GUARDS:", number)
    return begun + tree + line(end, "4519", f"[__guards] Guard eval latency = {us} us", number)


SIZE = "tensor 'x' size mismatch at index 0. expected 8, actual 9"
MODE = "GLOBAL_STATE changed: grad_mode "
NAME = "name == 'a'"


def again(
    when: str, number: str = "0/1", *, reason: str = SIZE, old: int = 0, of: str = "forward"
) -> str:
    frame = number.partition("/")[0]
    parts = [
        f"Recompiling function {of} in /home/ana/proj/model.py:4",
        "    triggered by the following guard failure(s):",
        f"    - {frame}/{old}: {reason}",
    ]
    return "".join(line(when, "5396", f"[__recompiles] {part}", number) for part in parts)


def report(tmp_path: Path, text: str) -> Report:
    log = tmp_path / "run.log"
    log.write_text(text)
    return analyze(str(log))


def told(tmp_path: Path, text: str) -> Finding:
    (finding,) = [one for one in report(tmp_path, text).findings if one.code == "CMP001"]
    return finding


def test_a_time_that_the_log_does_not_tell_is_not_zero(tmp_path: Path) -> None:
    message = told(tmp_path, entry("00:00", "00:40") + again("00:41")).message
    assert "1 of them is a recompile, whose time the log does not tell." in message
    assert "0 ms" not in message


def test_a_time_that_it_tells_is_said(tmp_path: Path) -> None:
    twice = again("00:41") + entry("00:41", "00:51", "0/1")
    message = told(tmp_path, entry("00:00", "00:40") + twice).message
    assert "1 of them is a recompile and took 10 s" in message
    ends = again("00:52", "0/2")
    message = told(tmp_path, entry("00:00", "00:40") + twice + ends).message
    assert "took 10 s, without 1 whose time the log does not tell" in message


def test_what_a_start_brings_is_not_said_to_be_told_elsewhere(tmp_path: Path) -> None:
    """A note about each recompile says nothing of a run that is too short for all of them."""
    for reason, start in (SIZE, "one compilation, and one more"), (NAME, "most of it went into"):
        text = entry("00:00", "00:10") + again("00:11", reason=reason)
        harmless = told(tmp_path, text + entry("00:12", "00:50", "0/1")).harmless or ""
        assert harmless.startswith(start)
        assert ("TORCHDYNAMO_DISABLE" in harmless) is (reason == SIZE)


def test_guards_of_a_call_come_after_the_time_of_compiling(tmp_path: Path) -> None:
    """A log of one call tells of 40 s of compiling, and of 2 ms of guards."""
    text = entry("00:00", "00:40", us=2000.0) + again("00:41", reason=NAME)
    shown = [one.code for one in report(tmp_path, text).shown]
    assert shown.index("CMP001") < shown.index("GRD001")


def test_guards_are_first_where_compiling_took_little(tmp_path: Path) -> None:
    text = entry("00:00", "00:04", us=2000.0) + again("00:05")
    shown = [one.code for one in report(tmp_path, text).shown]
    assert shown[0] == "GRD001"
    assert "CMP001" not in shown


def test_guards_that_take_long_in_every_call_are_first(tmp_path: Path) -> None:
    text = entry("00:00", "00:40", us=5500.0) + again("00:41", reason=NAME)
    text += entry("00:42", "00:50", "0/1", us=5500.0)
    shown = [one.code for one in report(tmp_path, text).shown]
    assert shown.index("GRD001") < shown.index("CMP001")


def test_one_sum_of_a_table_may_be_of_several_compilations(tmp_path: Path) -> None:
    rows = ["TorchDynamo compilation metrics:", "Function, Runtimes (s)"]
    table = "".join(
        f"I1120 12:01:00.000000 7 torch/_dynamo/utils.py:925] {row}\n"
        for row in [*rows, "_compile.compile_inner, 59.0600", "bytecode_tracing, 2.3997"]
    )
    one = told(tmp_path, entry("00:00", "00:20") + table)
    assert one.harmless is not None
    assert one.harmless.startswith("one compilation is what a start takes; in a short run it may")
    two = told(tmp_path, entry("00:00", "00:20") + entry("00:20", "00:55", "0/1") + table)
    assert two.message.startswith("2 compilations took 59.1 s. 1 of them is a recompile, whose")
    assert two.harmless is None


@pytest.mark.parametrize("rule", [CompileTimeDominates, ServingStartTime])
def test_the_directory_of_the_cache_can_be_written(rule: type[Rule], tmp_path: Path) -> None:
    """What is printed is pasted before a command, by a user who may not write to ``/``."""
    directories = [
        remedy.env
        for remedy in rule.remedies
        if isinstance(remedy.env, str) and re.match(r"[A-Z_]+_(DIR|ROOT)=", remedy.env)
    ]
    assert directories
    for env in directories:
        name = env.partition("=")[0]
        script = f'{env} sh -c \'mkdir -p "${name}" && cd "${name}" && pwd\''
        ran = subprocess.run(
            ["/bin/sh", "-c", script],
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        assert ran.stdout.startswith(f"{tmp_path}/")


#: Training and validation, each with a second size.
SECOND = (
    again("00:41")
    + entry("00:41", "00:43", "0/1")
    + entry("00:44", "00:46", "1/0")
    + again("00:47", "1/1", of="{of}")
    + entry("00:47", "00:49", "1/1")
)


@pytest.mark.parametrize(
    ("more", "quiet"),
    [
        (again("00:41"), True),  # a size that varies, once
        (again("00:41", reason=MODE), True),  # training and validation
        (
            again("00:41", reason=MODE) + entry("00:41", "00:48", "0/1") + again("00:49", "0/2"),
            True,
        ),
        (again("00:41", reason=NAME), False),
        (again("00:41") + entry("00:41", "00:42", "0/1") + again("00:43", "0/2", old=1), False),
        (again("00:41") + entry("00:42", "00:44", "1/0"), False),  # a second function
        (SECOND.format(of="evaluate"), True),
        (SECOND.format(of="torch_dynamo_resume_in_forward_at_8"), False),
        (SECOND.format(of="forward"), False),  # a part of the first one, as far as can be told
        (
            SECOND.format(of="evaluate")
            + entry("00:53", "00:55", "2/0")
            + again("00:56", "2/1", of="g"),
            False,
        ),
        (SECOND.format(of="evaluate") + again("00:56", "1/2", old=1, of="evaluate"), False),
    ],
)
def test_what_every_start_compiles_is_a_note(tmp_path: Path, more: str, quiet: bool) -> None:
    finding = told(tmp_path, entry("00:00", "00:40") + more)
    assert (finding.severity is Severity.NONE) is quiet


def run_of(ms: float) -> str:
    """Return a line of oneDNN's about a product that took so long."""
    what = "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx2,undef,"
    sizes = "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0"
    return f"{what}{sizes},,,8x8:8x8,{ms}\n"


@pytest.mark.parametrize(
    ("ms", "more"),
    [
        (None, "; in a short run it may not pay: "),
        (90.0, "; oneDNN's calls took 90 ms in all, so this run may be too short for it: "),
        (9_000.0, ""),  # it went on long enough, as far as can be told
    ],
)
def test_a_run_that_is_short_beside_compiling_is_to_be_compared(
    ms: float | None, more: str, tmp_path: Path
) -> None:
    text = entry("00:00", "00:40") + ("" if ms is None else run_of(ms))
    harmless = told(tmp_path, text).harmless or ""
    assert harmless.startswith(f"one compilation is what a start takes{more}")
    assert ("TORCHDYNAMO_DISABLE=1" in harmless) is bool(more)


@pytest.mark.parametrize(("functions", "is_note"), [(2, True), (3, False)])
def test_two_functions_compiled_once_each_are_what_a_start_takes(
    functions: int, *, is_note: bool, tmp_path: Path
) -> None:
    text = "".join(entry(f"0{n}:00", f"0{n}:40", f"{n}/0") for n in range(functions))
    found = told(tmp_path, text)
    assert (found.severity is Severity.NONE) is is_note
    assert ("each function was compiled once" in (found.harmless or "")) is is_note


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["bytecode_tracing, 0.2100", "get_fake_value, 0.0300"], True),
        (["bytecode_tracing, 9.2100"], False),
        (["bytecode_tracing, 0.2100", "OutputGraph.call_user_compiler, 18.0"], False),
    ],
)
def test_a_pasted_table_tells_whether_it_was_tracing(
    tmp_path: Path, rows: list[str], said: bool
) -> None:
    prefix = "I0424 14:50:06.425000 7 torch/_dynamo/utils.py:910] "
    head = ["TorchDynamo compilation metrics:", "Function, Runtimes (s)"]
    table = [*head, "_compile.compile_inner, 21.4449", *rows]
    found = told(tmp_path, "".join(f"{prefix}{row}\n" for row in table))
    assert found.severity is Severity.INFO
    assert ("it was not Dynamo" in found.message) is said


def test_the_same_table_in_the_log_of_a_run_is_a_note(tmp_path: Path) -> None:
    prefix = "I0424 14:50:06.425000 7 torch/_dynamo/utils.py:910] "
    rows = ["TorchDynamo compilation metrics:", "Function, Runtimes (s)"]
    rows += ["_compile.compile_inner, 21.4449", *(f"phase_{n}, 0.0100" for n in range(40))]
    found = told(tmp_path, "".join(f"{prefix}{row}\n" for row in rows))
    assert found.severity is Severity.NONE
