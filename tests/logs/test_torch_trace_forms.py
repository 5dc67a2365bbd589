"""A structured log in other forms: lines ended as Windows does, no compile ids as ahead of time."""

from __future__ import annotations

import lzma
import re
from collections import Counter
from pathlib import Path

from tracelens.evidence import Evidence
from tracelens.logs.aot_graphs import AotGraph
from tracelens.logs.graph_code import FxGraph
from tracelens.logs.guards import GuardTree
from tracelens.logs.output_code import OutputModule
from tracelens.logs.torch_trace import CompilationMetrics
from tracelens.source import read

TWINS = Path(__file__).parents[2] / "fixtures" / "logs" / "torch_trace" / "twins"
LOG = next(TWINS.glob("dedicated_log_torch_trace_*.log.xz"))
TYPES = (AotGraph, FxGraph, GuardTree, OutputModule, CompilationMetrics)


def counts(evidence: Evidence) -> Counter[str]:
    """Return how many records there are of each type that a payload gives."""
    return Counter(
        {kind.__name__: sum(row.count for row in evidence.table(kind)) for kind in TYPES}
    )


def read_as(text: bytes, folder: Path) -> tuple[Evidence, Counter[str]]:
    path = folder / "dedicated_log_torch_trace_5idn58go.log"
    path.write_bytes(text)
    evidence, _ = read([str(path)])
    return evidence, counts(evidence)


def test_payloads_with_the_ends_of_lines_of_windows_are_read(tmp_path: Path) -> None:
    text = lzma.decompress(LOG.read_bytes())
    _, plain = read_as(text, tmp_path)
    assert all(plain.values())
    inside = re.sub(rb"(?m)^(\t.*)$", rb"\1\r", text)
    for changed in (inside, text.replace(b"\n", b"\r\n")):
        evidence, seen = read_as(changed, tmp_path)
        assert seen == plain
        assert not evidence.unread
        assert not any("\r" in str(row.record) for row in evidence.table(OutputModule))


def test_a_log_without_compile_ids_has_its_graphs_code_and_guards(tmp_path: Path) -> None:
    text = lzma.decompress(LOG.read_bytes())
    _, plain = read_as(text, tmp_path)
    bare = re.sub(rb', "frame_id": \d+, "frame_compile_id": \d+, "attempt": \d+', b"", text)
    null = re.sub(rb'"frame_id": \d+, "frame_compile_id": \d+', rb'"frame_id": null', text)
    for changed in (bare, null):
        assert changed != text
        evidence, seen = read_as(changed, tmp_path)
        assert seen == plain
        assert not evidence.unread
        assert {place.frame for place, _ in evidence.table(OutputModule).events()} == {""}
