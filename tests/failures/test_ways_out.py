"""What a failure's first advice is: something that lets the program run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Finding

OWN = "/home/ana/proj/model.py"
SITE = "/home/ana/venv/lib/python3.11/site-packages"
ENDED = f"""Traceback (most recent call last):
  File "/home/ana/proj/train.py", line 22, in <module>
    loss = train_step(x, y)
  File "{SITE}/torch/_inductor/compile_fx.py", line 849, in compile_fx_inner
    raise InductorError(e, currentframe()).with_traceback(
  File "{SITE}/torch/_inductor/loop_body.py", line 412, in get_read_expr
    raise KeyError(buffer_name)
torch._inductor.exc.InductorError: KeyError: 'buf40'
"""
BACKWARD = ENDED.replace(
    f"""  File "{SITE}/torch/_inductor/compile_fx.py", line 849""",
    f"""  File "{SITE}/torch/_tensor.py", line 623, in backward
    torch.autograd.backward(
  File "{SITE}/torch/autograd/graph.py", line 979, in _engine_run_backward
    return Variable._execution_engine.run_backward(
  File "{SITE}/torch/_functorch/_aot_autograd/runtime_wrappers.py", line 3529, in _backward_impl
    CompiledFunction.compiled_bw = aot_config.bw_compiler(
  File "{SITE}/torch/_inductor/compile_fx.py", line 849""",
)
#: A function that Dynamo compiles since a checkpoint calls it again in backward.
AGAIN = BACKWARD.replace(
    f"""  File "{SITE}/torch/_functorch""",
    f"""  File "{SITE}/torch/_dynamo/convert_frame.py", line 1997, in __call__
    result = self._inner_convert(
  File "{SITE}/torch/_functorch""",
)
HOOK = ENDED.replace(
    "torch._inductor.exc.InductorError",
    """  File "/home/ana/proj/passes.py", line 7, in fold
    return users[node.name]
torch._inductor.exc.InductorError""",
)
RECURSION = f"""Traceback (most recent call last):
  File "{SITE}/oddlib/tensors.py", line 90, in {{function}}
    return super().{{function}}(func, types, args, kwargs)
  File "{SITE}/torch/_dynamo/eval_frame.py", line 1446, in _fn
    return fn(*args, **kwargs)
  File "{SITE}/torch/_functorch/_aot_autograd/runtime_wrappers.py", line 483, in __call__
    return nullcontext()
RecursionError: maximum recursion depth exceeded
"""


def first(text: str, folder: Path) -> Finding:
    path = folder / "run.log"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path)).findings[0]


def test_what_inductor_cannot_compile_runs_eagerly_before_it_is_bisected(tmp_path: Path) -> None:
    found = first(ENDED, tmp_path)
    assert found.code == "ERR017"
    assert found.advice[0].id == "suppress"
    assert found.advice[0].env == "TORCHDYNAMO_SUPPRESS_ERRORS=1"
    assert "`backward()`" in found.advice[0].text  # a graph that no call of the function compiles
    assert "bisect" in [one.id for one in found.advice]


def test_nothing_is_suppressed_in_backward(tmp_path: Path) -> None:
    found = first(BACKWARD, tmp_path)
    assert found.code == "ERR017"
    assert "the backward graph" in found.title
    assert found.advice[0].id == "by-parts"
    # Its graph is compiled when it is first needed: a forward pass alone fails with no backend.
    assert [".backward()" in (one.code or "") for one in found.advice if one.id == "bisect"] == [
        True
    ]
    # The line that calls backward() is compiled by nobody: to leave it out changes nothing.
    assert not {"suppress", "disable"} & {one.id for one in found.advice}
    again = first(AGAIN, tmp_path)
    assert again.code == "ERR017"
    assert again.advice[0].id == "suppress"
    assert "the backward graph" not in again.title


def test_an_unknown_error_in_backward_is_looked_for_there(tmp_path: Path) -> None:
    """The line of the traceback is that of `backward()`: what failed in it has no name there."""
    ended = "SystemError: oddlib gave up\n"
    lines = (BACKWARD if at else ENDED for at in (0, 1))
    forward, backward = (
        first(
            text.replace("raise InductorError(e", "give(e").rpartition("torch.")[0] + ended,
            tmp_path,
        )
        for text in lines
    )
    assert {forward.code, backward.code} == {"ERR000"}
    codes = [{one.id: one.code or "" for one in found.advice} for found in (forward, backward)]
    assert codes[0]["bisect"].endswith("torch.compile(model, backend=b)(*inputs)")
    assert codes[1]["bisect"].endswith("torch.compile(model, backend=b)(*inputs).sum().backward()")
    # A program's top level is no function that could be left out.
    assert ["disable" in one for one in codes] == [False, False]


@pytest.mark.parametrize(("name", "is_advised"), [("step", True), ("<module>", False)])
def test_only_a_function_is_left_out(name: str, *, is_advised: bool, tmp_path: Path) -> None:
    ended = "SystemError: oddlib gave up\n"
    text = ENDED.replace("raise InductorError(e", "give(e").replace("in <module>", f"in {name}")
    found = first(text.rpartition("torch.")[0] + ended, tmp_path)
    assert found.code == "ERR000"
    assert ("disable" in {one.id for one in found.advice}) is is_advised


def test_a_function_of_the_program_that_the_compiler_calls_is_mended(tmp_path: Path) -> None:
    found = first(HOOK, tmp_path)
    assert found.title == (
        "the compiler called `fold` (proj/passes.py:7), which failed: KeyError: 'buf40'"
    )
    assert [one.id for one in found.advice] == ["own"]
    packaged = first(HOOK.replace("/home/ana/proj", f"{SITE}/oddlib"), tmp_path)
    assert "a bug of" in packaged.title
    assert "own" not in [one.id for one in packaged.advice]


def test_where_errors_are_suppressed_already_it_is_not_advised(tmp_path: Path) -> None:
    lines = ENDED.split("\n")
    head = "W1122 09:15:31.073000 528 torch/_dynamo/convert_frame.py:1600] "
    start = "WON'T CONVERT train_step /home/ana/proj/train.py line 12 \ndue to: "
    text = "".join(f"{head}{line}\n" for line in [*start.split("\n"), *lines])
    found = [one for one in analyze(_kept(text, tmp_path)).findings if one.code == "ERR017"]
    assert found
    assert all(one.id != "suppress" for finding in found for one in finding.advice)


def test_tensors_of_a_class_of_its_own_are_left_out(tmp_path: Path) -> None:
    found = first(RECURSION.format(function="__torch_function__"), tmp_path)
    assert found.code == "ERR000"
    assert found.advice[0].id == "plain-tensors"
    assert "a class of `oddlib`" in found.advice[0].text
    (left,) = [one for one in found.advice if one.id == "disable"]
    assert 'vars(owner).get("__torch_function__")' in str(left.code)
    other = first(RECURSION.format(function="scale"), tmp_path)
    assert "plain-tensors" not in [one.id for one in other.advice]


def _kept(text: str, folder: Path) -> str:
    path = folder / "run.log"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_what_is_told_of_one_crash_is_one_way_on_one_search_and_one_report(tmp_path: Path) -> None:
    ids = [one.id for one in first(ENDED, tmp_path).advice]
    assert ids == ["suppress", "bisect", "minifier"]
    traced = "\nfrom user code:\n" + f'  File "{OWN}", line 9, in mixed\n    return x @ y\n'
    named = first(ENDED + traced, tmp_path)
    assert [one.id for one in named.advice] == ["disable", "bisect", "minifier"]
    assert "`mixed`" in named.advice[0].text


@pytest.mark.parametrize(
    ("torch", "is_newer"), [("2.6.0", True), ("2.13.0", True), ("2.15.0", False), ("", False)]
)
def test_a_newer_torch_is_told_where_the_log_has_an_older_one(
    torch: str, *, is_newer: bool, tmp_path: Path
) -> None:
    note = f"# tracelens: torch {torch}+cpu\n" if torch else ""
    found = first(note + ENDED, tmp_path)
    assert found.code == "ERR017"
    assert ("newer" in [one.id for one in found.advice]) is is_newer
    said = next(one.text for one in found.advice if one.id == "minifier")
    assert ("A newer torch, if there is one" in said) is not is_newer


FOLDER = Path(__file__).parents[2] / "fixtures/rules/ERR020-donated-buffer-used-again"


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("fires-second-derivative.log", ["uncompiled"]),
        ("fires-retained.log", ["off", "once"]),
    ],
)
def test_donated_buffers_are_kept_for_another_backward_and_not_for_a_second_derivative(
    name: str, ids: list[str]
) -> None:
    (found,) = [one for one in analyze(str(FOLDER / name)).told if one.code == "ERR020"]
    assert [one.id for one in found.advice] == ids


@pytest.mark.parametrize("last", ["exited with non-zero status 1", "terminated by signal 6"])
def test_what_time_prints_of_a_command_is_no_part_of_the_message(tmp_path: Path, last: str) -> None:
    log = tmp_path / "run.log"
    text = (FOLDER / "fires-retained.log").read_text()
    log.write_text(f"{text}Command {last}\n30.68 user 4.80 system\n")
    (found,) = [one for one in analyze(str(log)).told if one.code == "ERR020"]
    assert "Command" not in found.message
    assert "30.68" not in found.message
    log.write_text(f"{text}Command line too long\n")
    (found,) = [one for one in analyze(str(log)).told if one.code == "ERR020"]
    assert "Command line too long" in found.message
