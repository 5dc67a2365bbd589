"""Whatever the input, what is kept of it is bounded; what goes beyond is counted and noted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from tracelens.engine import analyze
from tracelens.evidence import Evidence, Place, limits
from tracelens.logs import Log, Record, kind
from tracelens.logs.recompiles import LooseFailures
from tracelens.plugins.registry import discover
from tracelens.source import segment, tally
from tracelens.source.kinds import Kinds
from tracelens.source.segment import Segmenter

KINDS = Kinds(discover("logs", Log))
ONEDNN = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,"
    "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,,{0}x64:64x8,0.5"
)
RECORD = "V1120 10:45:41.{0:06} 7 torch/_dynamo/guards.py:1] [{0}/0] [__recompiles] "
RECOMPILE = RECORD + "Recompiling function f{0} in a.py:1"
HEADED = "DEBUG:torch._dynamo.guards.__recompiles:Recompiling function f{0} in a.py:1"
REFUSED = RECORD + "soup {0}"
SITE = "V1120 10:45:41.000000 7 torch/x{0}.py:1] [0/0] [__new{0}] x"
N = 400


def fed(lines: Iterable[str], parts: int = 1) -> Segmenter:
    data = [line.encode() + b"\n" for line in lines]
    cuts = [len(data) * part // parts for part in range(parts + 1)]
    whole = Segmenter(KINDS, "x")
    for number, (start, end) in enumerate(pairwise(cuts)):
        one = whole if number == 0 else Segmenter(KINDS, "x", from_start=False)
        for at in range(start, end, 50):
            one.feed(data[at : min(end, at + 50)])
        if one is not whole:
            whole.extend(one)
    whole.finish()
    return whole


def sizes(segmenter: Segmenter) -> dict[str, int]:
    """How many entries each table of a segmenter and of its evidence has."""
    tables = {**vars(segmenter), **vars(segmenter.tally), **vars(segmenter.evidence)}
    return {name: len(held) for name, held in tables.items() if isinstance(held, dict | set | list)}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_DISTINCT", "MAX_SITES", "MAX_SPANS", "MAX_UNREAD"):
        monkeypatch.setattr(limits, name, 20)
    monkeypatch.setattr(tally, "FOLD", 60)
    monkeypatch.setattr(segment, "MAX_WRITERS", 20)
    monkeypatch.setattr(segment, "MAX_RECORD_LINES", 100)


def lines_of(evidence: Evidence) -> int:
    known = sum(lines for lines, _ in evidence.known.values())
    return evidence.understood_lines + evidence.unread_lines + known


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize(
    ("line", "note"),
    [
        (ONEDNN, r"onednn_verbose: lines beyond 20 distinct texts were counted and not read"),
        (RECOMPILE, r"recompiles: lines beyond 20 distinct texts were counted and not read"),
        (HEADED, r"recompiles: lines beyond 20 distinct texts were counted and not read"),
        (SITE, r"only the first 20 sites were told apart"),
        ("[rank{0}]:" + RECOMPILE, r"only the first 20 writers were told apart"),
        (REFUSED, r"only the first 20 compile ids were timed"),
    ],
)
def test_memory_does_not_grow_with_different_texts(line: str, note: str, parts: int) -> None:
    few = fed([line.format(number) for number in range(N)], parts)
    many = fed([line.format(number) for number in range(3 * N)], parts)
    assert sizes(many) == sizes(few)
    assert max(sizes(many).values()) <= 20 * parts + 1
    assert lines_of(many.evidence) == 3 * N
    assert any(re.fullmatch(note, found) for found in many.evidence.notes), many.evidence.notes


def test_what_is_read_after_the_limit_is_what_was_read_before() -> None:
    lines = [ONEDNN.format(number) for number in range(N)] + [ONEDNN.format(0)] * 7
    evidence = fed(lines).evidence
    assert evidence.kinds == {"onednn_verbose": 27}
    ((site, (count, first)),) = evidence.known.items()
    assert (site, count, first) == ("onednn_verbose, beyond 20 distinct texts", N - 20, 21)


def test_all_texts_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CHARACTERS", 500)
    evidence = fed([RECOMPILE.format(number) for number in range(50)]).evidence
    assert 0 < evidence.kinds["recompiles"] < 20
    assert lines_of(evidence) == 50
    assert any("MiB of distinct texts" in note for note in evidence.notes)


def test_a_record_without_end_is_cut() -> None:
    prefix = RECORD.format(1)
    many = fed([prefix + f"    - 0/0: n == {number}" for number in range(3 * N)])
    assert "records of more than 100 lines were cut" in many.evidence.notes
    table = many.evidence.table(LooseFailures)
    assert max(len(row.record.failures) for row in table) < 151
    assert lines_of(many.evidence) == 3 * N


def test_refused_texts_are_kept_up_to_a_number_and_counted_beyond() -> None:
    evidence = Evidence()
    log = kind("recompiles")
    for number in range(N):
        evidence.add(log, f"soup {number}", Place("x", number + 1), lines=2)
        evidence.refuse(log, "soup", Place("x", number + 1), f"reason {number}")
    assert len(evidence.unread) == 21
    assert evidence.unread_lines == 2 * N
    assert sum(unread.count for unread in evidence.unread) == 2 * N


def test_a_refused_text_that_is_counted_only_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log, read = kind("recompiles"), list[str]()
    parse = log.parse

    def noted(text: str) -> tuple[Record, ...]:
        read.append(text)
        return parse(text)

    monkeypatch.setattr(log, "parse", noted)
    evidence = Evidence()
    for number in [*range(30), *range(30), *range(30)]:
        evidence.add(log, f"soup {number}", Place("x", number + 1), lines=2)
    assert read == [f"soup {number}" for number in range(30)]
    assert len(evidence.unread) == 21
    assert sum(unread.count for unread in evidence.unread) == 90
    assert evidence.unread_lines == 180


def test_an_empty_text_and_the_other_refused_ones_are_told_apart() -> None:
    evidence = Evidence()
    fusion = kind("fusion")
    evidence.add(fusion, "", Place("x", 1), lines=1)
    for number in range(30):
        evidence.refuse(fusion, "soup", Place("x", 1), f"reason {number}")
    evidence.add(fusion, "", Place("x", 2), lines=1)
    assert evidence.understood_lines == 2
    assert sum(unread.count for unread in evidence.unread) == 30


def test_nesting_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    deep = "('" * 100_000
    prefix = "V1120 10:45:41.470000 7 torch/_inductor/graph.py:1] [0/0] [__output_code] "
    path.write_text(f"{prefix}Output code:\n{prefix}buf0 = f({deep}\n", encoding="utf-8")
    report = analyze(str(path))
    assert report.coverage.understood_lines + report.coverage.unread_lines == 2


def test_a_text_nested_too_deeply_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    log = kind("recompiles")

    def endless(text: str) -> tuple[()]:
        raise RecursionError(text)

    monkeypatch.setattr(log, "parse", endless)
    evidence = Evidence()
    evidence.add(log, "x", Place("x", 1), lines=1)
    assert list(evidence.notes) == ["recompiles: a text is nested too deeply to be read"]
    assert evidence.unread_lines == 1


def test_the_notes_are_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text("\n".join(ONEDNN.format(number) for number in range(N)), encoding="utf-8")
    coverage = analyze(str(path)).coverage
    assert coverage.notes == (
        "onednn_verbose: lines beyond 20 distinct texts were counted and not read",
    )
    assert (coverage.understood_lines, coverage.known_lines) == (20, N - 20)
    assert coverage.share == 0.05
