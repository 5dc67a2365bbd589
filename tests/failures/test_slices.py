"""No slice of a message about a failure or a break is answered by "Nothing to fix", or by exit 2.

What counts: a slice that holds a line by which the message is known. Such a line has torch's log
prefix of a warning or an error, or it holds words that only torch writes (:data:`KNOWN`). Frames,
lines of source and blank lines alone are any program's; they need not be recognized.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracelens import TracelensError, analyze

RULES = Path(__file__).parents[2] / "fixtures/rules"
#: Lines of each message that are cut.
MOST = 60
PREFIX = re.compile(
    r"^(?:\[rank\d+\]:)?[WE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ torch/\S+:\d+\] "
    r"(?:\[\d+/\S+\] )?"
)
KNOWN = re.compile(
    r"Explanation: |Hint: |Developer debug context: |from user code:|While executing %"
    r"|torch\._dynamo\.exc\.|InternalTorchDynamoError|Set TORCHDYNAMO_VERBOSE|WON'T CONVERT"
)
MESSAGES = {
    "fullgraph": "ERR016-unsupported-under-fullgraph/fires-item.log",
    "internal": "ERR018-internal-dynamo-error/fires-len.log",
    "item": "GBR001-scalar-from-tensor/fires-item-2.13.log",
    "older item": "GBR001-scalar-from-tensor/fires-item-2.6.log",
    "meta": "ERR015-program-error-under-fake-tensors/fires-shapes.log",
    "suppressed": "GBR013-suppressed-errors/fires-cut-before-the-error.log",
}


def slices(lines: list[str]) -> list[tuple[int, int]]:
    """Return both ends' cuts at every line, and single lines."""
    size = len(lines)
    cuts = [(first, size) for first in range(size)]
    cuts += [(0, end) for end in range(1, size)]
    cuts += [(first, first + 1) for first in range(size)]
    return list(dict.fromkeys(cuts))


def is_known(lines: list[str]) -> bool:
    """Tell whether a slice counts: what stands behind a prefix must say something, too."""
    return any(KNOWN.search(line) for line in lines) or any(
        PREFIX.match(line) and re.search(r"\w", PREFIX.sub("", line)) for line in lines
    )


def answer(path: Path) -> str:
    try:
        told = analyze(str(path)).told
    except TracelensError:
        return "exit 2"
    return told[0].code if told else "Nothing to fix"


@pytest.mark.parametrize("name", MESSAGES)
def test_every_slice_is_judged(name: str, tmp_path: Path) -> None:
    lines = (RULES / MESSAGES[name]).read_text(encoding="utf-8").split("\n")[:MOST]
    path = tmp_path / "slice.log"
    counted, unanswered = 0, []
    for first, end in slices(lines):
        part = lines[first:end]
        if not is_known(part):
            continue
        counted += 1
        path.write_text("\n".join(part) + "\n", encoding="utf-8")
        said = answer(path)
        if said in {"exit 2", "Nothing to fix"}:
            unanswered.append((said, first, end, part[0][:100]))
    assert counted > 1
    assert not unanswered, unanswered[:5]


NODE = (
    "    While executing %item : [num_users=2] = call_method[target=item](args = (%getitem,), "
    "kwargs = {})\n"
    "    GraphModule: class GraphModule(torch.nn.Module):\n"
    '        def forward(self, L_counts_: "i32[8][1]"):\n'
    "             # File: /home/ana/proj/moe.py:76 in experts, code: counts = counts.tolist()\n"
    '            item: "Sym(u0)" = getitem.item();  getitem = None\n'
)
LOGGED = "[rank1]:W0923 22:43:08.375000 18329 torch/_dynamo/exc.py:525] [5/0_2] "


@pytest.mark.parametrize("prefix", ["", LOGGED, LOGGED.removeprefix("[rank1]:")])
def test_a_message_that_begins_at_its_node_is_told_by_it(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "pasted.txt"
    text = "".join(f"{prefix}{line}\n" for line in NODE.splitlines())
    path.write_text(text, encoding="utf-8")
    (found,) = analyze(str(path)).told
    assert (found.code, found.severity) == ("LOG001", "info")
    assert "a number that is read from a tensor" in found.title
    assert "proj/moe.py:76" in found.message
    assert any('TORCH_LOGS="graph_breaks"' in (one.env or "") for one in found.advice)
    assert any("CAPTURE_SCALAR_OUTPUTS" in one.text for one in found.advice)


def test_words_of_a_program_are_no_part_of_a_message(tmp_path: Path) -> None:
    """The middle of a message is told alone only where torch wrote it."""
    path = tmp_path / "pasted.txt"
    path.write_text("While executing the plan\nexplanation: none\nfrom user code\n", "utf-8")
    with pytest.raises(TracelensError):
        analyze(str(path))


def test_a_suppressed_bug_is_told_by_its_rule_and_the_function_under_it() -> None:
    report = analyze(str(RULES / "ERR018-internal-dynamo-error/fires-suppressed.log"))
    assert [one.code for one in report.told] == ["ERR018"]
    assert "ZeroDivisionError: no answer" in report.told[0].title
    (left_out,) = [one for one in report.findings if one.code == "GBR013"]
    assert left_out.explained_by == report.told[0].id
