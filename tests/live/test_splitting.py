"""What a program says goes to the terminal, what torch and oneDNN log does not."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.live.splitting import Splitter

V = b"V1120 10:45:41.174000 30895 torch/_dynamo/guards.py:2390] [0/0] [__guards] TREE\n"
ARTIFACT = (
    b"I1120 10:45:41.174000 30895 home/ana/layers.py:10] [0/0] [__graph_breaks] Graph break\n"
)
OLD = b"[2026-11-20 11:29:34,659] [0/0] torch._dynamo.guards.__guards: [DEBUG] GUARDS:\n"
RANKED = b"[rank3]:" + V
ONEDNN = b"onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx512_core,undef,x,,,1x2:2x3,0.01\n"
KINETO = (
    b"USDT:2026-11-20 16:39:01 32528:32528 SyncActivityProfilerHandler.cpp:52] profiler_start\n"
)
WARNING = b"W1120 10:45:41.174000 30895 torch/_dynamo/convert_frame.py:906] [0/8] recompile_limit\n"
FOREIGN = b"I1120 10:45:41.174000 30895 server.cc:21] started\n"

LOGGED = [V, ARTIFACT, OLD, RANKED, ONEDNN, KINETO]
SHOWN = [b"epoch 1\n", WARNING, FOREIGN, b"\n", b"onednn_verbose is on\n", b"Vector 12\n"]


def passed(*pieces: bytes) -> tuple[bytes, bytes]:
    """Feed pieces; return what was shown and what was logged in all."""
    splitter = Splitter()
    found = [*map(splitter.feed, pieces), splitter.close()]
    return b"".join(p.shown for p in found), b"".join(p.logged for p in found)


@pytest.mark.parametrize("line", LOGGED)
def test_a_log_line_is_not_shown(line: bytes) -> None:
    assert passed(b"a\n" + line + b"b\n") == (b"a\nb\n", b"a\n" + line + b"b\n")


@pytest.mark.parametrize("line", SHOWN)
def test_what_a_bare_run_shows_is_shown(line: bytes) -> None:
    assert passed(line + V + line) == (line + line, line + V + line)


@given(st.lists(st.sampled_from([*LOGGED, *SHOWN]), max_size=8), st.lists(st.integers(1, 600)))
def test_it_does_not_matter_where_the_pieces_end(lines: list[bytes], cuts: list[int]) -> None:
    text = b"".join(lines)
    edges = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    assert passed(*pieces) == (b"".join(line for line in lines if line in SHOWN), text)


def test_a_prompt_is_shown_at_once_and_logged_when_it_is_whole() -> None:
    splitter = Splitter()
    assert splitter.feed(b"Name? ") == (b"Name? ", b"")
    assert splitter.feed(b"ana\n") == (b"ana\n", b"Name? ana\n")


def test_what_may_become_a_log_line_waits_for_a_pause() -> None:
    splitter = Splitter()
    assert splitter.feed(b"V1").shown == b""
    assert splitter.pause() == b"V1"
    assert splitter.feed(b" engine\n") == (b" engine\n", b"V1 engine\n")


def test_a_log_line_is_held_back_however_long_it_takes() -> None:
    splitter = Splitter()
    assert splitter.feed(V[:40]).shown == b""
    assert splitter.pause() == b""
    assert splitter.feed(V[40:]) == (b"", V)


def test_a_log_line_behind_a_progress_bar_gets_a_line_of_its_own() -> None:
    bar = b"\r 50%|#####     | 5/10"
    splitter = Splitter()
    assert splitter.feed(bar) == (bar, b"")
    assert splitter.feed(V + b"\r 60%") == (b"\r 60%", bar + b"\n" + V)


def test_a_progress_bar_without_newlines_does_not_pile_up() -> None:
    shown, logged = passed(*[b"\r%05d" % number for number in range(30_000)])
    assert shown == b"".join(b"\r%05d" % number for number in range(30_000))
    assert logged == shown + b"\n"
