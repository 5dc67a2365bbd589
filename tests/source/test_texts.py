"""A structured log read as a text says what its lines say one by one."""

from __future__ import annotations

import lzma
import pickle
import random
import re
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.source.splitting import KINDS, differences, rows_of
from tracelens.source import envelopes
from tracelens.source.prefixes import TORCH
from tracelens.source.texts import TextSegmenter

FIXTURES = Path(__file__).parents[2] / "fixtures"
LOGS = sorted(FIXTURES.rglob("dedicated_log_torch_trace_*"))

V = b"V1120 10:45:41.00000%d %d torch/_logging/structured.py:28]"
HASH = b"62b0793586a64eaba9a71363be4d6a98"
ABOUT = [
    b'{"str": ["/home/ana/proj/model.py", 1]}',
    b'{"dynamo_output_graph": {"sizes": {}}, "frame_id": 0, "frame_compile_id": 1}',
    b'{"chromium_event": {}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "%s"}'
    % (b"a" * 32),
    b'{"chromium_event": {}, "has_payload": "short"}',
    b'{"chromium_event": {}',
    b'{"unheard_of": 1, "Error": "RuntimeError: x"}',
    b'{"artifact": {"name": "fx_graph_cache_hash", "encoding": "json"}}',
    b'{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, "frame_id": 1}',
    b'{"compilation_metrics": {"co_name": "f", "fail_type": null}, "frame_id": 2}',
    b'{"describe_\xffstorage": {}, "frame_id": 3}',
    b'["no object"]',
]
PAYLOAD = [
    b"\t{",
    b'\t"name": "dynamo", "ph": "B", "ts": 7.5',
    b"\t}",
    b'\t{"name": "dynamo", "ph": "E", "ts": 9, "args": {"compile_id": "0/0"}}',
    b"\t",
    b"\t\tdeep",
    b"\tGraph break in user code at /p/m.py:3",
    b"\tcarriage\r",
    b"\tMissing key(s) in state_dict: Error: out of memory",
    b"\tUnexpected key",
    b"\t" + V % (1, 7) + b' {"str": 1}',
    b"\t\xff\xfe",
]
OTHERS = [
    b"",
    b"step 3: loss 0.5",
    b"RuntimeError: CUDA error: out of memory in torch._dynamo",
    b'  File "/home/ana/venv/torch/_dynamo/utils.py", line 7, in f',
    b"onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,a,,,4x4,0.5",
    b"V1120 10:45:41.000000 7 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] Recompiling f",
    b"V1120 10:45:41.000000 7 torch/_dynamo/guards.py:5396] [0/1] [__recompiles]     - 0/0: n",
    b"{",
    b"2026-11-20T10:00:00.123456789Z stdout P step",
    b"2026-11-20T10:00:00.123456789Z stdout P \t{",
    b"\x1b[31m\tred",
]


def text_of(path: Path) -> bytes:
    """Return what is in a file, which may be packed."""
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


heads = st.builds(
    lambda level, clock, pid, dress, about, end: (
        dress + level + (V % (clock, pid))[1:] + b" " + about + end
    ),
    st.sampled_from([b"V", b"V", b"V", b"I", b"F", b"X"]),
    st.integers(0, 9),
    st.sampled_from([7, 7, 71]),
    st.sampled_from([b"", b"", b"", b"", b"", b"[rank0]:", b"[rank1]:", b" ", b"2> "]),
    st.sampled_from(ABOUT),
    st.sampled_from([b"", b"", b"", b"", b"\r", b"\x1b[0m", b" "]),
)
plain = st.builds(
    lambda clock, about: V % (clock, 7) + b" " + about,
    st.integers(0, 9),
    st.sampled_from(ABOUT[:4]),
)
payloads = st.lists(st.sampled_from(PAYLOAD[:8]), max_size=9)
#: What torch writes; and what befalls it.
torchs = st.builds(lambda head, payload: [head, *payload], plain, payloads)
accidents = st.one_of(
    heads.map(lambda head: [head]),
    st.lists(st.sampled_from(PAYLOAD), max_size=3),
    st.sampled_from(OTHERS).map(lambda line: [line]),
    payloads.map(lambda lines: [b"[rank0]:" + line for line in lines]),
)
logs = st.lists(st.one_of(torchs, torchs, torchs, accidents), max_size=12).map(
    lambda parts: [line + b"\n" for part in parts for line in part]
)


def told(segmenter: TextSegmenter) -> dict[str, Any]:
    """Return all that was read."""
    evidence = segmenter.finish()
    names = (
        "kinds understood_lines unread_lines known examples notes spans structured numbers ticks"
    )
    said: dict[str, Any] = {name: getattr(evidence, name) for name in names.split()}
    said |= {"lines": segmenter.lines, "writers": segmenter.writers, "rows": [*rows_of(evidence)]}
    said["unread"] = [(u.text, u.count, u.lines, u.first_line, u.place) for u in evidence.unread]
    watch = segmenter.watch
    return said | {"watch": (watch.brief, watch.finish(), watch.hot, watch.orphans, watch.latest)}


def read_so(parts: list[list[bytes]], *, whole: bool, apart: int = 99) -> dict[str, Any]:
    """Read parts, as texts or line by line; from the part ``apart`` on by somebody else."""
    first = segmenter = TextSegmenter(KINDS, "x")
    for number, part in enumerate(parts):
        if number == apart:
            segmenter = TextSegmenter(KINDS, "x", from_start=False)
        if whole and part:
            segmenter.feed_text(b"".join(part))
        else:
            segmenter.feed(part)
    if segmenter is not first:
        segmenter = pickle.loads(pickle.dumps(segmenter))  # noqa: S301 -- our own
        segmenter.adopt(KINDS)
        first.extend(segmenter)
    return told(first)


@given(logs, st.lists(st.integers(0, 60), max_size=5), st.integers(1, 6))
@settings(max_examples=300, deadline=None)
def test_texts_say_what_their_lines_say(log: list[bytes], cuts: list[int], apart: int) -> None:
    at = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    parts = [log[start:end] for start, end in pairwise(at)]
    assert read_so(parts, whole=True) == read_so(parts, whole=False)
    assert read_so(parts, whole=True, apart=apart) == read_so(parts, whole=False, apart=apart)


@given(heads)
def test_an_envelope_has_the_prefix_that_every_line_of_torch_has(head: bytes) -> None:
    found = envelopes.envelopes(head + b"\n")
    if found is None:
        return
    (one,) = found
    match = TORCH.match(head)
    assert match is not None
    assert (match["clock"], match["writer"]) == (one.clock, one.pid)
    assert head[match.end() :] + b"\n" == b" " + one.head


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_a_log_of_torch_is_read_as_a_text(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = text_of(path).splitlines(keepends=True)
    drawn = random.Random(1)
    cuts = sorted(drawn.sample(range(len(lines)), min(6, len(lines))))
    parts = [lines[a:b] for a, b in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    by_line = read_so(parts, whole=False)

    def never(*_: object) -> None:
        raise AssertionError("it was cut into lines")

    monkeypatch.setattr(TextSegmenter, "feed", never)
    monkeypatch.setattr(TextSegmenter, "_other", never)
    assert read_so([part for part in parts if part], whole=True) == by_line


def forms(text: bytes) -> Iterator[bytes]:
    """Yield a log as accidents leave it."""
    yield text
    yield text[: len(text) * 2 // 3]
    yield text.replace(b"\n", b"\r\n")
    yield re.sub(rb"(?m)^", b"[rank1]:", text)
    yield text.replace(b'{"', b'{"{', 9)
    yield text + b"\nTraceback (most recent call last):\nRuntimeError: x\n" + text


@pytest.mark.parametrize("form", range(6))
@pytest.mark.parametrize("chunk", [500, 4096, 100_000])
def test_parts_say_what_one_pass_says(form: int, chunk: int, tmp_path: Path) -> None:
    text = text_of(min(LOGS, key=lambda path: path.stat().st_size))
    path = tmp_path / "dedicated_log_torch_trace_x.log"
    path.write_bytes([*forms(text)][form])
    assert not differences(path, chunk, 3)
    whole, lines = TextSegmenter(KINDS, "x"), TextSegmenter(KINDS, "x")
    ended = path.read_bytes().removesuffix(b"\n") + b"\n"
    whole.feed_text(ended)
    lines.feed(BytesIO(ended).readlines())
    assert told(whole) == told(lines)
