"""Guard trees that are cut by the shape of their lines, against what the grammar alone reads."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from tracelens.evidence import Seen
from tracelens.grammars import Unreadable
from tracelens.logs import Record
from tracelens.logs.guards import Guards, GuardTree
from tracelens.source import read

FIXTURES = Path(__file__).parents[2] / "fixtures"
KINDS = [
    "EQUALS_MATCH",
    "GuardManager",
    "KeyManager: GuardManager",
    "ValueManager",
    "KeyManager",
    "λ",
]
PARTS = [
    ": ",
    ":",
    ": source=L['x']",
    ", accessed_by=A(k)",
    " pair at index=0",
    "L['n'] == 2",
    "  # ",
    " # ",
    "   # if n >= 0:  # proj/model.py:10 in fn",
    "# y",
    "  ",
    " ",
    "\r",
    "\t",
    "x = 'a  # b'",
    "(HINT: no)",
    "proj/model.py:9 in fn",
    ", type=<class 'int'>",
    "___check_obj_id(m, 139970574627312)",
    "é",
    "|",
    "proj/model.py:9 in fn (HINT: no)",
    "  # y = f(x)  # proj/model.py:9 in fn",
    "  # y = f(x)  # proj/model.py:9 in <module>  (HINT: yes)",
    "(proj/model.py:9 in fn)",
    " # C:/model.py:9 in fn",
    "source=",
    ", tag_safe=(False, False)",
    ": KeyManager",
    "\v",
]
LINES = st.one_of(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "| ", "| | ", "|", " "]),
        st.sampled_from(["+- ", "+-", "", "+-  "]),
        st.sampled_from([*KINDS, ""]),
        st.lists(st.sampled_from(PARTS), max_size=5).map("".join),
    ),
    st.text(alphabet="|+- :#aA=,\r\t(", max_size=20),
)
HEADERS = st.sampled_from(
    [
        "TREE_GUARD_MANAGER:",
        "TREE_GUARD_MANAGER: ",
        " TREE_GUARD_MANAGER:",
        "\n\nTREE_GUARD_MANAGER:",
        "",
    ]
)


def outcome(text: str, *, plainly: bool) -> object:
    """What is made of a text, or why it is refused: by the grammar alone, or as it is read."""
    try:
        return super(Guards, Guards).parse(text) if plainly else Guards.parse(text)
    except Unreadable as error:
        return str(error), error.line


@given(HEADERS, st.lists(LINES, max_size=6))
@example("TREE_GUARD_MANAGER:", ["+- EQUALS_MATCH: a  # b  # m.py:1 in f", "", "  ", "tensor([1])"])
@example("TREE_GUARD_MANAGER:", ["+- X: ", "+- X:  ", "+- X:   # c", "+- X: a  # ", "+- X: a b   "])
def test_the_shape_says_what_the_grammar_says(header: str, lines: list[str]) -> None:
    text = "\n".join([header, *lines])
    assert outcome(text, plainly=False) == outcome(text, plainly=True)


def test_recorded_trees_are_read_alike() -> None:
    tried = 0
    for path in sorted((FIXTURES / "rules").glob("GRD*/*.log")):
        for seen in read([str(path)])[0].table(GuardTree):
            for text in mutants(seen):
                assert outcome(text, plainly=False) == outcome(text, plainly=True)
                tried += 1
    assert tried > 100


def mutants(seen: Seen[GuardTree]) -> list[str]:
    """A recorded tree, and some with a piece gone, doubled or changed."""
    text = seen.text[:4000]
    lines = text.split("\n")
    return [
        text,
        "\n".join(lines[1:]),
        "\n".join([*lines, *lines[1:]]),
        re.sub(r"  # ", " # ", text),
        re.sub(r"\w+(?=: )", "K V", text, count=3),
        text[: len(text) * 2 // 3],
    ]


def test_a_tree_without_guards_is_a_tree() -> None:
    (record,) = Guards.parse("TREE_GUARD_MANAGER:")
    assert record == GuardTree()
    assert isinstance(record, Record)
