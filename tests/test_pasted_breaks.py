# ruff: noqa: E501 -- what torch prints
"""Graph breaks, recompiles and lines of torch's log as they are pasted: heads and times left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Severity, TracelensError, analyze

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
    assert first.title == "a function is compiled again for every value of `settings.step`"


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


def test_who_makes_a_logger_calls_none(tmp_path: Path) -> None:
    made = (
        "[__graph_breaks] \n[__graph_breaks] User code traceback:\n"
        '[__graph_breaks]   File "/home/ana/proj/model.py", line 9, in forward\n'
        "[__graph_breaks]     logging.getLogger(name)\n"
        '[__graph_breaks]   File "/usr/lib/python3.10/logging/__init__.py", line 2127, in getLogger\n'
        "[__graph_breaks]     if not name or isinstance(name, str) and name == root.name:\n"
    )
    assert codes(tmp_path, LOGGED + made) == ["GBR012"]
    assert codes(tmp_path, LOGGED + made.replace("getLogger(name)", "info(name)")) == ["GBR004"]


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


FAILING_GUARD = (
    "torch._dynamo hit config.cache_size_limit (8)\n"
    "   function: 'forward' (/home/ana/proj/model.py:94)\n"
    "   last reason: name 'Trunc' is not defined\n"
)


def test_a_guard_that_fails_itself_is_an_error_of_torchs(tmp_path: Path) -> None:
    (found,) = told(tmp_path, FAILING_GUARD)
    assert found.code == "RCP001"
    assert "name 'Trunc' is not defined" in found.message
    (advice,) = found.advice
    assert advice.text.startswith("The guard itself fails")


PARAMETER = (
    "torch._dynamo hit config.recompile_limit (8)\n"
    "   function: 'update' (/home/ana/proj/optimizer.py:62)\n"
    "   last reason: 2/7: tensor 'SOURCE' size mismatch at index 1. expected 640, actual 8. Guard failed on a parameter, "
    "consider using torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on parameters.\n"
)


@pytest.mark.parametrize(
    ("source", "helps"),
    [("X[0]", True), ("weight", True), ("self._parameters['weight']", False), ("l.weight", False)],
)
def test_sizes_of_parameters_become_symbols_where_no_module_keeps_them(
    tmp_path: Path, source: str, helps: bool
) -> None:
    (found,) = told(tmp_path, PARAMETER.replace("SOURCE", source))
    settings = [one.setting for one in found.advice]
    wanted = "torch._dynamo.config.force_parameter_static_shapes = False"
    assert (wanted in settings) == helps


BAR = (
    f"{' ' * 190}[rank7]:W0618 02:36:28.277843 6175 site-packages/torch/_dynamo/convert_frame.py:964] [1/8] "
    "torch._dynamo hit config.recompile_limit (8)                 | 8/625 [05:12<7:20:04, 42.80s/it]\n"
    "[rank7]:W0618 02:36:28.277843 6175 site-packages/torch/_dynamo/convert_frame.py:964] [1/8]    function: 'forward' (/home/ana/proj/model.py:9)\n"
    "[rank7]:W0618 02:36:28.277843 6175 site-packages/torch/_dynamo/convert_frame.py:964] [1/8]    last reason: 1/7: tensor 'x' size mismatch at index 1. expected 1131, actual 1129\n"
)


def test_a_limit_in_the_middle_of_a_progress_bar_keeps_its_function(tmp_path: Path) -> None:
    (found,) = told(tmp_path, BAR)
    assert (found.code, "`forward`" in found.title) == ("RCP001", True)


QUOTED = {
    "in a sentence": (
        (
            "The printed warning is wrong: `UserWarning: Unable to hit fast path of CUDAGraphs because of pending, uninvoked "
            "backwards. Consider running with torch.no_grad()` and what it suggests does not work.\n"
        ),
        "CGR007",
    ),
    "behind a path that lost its beginning": (
        (
            ":\\app\\Lib\\site-packages\\torch\\_dynamo\\variables\\functions.py:1692: UserWarning: Dynamo detected a call to a "
            "`functools.lru_cache`-wrapped function. Dynamo ignores the cache wrapper.\n"
        ),
        "LOG001",
    ),
    "in the repr of an object": (
        (
            "ExplainOutput(graphs=[GraphModule(), GraphModule()], graph_count=2, graph_break_count=1, break_reasons="
            "[GraphCompileReason(reason='generic_jump TensorVariable()', user_stack=[<FrameSummary file /home/ana/proj/model.py, "
            "line 6 in f>], graph_break=True)], op_count=6, ops_per_graph=[[<built-in function lt>]], out_guards=[\n"
        ),
        "GBR002",
    ),
}


@pytest.mark.parametrize("case", QUOTED)
def test_a_message_is_read_where_it_is_quoted(tmp_path: Path, case: str) -> None:
    text, code = QUOTED[case]
    assert codes(tmp_path, text)[0] == code


def test_what_a_long_text_encloses_is_read(tmp_path: Path) -> None:
    said = "I get ```Not enough SMs to use max_autotune_gemm``` there, what does it mean?\n"
    log = tmp_path / "run.log"
    log.write_text(said + "and more of the text\n" * 20)
    assert [one.code for one in analyze(str(log)).findings] == ["TUN006"]


@pytest.mark.parametrize(
    "text",
    [
        'warnings.warn("Unable to hit fast path of CUDAGraphs because of pending, uninvoked backwards.")\n',
        '    raise RuntimeError(f"torch._dynamo hit config.recompile_limit ({limit})")\n',
        "[1/120] loss 3.2\n[2/120] loss 3.1\n",
        "pip says: a newer version of torch is there\n",
        QUOTED["in a sentence"][0].replace("`", "") + "and more of the text\n" * 12,
    ],
)
def test_the_text_of_a_program_quotes_nothing(tmp_path: Path, text: str) -> None:
    log = tmp_path / "run.log"
    log.write_text(text)
    with pytest.raises(TracelensError, match=r"plain program output|was recognised"):
        analyze(str(log))


@pytest.mark.parametrize("seconds", ["6.4824", "['6.0000', '0.4824']"])
def test_a_table_of_times_by_itself_is_told_by_the_longest(tmp_path: Path, seconds: str) -> None:
    table = (
        "TorchDynamo compilation metrics:\n"
        "Function                                                    Runtimes (s)\n"
        "----------------------------------------------------------  --------------\n"
        f"torch._dynamo.convert_frame._compile                        {seconds}\n"
        "torch._dynamo.output_graph.OutputGraph.call_user_compiler   0.4595\n"
    )
    (found,) = told(tmp_path, table)
    assert found.code == "LOG001"
    assert "`_compile` 6.48 s, `OutputGraph.call_user_compiler` 0.46 s" in found.message


MARKED = (
    "I0123 20:39:08.545000 2426289 torch/fx/experimental/symbolic_shapes.py:3557] [0/0] create_symbol s0 = 4 for L['a'].size()[0] [2, 10] "
    'at proj/model.py:6 in fn (_dynamo/variables/builder.py:2710 in <lambda>), for more info run with TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL="s0"\n'
    "I0123 20:39:08.556000 2426289 torch/fx/experimental/symbolic_shapes.py:4857] [0/0] set_replacement s0 = 4 (range_refined_to_singleton) VR[4, 4]\n"
    "I0123 20:39:08.557000 2426289 torch/fx/experimental/symbolic_shapes.py:5106] [0/0] eval Eq(s0, 4) [guard added] at proj/model.py:6 in fn "
    '(_subclasses/fake_impls.py:785 in infer_size), for more info run with TORCHDYNAMO_EXTENDED_DEBUG_GUARD_ADDED="Eq(s0, 4)"\n'
)
REFUSED = (
    "E0123 20:39:11.899000 2426289 torch/_guards.py:283] [0/0] Error while creating guard:\n"
    "E0123 20:39:11.899000 2426289 torch/_guards.py:283] [0/0] Name: ''\n"
    "E0123 20:39:11.899000 2426289 torch/_guards.py:283] [0/0]     Source: SOURCE\n"
)


@pytest.mark.parametrize(("source", "code"), [("shape_env", "DYN002"), ("local", "LOG001")])
def test_a_mark_that_is_refused_is_told_where_the_error_is_cut_off(
    tmp_path: Path, source: str, code: str
) -> None:
    first, *_ = told(tmp_path, MARKED + REFUSED.replace("SOURCE", source))
    assert first.code == code


def test_a_size_that_becomes_a_constant_was_not_marked_for_all_that_is_known(
    tmp_path: Path,
) -> None:
    assert codes(tmp_path, MARKED) == ["LOG001"]


def test_a_range_that_is_not_known_is_noise(tmp_path: Path) -> None:
    head = "W0321 17:39:16.973000 13962 torch/fx/experimental/symbolic_shapes.py:4449] [0/0]"
    note = f"{head} z5 is not in var_ranges, defaulting to unknown range.\n"
    (found,) = told(tmp_path, note * 2)
    assert (found.code, "harmless" in found.message) == ("LOG001", True)
    (found,) = told(tmp_path, note + MARKED)
    assert "harmless" not in found.message


def test_a_branch_that_is_not_shown_has_advice_for_both_kinds(tmp_path: Path) -> None:
    reason = "GraphCompileReason(reason='generic_jump TensorVariable()', user_stack=[<FrameSummary file FILE, line 6 in f>], graph_break=True)\n"
    (found,) = told(tmp_path, reason.replace("FILE", "/home/ana/proj/model.py"))
    assert found.code == "GBR002"
    assert "torch.where" in found.advice[0].text
    assert "torch._assert_async" in found.advice[0].text
    library = reason.replace("FILE", "/home/ana/venv/lib/python3.11/site-packages/timm/layers.py")
    first, *_ = told(tmp_path, library)
    assert not any("torch.where" in one.text for one in first.advice)


def test_what_a_subgraph_cannot_hold_breaks_the_graph(tmp_path: Path) -> None:
    head = "[2023-12-07 14:21:05,929] [1/0] torch._dynamo.variables.higher_order_ops: [WARNING]"
    text = (
        f"{head} speculate_subgraph: while introspecting the user-defined autograd.Function, we were unable to trace function "
        "`trampoline_autograd_bwd` into a single graph. This means that Dynamo was unable to prove safety for this API and "
        "will fall back to eager-mode PyTorch, which could lead to a slowdown.\n"
    )
    first, *_ = told(tmp_path, text)
    assert (first.code, "`autograd.Function`" in first.title) == ("GBR009", True)
    assert not any("custom_op" in one.text for one in first.advice)


@pytest.mark.parametrize(("frame", "code"), [("0", "RCP007"), ("1", "LOG001")])
def test_a_recompile_without_its_first_line_is_of_the_function_of_its_frame(
    tmp_path: Path, frame: str, code: str
) -> None:
    text = (
        "[0/1] [__recompiles]     triggered by the following guard failure(s):\n"
        "[0/1] [__recompiles]     - 0/0: self.mode == 0\n"
        f"[{frame}/2] [__recompiles] Recompiling function forward in /home/ana/proj/model.py:7\n"
        f"[{frame}/2] [__recompiles]     triggered by the following guard failure(s):\n"
        f"[{frame}/2] [__recompiles]     - {frame}/1: self.mode == 1\n"
    )
    first, *_ = told(tmp_path, text)
    assert first.code == code
    assert ("`forward`" in first.title) == (frame == "0")


def test_a_record_behind_a_title_is_read(tmp_path: Path) -> None:
    text = "[Torch2 CPU] torch._inductor.ir: [WARNING] Using FallbackKernel: aten.cumsum\n"
    assert codes(tmp_path, text) == ["IND001"]


def test_a_warning_whose_break_a_record_places_is_no_second_break() -> None:
    rules = Path(__file__).parents[1] / "fixtures" / "rules"
    log = rules / "GBR016-random-or-numpy-state" / "fires-python.log"
    told = {one.code: one.severity.value for one in analyze(str(log)).findings}
    assert "GBR009" not in told
    assert told["GBR016"] == "info"
