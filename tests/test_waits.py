"""Every wait of a test has a limit: one that hangs would take all others with it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: Calls that wait for a process or a thread: where their limit stands, by position.
WAITS = {
    "subprocess.run": None,
    "subprocess.call": None,
    "subprocess.check_call": None,
    "subprocess.check_output": None,
    "communicate": 1,
    "wait": 0,
    "join": 0,
}


def waits(code: str) -> Iterator[ast.Call]:
    """Yield the calls that wait and say no limit; the name of a Popen or Thread is not known."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = ast.unparse(node.func)
        name = name if name.startswith("subprocess.") else node.func.attr
        if name not in WAITS or any(keyword.arg == "timeout" for keyword in node.keywords):
            continue
        place = WAITS[name]
        if place is None or len(node.args) <= place:
            yield node


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("subprocess.run(['x'])", 1),
        ("subprocess.run(['x'], timeout=3)", 0),
        ("process.wait()", 1),
        ("process.wait(3)", 0),
        ("process.communicate(b'')", 1),
        ("thread.join()", 1),
        ("', '.join(words)", 0),
    ],
)
def test_a_wait_without_a_limit_is_seen(code: str, count: int) -> None:
    assert len(list(waits(code))) == count


def test_every_wait_has_a_limit() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{call.lineno}: {ast.unparse(call)[:60]}"
        for path in sorted(TESTS.rglob("*.py"))
        for call in waits(path.read_text(encoding="utf-8"))
    ]
    assert found == []
