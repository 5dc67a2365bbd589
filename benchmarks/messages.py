"""Make the index of the messages that torch's compile stack and Triton raise.

``python benchmarks/messages.py FOLDER... --others FOLDER...`` reads the sources of packages that
are unpacked there (``site-packages`` with a ``torch``, or a ``triton``), of as many versions as are
given, and writes ``tracelens/failures/messages.txt``. What the other packages say as well is left
out. A message is kept as a checksum of the words that it begins with, up to the first value in it,
and by the stage whose code raises it; what torch's C++ says in eager code, too (``--eager
LIBRARY...``: ``libtorch_cpu.so`` and the like), tells no stage.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tracelens.failures.messages import (
    BOTH,
    BREAK,
    MAX_WORDS,
    WARNED,
    WORD,
    beginning,
    checksum,
    whole,
)
from tracelens.failures.stages import place_stage

OUT = Path(__file__).parent.parent / "tracelens" / "failures" / "messages.txt"
#: Where the compiler is, and what is traced, exported and sharded with it.
ROOTS = (
    "_dynamo", "_inductor", "_functorch", "_subclasses", "_higher_order_ops", "_export", "export",
    "_library", "_decomp", "_prims", "_prims_common", "_refs", "_meta_registrations.py", "_ops.py",
    "_guards.py", "_compile.py", "fx", "library.py", "compiler", "cuda/graphs.py", "nn/attention",
    "nested/_internal", "utils/_triton.py", "utils/_sympy", "utils/checkpoint.py",
    "distributed/_functional_collectives.py", "distributed/tensor", "distributed/fsdp/_fully_shard",
    "ao/quantization/pt2e", "ao/quantization/quantizer", "_logging",
)  # fmt: skip
TRITON = ("compiler", "runtime", "language", "backends", "experimental")
#: Files that only developers run.
SKIPPED = ("/test", "/benchmark", "minifier", "/schema_check")
#: Characters of a text of another package; longer ones are data.
MAX_TEXT = 20_000
_CHECKS = ("_check", "_check_value", "_check_type", "_check_not_implemented", "_check_is_size")
_WARNS = ("warn", "warning", "warn_once", "warning_once")
_BREAKS = ("unimplemented", "unimplemented_v2", "unimplemented_with_warning")


def fixed(node: ast.AST | None) -> str:  # noqa: PLR0911 -- a case for each kind of node
    """Return the words that every message of ``node`` begins with; values and on are left out.

    Of ``{value}: what is said`` it is what is said.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        head, parts = "", node.values
        named = parts[1] if len(parts) > 1 and not isinstance(parts[0], ast.Constant) else None
        if isinstance(named, ast.Constant) and str(named.value).startswith(": "):
            parts = parts[1:]  # an operator, or whatever, that it is said of
        for part in parts:
            if not isinstance(part, ast.Constant):
                return head + "\0"
            head += str(part.value)
        return head
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left = fixed(node.left)
        return left if "\0" in left or not left else left + (fixed(node.right) or "\0")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return fixed(node.left).partition("%")[0] + "\0"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "format":
            return fixed(node.func.value).partition("{")[0] + "\0"
        if node.func.attr == "dedent" and node.args:
            return fixed(node.args[0])
    if isinstance(node, ast.Lambda):
        return fixed(node.body)
    return ""


#: Names of breaks that any program's error may have.
_ANYBODYS = frozenset({"unsupported __getitem__"})


def raised(tree: ast.AST) -> Iterator[str]:
    """Yield the beginnings of what the code raises."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from map(fixed, node.exc.args)
        elif isinstance(node, ast.Assert):
            yield fixed(node.msg)
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in _CHECKS and len(node.args) > 1:
                yield fixed(node.args[1])
            elif name in _BREAKS:
                yield from map(fixed, node.args)
                yield from (fixed(one.value) for one in node.keywords)


def warned(tree: ast.AST) -> Iterator[str]:
    """Yield the beginnings of what the code warns of."""
    for node in ast.walk(tree):
        name = node.func if isinstance(node, ast.Call) and node.args else None
        if isinstance(name, ast.Attribute) and name.attr in _WARNS:
            yield fixed(node.args[0]).partition("%")[0]  # type: ignore[attr-defined]


def breaks(folder: Path) -> Iterator[str]:
    """Yield what Dynamo calls its graph breaks: under ``fullgraph=True`` errors say no more.

    The registry knows those of versions between releases, too. What is no name says what it is in
    braces, and a class of Python's own is any program's.
    """
    registry = folder / "torch" / "_dynamo" / "graph_break_registry.json"
    if registry.is_file():
        rows = json.loads(registry.read_text(encoding="utf-8")).values()
        names = {str(row["Gb_type"]) for versions in rows for row in versions}
        yield from (name for name in sorted(names) if "{" not in name and name not in _ANYBODYS)
    for path in sorted((folder / "torch" / "_dynamo").rglob("*.py")):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_BREAKS):
                named = [one.value for one in node.keywords if one.arg == "gb_type"]
                yield from map(fixed, named or node.args[:1])


def parsed(path: Path) -> ast.AST:
    """Return the code of a file; nothing where this Python cannot read it."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return ast.Module([], [])


def files(folder: Path) -> Iterator[Path]:
    """Yield the sources of torch's compile stack and of Triton in ``folder``."""
    for package, roots in (("torch", ROOTS), ("triton", TRITON)):
        for root in roots:
            path = folder / package / root
            found = [path] if path.suffix else sorted(path.rglob("*.py"))
            yield from (one for one in found if one.is_file())


def others(folders: list[Path], ours: set[str]) -> set[str]:
    """Return those of ``ours`` that other packages say, too, from any of their words on."""
    starts: dict[tuple[str, str], list[str]] = {}
    for one in ours:
        first, second, *_ = one.split(" ")
        starts.setdefault((first, second), []).append(f"{one} ")
    said: set[str] = set()
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        for node in ast.walk(parsed(path)):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and " " in text and len(text) < MAX_TEXT:
                words = WORD.findall(text.lower())
                for at, pair in enumerate(itertools.pairwise(words)):
                    if found := starts.get(pair):
                        here = " ".join(words[at : at + MAX_WORDS]) + " "
                        said.update(one[:-1] for one in found if here.startswith(one))
    return said


def eager(libraries: list[Path], ours: dict[str, str]) -> set[str]:
    """Return those of ``ours`` that the code in ``libraries`` says, too."""
    said: set[str] = set()
    for path in libraries:
        for text in re.finditer(rb"[ -~]{12,2000}", path.read_bytes()):
            said.add(beginning(text[0].decode("ascii") + "\0"))
    return said & ours.keys()


def collect(folders: list[Path]) -> tuple[dict[str, str], set[str]]:
    """Return the beginnings of the messages, the stage that raises each, and which warn as well."""
    found: dict[str, str] = {}
    both: set[str] = set()
    for folder in folders:
        for path in files(folder):
            place = f"/{path.relative_to(folder).as_posix()}"
            if any(part in place for part in SKIPPED):
                continue
            stage = place_stage(place) or "unknown"
            for text in raised(parsed(path)):
                if one := beginning(text):
                    found.setdefault(one, stage)
    for folder in folders:
        for path in files(folder):
            for text in warned(parsed(path)):
                if (one := beginning(text)) and found.setdefault(one, WARNED) != WARNED:
                    both.add(one)
    return found, both


def main() -> None:
    """Write the index."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--others", nargs="*", type=Path, default=[])
    parser.add_argument("--eager", nargs="*", type=Path, default=[])
    arguments = parser.parse_args()
    ours, both = collect(arguments.folders)
    for one in eager(arguments.eager, ours):
        ours[one] = ours[one] if ours[one] == WARNED else "unknown"
    foreign = others(arguments.others, set(ours))
    found: dict[str, set[int]] = {}
    for one, stage in ours.items():
        if one not in foreign:
            found.setdefault(stage, set()).add(checksum(one))
    found[BOTH] = {checksum(one) for one in both - foreign}
    for text in {text for folder in arguments.folders for text in breaks(folder)}:
        if (one := whole(text)) and "\0" not in text:
            found.setdefault(BREAK, set()).add(checksum(one))
    with OUT.open("w", encoding="ascii", newline="\n") as out:
        for stage in sorted(found):
            rows = [f"{one:08x}" for one in sorted(found[stage])]
            out.write(f"{stage}\n")
            out.writelines(f" {' '.join(rows[n : n + 10])}\n" for n in range(0, len(rows), 10))
    counts = {stage: len(rows) for stage, rows in found.items()}
    sys.stdout.write(f"{counts}; of others, too: {len(foreign)}\n")


if __name__ == "__main__":
    main()
