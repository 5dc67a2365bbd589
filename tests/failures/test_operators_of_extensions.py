"""What goes wrong with an operator of an extension is told for that, and not of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Report, analyze
from tracelens.errors import SourceError

RULES = Path(__file__).parents[2] / "fixtures" / "rules"
SITE = "/home/ana/venv/lib/python3.11/site-packages"
DISPATCH = (
    "TypeError: Multiple dispatch failed for 'torch._ops.{}'; all __torch_dispatch__ handlers"
    " returned NotImplemented:\n\n  - tensor subclass <class '{}'>\n\n"
    "For more information, try re-running with TORCH_LOGS=not_implemented\n"
)
FAKE = "torch._subclasses.fake_tensor.FakeTensor"
CALL = "TypeError: scaled_{}() missing 1 required positional argument: 'eps'\n"
RANK = """Traceback (most recent call last):
  File "/home/ana/proj/app.py", line 9, in <module>
    compiled(x)
  File "{site}/torch/_inductor/utils.py", line 1977, in run
    return model(new_inputs)
  File "/tmp/torchinductor_ana/7u/c7u45diiqoinm7jjucwpsja55elc2xnha7nmqofysts462htyf3x.py", line 9, in call
    assert_size_stride({tensor}, (s0, ), (1, ))
AssertionError: {said}
"""  # noqa: E501 -- lines of a traceback


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(str(path))


def first(text: str, folder: Path) -> Finding:
    return report(text, folder).told[0]


def pasted(found: Finding) -> str:
    return "\n".join(one.code or "" for one in found.advice)


def test_an_operator_that_nothing_handles_is_to_be_registered(tmp_path: Path) -> None:
    found = first(DISPATCH.format("mylib.shift.default", FAKE), tmp_path)
    assert "an operator of an extension" in found.title
    assert '@torch.library.register_fake("mylib::shift")' in pasted(found)
    assert all(one.tried == 0 for one in found.advice)  # other messages' tries are not its own


def test_an_operator_of_torchs_is_not_to_be_registered(tmp_path: Path) -> None:
    found = first(DISPATCH.format("aten.add.Tensor", "app.Packed"), tmp_path)
    assert "a class of tensors does not handle" in found.title
    assert "register_fake" not in pasted(found)


@pytest.mark.parametrize("name", ["norm_fake", "norm_fake_impl"])
def test_a_fake_implementation_with_other_arguments_is_told(name: str, tmp_path: Path) -> None:
    found = first(CALL.format(name), tmp_path)
    assert found.code == "ERR015"
    assert "has other arguments than the operator" in found.title
    assert found.advice[0].id == "same-arguments"


def test_a_call_of_any_other_function_is_nobodys(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(CALL.format("norm"), tmp_path)
    text = (
        'Traceback (most recent call last):\n  File "/home/ana/proj/test_a.py", line 3, in f\n'
        f"    norm_fake()\n{CALL.format('fake')}"
    )
    with pytest.raises(SourceError):
        report(text, tmp_path)


def test_what_dynamo_says_of_the_call_is_read_below_its_message() -> None:
    name = "ERR015-program-error-under-fake-tensors/fires-fake-signature.log"
    (found,) = analyze(str(RULES / name)).told
    assert "shift_fake() missing 1 required positional argument: 'eps'" in found.title
    assert [one.id for one in found.advice] == ["same-arguments", "disable"][: len(found.advice)]


def test_a_value_of_numpys_is_to_be_a_tensor() -> None:
    name = "ERR015-program-error-under-fake-tensors/fires-numpy-value.log"
    (found,) = analyze(str(RULES / name)).told
    assert "a value of NumPy's" in found.title
    ids = [one.id for one in found.advice]
    assert ids[0] == "numpy-value"
    assert "fake-kernel" not in ids
    assert "torch.as_tensor(value).div(" in pasted(found)


def test_a_result_that_needs_the_other_graph_is_an_undeclared_write(tmp_path: Path) -> None:
    said = (
        "torch._dynamo.exc.BackendCompilerFailed: backend='{}' raised:\n"
        "AssertionError: Node {} was invalid, but is output\n"
    )
    found = first(said.format("compile_fn", "view_3"), tmp_path)
    assert "AOTAutograd cannot split the graph" in found.title
    assert "mutates_args" in found.advice[0].text
    ddp = next(one for one in found.advice if one.id == "ddp")
    assert ddp.text.startswith("In a program with DistributedDataParallel")
    other = first(said.format("inductor", "view_3"), tmp_path)
    assert "ddp" not in [one.id for one in other.advice]


OUT = "AssertionError: out variant should have at least one out arg\n"


def test_files_of_the_compiler_above_a_message_say_that_it_was_at_work(tmp_path: Path) -> None:
    above = "torch/_inductor/compile_fx.py ... in compile_fx_inner\n"
    found = first(f"{above}{OUT}", tmp_path)
    assert "DTensor takes an operator" in found.title
    assert "was at work" in found.message
    assert "does not tell" in first(OUT, tmp_path).message


@pytest.mark.parametrize("said", ["wrong number of dimensions2", "wrong number of dimensio"])
def test_an_input_of_another_rank_is_named(said: str, tmp_path: Path) -> None:
    found = first(RANK.format(site=SITE, tensor="arg7_1", said=said), tmp_path)
    assert found.code == "ERR021"
    assert "an input of the compiled graph (`arg7_1`, of sizes (s0,))" in found.title
    assert [one.id for one in found.advice] == ["same-rank", "new-cache"]


def test_an_operators_result_of_another_rank_is_no_input(tmp_path: Path) -> None:
    said = "wrong number of dimensions2 for op: torch.ops.mylib.shift.default"
    found = first(RANK.format(site=SITE, tensor="buf7", said=said), tmp_path)
    assert found.title.startswith("a tensor has another number of dimensions")
    assert "opcheck" in [one.id for one in found.advice]


def test_today_the_check_itself_says_that_it_is_an_input() -> None:
    name = "ERR021-size-or-stride-assertion/fires-input-rank.log"
    (found,) = analyze(str(RULES / name)).told
    assert "an input of the compiled graph (`arg1_1`" in found.title


def test_another_programs_dimensions_are_its_own(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report("AssertionError: wrong number of dimensions\n", tmp_path)


@pytest.mark.parametrize("text", ["Error: waiting for op: input", "Error in op: input"])
def test_another_programs_input_is_its_own(text: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(f"{text}\n", tmp_path)
