"""How much of the corpus the artifacts without a rule of their own leave unread."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from tests.corpus import ROOT, cases, log_of, needs_corpus
from tracelens.logs import kind
from tracelens.source import read

KINDS = (
    "aot_graphs",
    "artifact_notes",
    "benchmarking",
    "bytecode",
    "compile_errors",
    "compile_times",
    "compiled_autograd",
    "cudagraphs",
    "dynamic",
    "dynamo_debug",
    "explain",
    "fusion",
    "graph_code",
    "inductor_debug",
    "inductor_metrics",
    "kernel_code",
    "key_averages",
    "kineto",
    "perf_hints",
    "schedule",
    "trace_source",
    "warnings",
)
ARTIFACTS = frozenset().union(*(kind(name).artifacts for name in KINDS))
TAG = re.compile(rb"\[(__[a-z]\w*)\]|torch[\w.]*\.(__[a-z]\w*): \[")


def logs() -> list[str]:
    if ROOT is None:
        return []
    folders = [case for case in cases("*/*") if list(case.glob("log.txt*"))]
    emulated = sorted((ROOT / "corpus" / "aarch64").glob("*.log*"))
    return [*map(log_of, folders), *map(str, emulated)]


def name_of(path: str) -> str:
    return "/".join(Path(path).parts[-3:-1])


def tagged_lines(path: str) -> int:
    """Count the lines that carry one of the artifacts, without any of our own reading."""
    data = Path(path).read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    tags = (a or b for a, b in TAG.findall(data))
    return sum(tag.decode() in ARTIFACTS for tag in tags)


@needs_corpus
@pytest.mark.parametrize("path", logs(), ids=name_of)
def test_nearly_every_line_of_these_kinds_is_understood(path: str) -> None:
    evidence, _ = read([path])
    refused = sum(unread.lines for unread in evidence.unread if unread.kind in KINDS)
    missed = sum(
        lines
        for site, (lines, _) in evidence.known.items()
        if site.rpartition("[")[2].rstrip("]") in ARTIFACTS
    )
    total = max(tagged_lines(path), refused)
    assert refused + missed <= 0.005 * total, evidence.unread[:3]


@needs_corpus
def test_the_corpus_holds_what_these_kinds_read() -> None:
    evidence, _ = read([path for path in logs() if "__" not in path])
    seen = {kind for kind in KINDS if evidence.kinds.get(kind)}
    assert set(KINDS) - seen <= {"artifact_notes", "kernel_code"}
