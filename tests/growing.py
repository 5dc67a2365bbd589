"""Structured logs and traces that grow: what was recorded again and again, as another one."""

from __future__ import annotations

import gzip
import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["EVENTS", "FIXTURES", "TRACES", "compilations", "events", "text_of"]

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: Traces that are grown, and copies of the smaller input.
TRACES = {
    "kernels of a device": ("rules/TRC006-host-device-sync/fires-four-items.json", 12),
    "operators of the host": ("logs/chrome_trace/mlp-one-step.json", 20),
    "calls of Python": ("logs/chrome_trace/encoder-compiled-stack.json.gz", 6),
}
#: What in a copy is another one: moments alone, or names, too.
EVENTS = ("later", "with other names")
_FRAME = re.compile(r'("frame_id": |"compile_id": ")(\d+)(?=[,/])')
_NAME = re.compile(r"\b(primals_|arg|cpp_fused_|L_\w+?_|L\['\w+?)(?=\d|_|')")
_IDS = ("External id", "correlation", "Ev Idx", "Python id", "Python parent id", "id")


def text_of(path: Path) -> str:
    """Return the text of a file, which may be packed."""
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)
    return unpack(path.read_bytes()).decode()


def compilations(text: str, copy: int) -> Iterator[str]:
    """Yield a structured log with frames, and names in its payloads, of its own."""
    most = 1 + max(int(found[2]) for found in _FRAME.finditer(text))
    for line in text.splitlines(keepends=True):
        if line.startswith("\t"):
            yield _NAME.sub(rf"\g<1>{copy}_", line)
        elif '{"str":' in line:  # names a file by its number
            yield line
        else:
            yield _FRAME.sub(lambda m: f"{m[1]}{int(m[2]) + copy * most}", line)


def events(path: Path, copies: int, how: str) -> str:
    """Return a trace whose events come ``copies`` times."""
    whole = json.loads(text_of(path))
    found = whole["traceEvents"] if isinstance(whole, dict) else whole
    times = [event["ts"] for event in found if event["ph"] == "X"]
    span = max(times) - min(times) + 1_000
    made: list[dict[str, Any]] = []
    for copy in range(copies):
        for event in found:
            if event["ph"] == "M" and copy:
                continue
            args = dict(event.get("args") or {})
            args |= {key: args[key] + copy * 1_000_003 for key in _IDS if _is_id(args.get(key))}
            other = {**event, "args": args}
            if _is_id(event.get("id")):
                other["id"] = event["id"] + copy * 1_000_003
            if event["ph"] != "M":
                other["ts"] = event["ts"] + copy * span
            if how != "later" and event["ph"] == "X" and event.get("cat") in _NAMED:
                other["name"] = _other(event["name"], copy)
            made.append(other)
    rest = whole if isinstance(whole, dict) else {}
    return json.dumps({**rest, "traceEvents": made})


_NAMED = {"kernel", "cpu_op", "python_function", "user_annotation"}


def _is_id(value: object) -> bool:
    return isinstance(value, int) and value > 0


def _other(name: str, copy: int) -> str:
    """Return another name of the same kind."""
    return re.sub(r"(?<=[a-z])(?=\(|<|$)", f"_{_letters(copy)}", name, count=1)


def _letters(number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in str(number))
