"""Advice at graph breaks that was followed to the letter: what works, and what does not."""

from pathlib import Path

import pytest

from tracelens import analyze
from tracelens.report import Advice, Finding
from tracelens.rules.gbr._branches import may_divide, selected
from tracelens.rules.gbr._site_rule import BreakData

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"


def findings(name: str, code: str) -> list[Finding]:
    (folder,) = FIXTURES.glob(f"{code}-*")
    return [one for one in analyze(folder / name).findings if one.code == code]


def advice(name: str, code: str) -> dict[str, Advice]:
    return {one.id: one for one in findings(name, code)[0].advice}


def test_a_number_that_python_needs_is_neither_kept_nor_captured() -> None:
    """`range` of a tensor, or of a symbol, breaks the graph again: tried, no effect."""
    found = advice("fires-range-2.13.log", "GBR001")
    assert list(found) == ["read-outside"]
    assert "pass it in" in found["read-outside"].text


def test_what_is_looked_up_is_no_counter() -> None:
    """Kept as numbers in a list, each entry was compiled, up to the limit."""
    found = advice("fires-looked-up-2.13.log", "GBR001")
    assert list(found) == ["read-outside"]
    assert "pass it in as a tensor" in found["read-outside"].text


def test_a_number_that_is_computed_with_is_kept() -> None:
    assert "keep-tensor" in advice("fires-temperature-2.13.log", "GBR001")


def test_a_side_that_divides_is_given_what_is_not_zero() -> None:
    """Without it the gradients were NaN from the first batch without weights on."""
    found = advice("fires-divides-2.13.log", "GBR002")
    assert "NaN" in found["select"].text
    assert (found["select"].code or "").startswith("safe = torch.where(total == 0, 1, total)")
    assert "cond" not in found  # the gradients of its sides have to agree in strides


def test_without_gradients_both_are_told_as_they_are() -> None:
    found = advice("fires-inference-2.13.log", "GBR002")
    assert found["select"].code == "torch.where(img.max() > 1, if_true, if_false)"
    assert "NaN" not in found["select"].text
    assert "cond" not in found  # no side is seen to call a module


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("if n > 0:", "torch.where(n > 0, n, 1)"),
        ("if norm < 1e-6:", "torch.where(norm < 1e-06, 1, norm)"),
        ("if x.sum() != 0:", "torch.where(x.sum() != 0, x.sum(), 1)"),
        ("if norm > 1.0:", ""),
        ("if score < self.best:", ""),
        ("if n > -3:", ""),
        ("if torch.rand(1) < 0.5:", ""),
        ("if torch.rand_like(x).mean() > 0.1:", ""),
        ("if noise.normal_().max() > 0.5:", ""),
        (
            "if x.normalize().sum() > 0:",
            "torch.where(x.normalize().sum() > 0, x.normalize().sum(), 1)",
        ),
    ],
)
def test_what_a_side_may_divide_by(line: str, safe: str) -> None:
    data = BreakData(family="branch", file="/home/ana/proj/model.py", line=3, code=line)
    assert may_divide(data) is bool(safe)
    assert (f"safe = {safe}" in selected(data)) is bool(safe)
    assert not may_divide(data.model_copy(update={"inference": True}))


def test_what_is_left_behind_a_break_is_the_rest() -> None:
    """In front of it there is a graph. Another function of the same name is given up as a whole."""
    (lost,) = findings("fires-rest-2.13.log", "GBR006")
    assert lost.title.startswith("the rest of `trimmed` (proj/app.py:6) runs eagerly")
    assert "as a whole" not in lost.message
    (other,) = findings("fires-another-forward-2.13.log", "GBR006")
    assert other.title.startswith("`forward` (proj/app.py:12) runs eagerly")
    (folder,) = FIXTURES.glob("GBR006-*")
    for name, said in (
        ("fires-rest-2.13.log", "gave up the rest of `trimmed` behind line 5, which runs eagerly."),
        ("fires-another-forward-2.13.log", "gave up the whole function, which runs eagerly."),
    ):
        (number,) = (one for one in analyze(folder / name).findings if one.code == "GBR001")
        assert said in number.message


def test_a_number_that_python_draws_is_drawn_before_the_call() -> None:
    """It is a tensor to the graph, and `capture_scalar_outputs` raised for `torch.roll` by it."""
    shorten, roll = sorted(findings("fires-drawn-2.13.log", "GBR001"), key=lambda one: one.title)
    for found in shorten, roll:
        assert found.title.startswith("a random number of Python is read out of a tensor")
        assert [one.id for one in found.advice] == ["draw-outside"]
    (crop,) = findings("fires-crop-2.13.log", "GBR016")
    assert [one.id for one in crop.advice] == ["draw-outside"]
    assert "Or call `crop` uncompiled: before it" in crop.advice[0].text
    (lost,) = findings("fires-drawn-range-2.13.log", "GBR006")
    assert [one.id for one in lost.advice] == ["draw-outside", "compile-body"][: len(lost.advice)]
    assert "compiled once" in lost.advice[0].text
    (failed,) = findings("fires-drawn-2.13.log", "ERR018")
    assert "`random` draws" in failed.title


def failed(tmp_path: Path, message: str, code: str) -> Finding:
    """Return the finding of an error under `fullgraph=True` at one line of a function."""
    log = tmp_path / "run.log"
    log.write_text(
        'Traceback (most recent call last):\n  File "/home/ana/proj/app.py", line 20, in <module>\n'
        f"    f(x)\ntorch._dynamo.exc.{message}\n\nfrom user code:\n"
        f'   File "/home/ana/proj/app.py", line 9, in f\n    {code}\n\n'
        "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if "
        "you're reporting a bug to PyTorch).\n"
    )
    return analyze(log).shown[0]


OTHER = """\
Unsupported: unimplemented builtin op on tensor arguments
  Explanation: Dynamo does not know how to trace builtin operator <built-in function add>
  Hint: It may be possible to write Dynamo tracing rules for this code.

  Developer debug context: partial tensor op: BuiltinVariable(add) [{}, Constant(int: 8)]
"""
SKIPPED = """\
Unsupported: Attempted to call function marked as skipped
  Explanation: Dynamo does not know how to trace the Python builtin `_warnings.warn`.
  Hint: Please file an issue on GitHub so the PyTorch team can add support for it.

  Developer debug context: module: _warnings, qualname: warn, skip reason: no source file
"""
ONE_HOT = """\
Unsupported: Attempted to use `torch.nn.functional.one_hot` with data-dependent output shape
  Explanation: Dynamo does not support this.
  Hint: Explicitly set the `num_classes` param to something other than -1.

  Developer debug context:
"""


def test_an_error_of_a_whole_graph_is_told_as_its_break_is(tmp_path: Path) -> None:
    """What torch met stands behind a blank line, and names more than its message does."""
    found = failed(tmp_path, OTHER.format("UnspecializedPythonVariable()"), "y = x[:, n : n + 8]")
    assert [one.id for one in found.advice] == ["draw-outside", "allow"]
    found = failed(tmp_path, OTHER.format("TensorVariable()"), "y = x[:, n : n + 8]")
    assert "draw-outside" not in [one.id for one in found.advice]
    found = failed(tmp_path, SKIPPED, 'warnings.warn("more")')
    assert found.title.endswith("function marked as skipped: `_warnings.warn`")
    assert found.advice[0].id == "warn-later"
    found = failed(tmp_path, ONE_HOT, "one = F.one_hot(i)")
    assert found.advice[0].text.startswith("Torch says: Explicitly set the `num_classes`")


@pytest.mark.parametrize(
    ("line", "is_drawn"),
    [("x = torch.roll(x, random.randint(1, 8))", True), ("x = torch.roll(x, n)", False)],
)
def test_a_bug_at_a_drawn_number_is_gone_with_it(tmp_path: Path, line: str, is_drawn: bool) -> None:
    message = "InternalTorchDynamoError: PendingUnbackedSymbolNotFound: Pending symbols {u0}"
    found = failed(tmp_path, message, line)
    assert found.code == "ERR018"
    assert ("draw-before" in [one.id for one in found.advice]) is is_drawn


def test_a_function_that_is_compiled_itself_is_no_helper() -> None:
    """Stacks begin outside of compiled code: `train` calls what is compiled, and is not."""
    (found,) = findings("fires-rows-by-index-2.13.log", "GBR001")
    assert found.advice[0].id == "all-at-once"
    assert "index_add_" in (found.advice[0].code or "")
    assert "function-outside" not in [one.id for one in found.advice]


def test_what_a_call_returned_has_no_name_to_copy_it_by() -> None:
    """`___stack0` is Dynamo's: the program cannot write it."""
    (folder,) = FIXTURES.glob("GBR016-*")
    report = analyze(folder / "fires-crop-2.13.log")
    (layout,) = (one for one in report.findings if one.code == "RCP015")
    assert [one.id for one in layout.advice] == ["one-layout"]
    (crop,) = (one for one in report.findings if one.code == "GBR016")
    assert layout.explained_by == crop.id


def test_what_is_drawn_is_drawn_once() -> None:
    """In a line of its own it would be another number."""
    select = advice("fires-draws-2.13.log", "GBR002")["select"]
    assert select.code == "torch.where(torch.rand(1) < 0.5, if_true, if_false)"
    assert "divides" not in select.text


def test_backward_is_not_traced_along_with_an_optimizer() -> None:
    """Its step breaks the graph: as many breaks as before."""
    assert list(advice("fires-with-optimizer-2.13.log", "GBR010")) == ["backward-outside"]
    assert "trace-autograd" in advice("fires-own-step-2.13.log", "GBR010")


def test_what_is_differentiated_twice_is_traced_where_the_call_broke_the_graph(
    tmp_path: Path,
) -> None:
    found = advice("fires-broken-at-grad.log", "ERR000")
    assert next(iter(found)) == "trace-twice"
    (log,) = FIXTURES.glob("ERR000-*/fires-broken-at-grad.log")
    alone = tmp_path / "run.log"
    text = log.read_text(encoding="utf-8")
    alone.write_text("".join(x for x in text.splitlines(True) if "[__graph_breaks]" not in x))
    (left,) = (one for one in analyze(alone).findings if one.code == "ERR000")
    assert next(one.id for one in left.advice) == "outside"


def test_an_operator_of_torchs_is_not_registered_again() -> None:
    assert list(advice("fires-torch-operator-2.13.log", "GBR011")) == ["operator-outside"]


def test_a_line_that_calls_pythons_library_is_left_out() -> None:
    found = advice("fires-python-library-2.13.log", "GBR012")
    assert list(found) == ["call-outside"]
    assert "json.loads" in found["call-outside"].text
    assert "(proj/app.py:7)" in found["call-outside"].text


def test_a_tensor_as_an_index_is_given_a_dimension() -> None:
    assert "`self.sigmas[t.view(1)]`" in advice("fires-entry-2.13.log", "GBR013")["numbers"].text


def test_a_clock_between_two_layers_is_taken_around_the_call() -> None:
    found = findings("fires-clock-between-2.13.log", "GBR009")
    told = "before and after the compiled function, and not within it"
    assert all(told in one.advice[0].text for one in found)


def test_what_is_called_at_a_break_is_given_up_and_not_the_caller(tmp_path: Path) -> None:
    (lost,) = findings("fires-called-below.log", "GBR006")
    assert lost.title.startswith("`__call__` (oddlib/__init__.py:14) runs eagerly")
    (folder,) = FIXTURES.glob("GBR006-*")
    text = (folder / "fires-called-below.log").read_text(encoding="utf-8")
    other = tmp_path / "run.log"  # a function of which the log does not tell the way
    other.write_text(text.replace("[1/", "[7/"), encoding="utf-8")
    (lost,) = [one for one in analyze(other).findings if one.code == "GBR006"]
    assert "__call__" not in lost.title


def test_a_scripted_module_of_a_package_is_left_out_with_the_call(tmp_path: Path) -> None:
    """Nobody has the module that it was made of: the package has loaded it from a file."""
    found = advice("fires-called-below.log", "GBR006")
    assert list(found) == ["leave-script-out"]
    assert "proj/app.py:46" in found["leave-script-out"].text
    (folder,) = FIXTURES.glob("GBR006-*")
    text = (folder / "fires-called-below.log").read_text(encoding="utf-8")
    own = tmp_path / "run.log"
    own.write_text(
        text.replace("/home/ana/venv/lib/python3.11/site-packages/odd", "/home/ana/proj/odd")
    )
    (lost,) = [one for one in analyze(own).findings if one.code == "GBR006"]
    assert [one.id for one in lost.advice] == ["plain-module"]


def test_a_body_is_compiled_where_the_loop_itself_holds_the_line() -> None:
    """In what the loop calls the graph would break as before."""
    inside, called = findings("fires-loop.log", "GBR006")
    assert [one.id for one in inside.advice] == ["remove-break", "compile-body"]
    assert [one.id for one in called.advice] == ["remove-break"]
