"""What reading remembers: equal parts are one, and of a large input nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze, judging
from tracelens.logs import _generated, _guard_lines, _modules
from tracelens.logs._starts import start
from tracelens.logs.guards import Guards, GuardTree
from tracelens.logs.output_code import OutputCode, OutputModule

LOG = Path(__file__).parents[1] / "fixtures/rules/IND001-fallback-kernel/fires-cumsum.log"
MODULE = """Output code:
def call(args):
    # Source Nodes: [{node}], Original ATen: [aten.add]
    buf0 = empty_strided_cpu((8, ), (1, ), torch.float32)
    return (buf0, )
"""


def _remembered() -> int:
    cached = (_modules._line, _modules._placed, _generated.statement)
    return sum(one.cache_info().currsize for one in cached) + len(_guard_lines._KNOWN)


@pytest.mark.parametrize(("least", "leaves"), [(0, False), (1 << 40, True)])
def test_a_large_input_leaves_nothing_to_be_remembered(
    least: int, leaves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = analyze(str(LOG))
    assert _remembered()
    monkeypatch.setattr(judging, "LARGE", least)
    assert analyze(str(LOG)) == report
    assert bool(_remembered()) is leaves


def test_modules_that_are_alike_have_their_equal_steps_in_common() -> None:
    (one,), (like,) = (OutputCode.parse(MODULE.format(node="add")) for _ in range(2))
    (other,) = OutputCode.parse(MODULE.format(node="sum"))
    assert isinstance(one, OutputModule)
    assert isinstance(like, OutputModule)
    assert isinstance(other, OutputModule)
    assert [a is b for a, b in zip(one.steps, like.steps, strict=True)] == [True, True, True]
    assert [a is b for a, b in zip(one.steps, other.steps, strict=True)] == [True, False, True]
    assert [step.comment and step.comment.nodes for step in other.steps] == [None, ("sum",), None]


def test_guards_in_unlike_lines_have_equal_texts_in_common() -> None:
    tree = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n{0}+- GuardManager: source=G['model']\n"
    tree += "{0}| +- TYPE_MATCH: ___check_type_id(G['model'], 7)\n"
    (one,), (deeper,) = (Guards.parse(tree.format(above)) for above in ("| ", "| | "))
    assert isinstance(one, GuardTree)
    assert isinstance(deeper, GuardTree)
    assert one.guards[-1] is not deeper.guards[-1]
    assert one.guards[-1].expression == "___check_type_id(G['model'], 7)"
    assert one.guards[-1].expression is deeper.guards[-1].expression
    assert one.guards[-2].source is deeper.guards[-2].source


def test_compilations_that_begin_in_the_same_frames_have_them_in_common() -> None:
    main = b'{"line": 3, "name": "main", "loc": "step()", "filename": 0}'
    one, other = (
        start(
            b'{"stack": [%s, {"line": 9, "name": "%s", "loc": "", "filename": 1}]}' % (main, name)
        )
        for name in (b"f", b"g")
    )
    assert one.stack[0] is other.stack[0]  # type: ignore[attr-defined]
    assert [frame.function for frame in other.stack] == ["main", "g"]  # type: ignore[attr-defined]


def test_what_ranks_have_most_of_has_no_dictionary_each() -> None:
    (module,) = OutputCode.parse(MODULE.format(node="add"))
    (tree,) = Guards.parse("TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- NO_TENSOR_ALIASING\n")
    assert isinstance(module, OutputModule)
    assert isinstance(tree, GuardTree)
    for part in (*module.steps, *tree.guards):
        assert not hasattr(part, "__dict__")
        assert part.__sizeof__() < 80
