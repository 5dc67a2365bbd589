"""Breaks that are one thing to do: a training step, numbers that NumPy draws, unknown sizes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.rules.test_break_advice import BRANCH, GIVEN_UP, ITEM, LOOP, OWN, SKIPPED, broken, ids
from tracelens import analyze
from tracelens.report import Finding
from tracelens.rules.gbr.dynamic_output_shape import DynamicOutputShape

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
BACKWARD = """Unsupported Tensor.backward() call
  Explanation: Dynamo currently does not support tracing `Tensor.backward()`.

  Developer debug context: call_method TensorVariable() backward () {}
"""
CLOCK = SKIPPED.format(module="time", name="time")
SYMBOL = BRANCH.replace("TensorVariable()", "SymNodeVariable()")
READ = """Data dependent operator
  Explanation: Operator `aten._local_scalar_dense.default` has a non-Tensor output.

  Developer debug context: aten._local_scalar_dense.default
"""
PREFIX = "V1120 12:06:10.834000 77 torch/_dynamo/symbolic_convert.py:5124] [{}/0] [__graph_breaks] "


def several(room: Path, *breaks: tuple[str, int, str, str]) -> list[Finding]:
    """Return what is told of breaks: each with its reason, line, function and code."""
    log = room / "run.log"
    with log.open("w") as out:
        for number, (reason, line, function, code) in enumerate(breaks):
            text = (
                f"Graph break in user code at {OWN}:{line}\nGraph Break Reason: {reason}\n"
                f'User code traceback:\n  File "{OWN}", line {line}, in {function}\n    {code}\n'
            )
            out.writelines(f"{PREFIX.format(number)}{one}\n" for one in text.split("\n"))
    return list(analyze(str(log)).findings)


METER = ITEM, 31, "train_step", "losses.update(loss.item(), images.size(0))"
TIMED = CLOCK, 27, "train_step", "end = time.time()"
BACK = BACKWARD, 34, "train_step", "loss.backward()"


def test_what_a_training_step_does_besides_follows_from_compiling_the_step(tmp_path: Path) -> None:
    found = several(tmp_path, TIMED, METER, BACK)
    (root,) = (one for one in found if one.code == "GBR010")
    of_step = {one.title: one.explained_by for one in found if one.code in {"GBR001", "GBR009"}}
    assert len(of_step) == 2
    assert set(of_step.values()) == {root.id}
    assert root.severity == "warning"  # the worst of what follows


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((*METER[:2], "forward", METER[3]), id="in another function"),
        pytest.param((*METER[:3], "scale = loss.item()"), id="a number that is used"),
        pytest.param((CLOCK, 27, "forward", "end = time.time()"), id="a clock of the model"),
    ],
)
def test_what_may_be_of_the_forward_pass_is_told_by_itself(
    tmp_path: Path, other: tuple[str, int, str, str]
) -> None:
    found = several(tmp_path, other, BACK)
    assert [one.explained_by for one in found if one.code in {"GBR001", "GBR009"}] == [None]


@pytest.mark.parametrize(
    ("line", "is_asked"),
    [
        ("if rows.shape[0] == 0:", True),
        ("if not rows.shape[0]:", True),
        ("if len(rows) == 0:", True),
        ("if not len(rows):", True),
        ("if rows.numel() > 0:", True),
        ("if rows.numel():", True),
        ("if rows.size(0) == 0:", True),
        ("if rows.shape[0] > 3:", False),
        ("if count == 0:", False),
        ("if count:", False),
        ("while len(rows) > 0:", False),
        ("if len(rows) == 0: raise ValueError('no rows')", False),
    ],
)
def test_a_branch_on_an_empty_result_is_left_out(tmp_path: Path, line: str, is_asked: bool) -> None:
    found = broken(tmp_path, SYMBOL, (OWN, 7, "forward", line))
    assert ("take-empty" in ids(found)) == is_asked
    of_tensor = broken(tmp_path, BRANCH, (OWN, 7, "forward", line))
    assert "take-empty" not in ids(of_tensor)


def test_a_number_is_neither_selected_nor_checked_as_a_tensor_is(tmp_path: Path) -> None:
    """``torch.where`` and ``torch._assert_async`` raise for what is no tensor."""
    line = (OWN, 7, "forward", "if count.max() > 3:")
    found = broken(tmp_path, SYMBOL, line)
    assert not {"select", "cond", "raise-in-graph"} & set(ids(found))
    assert "a size or a number" in found.title
    assert "select" in ids(broken(tmp_path, BRANCH, line))


def test_the_branch_in_a_loop_is_left_out_before_anything_else(tmp_path: Path) -> None:
    reason = GIVEN_UP.replace("TensorVariable()", "SymNodeVariable()")
    reason += LOOP.format(function="forward", file=OWN)
    found = broken(tmp_path, reason, (OWN, 7, "forward", "if top_x.shape[0] == 0:"))
    assert ids(found)[0] == "take-empty"


@pytest.mark.parametrize(
    ("line", "is_drawn"),
    [
        ("drop = np.random.uniform(0, 1)", True),
        ("n = int(p * t + numpy.random.rand())", True),
        ("sizes = lengths.tolist()", False),
        ("scale = weights.tolist()[0] * np.random.rand()", False),
        ("n = max(lengths, 3)", False),
    ],
)
def test_what_numpy_draws_is_drawn_before(tmp_path: Path, line: str, is_drawn: bool) -> None:
    found = broken(tmp_path, READ, (OWN, 7, "forward", line))
    assert found.code == "GBR001"
    assert ("draw-before" in ids(found)) == is_drawn
    assert ("in-python" in ids(found)) != is_drawn
    assert ("NumPy" in found.title) == is_drawn


def test_a_number_that_is_read_beside_one_of_numpy_is_not_drawn(tmp_path: Path) -> None:
    line = (OWN, 7, "forward", "y = x * w[0].item() * np.random.rand()")
    assert "NumPy" not in broken(tmp_path, ITEM, line).title


@pytest.mark.parametrize("kind", ["int32", "uint8", "int64"])
def test_what_is_counted_by_adding_is_what_bincount_counts(kind: str) -> None:
    torch = pytest.importorskip("torch")
    (remedy,) = (one for one in DynamicOutputShape.remedies if one.id == "count-by-adding")
    x = torch.tensor([2] * 300 + [0], dtype=getattr(torch, kind))
    names = {"torch": torch, "x": x, "n": 4}
    exec(str(remedy.code), names)  # noqa: S102 -- what is advised
    assert names["counts"].tolist() == torch.bincount(x, minlength=4).tolist()


PACKS = SKIPPED.format(module="torch.nn.utils.rnn", name="pack_padded_sequence")
RECURRENT = """Attempted to wrap RNN, GRU, or LSTM
  Explanation: Dynamo does not support RNN, GRU, or LSTM.

  Developer debug context: LSTM(32, 32)
"""
PACK = PACKS, 12, "forward", "packed = pack_padded_sequence(x, lengths.cpu())"
LSTM = RECURRENT, 13, "forward", "h, _ = self.lstm(packed)"


def test_packing_sequences_is_a_part_of_the_recurrent_module(tmp_path: Path) -> None:
    found = {one.code: one for one in several(tmp_path, PACK, LSTM)}
    assert found["GBR009"].explained_by == found["GBR019"].id
    elsewhere = several(tmp_path, (*PACK[:2], "collate", PACK[3]), LSTM)
    assert [one.explained_by for one in elsewhere if one.code == "GBR009"] == [None]


@pytest.mark.parametrize(
    ("operator", "advised"),
    [
        ("aten.nonzero.default", ["capture-size", "keep-size"]),
        ("aten.nonzero.out", ["keep-size"]),  # with the setting: it has no meta kernel
        ("aten.masked_select.default", ["capture-size", "keep-size"]),
        # The setting did nothing for it in torch 2.5.
        ("aten.bincount.default", ["count-by-adding", "capture-size"]),
        ("aten.repeat_interleave.Tensor", ["capture-size", "output-size"]),
        ("aten._unique2.default", ["capture-size"]),
    ],
)
def test_what_keeps_a_size_depends_on_the_operator(
    tmp_path: Path, operator: str, advised: list[str]
) -> None:
    reason = (
        f"Dynamic shape operator\n  Explanation: Operator `{operator}`'s output shape depends on "
        f"input Tensor data.\n\n  Developer debug context: {operator}\n"
    )
    found = ids(broken(tmp_path, reason, (OWN, 7, "forward", "y = f(x)")))
    assert found == advised


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("torch._subclasses.fake_tensor.DynamicOutputShapeException: aten.nonzero.default", False),
        ("torch._inductor.exc.InductorError: AssertionError: x", True),
    ],
)
def test_an_unknown_size_behind_a_break_is_of_that_break(
    tmp_path: Path, error: str, *, told: bool
) -> None:
    """What is left behind the break cannot be compiled for the same reason; other errors stand."""
    unknown = READ.replace("Data dependent operator", "Dynamic shape operator").replace(
        "aten._local_scalar_dense", "aten.nonzero"
    )
    several(tmp_path, (unknown, 37, "forward", "y[mask] = x[mask]"))
    log = tmp_path / "run.log"
    head = "W1120 12:06:11.834000 77 torch/_dynamo/convert_frame.py:2415] "
    rest = (
        f"WON'T CONVERT torch_dynamo_resume_in_forward_at_37 {OWN} line 37 ",
        "due to: ",
        "Traceback (most recent call last):",
        error,
    )
    with log.open("a") as out:
        out.writelines(f"{head}{line}\n" for line in rest)
    codes = {one.code for one in analyze(str(log)).told}
    assert "GBR008" in codes
    assert bool(codes - {"GBR008"}) is told


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("if rows.numel() > 0:", "Take the `if` away"),
        ("if len(rows):", "Take the `if` away"),
        ("if len(rows) >= 1:", "Take the `if` away"),
        ("if not len(rows):", "Leave the branch out"),
        ("if len(rows) == 0:", "Leave the branch out"),
    ],
)
def test_what_stands_below_a_question_for_elements_is_kept(
    tmp_path: Path, line: str, begins: str
) -> None:
    found = broken(tmp_path, SYMBOL, (OWN, 7, "forward", line))
    assert found.advice[0].text.startswith(begins)


def reader(*, whole: bool = True) -> str:
    """Return the log of a reader of lines; its graphs tell what is before the recurrence."""
    (path,) = FIXTURES.glob("GBR019-*/fires-convolutions.log.gz")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    return "".join(line for line in lines if whole or "[__graph_code]" not in line)


def test_a_part_before_the_recurrence_stands_for_all_that_breaks_behind_it(tmp_path: Path) -> None:
    """What calls it need not be compiled: none of its other lines breaks a graph then."""
    log = tmp_path / "run.log"
    log.write_text(reader())
    found = {one.code: one for one in analyze(str(log)).findings}
    first = found["GBR019"]
    assert ids(first) == ["compile-before"]
    assert first.advice[0].code == "model.cnn = torch.compile(model.cnn)"
    assert {found[code].explained_by for code in ("GBR001", "GBR009")} == {first.id}


def test_without_graphs_no_part_is_named(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(reader(whole=False))
    found = {one.code: one for one in analyze(str(log)).findings}
    assert ids(found["GBR019"]) == ["compile-around"]
    assert found["GBR001"].explained_by is None
