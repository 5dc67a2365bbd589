"""What cannot be done with what changed is not advised, and what can is said first."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.rules.test_recompile_advice import FIXTURES, ids, recompiled, told
from tracelens import analyze
from tracelens.engine import select_rules


def test_a_dict_is_no_list_to_stack(tmp_path: Path) -> None:
    reasons = [f"len(batch) != {length}" for length in (1, 2, 3, 4)]
    found = told("RCP017", recompiled("forward", *reasons), tmp_path)
    assert ids(found) == ["same-keys"]
    listed = told(
        "RCP017", recompiled("forward", *(r.replace("!", "=") for r in reasons)), tmp_path
    )
    assert ids(listed) == ["stack", "allocate"]


def test_the_keys_of_a_dict_belong_to_its_length(tmp_path: Path) -> None:
    keys = "list(dict.keys({}))[0] == 'rgb'"
    lengths = [f"len(batch) != {length}" for length in (1, 2, 3, 4)]
    for name, is_same in (("batch", True), ("other", False)):
        path = tmp_path / f"{name}.log"
        path.write_text(recompiled("forward", *lengths, keys.format(name), keys.format(name)))
        report = analyze(str(path))
        (about_keys,) = (one for one in report.findings if one.code == "RCP027")
        (about_length,) = (one for one in report.findings if one.code == "RCP017")
        assert (about_keys.explained_by == about_length.id) == is_same


@pytest.mark.parametrize(
    ("line", "is_advised"),
    [
        ("if self.pool is Pool.MEAN:", False),
        ("return sums[0] if mode == config.Mode.SUM else x", False),
        ("x = self.processor(x)", True),
        ("if processor is None:", True),
    ],
)
def test_members_that_a_line_compares_cannot_be_one_object(
    line: str, is_advised: bool, tmp_path: Path
) -> None:
    reasons = [
        f"___check_obj_id(self.pool, {number}), type=<class 'Pool'>  # {line}  # proj/net.py:15 in "
        "forward"
        for number in range(94296119093600, 94296119093604)
    ]
    found = told("RCP008", recompiled("forward", *reasons), tmp_path)
    assert ("same-object" in ids(found)) == is_advised
    assert "one-per-object" in ids(found)


@pytest.mark.parametrize(
    ("fields", "said", "unsaid"),
    [
        ("grad_mode", "inference_mode", "threads"),
        ("num_threads", "number of threads once", "inference_mode"),
        ("default_dtype", "default dtype once", "threads"),
        ("autocast(cpu)_enabled", "in one mode", "threads"),
        ("allow_tf32", "Set TF32 (", "one mode"),
    ],
)
def test_only_the_state_that_changed_is_told_to_stay(
    fields: str, said: str, unsaid: str, tmp_path: Path
) -> None:
    reasons = [f"GLOBAL_STATE changed: {fields} "] * 3
    (advice,) = told("RCP010", recompiled("forward", *reasons), tmp_path).advice
    assert said in advice.text
    assert unsaid not in advice.text


@pytest.mark.parametrize(
    ("source", "line", "expected"),
    [
        ("G['STEP']", "w = min(1.0, STEP / 100)", ["pass-argument"]),
        ("G['STEP']", "for _ in range(STEP):", ["compile-body"]),
        ("k", "return norms.topk(k).values", ["record-dynamic"]),
        ("k", "return torch.zeros(4, k, 3)", ["record-dynamic"]),
        ("k", "return x.view(-1, 2 * k)", ["record-dynamic"]),
        ("k", "return x[: k + 1]", ["record-dynamic"]),
        ("k", "f = torch.compile(lambda x, k: x + k)", ["pass-tensor", "record-dynamic"]),
        ("k", "return x + k", ["pass-tensor", "record-dynamic"]),
        ("k", "return f(x / k)", ["pass-tensor", "record-dynamic"]),
    ],
)
def test_a_number_is_passed_as_what_the_line_can_take(
    source: str, line: str, expected: list[str], tmp_path: Path
) -> None:
    reasons = [f"{source} == {n}  # {line}  # proj/net.py:15 in forward" for n in range(2, 8)]
    found = told("RCP004", recompiled("forward", *reasons), tmp_path)
    assert ids(found) == expected
    assert ("dynamic=False" in found.message) == (source == "k")
    assert ("global integer" in found.message) == (source != "k")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/home/ana/proj/net.py", "one-rank"),
        ("/usr/lib/python3.11/site-packages/monai/networks/blocks.py", "nothing"),
        ("/usr/lib/python3.11/site-packages/torch/_dynamo/external_utils.py", "one-rank"),
    ],
)
def test_a_tensor_within_a_library_is_not_reshaped_by_its_user(
    file: str, expected: str, tmp_path: Path
) -> None:
    reasons = [f"tensor 'x' rank mismatch. expected {n}, actual {n + 1}" for n in (2, 3, 4)]
    text = recompiled("forward", *reasons).replace("/home/ana/proj/net.py", file)
    assert ids(told("RCP014", text, tmp_path)) == [expected]


def test_several_conditions_of_an_operator_are_met_in_a_warm_up_before_anything_is_padded(
    tmp_path: Path,
) -> None:
    line = "return F.conv2d(  # torch/nn/modules/conv.py:548 in _conv_forward"
    reasons = [
        f"{channels}*(x.size()[3]//2)*(x.size()[2]//2) > 20480  # {line}" for channels in (8, 3)
    ]
    found = told("RCP023", recompiled("forward", *reasons), tmp_path)
    assert ids(found) == ["warm-up", "pad"]
    assert "does not change the results" in found.advice[1].text


@pytest.mark.parametrize(
    ("line", "is_loop"), [("for t in range(n):", True), ("names = [0] * n", False)]
)
def test_a_loop_is_left_outside_and_its_body_compiled(
    line: str, is_loop: bool, tmp_path: Path
) -> None:
    text = (FIXTURES / "DYN004-size-specialised-by-code" / "fires-int-key-text.log").read_text()
    path = tmp_path / "run.log"
    path.write_text(text.replace('names = ["a"] * n', line))
    (found,) = (
        one for one in analyze(str(path)).findings if one.code == "DYN004" and line in one.title
    )
    assert ids(found) == (["compile-body", "vectorize"] if is_loop else ["vectorize"])


def test_a_condition_on_strides_is_about_a_layout(tmp_path: Path) -> None:
    reason = "{}.{}()[0] == 3072*{}.{}()[3]"
    for what, expected in (("stride", ["one-layout"]), ("size", [])):
        text = recompiled("forward", reason.format("args[0]", what, "args[0]", what))
        assert ids(told("RCP023", text, tmp_path)) == expected


@pytest.mark.parametrize(("frame", "is_advised"), [("0", True), ("4", False)])
def test_what_a_package_passes_to_its_own_layers_has_its_layout(
    frame: str, is_advised: bool, tmp_path: Path
) -> None:
    """The first function that is compiled is what the program calls, with tensors of its own."""
    text = recompiled("forward", "x.stride()[0] == x.size()[1]*x.size()[2]")
    text = text.replace("/home/ana/proj/", "/home/ana/venv/lib/python3.11/site-packages/oddlib/")
    text = text.replace("[0/1]", f"[{frame}/1]").replace("- 0/0", f"- {frame}/0")
    assert ids(told("RCP023", text, tmp_path)) == (["one-layout"] if is_advised else [])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("G['settings'].rows", ["pass-argument"]),
        ("G['model'].layer.index", ["pass-argument"]),
        ("self.index", ["unspec-int", "buffer"]),
    ],
)
def test_what_is_reached_through_a_global_is_passed(
    source: str, expected: list[str], tmp_path: Path
) -> None:
    """Torch holds it constant, whatever is set for integers of modules."""
    reasons = [f"{source} == {n}" for n in range(3, 8)]
    found = told("RCP007", recompiled("forward", *reasons), tmp_path)
    assert ids(found) == expected
    assert ("through a global" in found.message) == (source[0] == "G")


@pytest.mark.parametrize(
    ("line", "is_chosen"),
    [
        ("if mode == Mode.FAST:", True),
        ("if mode is not Mode.FAST:", True),
        ("if mode in (Mode.FAST, Mode.SLOW):", True),
        ("match mode:", True),
        ("if mode.scale != 0.5:", False),
        ("if scale == 1.5e3:", False),
        ("for mode in modes:", False),
        ("return mode(x) / 2.0", False),
    ],
)
def test_an_object_is_chosen_by_a_member_and_not_by_a_number(
    line: str, is_chosen: bool, tmp_path: Path
) -> None:
    reasons = [
        f"___check_obj_id(mode, {94296119093600 + n}), type=<class 'Mode'>  # {line}  # a.py:3 in f"
        for n in range(4)
    ]
    found = told("RCP008", recompiled("forward", *reasons), tmp_path)
    assert ("same-object" in ids(found)) is not is_chosen


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("for op in ops: x = op(x)", ["compile-items"]),
        ("return [op(x) for op in ops]", ["compile-items"]),
        ("for op in ops: x = x + op.t()", ["stack", "allocate"]),
        ("for op in ops: x = x + self.op(op)", ["stack", "allocate"]),
        ("for op in ops: x = x + op", ["stack", "allocate"]),
        ("x = torch.stack(ops)", ["stack", "allocate"]),
    ],
)
def test_a_list_of_functions_is_not_stacked(line: str, expected: list[str], tmp_path: Path) -> None:
    reasons = [f"len(ops) == {n}  # {line}  # proj/net.py:15 in forward" for n in range(2, 6)]
    assert ids(told("RCP017", recompiled("forward", *reasons), tmp_path)) == expected


def test_float64_that_came_by_accident_is_not_cast_to(tmp_path: Path) -> None:
    for reasons, expected in (
        (["expected Double, actual Float"] * 2, "x = x.to(torch.float32)"),
        (["expected Float, actual Double"] * 2, "x = x.to(torch.float32)"),
        (["expected Half, actual Float"] * 2, "x = x.to(torch.float16)"),
    ):
        text = recompiled("forward", *(f"tensor 'x' dtype mismatch. {one}" for one in reasons))
        assert told("RCP013", text, tmp_path).advice[0].code == expected


LOST = """\
V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [{frame}/0] [__graph_breaks] Graph break in user code at {file}:{line}
V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [{frame}/0] [__graph_breaks] Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:
V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [{frame}/0] [__graph_breaks]\x20
V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [{frame}/0] [__graph_breaks] graph break in loop
V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [{frame}/0] [__graph_breaks]   Explanation: torch.compile detected a graph break in a for/while loop. Skipping the frame and falling back to eager, as graph breaks in loops are not supported.
V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [{frame}/0] [__graph_breaks]\x20
V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [{frame}/0] [__graph_breaks]   Developer debug context: frame skipped: {function} ({file} line 12)
V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [{frame}/0] [__graph_breaks]\x20
"""  # noqa: E501 -- whole lines of a log


@pytest.mark.parametrize(
    ("given_up", "is_said"),
    [((0, "/proj/net.py"), True), ((0, "/proj/other.py"), False), ((2, "/proj/net.py"), False)],
)
@pytest.mark.parametrize(
    ("code", "reason"),
    [("RCP014", "tensor 'x' rank mismatch. expected {0}, actual {1}"), ("RCP017", "len(x) == {0}")],
)
def test_what_is_compiled_behind_a_function_of_its_file_that_was_given_up_may_be_its_callee(
    code: str, reason: str, given_up: tuple[int, str], is_said: bool, tmp_path: Path
) -> None:
    text = recompiled("mixed", *(reason.format(n, n + 1) for n in (1, 2, 3)))
    lost = LOST.format(frame=given_up[0], file=f"/home/ana{given_up[1]}", line=17, function="run")
    text = lost + text.replace("[0/", "[1/").replace("- 0/", "- 1/")
    found = told(code, text, tmp_path)
    assert (ids(found)[0] == "mend-break") == is_said
    assert ("`run`" in found.advice[0].text) == is_said


def test_a_break_within_a_package_is_not_for_its_user_to_mend(tmp_path: Path) -> None:
    """Nor is what the package hands on from there."""
    file = "/home/ana/venv/lib/python3.11/site-packages/parts/net.py"
    text = recompiled("mixed", *(f"len(x) == {n}" for n in (1, 2, 3)))
    text = text.replace("/home/ana/proj/net.py", file)
    assert ids(told("RCP017", text, tmp_path)) == ["stack", "allocate"]  # by a call of the user's
    lost = LOST.format(frame=0, file=file, line=17, function="run")
    text = lost + text.replace("[0/", "[1/").replace("- 0/", "- 1/")
    found = told("RCP017", text, tmp_path)
    assert ids(found) == ["not-named"]
    assert "No change is named: the line is in `parts`" in found.advice[0].text


def test_the_last_function_that_was_given_up_is_the_nearest_caller_and_its_break_is_named(
    tmp_path: Path,
) -> None:
    file = "/home/ana/proj/net.py"
    given_up = ((0, "train", 40), (1, "setup", 30), (3, "run", 17), (6, "later", 60))
    lost = "".join(LOST.format(frame=n, function=f, file=file, line=at) for n, f, at in given_up)
    text = recompiled("mixed", *(f"len(x) == {n}" for n in (1, 2, 3)))
    text = lost + text.replace("[0/", "[5/").replace("- 0/", "- 5/")
    advice = told("RCP017", text, tmp_path).advice[0].text
    assert advice.startswith(
        "If `run` or `setup` calls it, mend the graph break at proj/net.py:17 or at "
        "proj/net.py:30 first"
    )
    assert "train" not in advice
    assert "later" not in advice


def test_a_recurrent_module_that_loses_a_whole_function_is_not_traced() -> None:
    (path,) = FIXTURES.glob("GBR019-*/fires-lstm.log")
    (found,) = (one for one in analyze(str(path)).findings if one.code == "GBR019")
    assert ids(found) == ["compile-around"]


def test_a_check_that_takes_the_unknown_for_false_comes_last_and_with_its_condition() -> None:
    """Compiled code never runs what stands below it: a crop would be left out without a word."""
    (rule,) = select_rules(["DYN001"])
    data = rule.Data.model_validate({"expression": "u0 > 32", "code": "if n > 32:"})
    told = rule.advise(data)
    assert [one.id for one in told] == ["check", "cond", "guard-or-false"]
    assert "right without" in told[-1].text


@pytest.mark.parametrize(("code", "id_"), [("ERR000", "outside"), ("ERR019", "orig-mod")])
def test_advice_about_the_uncompiled_module_does_not_raise_on_a_plain_one(
    code: str, id_: str
) -> None:
    """A plain module has no attribute `_orig_mod`."""
    (rule,) = select_rules([code])
    (remedy,) = (one for one in rule.remedies if one.id == id_)
    model = torch.nn.Identity()
    names = {"model": model, "x": torch.ones(1)}
    exec(str(remedy.code), names)  # noqa: S102 -- what is advised


def test_objects_of_entries_before_the_log_are_counted(tmp_path: Path) -> None:
    reasons = [
        f"    - 1/{36 - n}: ___check_obj_id(self.processor, {94296119093600 + n})" for n in range(4)
    ]
    head = "[1/37] [__recompiles] Recompiling function forward in /home/ana/proj/net.py:15"
    told = ["    triggered by the following guard failure(s):", *reasons]
    lines = [head, *(f"[1/37] [__recompiles] {line}" for line in told)]
    prefix = "V0721 23:40:59.397000 21591 torch/_dynamo/guards.py:3006] "
    log = tmp_path / "run.log"
    for count, severity in ((3, "none"), (4, "info"), (6, "warning")):
        log.write_text("".join(f"{prefix}{line}\n" for line in lines[:count]))
        (found,) = [one for one in analyze(str(log)).findings if one.code == "RCP008"]
        assert found.severity.value == severity, count


def test_a_builtin_is_named_by_the_explanation(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(
        "Graph break in user code at /home/ana/proj/net.py:15\n"
        "Graph Break Reason: Failed to trace builtin operator\n"
        "  Explanation: Dynamo does not know how to trace builtin operator `exec` with argument "
        "types ['str'] (has_kwargs False)\n"
    )
    (found,) = [one for one in analyze(str(log)).findings if one.code == "GBR003"]
    assert found.title.startswith("`exec` breaks the graph")
