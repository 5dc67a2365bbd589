"""Pieces of torch's log that begin in the middle of a record are read as far as they go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Severity, analyze
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.source import read

BREAKS = (
    "V1120 11:07:35.765000 1628 torch/_dynamo/symbolic_convert.py:5131] [0/1] [__graph_breaks] "
)
OLD_BREAKS = (
    "[2026-11-20 10:32:24,334] [0/0] torch._dynamo.symbolic_convert.__graph_breaks: [DEBUG] "
)
RECOMPILES = "V1120 10:45:19.361000 3171 torch/_dynamo/guards.py:5396] [0/3] [__recompiles] "
LIMIT = "W1120 11:30:28.744000 3176 torch/_dynamo/convert_frame.py:2061] [0/8] "
GUARDS = "V1120 11:10:15.594000 1874 torch/_dynamo/guards.py:2025] [0/0] [__guards] "


def first(tmp_path: Path, prefix: str, *lines: str) -> Finding:
    log = tmp_path / "piece.txt"
    log.write_text("".join(f"{prefix}{line}\n" for line in lines), encoding="utf-8")
    return analyze(str(log)).findings[0]


def test_the_kind_above_an_explanation_is_the_reason(tmp_path: Path) -> None:
    found = first(
        tmp_path,
        BREAKS,
        "",
        "Dynamic shape operator",
        "  Explanation: Operator `aten.nonzero.default`'s output shape depends on data.",
        "  Hint: Enable tracing of dynamic shape operators with the config.",
    )
    assert found.code == "GBR008"


def test_the_users_frame_is_the_place(tmp_path: Path) -> None:
    found = first(
        tmp_path,
        BREAKS,
        "Failed to trace builtin operator",
        "  Explanation: Dynamo does not know how to trace builtin operator `print` with argument "
        "types ['str'] (has_kwargs False)",
        "",
        "  Developer debug context: builtin print [<class 'ConstantVariable'>] False",
        "",
        "User code traceback:",
        '  File "/home/ana/proj/model.py", line 7, in forward',
        '    print("y")',
    )
    assert found.code == "GBR003"
    assert "model.py:7" in found.title


def test_the_last_line_of_an_older_record_is_the_reason(tmp_path: Path) -> None:
    found = first(
        tmp_path,
        BREAKS,
        '  File "/home/ana/venv/lib/torch/_dynamo/exc.py", line 221, in un',
        "    raise Unsupported(msg)",
        "torch._dynamo.exc.Unsupported: 'skip function graph_break in file /home/ana/x.py'",
    )
    assert found.code == "GBR005"


@pytest.mark.parametrize("prefix", [BREAKS, OLD_BREAKS])
def test_torchs_own_frames_are_of_a_break_and_no_failure(tmp_path: Path, prefix: str) -> None:
    found = first(
        tmp_path,
        prefix,
        "    return super().call_function(tx, args, kwargs)",
        '  File "/home/ana/torch/_dynamo/variables/functions.py", line 87, in call_function',
        "    return tx.inline_user_function_return(",
    )
    assert (found.code, found.severity) == ("LOG001", Severity.INFO)
    assert "graph break" in found.title
    assert "functions.py" not in found.message, "that is no place of the program's"


def test_a_real_traceback_beside_a_broken_record_is_told(tmp_path: Path) -> None:
    log = tmp_path / "piece.txt"
    log.write_text(
        f"{BREAKS}    return super().call_function(tx, args, kwargs)\n"
        "Traceback (most recent call last):\n"
        '  File "/home/ana/proj/train.py", line 3, in <module>\n'
        "    f(x)\n"
        '  File "/home/ana/venv/torch/_dynamo/eval_frame.py", line 99, in fn\n'
        "torch._dynamo.exc.InternalTorchDynamoError: KeyError: 'x'\n",
        encoding="utf-8",
    )
    assert analyze(str(log)).findings[0].severity is Severity.ERROR


def test_reasons_behind_the_rest_of_another_are_read(tmp_path: Path) -> None:
    found = first(
        tmp_path,
        RECOMPILES,
        '    -   File "/home/ana/proj/train.py", line 17, in scale',
        "    - 0/0: n == 1                              # if n != 3:  # proj/train.py:17 in scale",
    )
    assert "reasons of a recompile" in found.title
    assert "`n == 1`" in found.message


@pytest.mark.parametrize(
    ("prefix", "line", "words"),
    [
        (LIMIT, 'To log all recompilation reasons, use TORCH_LOGS="recompiles".', "limit"),
        (GUARDS, "        _var0 = G['__import_torch_dot_nn_dot_modules_dot_linear']", "guards"),
        (RECOMPILES, "    - User stack trace:", "recompile"),
    ],
)
def test_the_rest_of_a_record_is_told_for_what_it_is(
    tmp_path: Path, prefix: str, line: str, words: str
) -> None:
    found = first(tmp_path, prefix, line)
    assert found.code == "LOG001"
    assert words in found.title
    assert "not read" not in found.title
    assert found.advice[0].env


def test_a_long_log_that_was_rotated_keeps_its_gap(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    body = [f"{BREAKS}Dynamic shape operator", f"{BREAKS}  Explanation: it depends on the data."]
    log.write_text("\n".join([*body, *(f"step {n}" for n in range(200))]) + "\n", encoding="utf-8")
    codes = {one.code for one in analyze(str(log)).findings}
    assert "GBR008" not in codes, "of a long log the head may tell another story"


def test_a_reason_in_bold_is_read(tmp_path: Path) -> None:
    log = tmp_path / "piece.txt"
    logger = "torch._dynamo.convert_frame: [WARNING]"
    log.write_text(
        f"{logger} torch._dynamo hit config.cache_size_limit (8)\n"
        f"{logger}    **last reason: L['self'].param_groups[0]['lr'] == 4.8e-05**\n",
        encoding="utf-8",
    )
    found = analyze(str(log)).findings[0]
    assert found.code == "RCP001"
    assert "param_groups" in found.message


def test_two_records_that_both_begin_in_their_middle_are_read_apart(tmp_path: Path) -> None:
    lines = (
        "Data-dependent branching",
        "  Explanation: Detected data-dependent branching.",
        "",
        "  Developer debug context: a",
        "",
        "User code traceback:",
        '  File "/home/ana/proj/%s.py", line 30, in f',
        "    if x.sum() > 0:",
    )
    log = tmp_path / "pasted.txt"
    for files in ("a", "ab"):
        log.write_text(
            "".join(
                BREAKS.replace("[0/1]", f"[{at}/0]") + line.replace("%s", name) + "\n"
                for at, name in enumerate(files)
                for line in lines
            )
        )
        evidence, _ = read([str(log)])
        assert len(evidence.table(GraphBreak)) == len(files)


def test_breaks_that_are_told_only_by_their_count_answer_for_a_short_log() -> None:
    report = analyze("fixtures/rules/GBR012-break-count-summary/fires-backward-hook.log")
    assert [one.code for one in report.told] == ["GBR012"]


def test_the_function_that_hit_the_limit_is_enough(tmp_path: Path) -> None:
    found = first(tmp_path, LIMIT, "   function: 'scale' (/home/ana/proj/model.py:84)")
    assert found.code == "RCP001"
    assert "`scale`" in found.title
