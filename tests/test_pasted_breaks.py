# ruff: noqa: E501 -- what torch prints
"""Graph breaks, recompiles and lines of torch's log as they are pasted: heads and times left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Severity, analyze

TORCH = "/home/ana/venv/lib/python3.11/site-packages/torch"
BREAK = (
    "Graph break: from user code at:\n"
    '  File "/home/ana/proj/model.py", line 7, in forward\n'
    '    y = x.sin(); print("y")\n'
    "Traceback (most recent call last):\n"
    f'  File "{TORCH}/_dynamo/exc.py", line 221, in unimplemented\n'
    "    raise Unsupported(msg)\n"
    "torch._dynamo.exc.Unsupported: builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False\n"
)
RECOMPILES = (
    "[0/1] [__recompiles]     triggered by the following guard failure(s):\n"
    "[0/1] [__recompiles]     - 0/0: G['__import_settings'].step == 0\n"
    "(...)\n"
    "[0/2] [__recompiles]     triggered by the following guard failure(s):\n"
    "[0/2] [__recompiles]     - 0/1: G['__import_settings'].step == 1\n"
    "[0/2] [__recompiles]     - 0/0: G['__import_settings'].step == 0\n"
)
SCRIPTED = (
    "torch._dynamo.symbolic_convert: [WARNING] Graph break: call_function UserDefinedObjectVariable(ScriptFunction) "
    '[TensorVariable()] {} from user code at   File "/home/ana/proj/model.py", line 7, in forward\n'
    "    return self.scripted(x)\n"
)


def told(tmp_path: Path, text: str) -> list[Finding]:
    log = tmp_path / "run.log"
    log.write_text(text)
    return list(analyze(str(log)).told)


def codes(tmp_path: Path, text: str) -> list[str]:
    return [one.code for one in told(tmp_path, text)]


def test_the_traceback_that_tells_why_a_graph_broke_is_no_error(tmp_path: Path) -> None:
    (found,) = told(tmp_path, BREAK)
    assert (found.code, found.where and found.where.line) == ("GBR003", 7)


def test_an_error_behind_such_a_break_is_told_by_itself(tmp_path: Path) -> None:
    error = 'Traceback (most recent call last):\n  File "/home/ana/proj/train.py", line 3, in <module>\n    main()\nValueError: bad\n'
    first, second = told(tmp_path, f"{BREAK}done\n{error}")
    assert (first.code, "ValueError: bad" in first.title) == ("ERR000", True)
    assert second.code == "GBR003"


def test_the_same_traceback_without_the_break_is_an_error(tmp_path: Path) -> None:
    (found,) = told(tmp_path, BREAK[BREAK.index("Traceback") :])
    assert found.code == "ERR016"


def test_recompiles_whose_first_lines_are_left_out_are_judged_together(tmp_path: Path) -> None:
    first, *_ = told(tmp_path, RECOMPILES)
    assert first.code == "RCP007"
    assert first.title == "a function is compiled again for every value of `__import_settings.step`"


def test_one_recompile_without_its_first_line_proves_nothing_more(tmp_path: Path) -> None:
    (found,) = told(tmp_path, "".join(RECOMPILES.splitlines(keepends=True)[:2]))
    assert found.code == "LOG001"


@pytest.mark.parametrize("name", ["ScriptFunction", "Tokenizer"])
def test_an_object_that_is_called_cannot_be_traced(tmp_path: Path, name: str) -> None:
    first, *_ = told(tmp_path, SCRIPTED.replace("ScriptFunction", name))
    assert (first.code, f"`{name}`" in first.title) == ("GBR009", True)
    assert any("TorchScript" in one.text for one in first.advice) == (name == "ScriptFunction")


def test_a_sum_of_breaks_comes_after_what_names_a_place(tmp_path: Path) -> None:
    head = "V0520 14:53:14.120000 13988 torch/_dynamo/symbolic_convert.py:530]"
    text = (
        f"{head} [0/0] [__graph_breaks]     raise Unsupported(msg)\n"
        f"{head} [0/0] [__graph_breaks] torch._dynamo.exc.Unsupported: call torch._dynamo.disable() wrapped function <function g at 0x7f0000000000>\n"
        f"{head} [1/0] [__graph_breaks] Graph break: from user code at:\n"
        f'{head} [1/0] [__graph_breaks]   File "/home/ana/proj/model.py", line 18, in forward\n'
        f"{head} [1/0] [__graph_breaks]     torch._dynamo.graph_break()\n"
    )
    assert codes(tmp_path, text) == ["GBR005", "GBR012"]


def test_the_first_line_of_a_break_in_another_dress_is_no_second_break(tmp_path: Path) -> None:
    head = (
        "V0508 14:47:08.827000 3215 torch/_dynamo/symbolic_convert.py:4767] [0/0] [__graph_breaks]"
    )
    text = (
        "Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n"
        f"{head} \n{head} Failed to trace builtin operator\n"
        f"{head}   Explanation: Dynamo does not know how to trace builtin operator `exec` with argument types ['str'] (has_kwargs False)\n"
        f"{head}   Hint: Avoid calling builtin `exec` with argument types ['str'].\n"
    )
    first, *rest = told(tmp_path, text)
    assert (first.code, "`exec`" in first.title) == ("GBR003", True)
    assert "before the compiled function" in first.advice[0].text
    assert "GBR012" not in [one.code for one in rest]


@pytest.mark.parametrize(
    ("end", "severity"),
    [("Falling back to eager for this frame.", "warning"), ("Adding a graph break.", "warning")],
)
def test_a_backend_that_fails_on_fake_tensors_breaks_the_graph(
    tmp_path: Path, end: str, severity: str
) -> None:
    head = "[2023-08-14 14:53:48,863] torch._dynamo.output_graph: [WARNING]"
    text = (
        f"{head} Backend compiler failed with a fake tensor exception at \n"
        f'{head}   File "/home/ana/proj/model.py", line 5, in forward\n'
        f"{head}     return torch.sum(x, dim=1).tolist()\n"
        f"{head} {end}\n"
    )
    first, *_ = told(tmp_path, text)
    assert (first.code, first.severity) == ("GBR011", Severity(severity))
    assert first.where is not None
    assert (first.where.file, first.where.line) == ("/home/ana/proj/model.py", 5)


LOGGED = (
    "[__graph_breaks] Graph break in user code at /usr/lib/python3.10/logging/__init__.py:2127\n"
    "[__graph_breaks] Graph Break Reason: Unsupported method call\n"
    "[__graph_breaks]   Explanation: Dynamo does not know how to trace method `__len__` of class `<unknown type>`\n"
)


def test_what_breaks_in_pythons_logging_is_the_call_of_a_logger(tmp_path: Path) -> None:
    (found,) = told(tmp_path, LOGGED)
    assert found.code == "GBR004"
    assert [one.text for one in found.advice] == ["Move the call out of the compiled function."]


def test_a_module_of_that_name_in_the_program_is_its_own(tmp_path: Path) -> None:
    assert codes(tmp_path, LOGGED.replace("/usr/lib/python3.10", "/home/ana/proj")) == ["GBR012"]


SIZES = (
    "torch/fx/experimental/symbolic_shapes.py:2268] [0/0] create_env\n"
    "torch/fx/experimental/symbolic_shapes.py:3239] [0/0] create_symbol s0 = 977 for L['x'].size()[1] [2, 9223372036854775806] "
    "at proj/model.py:52 in forward (_dynamo/variables/builder.py:2137 in <lambda>), for more info run with "
    'TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL="s0"\n'
)


def test_a_prefix_whose_time_is_left_out_is_torchs(tmp_path: Path) -> None:
    (found,) = told(tmp_path, SIZES)
    assert (found.code, found.severity) == ("LOG001", Severity.INFO)


@pytest.mark.parametrize(
    "text",
    [
        "+ python benchmarks/dynamo/check_graph_breaks.py --actual a.csv --expected inductor_training.csv\nresnet50  PASS\n",
        "$ TORCH_LOGS=graph_breaks python compile_must_not_fail.py torch.compile\n",
        '{"graph_break": "missing", "torch.compile": "not supported"}\n',
    ],
)
def test_a_command_and_a_line_of_json_are_no_errors(tmp_path: Path, text: str) -> None:
    log = tmp_path / "run.log"
    log.write_text(f"torch._dynamo hit config.recompile_limit (8)\n{text}")
    assert not any(one.code.startswith("ERR") for one in analyze(str(log)).told)


def test_numbers_of_a_compilation_are_no_error(tmp_path: Path) -> None:
    metrics = (
        '{"compilation_metrics": {"compile_id": "0/0", "co_name": "forward", "co_filename": "/home/ana/proj/model.py", '
        '"entire_frame_compile_time_s": 7.92, "fail_type": null, "fail_reason": null}, "frame_id": 0}\n'
    )
    (found,) = told(tmp_path, metrics)
    assert found.code == "LOG001"
