"""Messages of torch's compile stack that are pasted alone are known by the words they begin with."""
# ruff: noqa: E501 -- messages

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from benchmarks import messages as maker
from tracelens import Report, analyze
from tracelens.errors import SourceError
from tracelens.failures.messages import TELLING, beginning, raised_by

#: A message, and the stage that raises it.
ALONE = {
    "AssertionError: Body should be clear before adding a modification": "inductor",
    "Need networkx installed to perform smart recomputation heuristics": "aot",
    "AssertionError: Should not be called: source of the pregraph bytecode is None": None,
    "RuntimeError: Multiple runtime asserts were added and then deferred by something": None,
}
#: What is said of an operator, with it and without.
SHARDED = "got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!"
#: Words of other programs, or too few of torch's.
OTHERS = (
    "expected a list of values but got 3",
    "Body should be clear",
    "the body should be clear before adding a modification",
    "ValueError: Output type mismatch at position 1",
    "AssertionError: input must be of the same type as the output",
)
TRACEBACK = (
    'Traceback (most recent call last):\n  File "/home/ana/proj/train.py", line 3, in <module>\n    f()\n'
    "AssertionError: Body should be clear before adding a modification\n"
)


def report(text: str, folder: Path) -> Report:
    path = folder / "pasted.txt"
    path.write_text(f"{text}\n", encoding="utf-8")
    return analyze(str(path))


@pytest.mark.parametrize("text", [text for text, stage in ALONE.items() if stage])
def test_a_message_alone_is_told_with_the_stage_that_raises_it(text: str, tmp_path: Path) -> None:
    first = report(text, tmp_path).told[0]
    assert (first.code, first.data["stage"]) == ("ERR000", ALONE[text])
    assert {"bisect", "search"} <= {one.id for one in first.advice}


@pytest.mark.parametrize(
    "text", [*OTHERS, *(text for text, stage in ALONE.items() if stage is None), TRACEBACK]
)
def test_what_only_sounds_alike_is_nobodys(text: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(text, tmp_path)


def test_a_beginning_ends_with_the_first_value_and_needs_words_that_say_something() -> None:
    assert beginning("Cannot lower the fused graph of {x}: it branches") == (
        "cannot lower the fused graph of x"
    )
    assert beginning("lower fused graph\0 branches here") == ""
    assert beginning("lower fused graph branch\0es here") == ""  # the word goes on in the value
    assert beginning("lower fused graph branches \0") == "lower fused graph branches"
    assert beginning("it is not expected to be given in the input of the same type") == ""
    assert TELLING == 4


@pytest.mark.live
def test_what_the_installed_torch_raises_is_in_the_index() -> None:
    found = importlib.util.find_spec("torch")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent
    for name, stage in (("_dynamo/guards.py", "dynamo"), ("_inductor/scheduler.py", "inductor")):
        made = {one for one in map(beginning, maker.raised(maker.parsed(folder / name))) if one}
        known = [one for one in made if raised_by(one)]
        assert len(known) > 0.8 * len(made) > 4
        assert sum(raised_by(one) == stage for one in known) > 0.9 * len(known)


@pytest.mark.parametrize(
    "text",
    [
        "Unsupported: Failed to trace builtin operator",
        "Unsupported: Attempted to call function marked as skipped",
        "torch._dynamo.exc.Unsupported: BUILD_STRING type error",
    ],
)
def test_an_exception_that_names_one_of_dynamos_breaks_is_told_as_that(
    text: str, tmp_path: Path
) -> None:
    first = report(text, tmp_path).told[0]
    assert first.code == "ERR016"
    assert text.partition(": ")[2] in first.title


@pytest.mark.parametrize(
    "text",
    [
        "Unsupported: Missing bytecode handler of the shader",
        "Unsupported: the file is not a zip archive",
        "Unsupported: builtin operator",
    ],
)
def test_another_programs_exception_of_that_name_is_not(text: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        report(text, tmp_path)


@pytest.mark.parametrize("head", ["", "aten.mm.default: "])
def test_what_is_said_of_a_value_is_known_with_it_and_without(head: str, tmp_path: Path) -> None:
    assert report(head + SHARDED, tmp_path).told[0].code == "ERR000"
    assert raised_by(head + SHARDED) == "unknown"
    assert raised_by(f"of what we saw: {SHARDED}") is None
