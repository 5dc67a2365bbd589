"""What the parts of torch say that no rule asks for, and which of it stays unread."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens.evidence import Evidence
from tracelens.logs.torch_notes import (
    BackwardNode,
    OperatorCalled,
    RangeComputed,
    TorchNote,
    TorchNotes,
)
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "logs" / "notes"
PREFIX = "V1120 19:28:11.334000 19923 "


def evidence_of(path: Path, *lines: str) -> Evidence:
    path.write_text("".join(f"{PREFIX}{line}\n" for line in lines))
    return read([str(path)])[0]


def test_an_operator_and_its_arguments() -> None:
    plain, cut, dispatched = TorchNotes.parse(
        "aten.t.default (FakeTensor(..., size=(40, 24)),) {}\n"
        "aten.empty.memory_format ([2, 3],) {'dtype': torch.float32\n"
        "FakeTensorMode.__torch_dispatch__: aten.addmm.default"
    )
    assert plain == OperatorCalled(
        operator="aten.t.default", arguments="(FakeTensor(..., size=(40, 24)),) {}"
    )
    assert isinstance(cut, OperatorCalled)
    assert cut.operator == "aten.empty.memory_format"
    assert dispatched == OperatorCalled(operator="aten.addmm.default")


def test_a_range() -> None:
    (product,) = TorchNotes.parse("mul([VR[40, 40], VR[0, 2]]) -> VR[0, 80]")
    assert product == RangeComputed(
        function="mul", arguments="[VR[40, 40], VR[0, 2]]", result="VR[0, 80]"
    )
    (bound,) = TorchNotes.parse("bound_sympy(3*p0 + p1)\n  p0: VR[0, 39]\n  p1: VR[0, 2]")
    assert bound == RangeComputed(
        function="bound_sympy",
        arguments="3*p0 + p1",
        symbol=("p0: VR[0, 39]", "p1: VR[0, 2]"),
    )


def test_a_node_of_the_backward_pass() -> None:
    (node,) = TorchNotes.parse(
        "Executing: <MulBackward0 object at 0x7f06457e9660> with grad_outputs: [f32[3, 7]]"
    )
    assert node == BackwardNode(node="MulBackward0", gradients="[f32[3, 7]]")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("solved: s77 <= 4096 ---> s77 <= 4096", "solved: s77 <= 4096 ---> s77 <= 4096"),
        ("after partition_fn:\nclass GraphModule:\n    pass", "after partition_fn:"),
        ("(odd) beginning", "(odd) beginning"),
        ("after the call to mul([1]) -> 1", "after the call to mul([1]) -> 1"),
    ],
)
def test_another_message_is_kept_as_text(text: str, title: str) -> None:
    (note,) = TorchNotes.parse(text)
    assert isinstance(note, TorchNote)
    assert note.title == title
    assert note.text.strip("\n") == "\n".join(text.split("\n")[1:])


def test_the_module_tells_whose_record_it_is(tmp_path: Path) -> None:
    evidence = evidence_of(
        tmp_path / "log",
        "torch/utils/_sympy/solve.py:95] [0/1] solved: s77 <= 4096 ---> s77 <= 4096",
        "torch/fx/passes/runtime_assert.py:447] [0/1] expr_to_proxy[s77] = Proxy(s77)",
        "torch/_inductor/scheduler.py:6815] [0/2] removed dead buffer: buf3",
        "torch/fx/experimental/symbolic_shapes.py:7069] [0/3] 1 Warning only constraints violated",
    )
    assert evidence.kinds == {"torch_notes": 2, "inductor_debug": 1, "dynamic": 1}
    assert not evidence.known


def test_a_mark_goes_before_the_module(tmp_path: Path) -> None:
    evidence = evidence_of(
        tmp_path / "log",
        "torch/_inductor/pattern_matcher.py:9] [0/0] TensorFloat32 tensor cores for float32 matrix",
    )
    assert evidence.kinds == {"warnings": 1}


def test_what_rules_learn_from_is_not_passed_over(tmp_path: Path) -> None:
    evidence = evidence_of(
        tmp_path / "log",
        "torch/_dynamo/convert_frame.py:7] [0/0] a message of a later version",
        "torch/_inductor/compile_fx.py:7] [0/0] another one",
        "torch/made_up.py:7] [0/0] a module of a later version",
    )
    assert not evidence.kinds
    assert sum(lines for lines, _ in evidence.known.values()) == 3


def test_every_part_of_torch_is_read() -> None:
    evidence = read([str(FIXTURES / "every-part.log.gz")])[0]
    assert not evidence.known
    assert not evidence.unread
    assert set(evidence.kinds) >= {"torch_notes", "inductor_debug", "dynamic", "dynamo_debug"}
