"""Thousands of ranks that are alike are one line, and the odd one out has its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fleet.inputs import RANKS
from tracelens import analyze
from tracelens.cli import main
from tracelens.evidence.record import Record
from tracelens.evidence.tables import MAX_PLACES, Place, Seen
from tracelens.judging import rank_logs
from tracelens.report import Input

COUNT = 4096
ODD = 1234


class Told(Record):
    """Something that several ranks say."""


def log_of_a_rank(of: bytes = b"[__recompiles]") -> bytes:
    """Return the recompilation of a rank, of a few lines, or more."""
    lines = RANKS.read_bytes().splitlines(keepends=True)
    return b"".join(line for line in lines if line.startswith(b"[rank1]:") and of in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    own, more = log_of_a_rank(), log_of_a_rank(b"")
    assert 0 < len(own) < len(more)
    for rank in range(COUNT):
        text = more if rank == ODD else own
        (folder / f"rank{rank}.log").write_bytes(text.replace(b"[rank1]:", b"[rank%d]:" % rank))
    return folder


def test_four_thousand_ranks_are_one_run_and_two_lines(
    folder: Path,
) -> None:
    report = analyze(str(folder))
    assert len(report.inputs) == COUNT
    assert len(report.runs) == 1
    alike, odd = report.tables["rank_logs"]
    assert (alike["ranks"], alike["n"], alike["differs"]) == ("0-1233, 1235-4095", COUNT - 1, "")
    assert (odd["ranks"], odd["n"]) == (str(ODD), 1)
    assert re.match(r"guards \d+, not 0", odd["differs"])
    assert odd["example"].endswith(f"rank{ODD}.log")
    assert len(report.findings) < 10


def test_ranks_beyond_those_whose_places_are_all_kept_are_counted() -> None:
    record = Told()
    total = Seen(record, 0, [], "")
    for rank in range(MAX_PLACES + 100):
        one = Seen(record, 0, [], "")
        for line in (1, 2):
            one.add(Place(f"rank{rank}.log", line), 1, None, counted=False)
        total.absorb(one, 0, counted=False)
    assert total.count == 2 * (MAX_PLACES + 100)
    assert len({place.input for place in total.places}) == MAX_PLACES + 100
    again = Seen(record, 0, [], "")
    again.add(Place(total.places[-1].input, 9), 1, None, counted=False)
    total.absorb(again, 0, counted=False)  # the next part of the same input
    assert total.places[-1].line != 9


def test_numbers_are_shown_as_ranges() -> None:
    assert rank_logs.ranges([3, 1, 2, 7]) == "1-3, 7"
    assert rank_logs.ranges(range(0, 100, 2)).endswith("38 and 30 more")


def test_few_ranks_are_a_list_of_inputs() -> None:
    one = Input(path="rank0.log", kinds={}, bytes=1, lines=1, sha256="", writers=("rank0",))
    several = [one.model_copy(update={"writers": (f"rank{n}",)}) for n in range(4)]
    assert rank_logs.tables(several[:3]) == {}
    assert rank_logs.tables(several)["rank_logs"][0]["ranks"] == "0-3"


def test_the_table_is_in_the_text_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = log_of_a_rank()
    for rank in range(5):
        text = own.replace(b"[rank1]:", b"[rank%d]:" % rank)
        (tmp_path / f"rank{rank}.log").write_bytes(text)
    assert main(["analyze", str(tmp_path), "-v"]) == 0
    assert re.search(r"^  0-4 +5 ", capsys.readouterr().out, re.MULTILINE)
