"""Names of events that differ in digits alone say what the grammar reads in each."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tracelens.grammars import Unreadable, load
from tracelens.logs import Record
from tracelens.logs._alike import MAX_SHAPES, Alike
from tracelens.logs.chrome_trace import Annotation, ChromeTrace, Operator, PythonFunction

GRAMMAR = Path(__file__).parents[2] / "grammars" / "chrome_trace.lark"
EXAMPLES = re.findall(r"(?m)^// example   (?!\{)(.*)$", GRAMMAR.read_text())
MORE = (
    "cpu_op\tn1_aten::add_12",
    "cpu_op\t1::1",
    "user_annotation\tbatch 7 of 77",
    "python_function\tmodel_3.py(45): forward",
    "python_function\tmodel_4.py(4): forward",
    "python_function\tmodel.py(007): forward",
    "python_function\tnn.Module: nn.Module: Linear_12",
    "python_function\tnn.Module: Linear_12_345",
    "kernel\tgraph_12_triton_poi_fused_add_34",
    "user_annotation\tcompile_attempt_12_data: compile_id=3/4, attempt=56",
    "\tcompile_attempt_0",
    "kernel 9\tvoid f<4>(int)",
)


def plainly(text: str) -> tuple[Record, ...] | None:
    try:
        parsed = load(ChromeTrace.name, ChromeTrace.__module__).parse(ChromeTrace.mask(text))
    except Unreadable:
        return None
    return tuple(parsed) if isinstance(parsed, list) else (parsed,)


def asked(alike: Alike, text: str) -> tuple[Record, ...] | None:
    def parse(one: str) -> tuple[Record, ...]:
        found = plainly(one)
        if found is None:
            raise Unreadable("refused", 1)
        return found

    try:
        return alike.read(text, parse)
    except Unreadable:
        return None


@pytest.mark.parametrize("text", [*EXAMPLES, *MORE])
def test_a_text_like_another_says_what_the_grammar_reads(text: str) -> None:
    of = random.Random(text)
    alike = Alike()
    for _ in range(40):
        other = re.sub("[0-9]", lambda _: str(of.randrange(10)), text)
        if "0x" not in other:
            assert asked(alike, other) == plainly(other)


def test_the_grammar_is_asked_once_per_shape() -> None:
    times: list[str] = []

    def parse(text: str) -> tuple[Record, ...]:
        times.append(text)
        return plainly(text) or ()

    alike = Alike()
    for at in range(100, 200):
        (record,) = alike.read(f"cpu_op\tn{at}_aten::add", parse)
        assert record == Operator(category="cpu_op", namespace=f"n{at}_aten", op="add")
        (record,) = alike.read(f"python_function\tm.py({at}): step", parse)
        assert record == PythonFunction(
            category="python_function", file="m.py", line=at, function="step"
        )
    assert len(times) == 2


def test_a_name_that_stands_twice_is_read_each_time() -> None:
    alike = Alike()
    for text in ("cpu_op\ta1::a1", "cpu_op\ta1::a2", "cpu_op\ta2::a1"):
        assert asked(alike, text) == plainly(text)


def test_shapes_that_are_remembered_are_bounded() -> None:
    alike = Alike()
    for at in range(MAX_SHAPES + 10):
        alike.read(f"user_annotation\t1{'x' * at}"[:900] + f"{at:x}".translate(HEX), named)
    assert len(vars(alike)["_known"]) <= MAX_SHAPES


HEX = str.maketrans("0123456789", "ghijklmnop")


def named(text: str) -> tuple[Record, ...]:
    category, _, name = text.partition("\t")
    return (Annotation(category=category, name=name),)
