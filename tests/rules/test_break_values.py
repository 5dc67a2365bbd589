"""What no graph can hold is answered with what a program does instead, whichever rule tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import analyze

HEAD = "V1122 09:15:30.000000 528 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "
PROXY = "Failed to convert args/kwargs to proxy"
PLACE = "/home/ana/proj/net.py"


def record(reason: str, context: str = "", *, lost: bool = False, place: str = PLACE) -> str:
    wrapper = ["Failed to handle graph break gracefully. Skipping the function and falling back."]
    lines = [
        f"Graph break in user code at {place}:17",
        f"Graph Break Reason: {wrapper[0] if lost else 'Encountered graph break.'}",
        "",
        reason,
        "  Explanation: it is so.",
        f"  Developer debug context: {context}",
        "",
        "User code traceback:",
        '  File "/home/ana/proj/net.py", line 17, in forward',
        "    return op(a, self.layer(x))",
    ]
    return "".join(f"{HEAD}{line}\n" for line in lines)


def advised(text: str, folder: Path) -> list[str]:
    path = folder / "run.log"
    path.write_text(text, encoding="utf-8")
    return [advice.id for advice in analyze(str(path)).findings[0].advice]


@pytest.mark.parametrize("lost", [True, False], ids=["given up", "cut"])
@pytest.mark.parametrize(
    ("reason", "context", "expected"),
    [
        ("Attempted to wrap sparse Tensor", "", "dense-parts"),
        ("Attempted to wrap strided NestedTensor", "", "jagged"),
        (PROXY, "call_function args: UserDefinedObjectVariable(Packed) {}", "flatten"),
        (PROXY, "call_function args: UserDefinedObjectVariable(ScriptObject) {}", "unpacked"),
        ("torch.jit.script/freeze modules unsupported", "RecursiveScriptModule", "plain-module"),
    ],
)
def test_the_first_advice_is_about_the_value(
    reason: str, context: str, expected: str, lost: bool, tmp_path: Path
) -> None:
    found = advised(record(reason, context, lost=lost), tmp_path)
    assert found[0] == expected
    assert "remove-break" not in found


@pytest.mark.parametrize(
    ("place", "is_layer"),
    [
        ("/home/ana/venv/lib/python3.11/site-packages/torch/ao/nn/quantized/linear.py", True),
        (PLACE, False),
    ],
)
def test_packed_weights_are_named_where_a_quantized_layer_has_them(
    place: str, is_layer: bool, tmp_path: Path
) -> None:
    context = "call_function args: UserDefinedObjectVariable(ScriptObject) {}"
    path = tmp_path / "run.log"
    path.write_text(record(PROXY, context, place=place), encoding="utf-8")
    (found,) = [one for one in analyze(str(path)).findings if one.code == "GBR012"]
    assert ("packed weights of a quantized layer" in found.title) is is_layer


def test_other_breaks_are_removed(tmp_path: Path) -> None:
    for reason, context in (("Unsupported tolist call", ""), (PROXY, "call_function args: x")):
        found = advised(record(reason, context, lost=True), tmp_path)
        assert found[0] == "remove-break"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/home/ana/venv/lib/python3.11/site-packages/torch/_library/custom_ops.py", True),
        (PLACE, False),
    ],
)
def test_a_number_that_an_operator_reads_of_fake_tensors_is_a_size_to_ask_for(
    place: str, expected: bool, tmp_path: Path
) -> None:
    text = record("Data dependent operator", "aten._local_scalar_dense.default", place=place)
    assert (advised(text, tmp_path) == ["unknown-size"]) == expected


SKIPPED = """\
Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.
torch.compile will skip tracing the frame {function} ({file} line {line}) and fall back to eager.
The graph break occurred in the following user code:

"""


def test_a_record_that_names_only_the_function_it_gives_up_tells_that(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    site = "/home/ana/venv/lib/python3.11/site-packages/torch/_functorch/apis.py"
    frames = (("wrapped", site, 244), ("huber", PLACE, 4))
    texts = (SKIPPED.format(function=f, file=file, line=line) for f, file, line in frames)
    path.write_text("".join(f"{HEAD}{line}\n" for text in texts for line in text.splitlines()))
    (found,) = [one for one in analyze(str(path)).findings if one.code == "GBR006"]
    assert found.title.startswith("`huber` (proj/net.py:4) runs eagerly")
    assert found.where is not None
    assert (found.where.file, found.where.line) == (PLACE, 4)
    assert found.message.endswith("where Dynamo cannot resume.")
