# ruff: noqa: E501 -- what torch prints
"""Graph breaks in the words of torch 2.0 and before it, of explain, and cut off within their stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_pasted_breaks import codes, told
from tracelens import analyze

STACK = (
    '{}File "/home/ana/proj/train.py", line 9, in step\n'
    "    y = model(x)\n"
    '  File "/home/ana/proj/model.py", line 7, in forward\n'
    "    y = {}\n"
)
HEADS = [
    "[2023-03-22 10:11:12,345] torch._dynamo.symbolic_convert: [WARNING] ",
    "torchdynamo.symbolic_convert: [WARNING] ",
    "Torchdynamo: [WARNING] ",
    "",
]
NAMED = {
    "numpy": ("np.array(x)", "GBR009"),
    "Tensor.numpy": ("x.cpu().numpy()", "GBR009"),
    "Tensor.tolist": ("x.tolist()", "GBR001"),
    "generic_jump": ("x if x.sum() > 0 else -x", "GBR002"),
}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("indent", ["  ", "   "])
@pytest.mark.parametrize("reason", NAMED)
def test_a_break_of_2022_is_told_at_its_line(
    tmp_path: Path, head: str, indent: str, reason: str
) -> None:
    code, wanted = NAMED[reason]
    text = f"{head}Graph break: {reason} from user code at:\n{STACK.format(indent, code)}"
    first, *_ = told(tmp_path, text)
    assert first.code == wanted
    assert first.where
    assert (first.where.file[-8:], first.where.line) == ("model.py", 7)
    assert first.advice


def test_in_one_line_without_its_head_it_is_a_break_too(tmp_path: Path) -> None:
    line = 'Graph break: Tensor.tolist from user code at   File "/home/ana/proj/model.py", line 7, in forward\n'
    assert codes(tmp_path, f"{line}    y = x.tolist()\n") == ["GBR001"]


def test_a_jump_to_something_else_is_no_branch_on_a_tensor(tmp_path: Path) -> None:
    text = (
        f"Graph break: generic_jump SymNodeVariable() from user code at:\n{STACK.format('  ', 'x')}"
    )
    assert "GBR002" not in codes(tmp_path, text)


SKIPPED = (
    "[47/0] [__graph_breaks] Graph break in user code at /home/ana/proj/model.py:7\n"
    "[47/0] [__graph_breaks] Graph Break Reason: Attempted to call function marked as skipped\n"
    "[47/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace the builtin `None._SimpleCData.__new__.`\n"
    "[47/0] [__graph_breaks] \n"
    "[47/0] [__graph_breaks]   Developer debug context: module: None, qualname: _SimpleCData.__new__, skip reason: <missing reason>\n"
    "[47/0] [__graph_breaks] \n"
    "[47/0] [__graph_breaks] User code traceback:\n"
    '[47/0] [__graph_breaks]   File "/home/ana/proj/train.py", line 3, in step\n'
    "[47/0] [__graph_breaks]     y = model(x)\n"
)


@pytest.mark.parametrize(
    "end",
    [
        '  File "/home/ana/proj/model.py", line 7,',
        '  File "/home/ana/proj/model.py", line 7, in',
        '  File "/home/ana/proj/model.py", line 7',
        '  File "/home/ana/proj/model.py", li',
        '  File "/home/ana/pro',
        "  Fi",
    ],
)
def test_a_stack_that_is_cut_off_leaves_the_break_readable(tmp_path: Path, end: str) -> None:
    (found,) = told(tmp_path, f"{SKIPPED}[47/0] [__graph_breaks] {end}\n")
    assert (found.code, "_SimpleCData" in found.title) == ("GBR009", True)


REASONS = "\n".join(
    f"  Break Reason {number}:\n"
    f"    Reason: inline in skipfiles: {name}.forward  | {wrapper}\n"
    "    User Stack:\n"
    f"      <FrameSummary file /home/ana/proj/{file}.py, line {line} in <resume in forward>>\n"
    "      <FrameSummary file /home/ana/venv/lib/python3.10/site-packages/torch/nn/modules/module.py, line 1527 in _call_impl>"
    for number, name, file, line, wrapper in (
        (8, "Linear", "attention", 67, "{}"),
        (9, "LayerNormMLP", "blocks", 32, "{}"),
    )
)
TORCH = "/home/ana/venv/lib/python3.10/site-packages/torch"


def test_what_a_package_disables_is_told_where_it_is_called(tmp_path: Path) -> None:
    wrapper = f"_fn {TORCH}/_dynamo/eval_frame.py"
    found = told(tmp_path, f"{REASONS.format(wrapper, wrapper)}\n")
    assert [one.code for one in found] == ["GBR005", "GBR005"]
    assert {one.where.line for one in found if one.where} == {67, 32}


def test_what_is_skipped_for_its_file_is_not_disabled(tmp_path: Path) -> None:
    other = "forward /home/ana/venv/lib/python3.10/site-packages/apex/normalization.py"
    found = told(tmp_path, f"{REASONS.format(other, other)}\n")
    assert {one.code for one in found} == {"GBR009"}


def test_torch_in_a_checkout_of_its_source_is_not_the_program(tmp_path: Path) -> None:
    text = (
        "Graph break: numpy from user code at:\n"
        '  File "/home/ana/proj/train.py", line 9, in step\n'
        "    y = model(x)\n"
        '  File "/home/ana/src/pytorch/torch/nn/modules/module.py", line 1185, in _call_impl\n'
        "    return forward_call(*input, **kwargs)\n"
        '  File "/home/ana/venv/lib/python3.8/site-packages/some/model.py", line 85, in forward\n'
        "    y = np.array(x)\n"
    )
    (found, *_) = told(tmp_path, text)
    assert "module.py" not in f"{found.message}{[one.text for one in found.advice]}"
    assert "train.py:9" in found.message


def test_a_note_that_is_quoted_with_its_logger_is_that_note(tmp_path: Path) -> None:
    note = "Profiler function <class 'torch.autograd.profiler.record_function'> will be ignored"
    log = tmp_path / "run.log"
    log.write_text(f'It prints ..."torch._dynamo.variables.torch: [WARNING] {note}" for pages\n')
    assert [one.code for one in analyze(str(log)).findings] == ["GBR017"]


OTHERS = [
    "hasattr: UserDefinedClassVariable()",
    "call_method NNModuleVariable() eval [] {}",
    "missing: STORE_GLOBAL",
    "autograd.Function with requires_grad",
]


@pytest.mark.parametrize("reason", OTHERS)
def test_a_break_that_no_rule_is_about_has_advice(tmp_path: Path, reason: str) -> None:
    text = f"{HEADS[0]}Graph break: {reason} from user code at:\n{STACK.format('  ', 'self.f(x)')}"
    (found,) = told(tmp_path, text)
    assert (found.code, reason in found.title) == ("GBR012", True)
    assert [one.id for one in found.advice] == ["leave-line-out", "newer-torch"]
    assert "`y = self.f(x)`" in found.advice[0].text


def test_where_torch_says_what_to_do_nothing_is_added(tmp_path: Path) -> None:
    text = (
        "Graph break in user code at /home/ana/proj/model.py:7\n"
        "Graph Break Reason: Something that no rule is about\n"
        "  Explanation: Dynamo does not know it.\n"
        "  Hint: Write it otherwise.\n"
    )
    (found,) = told(
        tmp_path, "".join(f"[0/0] [__graph_breaks] {line}\n" for line in text.splitlines())
    )
    assert found.code == "GBR012"
    assert not {"leave-line-out", "newer-torch"} & {one.id for one in found.advice}


def test_a_mask_of_booleans_makes_a_size_that_data_tells(tmp_path: Path) -> None:
    text = f"{HEADS[0]}Graph break: dynamic Tensor.__getitem__(bool[]) from user code at:\n{STACK.format('  ', 'x[x > 0]')}"
    assert codes(tmp_path, text)[0] == "GBR008"


@pytest.mark.parametrize(
    "head", ["Torchdynamo: [ERROR] ", "torchdynamo.convert_frame: [ERROR] ", ""]
)
@pytest.mark.parametrize("name", ["forward", "<lambda>", "<graph break in forward>"])
def test_a_frame_that_was_not_converted_in_2022_is_told(
    tmp_path: Path, head: str, name: str
) -> None:
    text = f"{head}WONT CONVERT {name} /home/ana/proj/model.py                 17\n17           0 LOAD_FAST 0 (x)\n"
    first, *_ = told(tmp_path, text)
    assert first.code == "GBR013"
    assert first.where
    assert (first.where.function, first.where.line) == (name, 17)


LOST = "Skipping frame because there is a graph break in a for/while loop\n"
SITE = "I0420 23:18:35.240000 12 torch/_dynamo/symbolic_convert.py:1240] [0/0] "


def test_a_function_that_is_given_up_for_its_loop_is_told(tmp_path: Path) -> None:
    (found,) = told(
        tmp_path, f"[2023-04-20 23:18:35,240] torch._dynamo.symbolic_convert: [INFO] {LOST}"
    )
    assert (found.code, "loop" in found.title, "()" in found.title) == ("GBR006", True, False)


def test_with_the_line_of_the_loop_it_is_told_there(tmp_path: Path) -> None:
    lines = (LOST, '  File "/home/ana/proj/model.py", line 12, in forward\n', "    for x in xs:\n")
    first, *_ = told(tmp_path, "".join(f"{SITE}{line}" for line in lines))
    assert (first.code, first.where and first.where.line) == ("GBR006", 12)


def test_a_function_that_is_left_out_for_another_reason_is_no_break(tmp_path: Path) -> None:
    other = (
        "Skipping frame because no content in function call forward /home/ana/proj/model.py 12\n"
    )
    assert "GBR006" not in codes(tmp_path, f"{SITE}{other}")


def test_the_note_of_torch_2_0_about_the_profiler_is_the_same_note(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        "[2023-07-17 10:02:11,334] torch._dynamo.variables.torch: [WARNING] Profiler will be ignored\n"
    )
    assert [one.code for one in analyze(str(log)).findings] == ["GBR017"]


@pytest.mark.parametrize(
    ("name", "is_gap"), [("iadd", True), ("len", True), ("print", False), ("open", False)]
)
@pytest.mark.parametrize(
    "file",
    ["/home/ana/proj/model.py", f"{'/home/ana/venv/lib/python3.9'}/site-packages/oddlib/model.py"],
)
def test_an_operator_is_a_gap_of_an_old_torch(
    tmp_path: Path, name: str, is_gap: bool, file: str
) -> None:
    said = f"{HEADS[0]}Graph break: call_function BuiltinVariable({name}) [ConstantVariable(tuple), TupleVariable()] {{}} from user code at "
    stack = STACK.format(" ", "self.part(x)").replace("/home/ana/proj/model.py", file)
    found = told(tmp_path, f"{said}{stack}")[0]
    ids = [one.id for one in found.advice]
    assert found.code == "GBR003"
    assert ("newer-torch" in ids) is is_gap
    assert not (is_gap and {"see-parts", "not-named"} & set(ids))
    assert not (name == "iadd" and "call-outside" in ids)
