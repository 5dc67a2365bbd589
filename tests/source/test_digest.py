"""The digest of an input is the same however it is cut, and in whichever thread it is computed."""

from __future__ import annotations

import gzip
import hashlib
import random
import threading
from pathlib import Path

import pytest

from tracelens.source import digest, read
from tracelens.source.digest import Digest
from tracelens.source.files import Stream

LINE = b"onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,,,,4x4,0.01\n"


def threads() -> list[str]:
    """Return the names of the threads that compute digests."""
    return [one.name for one in threading.enumerate() if one.name.startswith("sha256")]


@pytest.mark.parametrize("large", [1, 1000, 10_000, 1 << 20])
@pytest.mark.parametrize("lot", [1, 20_000, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_that_of_all_bytes(
    large: int, lot: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "LARGE", large)
    monkeypatch.setattr(digest, "LOT", lot)
    drawn = random.Random(seed)
    blocks = [drawn.randbytes(drawn.choice([0, 1, 700, 5000])) for _ in range(60)]
    found = Digest()
    plain = hashlib.sha256()
    for number, block in enumerate(blocks):
        found.update(block)
        plain.update(block)
        if number % 25 == 0:
            assert found.hexdigest() == plain.hexdigest()
    assert found.hexdigest() == plain.hexdigest()
    assert not threads()


def test_only_a_large_input_has_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "LARGE", 100)
    monkeypatch.setattr(digest, "LOT", 10)
    found = Digest()
    found.update(b"x" * 99)
    assert not threads()
    found.update(b"x" * 9)
    assert not threads()  # not yet worth handing over
    found.update(b"x")
    assert len(threads()) == 1
    found.update(b"x" * 500)
    assert len(threads()) == 1
    found.hexdigest()
    assert not threads()


def test_a_reading_that_is_given_up_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "LARGE", 1)
    monkeypatch.setattr(digest, "LOT", 1000)
    found = Digest()
    found.update(b"x" * 5000)
    (worker,) = (one for one in threading.enumerate() if one.name.startswith("sha256"))
    del found
    worker.join(60)
    assert not worker.is_alive()


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_has_the_digest_of_what_is_stored(
    suffix: str, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "LARGE", 300_000)
    monkeypatch.setattr(digest, "LOT", 200_000)
    path = tmp_path / f"run.log{suffix}"
    text = b"".join(b"step %d of it\n%s" % (number, LINE) for number in range(12_000))
    path.write_bytes(gzip.compress(text, 1, mtime=0) if suffix else text)
    _, inputs = read([str(path)], jobs=jobs)
    assert [one.sha256 for one in inputs] == [hashlib.sha256(path.read_bytes()).hexdigest()]
    assert not threads()


def test_a_stream_gives_the_large_one_to_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "LARGE", 1 << 18)
    path = tmp_path / "run.log"
    path.write_bytes(LINE * 20_000)
    stream = Stream(str(path))
    with stream.open() as reader:
        assert [len(threads()) for _ in stream.blocks(reader)][-1] == 1
    assert stream.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert stream.bytes == path.stat().st_size
