"""Bytes to events: every form of a trace, cut anywhere, damaged anyhow."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.writing import Bytes
from tracelens.logs._trace_events import Complete, Event, Metadata, Refused
from tracelens.traces.damage import DEEP, MAX_DEPTH, _extent
from tracelens.traces.reader import MAX_EVENT, TraceReader, is_trace, may_be_trace, peek

MM = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2, "pid": 3, "tid": 4}


def events(data: bytes, chunk: int = 1 << 16, most: int = 1 << 30) -> list[Event]:
    return [event for found in TraceReader(Bytes(data, most), chunk=chunk) for event in found]


def drained(data: bytes, chunk: int = 1 << 16) -> TraceReader:
    reader = TraceReader(Bytes(data), chunk=chunk)
    for _ in reader:
        pass
    return reader


# Forms.


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 16])
def test_all_forms_hold_the_same_events(indent: int | None, chunk: int) -> None:
    written = [{**MM, "ts": number} for number in range(50)]
    forms = {
        "object": {"schemaVersion": 1, "traceEvents": written},
        "header behind": {"traceEvents": written, "displayTimeUnit": "ms"},
        "header around": {"a": [{"b": 1}], "traceEvents": written, "baseTimeNanoseconds": 1 << 60},
        "list": written,
    }
    for form in forms.values():
        found = events(json.dumps(form, indent=indent).encode(), chunk)
        assert [event.ts for event in found if isinstance(event, Complete)] == list(range(50))
        assert len(found) == 50


def test_the_header_is_all_but_the_events() -> None:
    around: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [{"name": "A, B]"}]}
    behind = {"traceName": "x]}", "displayTimeUnit": "ms"}
    for first, last in ((around, behind), (around, {}), ({}, behind), ({}, {})):
        whole = {**first, "traceEvents": [MM, MM], **last}
        for indent in (None, 2):
            reader = drained(json.dumps(whole, indent=indent).encode(), 16)
            assert json.loads(reader.header) == {**first, **last}
            assert not reader.truncated


def test_the_events_are_those_of_the_trace_and_not_of_something_in_its_header() -> None:
    inner = {"metadata": {"traceEvents": [{"ph": "X", "name": "not this", "ts": 0}]}}
    text = json.dumps({"note": '"traceEvents": [', **inner, "traceEvents": [MM]}).encode()
    (event,) = events(text)
    assert isinstance(event, Complete)
    assert event.name == "aten::mm"


def test_a_header_that_is_not_json_does_not_hide_the_events() -> None:
    reader = TraceReader(
        Bytes(b'{"flops": NaN, "traceEvents": [' + json.dumps(MM).encode() + b"]}")
    )
    assert sum(map(len, reader)) == 1
    assert reader.notes


def test_a_list_needs_no_end() -> None:
    open_list = b"[" + json.dumps(MM).encode() + b",\n"
    assert len(events(open_list)) == 1
    assert not drained(open_list).truncated
    assert drained(open_list + b'{"ph": "X"').truncated


# Numbers, text, phases.


def test_large_integers_and_bad_text_survive() -> None:
    huge = 1 << 80
    written = {**MM, "pid": huge, "ts": huge, "args": {"Addr": huge, "bytes": huge}}
    bad = json.dumps(MM).encode().replace(b"aten", b"at\xffn")
    half = json.dumps(MM).replace("aten", "\\ud800").encode()
    control = json.dumps(MM).encode().replace(b"aten", b"a\nb")
    data = b"[" + b",".join([json.dumps(written).encode(), bad, half, control]) + b"]"
    found = events(data)
    assert [type(event) for event in found] == [Complete] * 4
    first, second, third, fourth = (event for event in found if isinstance(event, Complete))
    assert (first.pid, first.ts) == (huge, float(huge))
    assert second.name == "at\N{REPLACEMENT CHARACTER}n::mm"
    assert third.name == "?::mm"
    assert fourth.name == "a\nb::mm"


def test_what_is_skipped_may_hold_bad_text() -> None:
    (event,) = events(b'[{"ph":"X","name":"a","ts":1,"args":{"s":"\xff"}}]')
    assert isinstance(event, Complete)


@pytest.mark.parametrize("args", ['[1, {"ph": "X"}, 2]', '"a"', "null", '{"bytes": [1]}'])
@pytest.mark.parametrize("name", ["a", "a\xff"])
def test_arguments_that_are_none_cost_no_time(args: str, name: str) -> None:
    text = f'[{{"ph":"X","name":"{name}","ts":1,"dur":2,"args":{args}}}]'
    (event,) = events(text.encode("latin-1"))
    assert isinstance(event, Complete)
    assert (event.dur, event.args) == (2, None)


@pytest.mark.parametrize("name", ["a", "a\xff"])
def test_arguments_are_decoded_when_asked_for(name: str) -> None:
    args = '{"External id": 3, "Sequence number": 12345678901234567890123, "dtype": "\\u00e9"}'
    text = f'[{{"ph":"X","name":"{name}","ts":1,"args":{args}}}]'
    (event,) = events(text.encode("latin-1"))
    assert isinstance(event, Complete)
    assert event.args is not None
    assert (event.args.external, event.args.dtype) == (3, "\N{LATIN SMALL LETTER E WITH ACUTE}")
    assert event.args is event.args


@pytest.mark.parametrize("phase", list("sftbenSTpFCPNODRcVv()iIBEM"))
def test_every_phase_of_the_format_is_an_event(phase: str) -> None:
    (event,) = events(json.dumps([{"ph": phase, "name": "n", "ts": 1, "id": 1}]).encode())
    assert not isinstance(event, Refused)


def test_names_of_threads_are_decoded() -> None:
    meta = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}}
    (event,) = events(json.dumps([meta]).encode())
    assert isinstance(event, Metadata)
    assert event.args is not None
    assert event.args.name == "main"


REFUSED = {
    "NaN": '{"ph":"X","name":"a","ts":1,"dur":NaN}',
    "-Infinity": '{"ph":"X","name":"a","ts":1,"args":{"x":-Infinity}}',
    "Invalid value": '{"ph":"?","name":"a"}',
    "Expected `float`": '{"ph":"X","name":"a","ts":"12"}',
    "Expected `str`": '{"ph":"X","name":["a"],"ts":1}',
    "Expected `object": '{"ph":"M","name":"a","ts":1,"args":[1,{"ph":"X"},2]}',
    "out of range": '{"ph":"X","name":"a","ts":1e400}',
    "missing required field": '{"ph":"X","ts":1}',
    "got `int`": "3",
    "got `null`": "null",
    "got `array`": '[{"ph":"X","name":"a","ts":1},{"ph":"X","name":"a","ts":1}]',
    "got `str`": '"}, {"',
    "nested too deeply": '{"ph":"X","name":"a","ts":1,"args":{"x":%s}}' % ("[" * 9000 + "]" * 9000),
    "broken JSON": '{"ph":"X","name":"a"b","ts":1}',
}


@pytest.mark.parametrize("reason", REFUSED)
@pytest.mark.parametrize("chunk", [64, 1 << 16])
def test_a_hostile_event_is_counted_and_costs_no_other(reason: str, chunk: int) -> None:
    good = json.dumps(MM)
    found = events(f"[{good},{good},{REFUSED[reason]},{good},\n{good}]".encode(), chunk)
    assert [type(event) for event in found] == [Complete, Complete, Refused, Complete, Complete]
    refused = found[2]
    assert isinstance(refused, Refused)
    assert reason in refused.reason


def test_an_event_without_its_end_costs_no_other() -> None:
    good = json.dumps(MM)
    found = events(f"[{good},{good[:-1]},\n{good},{good}]".encode())
    assert [type(event) for event in found] == [Complete, Refused, Complete, Complete]


def test_an_endless_event_is_given_up_and_the_next_one_is_read() -> None:
    long = {**MM, "args": {"x": "y" * (3 * MAX_EVENT)}}
    found = events(json.dumps([MM, long, MM]).encode())
    assert [type(event) for event in found] == [Complete, Refused, Complete]
    large = {**MM, "args": {"x": "y" * (MAX_EVENT // 2)}}
    assert [type(event) for event in events(json.dumps([MM, large, MM]).encode())] == [Complete] * 3


# Any events, in any style, cut anywhere.

FAKES = ['}, {"ph": "X", "name": "', '"', "\\", "]}", '], "x": [', "{", "}},{", "é∑", "a\nb", ""]
NAMES = st.sampled_from(["aten::mm", *FAKES]) | st.text(max_size=8)
NUMBERS = st.floats(0, 1e13, allow_nan=False) | st.integers(0, 1 << 70)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(FAKES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
GOOD = st.fixed_dictionaries(
    {"ph": st.just("X"), "name": NAMES, "ts": NUMBERS},
    optional={
        "cat": NAMES,
        "dur": NUMBERS,
        "pid": st.integers() | st.text(max_size=3),
        "tid": st.integers() | st.text(max_size=3),
        "args": st.dictionaries(st.sampled_from(["a", "b", *FAKES]), VALUES, max_size=3),
    },
)
BAD: st.SearchStrategy[Any] = (
    st.just({}) | st.just({"ph": "?"}) | st.lists(st.integers(), max_size=2)
)
STYLES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n  ", " : "), (",\r\n", ":")])


@st.composite
def traces(draw: st.DrawFn) -> tuple[bytes, list[int], list[Any], bool]:
    """Return a trace, where in it the elements of the event list end, these, and whether a list."""
    elements = draw(st.lists(GOOD | GOOD | GOOD | BAD, max_size=12))
    separators = draw(STYLES)
    indent = draw(st.sampled_from([None, 0, 2]))
    ascii_only = draw(st.booleans())
    is_list = draw(st.booleans())
    gap = separators[0] + draw(st.sampled_from(["", "\n", "  "]))
    front, back = "[", "]"
    if not is_list:
        front = draw(
            st.sampled_from(['{"traceEvents":[', '{"schemaVersion": 1,\n"traceEvents": [ '])
        )
        back = draw(st.sampled_from(["]}", '],"traceName": "]}{"}', ' ]\n, "a": [{"ph": 1}, {}]}']))
    text = front.encode()
    ends = []
    for number, element in enumerate(elements):
        dumped = json.dumps(
            element, ensure_ascii=ascii_only, indent=indent, separators=separators
        ).encode()
        text += (gap.encode() if number else b"") + dumped
        ends.append(len(text))
    return text + back.encode(), ends, elements, is_list


def understood(element: Any) -> bool:
    return isinstance(element, dict) and element.get("ph") == "X"


@settings(max_examples=300, deadline=None)
@given(traces(), st.integers(1, 300), st.integers(1, 50), st.data())
def test_any_trace_cut_anywhere_gives_what_is_there(
    trace: tuple[bytes, list[int], list[Any], bool], chunk: int, most: int, data: st.DataObject
) -> None:
    text, ends, elements, is_list = trace
    cut = data.draw(st.integers(0, len(text)) | st.just(len(text)))
    reader = TraceReader(Bytes(text[:cut], most), chunk=chunk)
    found = [event for part in reader for event in part]
    there = [element for element, end in zip(elements, ends, strict=True) if end <= cut]
    assert len(found) == len(there)
    for event, element in zip(found, there, strict=True):
        assert isinstance(event, Refused) is not understood(element)
        if isinstance(event, Complete):
            assert event.name == element["name"]
            assert event.cat == element.get("cat")
            assert (event.pid, event.tid) == (element.get("pid"), element.get("tid"))
            assert math.isclose(event.ts, element["ts"])
            assert math.isclose(event.dur, element.get("dur", 0))
    if not is_list:
        assert reader.truncated is (cut < len(text))
    if cut == len(text):
        whole = json.loads(text)
        assert not reader.truncated
        assert whole == elements if is_list else whole["traceEvents"] == elements


@settings(max_examples=200, deadline=None)
@given(traces(), st.binary(max_size=6), st.integers(1, 200), st.data())
def test_nothing_that_is_read_raises(
    trace: tuple[bytes, list[int], list[Any], bool],
    noise: bytes,
    chunk: int,
    data: st.DataObject,
) -> None:
    text = trace[0]
    at = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(at, min(len(text), at + 10)))
    events(text[:at] + noise + text[end:], chunk)


@given(st.binary(max_size=200), st.integers(1, 50))
def test_noise_does_not_raise(noise: bytes, chunk: int) -> None:
    is_trace(noise)
    events(noise, chunk)
    events(b'{"traceEvents": [' + noise, chunk)


# What a trace looks like.

TRACES = [
    '{\n  "schemaVersion": 1,\n',
    '{"traceEvents":[]}',
    '{"distributedInfo": {"rank": 0}, "traceEvents": [',
    ' [\n{"name": "process_name", "ph": "M", "pid": 1}',
    '[{"ph":"X","ts":1}]',
]
OTHERS = [
    "",
    "{",
    "[1, 2]",
    '[{"a": 1}]',
    '{"schema_version": 1, "tool": {}}',
    '{"log": "{\\"traceEvents\\": []}\\n", "stream": "stdout"}\n',
    "V1120 10:45:50.410000 30895 torch/_dynamo/guards.py:5396] [0/2] [__recompiles] x\n",
]


@pytest.mark.parametrize("head", TRACES)
def test_a_trace_is_known_by_its_beginning(head: str) -> None:
    assert is_trace(head.encode())
    assert may_be_trace(head.encode())


@pytest.mark.parametrize("head", OTHERS)
def test_other_text_is_not_taken_for_one(head: str) -> None:
    assert not is_trace(head.encode())
    assert not peek(Bytes(head.encode()), head.encode()[:4096])[0]


def test_events_behind_a_long_preface_are_found() -> None:
    text = json.dumps({"metadata": {"packages": ["a==1"] * 2000}, "traceEvents": [MM]}, indent=1)
    data = text.encode()
    assert not is_trace(data[:4096])
    assert may_be_trace(data[:4096])
    found, read = peek(Bytes(data), data[:4096])
    assert found
    assert data.startswith(read)
    assert len(events(data)) == 1


def test_json_without_events_is_given_back_whole() -> None:
    data = json.dumps({"packages": ["a==1"] * 2000}).encode()
    found, read = peek(Bytes(data), data[:4096])
    assert not found
    assert read == data


@pytest.mark.parametrize("chunk", [64, 1 << 16])
@pytest.mark.parametrize(("opens", "closes"), [('{"a":', "}"), ("[", "]"), ('[{"b":', "}]")])
def test_an_event_nested_too_deeply_is_left_and_costs_no_other(
    opens: str, closes: str, chunk: int
) -> None:
    good = '{"ph": "X", "name": "%s", "ts": 1, "dur": 2, "pid": 1, "tid": 1}'
    deep = '{"ph": "X", "args": ' + opens * 3_000 + "1" + closes * 3_000 + "}"
    text = '{"traceEvents": [' + ", ".join([good % "a", deep, good % "b"]) + "]}"
    found = events(text.encode(), chunk)
    assert [one.name for one in found if isinstance(one, Complete)] == ["a", "b"]
    assert [one.reason for one in found if isinstance(one, Refused)] == [DEEP]


def test_no_more_is_looked_at_of_what_is_nested_too_deeply() -> None:
    end, wrong = _extent(b'{"a":' * 100_000, 0) or (0, "")
    assert wrong == DEEP
    assert end < len(b'{"a":') * (MAX_DEPTH + 1)


def test_what_is_nested_as_deeply_as_may_be_is_followed_to_its_end() -> None:
    text = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert _extent(text + b", {}", 0) == (len(text), "")
