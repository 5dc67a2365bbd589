"""What programs print is told from other lines many at a time, and without a doubt."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracelens.evidence import Evidence
from tracelens.plugins import manifest
from tracelens.source import unclaimed
from tracelens.source.kinds import Kinds
from tracelens.source.literals import Literals
from tracelens.source.openings import Openings
from tracelens.source.segment import Segmenter
from tracelens.source.signs import TRIGGERS
from tracelens.source.unclaimed import ANYWHERE, LENGTH, Unclaimed, start

LOGS = sorted((Path(__file__).parents[2] / "fixtures/logs").rglob("*.log"))


@cache
def kinds() -> Kinds:
    return Kinds(manifest.current().logs)


def program(lines: int, seed: int = 1) -> list[bytes]:
    of = random.Random(seed)
    words = ("loss", "lr", "grad", "tokens", "mem")
    told = (
        " ".join(f"{w} {of.random() * 99:.4g}" for w in of.sample(words, 3)) for _ in range(lines)
    )
    return [f"epoch {n // 90:3d} | step {n} | {text}\n".encode() for n, text in enumerate(told)]


def test_what_a_training_loop_prints_is_nobody_elses() -> None:
    lines = program(2_000)
    starts = list(map(start, lines))
    assert all(Unclaimed(kinds()).among(lines, starts, set(starts), [], []))


def test_a_line_of_which_something_may_come_is_not_certain() -> None:
    lines = program(2_000)
    lines[70] = b"V1120 10:45:41.174000 123 torch/_dynamo/guards.py:1] [0/0] [__guards] GUARDS:\n"
    lines[71] = b"epoch 1 | onednn_verbose,v1,primitive,exec,cpu,matmul\n"
    lines[72] = b"AUTOTUNE mm(8x8, 8x8)\n"
    starts = list(map(start, lines))
    flags = Unclaimed(kinds()).among(lines, starts, set(starts), [73], [b"_verbose,"])
    assert [at for at, certain in enumerate(flags) if not certain] == [70, 71, 72, 73]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_no_line_of_a_recorded_log_is_taken_for_the_programs(path: Path) -> None:
    """Every line that the slow way finds is not the program's begins or holds something telling."""
    free = Unclaimed(kinds())
    for number, line in enumerate(path.read_bytes().split(b"\n")[:400]):
        segmenter = Segmenter(kinds(), "x")
        segmenter.feed([line + b"\n"])
        evidence = segmenter.finish()
        said = evidence.understood_lines + evidence.unread_lines + len(evidence.known)
        if said and not any(one in line for one in ANYWHERE):
            assert not free._is_free((line + b"\n")[:LENGTH]), (number, line)


@pytest.mark.parametrize("seed", range(2))
def test_a_log_between_what_a_program_prints_is_read_as_it_was(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = random.Random(seed)
    lines: list[bytes] = []
    for path in of.sample(LOGS, 3):
        lines += program(900, seed)
        for line in path.read_bytes().splitlines(keepends=True)[:200]:
            lines += program(of.choice((0, 0, 0, 1, 40)), of.random().__hash__())
            lines.append(line.removesuffix(b"\n") + b"\n")
    lines += [*program(700), b"ValueError: 3\n", b"\n", *program(700), b"ValueError: 4\n"]
    fast = told(lines)
    monkeypatch.setattr(unclaimed, "WORTH", 1 << 60)
    assert fast == told(lines)


def told(lines: list[bytes]) -> tuple[object, ...]:
    segmenter = Segmenter(kinds(), "x")
    for at in range(0, len(lines), 1_500):
        segmenter.feed(lines[at : at + 1_500])
    evidence: Evidence = segmenter.finish()
    texts = {
        key: [(seen.record, seen.count, seen.places) for seen in held]
        if isinstance(held, tuple)
        else held
        for key, held in evidence._texts.items()
    }
    return texts, evidence.understood_lines, evidence.unread_lines, evidence.known, segmenter.lines


PATTERNS = (
    r"(?:\d{4}-\d\d[T ])?step [a-f]{1,4}+:",
    r"[ \t]{0,4}(?:- )?(?=L\[)",
    r"a(?:bc|bd)?$",
    ".x",
)


@given(st.text("0123456789abcdefstep -:L[xT", max_size=14), st.integers(1, LENGTH))
@example("2026-11 step ab: 3", LENGTH)
@example("  - L['x']", LENGTH)
def test_what_matches_is_admitted(line: str, length: int) -> None:
    masked = re.sub("[1-9]", "0", line[:length])
    if any(re.match(pattern, line) for pattern in PATTERNS):
        assert Openings(PATTERNS).admit(masked)


def test_what_cannot_match_is_not_admitted() -> None:
    openings = Openings(
        (*PATTERNS, r"(?:[A-Z]:)?(?=[^:]{0,80}:\d+: Warning:).*torch"), ["Warning:"]
    )
    assert not any(map(openings.admit, ("epoch 00 |", "abce", "0000-00x", "  * L")))
    assert all(map(openings.admit, ("step", "step ab", "  - L[", "abc", "0x")))


def test_literals_are_found_after_texts_that_lack_their_letters() -> None:
    """What one text lacks says nothing of the next, however many were alike."""
    held = Literals(TRIGGERS)
    quiet = b"step 1 loss 0.5\n" * 40
    for literal in TRIGGERS:
        for _ in range(20):
            assert held.among(quiet) == []
        assert literal in held.among(quiet + literal + b"\n" + quiet)


@given(
    st.lists(
        st.sampled_from([*TRIGGERS, b" ", b"\n", b"7", b"3.5", b"word", b"Err", b"or", b"memory"]),
        max_size=12,
    ).map(b"".join)
)
def test_literals_are_found_as_by_looking_for_each(text: bytes) -> None:
    held = Literals(TRIGGERS)
    for times in (1, 1, 30):
        told = held.among(text * times)
        assert sorted(told) == sorted(one for one in TRIGGERS if one in text * times)
