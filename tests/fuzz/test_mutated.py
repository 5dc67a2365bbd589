"""A sample of the campaign of ``benchmarks/fuzz.py``, of pieces that do not change."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.fuzz.holding import WAYS, hold
from tests.fuzz.mutating import FIXTURES, MAX_BYTES, MUTATIONS, NUMBER, Chance, mutant, pieces
from tracelens import analyze

#: Logs that are part of the package, so that the inputs stay the same.
WHERE = "logs/samples"


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_no_broken_input_raises_or_reaches_the_terminal(start: int, tmp_path: Path) -> None:
    kinds = [
        hold(
            mutant(1, number, WHERE),
            tmp_path / "input.log",
            render=WAYS if number % 10 == 0 else (),
        )
        for number in range(start, start + 20)
    ]
    assert "read" in kinds


def test_an_input_depends_on_its_numbers_alone() -> None:
    again = [mutant(7, number, WHERE) for number in (3, 1, 2)]
    assert again == [mutant(7, number, WHERE) for number in (3, 1, 2)]
    assert len({mutant(7, number, WHERE) for number in range(40)}) > 30
    assert max(len(mutant(7, number, WHERE)) for number in range(40)) <= MAX_BYTES


@pytest.mark.parametrize("change", MUTATIONS, ids=lambda change: change.__name__)
def test_each_mutation_changes_something(change: object) -> None:
    chance = Chance("x", pieces(WHERE))
    piece = pieces(WHERE)[0]
    assert any(change(piece, chance) != piece for _ in range(5))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("log", "number", "digits"),
    [
        ("DYN003-*/fires-recorded.log", b"actual 4", 4301),
        ("CGR004-*/fires-many-sizes.log", b"key (22", 4301),
        ("CMP007-*/fires-dropped.log", b"threads 2", 4301),
        ("IND004-*/fires-bert.log.gz", b"_cpu((2,", 400),
        ("ONE001-*/fires-x86-signed-activations.log", b",256x", 400),
        ("TRC010-*/fires-other-blocks.json", b'"grid": [4096', 400),
    ],
)
def test_a_number_of_thousands_of_digits_is_read_past(
    log: str, number: bytes, digits: int, tmp_path: Path
) -> None:
    (path,) = (FIXTURES / "rules").glob(log)
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    assert number in data
    huge = NUMBER.sub(b"9" * digits, number)
    assert hold(data.replace(number, huge), tmp_path / "input.log") == "read"


def test_a_record_with_such_a_count_is_not_judged(tmp_path: Path) -> None:
    (path,) = (FIXTURES / "rules").glob("TUN007-*/fires-one-search-busy-machine.log")
    data = path.read_bytes()
    assert b"for 2 choices" in data
    many = data.replace(b"for 2 choices", b"for %s choices" % (b"9" * 400))
    file = tmp_path / "input.log"
    assert hold(many, file) == "read"  # as a piece of a search, which is all that is told of it
    assert {one.code for one in analyze(str(file)).findings} == {"LOG001"}
