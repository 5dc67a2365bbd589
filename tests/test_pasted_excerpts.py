"""A few lines of a log, cut or changed by hand: the rule that they tell of answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Severity, TracelensError, analyze

LISTED = """\
Graph Count: 9
Graph Break Count: 8
Op Count: 51
Break Reasons:
  Break Reason 1:
    Reason: Tensor.item
    User Stack:
      <FrameSummary file /home/ana/proj/model.py, line 8, in forward>
  Break Reason 2:
    Reason: builtin: print [<class 'torch._dynamo.variables.tensor.TensorVariable'>]
    User Stack:
      <FrameSummary file /home/ana/proj/model.py, line 9, in forward>
  ... (6 more)
"""
AGAIN = "[0/1] [__recompiles] "
LDCONFIG = "[2024-02-02 23:08:11,903] torch._dynamo.convert_frame: [WARNING] "
OLD_BREAK = "[WARNING] Graph break: generic_jump TensorVariable() from user code at:"


def _first(text: str, tmp_path: Path) -> Finding:
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    report = analyze(str(path))
    shown = [*report.told, *report.findings]
    return shown[0]


def test_an_explanation_with_commas_lists_breaks(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(LISTED, encoding="utf-8")
    told = {(one.code, one.where.line) for one in analyze(str(path)).told if one.where}
    assert {("GBR001", 8), ("GBR003", 9)} <= told


def test_a_recompile_without_its_place_has_its_reason(tmp_path: Path) -> None:
    text = (
        f"{AGAIN}Recompiling function forward in ...\n"
        f"{AGAIN}    triggered by the following guard failure(s):\n{AGAIN}    - 0/0: \n"
    )
    found = _first(text, tmp_path)
    assert (found.code, found.where) == ("RCP021", None)
    assert "`forward`" in found.title


def test_what_the_program_prints_below_a_recompile_is_its_own(tmp_path: Path) -> None:
    text = (
        "Recompiling function forward in /home/ana/proj/model.py:8\n"
        "    triggered by the following guard failure(s):\n"
        "    - 0/0: tensor 'L['x']' size mismatch at index 0. expected 8, actual 16\n"
        "    [0/1] step 3 is over\n    Time: 0.40\n"
    )
    assert _first(text, tmp_path).code == "RCP003"


@pytest.mark.parametrize("name", ["Torchdynamo", "torchdynamo", "torch._dynamo.symbolic_convert"])
@pytest.mark.parametrize("blanks", ["", " " * 60])
def test_a_graph_break_of_2022_is_none_of_the_failures(
    name: str, blanks: str, tmp_path: Path
) -> None:
    text = (
        f'{name}: {OLD_BREAK}{blanks}\n  File "/home/ana/proj/main.py", line 363, in <module>\n'
        '    main()\n  File "/home/ana/proj/common.py", line 1072, in run\n'
    )
    assert _first(text, tmp_path).code == "GBR002"


@pytest.mark.parametrize(
    "error",
    [
        "FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True. Excessive",
        "FailOnRecompileLimitHit: recompile_limit reached with one_graph=True. Excessive",
        "FailOnCacheLimitHit: cache_size_limit reached",
    ],
)
def test_the_error_about_the_limit_is_the_limit(error: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"torch._dynamo.exc.{error}\n", encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert (found.code, found.severity) == ("RCP001", Severity.ERROR)
    assert found.data["ended_program"]
    assert [advice.env for advice in found.advice] == ['TORCH_LOGS="recompiles"']


def test_another_error_of_dynamos_is_no_limit(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.InternalTorchDynamoError: KeyError: 'recompile'\n"
    assert _first(text, tmp_path).code != "RCP001"


def test_a_missing_ldconfig_is_no_bug_of_inductor(tmp_path: Path) -> None:
    text = (
        f"{LDCONFIG}torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        f"{LDCONFIG}FileNotFoundError: [Errno 2] No such file or directory: 'ldconfig'\n"
        f"{LDCONFIG}WON'T CONVERT forward /home/ana/proj/model.py line 65 \n"
    )
    found = _first(text, tmp_path)
    assert (found.code, "`ldconfig`" in found.title) == ("ERR006", True)
    assert [advice.env for advice in found.advice][:2] == [
        "PATH=$PATH:/sbin:/usr/sbin",
        "TRITON_LIBCUDA_PATH=/usr/lib/x86_64-linux-gnu",
    ]


def test_a_missing_ldconfig_of_the_program_is_its_own(tmp_path: Path) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/ana/proj/setup.py", line 3, in <module>\n    libraries()\n'
        "FileNotFoundError: [Errno 2] No such file or directory: 'ldconfig'\n"
    )
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    try:
        told = analyze(str(path)).told
    except TracelensError:
        return
    assert "ERR006" not in {one.code for one in told}


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: 2 issue(s) found during export, and it was not able to soundly produce a graph.",
        "1. Missing fake kernel.",
        "1. Mismatched fake kernel.",
        "2. Data dependent error.",
        "12. Guard Added.",
        "1. Constraint violation error.",
    ],
)
def test_a_report_of_draft_export_is_named(line: str, tmp_path: Path) -> None:
    found = _first(f"{line}\n    torch.ops.shop.price is in the program.\n", tmp_path)
    assert "draft_export" in found.title


@pytest.mark.parametrize(
    "line", ["1. Missing kernels.", "WARNING: 2 issue(s) found", "1. Data error."]
)
def test_other_lists_are_no_report_of_draft_export(line: str, tmp_path: Path) -> None:
    with pytest.raises(TracelensError):
        _first(f"{line}\n", tmp_path)


def test_breaks_without_a_place_are_said_to_have_none(tmp_path: Path) -> None:
    reason = "call_method NNModuleVariable() hook [] {}"
    path = tmp_path / "pasted.txt"
    path.write_text(f"torchdynamo: [WARNING] Graph break: {reason} from user code at:\n")
    (found,) = [one for one in analyze(str(path)).findings if one.code == "GBR012"]
    assert found.message.startswith("By place: a place that the log does not tell (1, call_method")


def test_an_operator_that_reads_data_while_traced_is_named_without_its_head(
    tmp_path: Path,
) -> None:
    text = (
        'sor(..., size=()), True), **{}): got RuntimeError("The tensor has a non-zero number of '
        "elements, but its data is not allocated yet.\\nIf you're using torch.compile/export/fx, "
        "it is likely that we are erroneously tracing into a custom kernel. To fix this, please "
        'wrap the custom kernel into an opaque custom op.")\n\nfrom user code:\n'
        '   File "/home/ana/proj/points.py", line 107, in sample\n'
        "    return torch.ops.points.sample(src)\n\n"
        "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace\n"
    )
    found = _first(text, tmp_path)
    assert found.code == "ERR015"
    assert found.title == (
        "an operator has no implementation for fake tensors: The tensor has a non-zero number of "
        "elements, but its data is not allocated yet."
    )
    assert "@torch.library.custom_op" in (found.advice[0].code or "")


def test_an_autotune_table_with_remarks_is_read(tmp_path: Path) -> None:
    text = (
        "AUTOTUNE addmm(64x32, 32x16)\n  bias_addmm   0.0198 ms 100.0%   <- what eager calls\n"
        "  triton_mm_2  0.0211 ms  92.4%  # a template\n"
        "SingleProcess AUTOTUNE benchmarking takes 6.84 seconds for addmm\n"
    )
    path = tmp_path / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    report = analyze(str(path))
    (row,) = report.tables["autotune"]
    assert report.coverage.unread_lines == 0
    assert (row["op"], row["winner"]) == ("addmm", "bias_addmm")


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("generic_jump TensorVariable()", "GBR002"),
        ("call_function BuiltinVariable(print) [ConstantVariable(str)] {}", "GBR003"),
        ("var_getattr: TensorVariable(), data", "GBR012"),
        ("call_method UserDefinedObjectVariable(Cfg) __iter__ [] {}", "GBR012"),
    ],
)
def test_the_bare_reason_of_an_older_version_is_a_graph_break(
    reason: str, code: str, tmp_path: Path
) -> None:
    found = _first(f"{reason}\n", tmp_path)
    assert (found.code, found.where) == (code, None)


@pytest.mark.parametrize(
    "text", ["call_function of a BuiltinVariable(x)", "var_getattr: data", "generic_jump jumps"]
)
def test_other_words_are_no_reason_of_a_graph_break(text: str, tmp_path: Path) -> None:
    with pytest.raises(TracelensError):
        _first(f"{text}\n", tmp_path)


@pytest.mark.parametrize("lead", ["", "cpu eval  Net          "])
@pytest.mark.parametrize("pad", ["", "    "])
def test_a_break_of_torch_2_0_is_at_the_last_of_its_frames(
    lead: str, pad: str, tmp_path: Path
) -> None:
    text = (
        f"{lead}[2023-02-02 23:08:11,903] torch._dynamo.symbolic_convert: [WARNING] Graph break: "
        "call_function BuiltinVariable(print) [ConstantVariable(str)] {} from user code at   "
        f'File "/home/ana/proj/model.py", line 31, in forward{pad}\n    y = self.show(x)\n'
        f'  File "/home/ana/proj/show.py", line 7, in show{pad}\n    print("y")\n\ndone\n'
    )
    found = _first(text, tmp_path)
    assert found.where is not None
    assert (found.code, found.where.file, found.where.line) == (
        "GBR003",
        "/home/ana/proj/show.py",
        7,
    )


NO_FIT = (
    "Exception No valid triton configs. OutOfMemoryError: out of resource: triton_mm Required: "
    "163840 Hardware limit:101376 Reducing block sizes or `num_stages` may help. for benchmark "
    "choice TritonTemplateCaller(/tmp/torchinductor_ana/2q/c2q.py, BLOCK_K=128, num_stages=4)\n"
    "Traceback (most recent call last):\n"
    '  File "/home/ana/venv/lib/python3.11/site-packages/torch/_inductor/select_algorithm.py", '
    "line 2598, in precompile_with_captured_stdout\n    choice.precompile()\n"
)
NO_FIT_END = (
    "torch._inductor.runtime.triton_heuristics.NoTritonConfigsError: No valid triton configs. "
    "OutOfMemoryError: out of resource: triton_mm Required: 163840 Hardware limit:101376 Reducing "
    "block sizes or `num_stages` may help.\n"
)


@pytest.mark.parametrize("lead", ["", "ERROR:torch._inductor.select_algorithm:"])
@pytest.mark.parametrize("end", ["", NO_FIT_END])
def test_a_candidate_that_does_not_fit_is_no_error(lead: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(f"{lead}{NO_FIT}{end}", encoding="utf-8")
    report = analyze(str(path))
    assert {one.code for one in [*report.told, *report.findings]} == {"TUN004"}


def test_a_search_whose_program_fails_behind_it_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    path.write_text(
        f"{NO_FIT}torch._inductor.exc.InductorError: OutOfResources: out of resource: shared "
        "memory, Required: 147456, Hardware limit: 101376.\n",
        encoding="utf-8",
    )
    assert "ERR013" in {one.code for one in analyze(str(path)).findings}


@pytest.mark.parametrize(
    ("function", "dimension", "size", "advised"),
    [
        ("forward", 1, 1920, "layers-share"),  # as layers of several widths that share it
        ("forward", 1, 1921, "maybe-mark"),
        ("forward", 1, 8, "maybe-mark"),
        ("forward", 0, 1920, "maybe-mark"),
        ("scale", 1, 1920, "maybe-mark"),
    ],
)
def test_sizes_like_channels_are_told_from_those_of_an_input(
    function: str, dimension: int, size: int, advised: str, tmp_path: Path
) -> None:
    reason = f"tensor 'x' size mismatch at index {dimension}. expected {size}, actual 1280"
    told = (
        "torch._dynamo hit config.recompile_limit (8)",
        f"   function: '{function}' (/home/ana/proj/net.py:232)",
        f"   last reason: 10/7: {reason}",
    )
    head = "W0530 16:25:17.584000 800223 torch/_dynamo/convert_frame.py:964] [10/8] "
    path = tmp_path / "post.txt"
    path.write_text("".join(f"{head}{line}\n" for line in told), encoding="utf-8")
    (limit,) = (one for one in analyze(str(path)).findings if one.code == "RCP001")
    ids = [advice.id for advice in limit.advice]
    assert ids == [advised, *(["record-dynamic"] if advised == "maybe-mark" else [])]
