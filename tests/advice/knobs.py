"""What torch calls its settings, and which release has which.

``knobs.json`` is made by ``benchmarks/knobs.py`` from the Python files of torch's wheels.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

__all__ = ["TABLE", "first_release", "named", "named_in_rules"]

TABLE = Path(__file__).parent / "knobs.json"
RULES = Path(__file__).parents[2] / "tracelens" / "rules"
#: A setting, a function of the compiler's, a variable. Variables that C++ reads are not among them.
KNOB = re.compile(
    r"(?<![/\w])torch\.(?:_dynamo|_inductor|_functorch)\.config(?:\.(?:cpp|triton|trace))?\.\w+(?!\.py)"
    r"|\btorch\.(?:compiler|_dynamo)\.\w+(?=\()"
    r"|\b(?:TORCHDYNAMO|TORCHINDUCTOR)_[A-Z0-9_]+(?![*\w])"
)
#: Those whose names a rule puts together.
COMPOSED = frozenset(
    {
        "torch._dynamo.config.ignore_logger_methods",
        "torch._inductor.config.cpp.enable_unsafe_math_opt_flag",
        "torch._inductor.config.nan_asserts",
        "torch._inductor.config.trace.enabled",
        "torch._inductor.config.use_fast_math",
    }
)
#: The oldest torch whose logs are read.
OLDEST = (2, 1)


def named(text: str) -> set[str]:
    """Return the knobs that a text names."""
    return set(KNOB.findall(text))


@cache
def named_in_rules() -> frozenset[str]:
    """Return the knobs that the texts of rules name, docstrings among them."""
    found = set(COMPOSED)
    for path in RULES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= named(node.value)
    return frozenset(found)


@cache
def _table() -> dict[str, list[str | None]]:
    held: dict[str, list[str | None]] = json.loads(TABLE.read_text(encoding="utf-8"))["knobs"]
    return held


def first_release(knob: str) -> tuple[int, ...]:
    """Return the first minor release that has a knob; nothing where none has it."""
    first = _table().get(knob, [""])[0] or ""
    return tuple(int(part) for part in first.split(".") if part)
