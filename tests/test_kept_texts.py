"""What is kept of texts instead of the texts: keys that tell them apart, and packed quotes."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.evidence import Evidence, Place, Seen
from tracelens.evidence.keys import LONG, Digest, Written, key_of, lines_of, size_of
from tracelens.evidence.limits import Unread
from tracelens.evidence.quoted import SeenLong, unseen
from tracelens.evidence.said import Said
from tracelens.grammars import Unreadable
from tracelens.logs import Record
from tracelens.logs.inductor_debug import HashDetails, InductorDebug
from tracelens.logs.torch_trace import TorchTrace
from tracelens.source.prefixes import peel

TEXTS = st.one_of(
    st.text(max_size=50),
    st.builds(lambda text, times: (text + "\n") * times, st.text(max_size=30), st.integers(0, 300)),
)


class Line(Record):
    """A record for these tests."""

    from_code = True
    name: str = ""


@given(TEXTS, TEXTS)
def test_texts_have_one_key_only_when_they_are_the_same(one: str, other: str) -> None:
    assert (key_of(one) == key_of(other)) == (one == other)
    assert size_of(key_of(one)) == len(one)
    assert lines_of(key_of(one)) == one.count("\n") + 1


def test_the_key_of_a_long_text_is_small() -> None:
    assert key_of("x" * (LONG - 1)) == "x" * (LONG - 1)
    assert isinstance(key_of("x" * LONG), Digest)


@given(TEXTS)
def test_a_packed_row_is_like_any_other(text: str) -> None:
    place = Place("a.log", 3)
    plain = Seen(Line(name="a"), 2, [place], text)
    (row,) = unseen((Line(name="a"),), text)
    row.add(place, 2, None, counted=False)
    for one in (row, replace(row, count=2), pickle.loads(pickle.dumps(row))):  # noqa: S301
        assert (one.record, one.count, one.places, one.text) == (plain.record, 2, [place], text)
        for at in (0, 1, text.count("\n"), 10_000):
            assert one.quote(at=at) == plain.quote(at=at)
    assert isinstance(row, SeenLong) == (len(text) >= 1_000)


def test_rows_of_one_text_share_it() -> None:
    first, second = unseen((Line(name="a"), Line(name="b")), "guard\n" * 1_000)
    assert isinstance(first, SeenLong)
    assert isinstance(second, SeenLong)
    assert first._packed is second._packed
    assert first.text == "guard\n" * 1_000


def test_merged_evidence_quotes_long_texts() -> None:
    text = "Output code: \n" + "# a line of the module\n" * 500
    total = Evidence()
    for number in (1, 2):
        part = Evidence()
        record = HashDetails(cache="fx graph cache", key=str(number), body=text)
        part.add(InductorDebug, text, Place("a.log", 1), lines=502, records=(record,))
        total.merge(part, shift=number * 1000)
    (row,) = total.table(HashDetails)
    assert row.count == 2
    assert [place.line for place in row.places] == [1001, 2001]
    assert row.text == text
    assert total.understood_lines == 1004


@given(st.lists(st.text(max_size=20), min_size=1))
def test_parts_of_a_cache_key_are_the_lines_of_its_text(parts: list[str]) -> None:
    body = "".join(f"\n{part}" for part in parts)
    lines = tuple(line for part in parts for line in part.split("\n"))
    told = HashDetails(cache="fx graph cache", key="k", body=body)
    kept = HashDetails(cache="fx graph cache", key="k", parts=lines)
    assert told.lines == kept.lines
    assert told.gist == kept.gist
    assert told.components == kept.components


def test_a_row_about_another_record_of_a_long_text_shares_the_packed_text() -> None:
    (row,) = unseen((Line(name="a"),), "guard\n" * 1_000)
    place = Place("a.log", 7)
    other = row.about(Line(name="b"), [place], 3)
    assert isinstance(row, SeenLong)
    assert isinstance(other, SeenLong)
    assert other._packed is row._packed
    assert (other.record.name, other.count, other.places) == ("b", 3, [place])
    assert other.text == row.text
    short = Seen(Line(name="a"), 1, [place], "short").about(Line(name="b"), [place])
    assert (short.record.name, short.count, short.text) == ("b", 1, "short")


def test_a_row_that_is_completed_keeps_its_text_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = unseen((Line(name="a"),), "guard\n" * 1_000)
    monkeypatch.setattr(Line, "resolved", lambda *_: Line(name="b"))
    other = row.completed(Evidence())
    assert isinstance(other, SeenLong)
    assert isinstance(row, SeenLong)
    assert other._packed is row._packed
    assert other.record.name == "b"


HEADS = st.sampled_from(
    [
        '{"dynamo_output_graph": {}, "frame_id": 0, "has_payload": "0"}',
        '{"dynamo_output_graph": {}, "frame_id": 1, "note": "é", "has_payload": "0"}',
        '{"aot_forward_graph": {}, "frame_id": 1, "has_payload": "0"}',
        '{"compilation_metrics": {"co_name": "f"}, "frame_id": 1}',
        '{"dynamo_output_graph": {}, "frame_id": 0} ',
    ]
)
PAYLOADS = st.one_of(
    st.just([]),
    st.lists(st.text(st.characters(exclude_characters="\n")), min_size=1, max_size=4),
    st.builds(lambda line, times: [line] * times, st.sampled_from(["", "é", "x"]), st.just(9_000)),
)


def parsed(text: str) -> tuple[Record, ...] | Unread:
    try:
        return TorchTrace.parse(text)
    except Unreadable:
        return Unread("torch_trace", text, 0, 0, 1, "")


@given(st.lists(st.tuples(HEADS, PAYLOADS), min_size=1, max_size=4), st.integers(1, 2))
def test_payloads_that_come_again_say_and_quote_what_each_does_by_itself(
    records: list[tuple[str, list[str]]], times: int
) -> None:
    said = Said()
    for head, lines in records * times:
        payload = b"".join(f"\t{line}\n".encode() for line in lines)
        written = Written(f"{head}\n".encode(), payload, 1 + len(lines))
        text = "\n".join([head, *lines])
        assert written.text == text
        found, plain = said.read(TorchTrace, written, parsed), parsed(text)
        assert isinstance(found, tuple) == isinstance(plain, tuple)
        if isinstance(found, tuple) and isinstance(plain, tuple):
            rows = unseen(plain, text)
            assert [(one.record, one.text) for one in found] == [
                (one.record, one.text) for one in rows
            ]


def test_what_tells_written_records_apart() -> None:
    keys = [
        Written(head, payload, 2).key
        for head in (b"{}\n", b'{"a": 1}\n')
        for payload in (b"\ta\n", b"\tb\n")
    ]
    assert len({*keys}) == 4
    assert keys[0] == Written(b"{}\n", b"\ta\n", 2).key
    assert (lines_of(keys[0]), size_of(keys[0])) == (2, len("{}\na"))


def test_a_place_that_does_not_move_is_the_same_one() -> None:
    """Ranks are merged without moving: a copy of each place would be kept, and the first let go."""
    place = Place("a.log", 3, "rank0", "0/0", 1.0, ((1, 9),))
    assert place.shifted(0) is place
    assert place.shifted(2) == Place("a.log", 5, "rank0", "0/0", 1.0, ((1, 11),))


def test_what_many_records_have_in_common_is_held_once() -> None:
    ranks = [peel(b"[rank%d]: a" % number)[1] for number in (3, 3)]
    assert ranks == ["rank3", "rank3"]
    assert ranks[0] is ranks[1]
