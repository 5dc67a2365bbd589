"""The what-if table as it grows on a terminal."""

from __future__ import annotations

import io
import re

import pytest

from tracelens.cli._watch import Watch


def screen(printed: str) -> list[str]:
    """Return what a terminal shows after it was sent this."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[\d*[AJK]|\r|\n|[^\x1b\r\n]+", printed):
        if part in {"\r", "\n"}:
            row, column = row + (part == "\n"), 0
            lines += [""] * (row + 1 - len(lines))
        elif part.startswith("\x1b") and part.endswith("A"):
            row -= int(part[2:-1])
        elif part.startswith("\x1b"):
            lines[row] = lines[row][:column]
            lines = lines[: row + 1] if part == "\x1b[J" else lines
        else:
            lines[row] = lines[row][:column] + part + lines[row][column + len(part) :]
            column += len(part)
    return lines


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_table_grows_on_the_terminal_with_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tty = Tty()
    monkeypatch.setattr("sys.stderr", tty)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "24")
    watch = Watch(600)
    watch.part("the standard settings, one by one")
    rows: list[dict[str, object]] = [{"setting": "unchanged", "step_ms": 10.0, "compile_s": 2.0}]
    watch.rows(rows)
    watch.doing("eager, recorded")
    late: dict[str, object] = {"setting": "late\x1b[2J", "note": "failed: " + "x" * 99}
    rows += [
        {"setting": "eager", "step_ms": 5.0, "speedup": 2.0, "interval": "1.9 to 2.1",
         "compile_s": 0.0, "verdict": "faster"},
        late,
    ]  # fmt: skip
    watch.rows(rows)
    watch.doing("freezing, block 2 of 3")
    shown = screen(tty.getvalue())
    assert shown[0].split() == ["setting", "step", "times", "as", "fast", "compile"]
    assert shown[1].split() == ["unchanged", "10", "ms", "-", "2.0", "s"]
    assert shown[2].split()[:4] == ["eager", "5", "ms", "2.00"]
    assert shown[2].endswith("faster")
    assert shown[3].startswith("late")
    assert "10 min left  the standard settings" in shown[4]
    assert len(shown) == 5
    assert max(map(len, shown)) < 60
    watch.clear()
    assert screen(tty.getvalue()) == [""]
