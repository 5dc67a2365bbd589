"""What users feed: transports, encodings, compression, hostile bytes. Nothing raises or is lost."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tracelens.errors import SourceError
from tracelens.evidence import Evidence
from tracelens.source import decoding, files, read

FIRST = b"V1120 10:45:41.470000 30895 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
LOG = (
    b"starting\n"
    + FIRST + b"Recompiling function fn in /home/ana/proj/recompiles.py:8\n"
    + FIRST + b"    triggered by the following guard failure(s):\n"
    + FIRST + b"    - 0/0: n == 2\n"
    + b"onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,"
    b"src:f32::blocked:ab::f0 dst:f32::blocked:ba::f0,attr-scratchpad:user,,64x64,0.0129395\n"
    + b"done\n"
)  # fmt: skip


def analyzed(tmp_path: Path, data: bytes, name: str = "run.log") -> tuple[Evidence, dict[str, int]]:
    path = tmp_path / name
    path.write_bytes(data)
    evidence, (source,) = read([str(path)])
    counted = evidence.understood_lines + evidence.unread_lines
    counted += sum(lines for lines, _ in evidence.known.values())
    assert counted <= source.lines, "a line was counted twice"
    return evidence, source.kinds


def stamped(line: bytes) -> bytes:
    return b"2026-11-20T10:00:00.123456789Z " + line


TRANSPORTS: dict[str, Callable[[list[bytes]], bytes]] = {
    "docker": lambda ls: b"".join(stamped(x) + b"\n" for x in ls),
    "docker-json": lambda ls: b"".join(
        b'{"log":"' + x.replace(b'"', b'\\"') + b'\\n","stream":"stderr","time":"x"}\n' for x in ls
    ),
    "cri": lambda ls: b"".join(
        b"2026-11-20T10:00:00.1+00:00 stderr P " + x[:30] + b"\n"
        b"2026-11-20T10:00:00.1+00:00 stderr F " + x[30:] + b"\n"
        for x in ls
    ),
    "journald": lambda ls: b"".join(b"Nov 20 10:00:00 node python[4711]: " + x + b"\n" for x in ls),
    "kubernetes": lambda ls: b"".join(b"[pod/t-0/main] " + stamped(x) + b"\n" for x in ls),
    "torchrun": lambda ls: b"".join(b"[default0]:[rank0]:" + x + b"\n" for x in ls),
    "quoted": lambda ls: b"".join(b"> " + x + b"\n" for x in ls),
    "crlf": lambda ls: b"".join(x + b"\r\n" for x in ls),
    "utf-16": lambda ls: (b"\r\n".join(ls) + b"\r\n").decode().encode("utf-16"),
    "utf-8-sig": lambda ls: b"\xef\xbb\xbf" + b"\n".join(ls),
    "stripped": lambda ls: b"".join(x.rstrip() + b"\n" for x in ls),
    "coloured": lambda ls: b"".join(
        x.replace(b"torch", b"\x1b[01;31m\x1b[Ktorch\x1b[m\x1b[K") + b"\n" for x in ls
    ),
    "gzip": lambda ls: gzip.compress(b"\n".join(ls)),
    "two-gzip-members": lambda ls: b"".join(gzip.compress(x + b"\n") for x in ls),
    "zstd": lambda ls: zstandard.compress(b"\n".join(ls)),
    "xz": lambda ls: lzma.compress(b"\n".join(ls)),
    "no-last-newline": b"\n".join,
    "wrapped": lambda ls: b"".join(
        x[at : at + 90] + b"\n" for x in ls for at in range(0, len(x), 90)
    ),
    "progress-bar": lambda ls: b"\n".join(
        b"\rTraining: 20%|xx  | 1/5 [00:01<00:05, 1.00it/s, loss=0.1]" + x if x == ls[1] else x
        for x in ls
    ),
}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_transport_changes_nothing(transport: str, tmp_path: Path) -> None:
    lines = LOG.splitlines()
    _, plain = analyzed(tmp_path, LOG)
    assert plain == {"onednn_verbose": 1, "recompiles": 1}
    evidence, kinds = analyzed(tmp_path, TRANSPORTS[transport](lines))
    assert kinds == plain
    assert not evidence.unread


@pytest.mark.parametrize("end", range(len(LOG) + 1))
def test_a_log_cut_at_any_byte_is_accounted_for(end: int, tmp_path: Path) -> None:
    evidence, kinds = analyzed(tmp_path, LOG[:end])
    if end > LOG.index(b"done") - 1:
        assert kinds == {"onednn_verbose": 1, "recompiles": 1}
    last = LOG[:end].rpartition(b"\n")[2]
    assert bool(evidence.gaps) == last.startswith((b"V1120 10:", b"onednn_verbose,"))


def test_a_gzip_cut_anywhere_yields_what_is_there(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(3_000).hex().encode()
    whole = gzip.compress(LOG + noise + b"\n" + LOG)
    _, kinds = analyzed(tmp_path, whole)
    assert kinds["recompiles"] == 2
    path = tmp_path / "cut.log.gz"
    for end in range(20, len(whole), 97):
        path.write_bytes(whole[:end])
        evidence, (source,) = read([str(path)])
        assert source.truncated
        assert evidence.gaps
    assert source.kinds["recompiles"] >= 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n" * 1000,
        b"\0" * 5000,
        bytes(range(256)) * 50,
        b"\xff\xfe" + b"\xd8" * 999,
        b"\x1f\x8b\x08garbage",
        b"\xfd7zXZ\x00garbage",
        b"\x28\xb5\x2f\xfdgarbage",
        b"\r" * 4000,
        b"\x1b[" * 4000,
        b"[rank0]:" * 4000,
        b'{"log":' * 4000,
        b'{"log":"\\ud800\\n"}\n',
        b"V1120 10:45:41.470000 1 torch/x.py:1] [0/0] [__guards] " + b"| " * 50_000,
        b"V9999 99:99:99.999999 99999999999999999999 torch/x.py:1] [0/0] [__guards] x\n",
        b"onednn_verbose," * 2000,
        b"onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,,,,,,1e999\n",
        b"onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,,,,,,nan\n",
        b"AUTOTUNE mm(" + b"(" * 50_000,
        FIRST + b"(" * 100_000,
    ],
    ids=lambda data: repr(data[:24]),
)
def test_hostile_bytes_never_raise(data: bytes, tmp_path: Path) -> None:
    analyzed(tmp_path, data)


def test_one_line_of_fifty_megabytes(tmp_path: Path) -> None:
    line = FIRST.replace(b"py:5396", b"py:5397") + b"x" * 50_000_000  # from another place in torch
    evidence, _ = analyzed(tmp_path, LOG + line + b"\n" + LOG)
    assert any("cut after" in note for note in evidence.notes)
    assert evidence.kinds["recompiles"] >= 2


def test_an_xz_stream_that_wants_much_memory_is_refused(tmp_path: Path) -> None:
    text = LOG
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 28}]
    path = tmp_path / "log.xz"
    path.write_bytes(lzma.compress(text, filters=filters))
    evidence, (source,) = read([str(path)])
    assert source.truncated
    assert any("needs more than 128 MiB" in note for note in evidence.notes)
    path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    _, (source,) = read([str(path)])
    assert (source.truncated, source.lines) == (False, LOG.count(b"\n"))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress])
def test_a_compression_bomb_is_cut(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "_FREE", 1 << 20)
    monkeypatch.setattr(decoding, "MAX_RATIO", 100)
    evidence, _ = analyzed(tmp_path, pack(b"a\n" * 20_000_000))
    assert any("expands" in note for note in evidence.notes)


def test_a_directory_stands_for_its_files(tmp_path: Path) -> None:
    for rank in range(3):
        (tmp_path / f"rank{rank}.log").write_bytes(LOG)
    (tmp_path / ".hidden").write_bytes(LOG)
    evidence, inputs = read([str(tmp_path)])
    assert [Path(source.path).name for source in inputs] == ["rank0.log", "rank1.log", "rank2.log"]
    assert evidence.kinds == {"onednn_verbose": 3, "recompiles": 3}


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    _, (source,) = read(["-"])
    assert source.path == "-"
    assert source.kinds == {"onednn_verbose": 1, "recompiles": 1}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nothing\.log: no such file"):
        read([str(tmp_path / "nothing.log")])


def test_a_text_that_was_pasted_indented_may_hold_empty_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK", 100)
    prefix = "V1120 10:45:41.000000 71 torch/_dynamo/guards.py:5396] [0/1] [__recompiles]"
    lines = [f"{prefix} Recompiling function f in a.py:1", *("loss", "", " ") * 50]
    path = tmp_path / "run.log"
    path.write_text("\n".join(f"    {line}".rstrip() for line in lines), encoding="utf-8")
    evidence, (source,) = read([str(path)])
    assert evidence.kinds == {"recompiles": 1}
    assert source.lines == 150
