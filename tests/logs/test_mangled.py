"""A log that came through a container, a journal, a quotation: the findings of the log itself."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import pytest

from tests.corpus import cases, log_of, needs_corpus
from tracelens.engine import analyze
from tracelens.report import Report

#: Transforms that lose a part of the log, and the one that has a rank write it twice.
LOSSY = ("trunc", "head_lost")
TWICE = "two_ranks"
#: The paths of this case were replaced after it had been wrapped: they differ from the source's.
REPLACED = "wrap120"


def mangled() -> list[Path]:
    return [case for case in cases("*/*__*") if list(case.glob("log.txt*"))]


@cache
def source_of(case: Path) -> Report:
    return analyze(log_of(case.with_name(case.name.partition("__")[0])))


def ids(report: Report) -> set[str]:
    return {finding.id for finding in report.findings}


@needs_corpus
@pytest.mark.parametrize("case", mangled(), ids=lambda case: case.name)
def test_a_mangled_log_gives_what_its_source_gives(case: Path) -> None:
    source, report = source_of(case), analyze(log_of(case))
    transform = case.name.partition("__")[2]
    before, after = source.inputs[0].kinds, report.inputs[0].kinds
    assert report.coverage.unread_lines == 0
    assert report.coverage.known_lines <= source.coverage.known_lines * 2
    if transform in LOSSY:
        assert all(after[kind] <= before[kind] for kind in after)
    elif transform == TWICE:
        assert after == {kind: 2 * count for kind, count in before.items()}
        assert ids(report) >= ids(source)
    else:
        assert after == before
        codes = [sorted(finding.code for finding in one.findings) for one in (report, source)]
        assert codes[0] == codes[1] if transform != REPLACED else set(codes[1]) <= set(codes[0])
        assert ids(report) == ids(source) or transform == REPLACED


@needs_corpus
@pytest.mark.parametrize("width", [80, 100, 132, 200])
@pytest.mark.parametrize("name", ["app_plain", "autotune_mlp3_float32", "model_detector_rg"])
def test_a_log_copied_from_a_terminal(name: str, width: int, tmp_path: Path) -> None:
    (case,) = cases(f"2.13.0/{name}")
    data = Path(log_of(case)).read_bytes()
    lines = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode().split("\n")[:-1]
    path = tmp_path / "run.log"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            for start in range(0, max(1, len(line)), width):
                file.write(line[start : start + width] + "\n")
    source, report = analyze(log_of(case)), analyze(str(path))
    assert ids(report) == ids(source)
    assert report.inputs[0].kinds == source.inputs[0].kinds
    assert report.coverage.unread_lines == 0
