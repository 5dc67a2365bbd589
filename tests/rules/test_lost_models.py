"""Layers of a package that are compiled one by one since the model that calls them is lost."""

from pathlib import Path

import pytest

from tests.rules.test_break_advice import ITEM, LOOP, OWN, PACKAGE, broken
from tracelens import analyze

GIVEN_UP = "Failed to handle graph break gracefully. Skipping the function.\n\n"
LIBRARIES = "/home/ana/venv/lib/python3.11/site-packages"
LINE = "V1120 20:00:00.000000 1 torch/_dynamo/guards.py:5396] [7/{at}] [__recompiles] {text}\n"
LENGTHS = "len(input.type.parts) == {}"
SIZES = "tensor 'x' size mismatch at index 0. expected {}, actual 99"


def recompiled(file: str, reason: str) -> str:
    lines = []
    for at in range(1, 5):
        lines += [(at, f"Recompiling function forward in {file}:3")]
        lines += [(at, "    triggered by the following guard failure(s):")]
        lines += [(at, f"    - 7/{old}: {reason.format(old + 2)}") for old in reversed(range(at))]
    return "".join(LINE.format(at=at, text=text) for at, text in lines)


@pytest.mark.parametrize(
    ("file", "reason", "lost", "belongs"),
    [
        ("chatty/layers.py", LENGTHS, OWN, True),
        ("other/layers.py", LENGTHS, OWN, False),
        ("chatty/layers.py", SIZES, OWN, False),
        ("chatty/layers.py", LENGTHS, PACKAGE, False),  # the model itself was compiled
    ],
)
def test_what_differs_between_layers_belongs_to_the_break(
    tmp_path: Path, file: str, reason: str, lost: str, *, belongs: bool
) -> None:
    gone = LOOP.format(function="forward", file=lost)
    broken(
        tmp_path,
        GIVEN_UP + ITEM + gone,
        (OWN, 5, "forward", "x = b(x)"),
        (PACKAGE, 7, "forward", "y"),
    )
    log = next(tmp_path.glob("*.log"))
    text = log.read_text(encoding="utf-8") + recompiled(f"{LIBRARIES}/{file}", reason)
    log.write_text(text, encoding="utf-8")
    found = analyze(str(log)).findings
    told = [one for one in found if one.code in {"RCP017", "RCP002"}]
    assert told
    assert all(bool(one.explained_by) == belongs for one in told)
