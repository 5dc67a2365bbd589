"""The fast segmenter against a naive one, and any split of the input against one pass."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tracelens.evidence import Evidence
from tracelens.logs import CountedLog, HeadedLog, Log, Record, StructuredLog
from tracelens.source import tally
from tracelens.source.kinds import Kinds
from tracelens.source.prefixes import TORCH, peel, plain
from tracelens.source.segment import Segmenter
from tracelens.source.tally import Tally


class Text(Record):
    kind: str
    text: str


class Tagged(Log):
    name = "tagged"
    artifacts = frozenset({"__recompiles"})

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        return (Text(kind=cls.name, text=text),)


class Restamped(Tagged, HeadedLog):
    name = "restamped"
    artifacts = frozenset({"__guards"})
    opens = ("GUARDS:", "TREE_GUARD_MANAGER:\n")
    opens_always = True


class Marked(Tagged):
    name = "marked"
    artifacts = frozenset()
    marks = ("torch._dynamo hit",)
    prefixed = True


class Block(Tagged):
    name = "block"
    artifacts = frozenset()
    marks = ("AUTOTUNE ",)
    continues = re.compile(r"  \S|strides:")


class Patterned(Tagged):
    name = "patterned"
    artifacts = frozenset()
    begins = re.compile(r"\S+:\d+: \w*Warning:")
    continues = re.compile(r"  \S|$")
    ends = re.compile(r"  row|.*now$")


class Counted(Tagged, CountedLog):
    name = "counted"
    artifacts = frozenset()
    marks = ("onednn_verbose,",)
    timed = ("onednn_verbose,v1,primitive,exec,a", "onednn_verbose,v1,primitive,exec,b")

    @classmethod
    def measure(cls, line: str) -> tuple[str, float | None]:
        head, _, tail = line.rpartition(",")
        return head, float(tail)


class Structured(StructuredLog):
    name = "structured"

    @classmethod
    def parse(cls, text: str) -> tuple[Record, ...]:
        return (Text(kind=cls.name, text=text),)


LOGS = [Tagged, Restamped, Marked, Block, Patterned, Counted, Structured]
for log in LOGS:
    log.builtin = True  # as ours are read: those of packs get what these leave
KINDS = Kinds(LOGS)

PREFIXES = [
    f"V1120 10:45:4{second}.000000 {pid} torch/_dynamo/guards.py:5396] [0/{n}] [__recompiles]"
    for second in (1, 2)
    for pid in (71, 72)
    for n in (0, 1)
] + [
    "W1120 10:45:43.000000 71 torch/_dynamo/convert_frame.py:1994] [0/8]",
    "V1120 10:45:43.000000 72 torch/_inductor/graph.py:2] [0/0] [__unheard_of]",
    "V1120 10:45:43.000000 72 torch/_inductor/graph.py:2] [0/0]",
    "V1120 10:45:43.000000 72 torch/_inductor/graph.py:2]",
    "[0/1] [__recompiles]",
]
#: Each line under a clock of its own.
STAMPS = [
    f"{level}1120 10:45:41.{milli:03}000 {pid} torch/_dynamo/guards.py:{place}] [0/0] [__guards]"
    for milli in (0, 1, 2)
    for level, pid, place in (("V", 71, 7), ("V", 71, 8), ("I", 71, 7), ("V", 72, 7))
]
#: Found by fuzzing: a carriage return and a prefix in the middle of a record's line.
GLUED = "a\r b" + PREFIXES[0] + " c"
BODIES = [
    "Recompiling f",
    "    - 0/0: n == 2",
    "",
    "torch._dynamo hit config.x (8)",
    "  row",
    GLUED,
]
JSON = "V1120 10:45:43.000000 71 torch/_dynamo/utils.py:2350]"
BARE = [
    "\tpayload",
    "\tmore",
    # Found by fuzzing: what looks like another record in the payload of a structured one.
    "\ta = torch" + PREFIXES[0] + " b",
    "\tDEBUG:torch._dynamo.guards.__recompiles:Recompiling f",
    "\ta\rb",
    "\t12: " + PREFIXES[0],
    "\t\x1b[1mbold\x1b[m",
    "AUTOTUNE mm(8x8)",
    "  row 1 ms",
    "strides: [1]",
    "a.py:3: UserWarning: careful",
    "a.py:4: FutureWarning: over now",
    "  more",
    "loss 0.5",
    "",
    "epoch 1",
    "DEBUG:torch._dynamo.guards.__recompiles:Recompiling f",
    "DEBUG:torch._dynamo.guards.__recompiles:",
    "WARNING:torch._dynamo.convert_frame:torch._dynamo hit config.x (8)",
    "    - 0/0: n == 2",
    "INFO:train:epoch 2",
]
ONEDNN = ["onednn_verbose,v1,primitive,exec,a,0.5", "onednn_verbose,v1,primitive,exec,b,0.25"]
TRANSPORTS = ["", "[rank0]:", "[rank1]:", "2026-11-20T10:00:00.123456789Z "]

torch_lines = st.builds(
    lambda prefix, body: f"{prefix} {body}", st.sampled_from(PREFIXES), st.sampled_from(BODIES)
)
lines = st.builds(
    lambda transport, line: (transport + line).encode(),
    st.sampled_from(TRANSPORTS),
    st.one_of(
        torch_lines,
        st.just(JSON + ' {"str": 1}'),
        st.sampled_from(BARE),
        st.sampled_from(ONEDNN),
        st.builds("step {}: loss {}".format, st.integers(1, 12), st.sampled_from(["0.5", "nan"])),
    ),
)
logs = st.lists(lines, max_size=60)


def ended(lines: list[bytes]) -> list[bytes]:
    """The lines as they are read, each with its newline."""
    return [line + b"\n" for line in lines]


def run(parts: list[list[bytes]]) -> Segmenter:
    whole = Segmenter(KINDS, "x")
    for number, part in enumerate(parts):
        segment = whole if number == 0 else Segmenter(KINDS, "x", from_start=False)
        segment.feed(ended(part))
        if segment is not whole:
            whole.extend(segment)
    whole.finish()
    return whole


def facts(evidence: Evidence) -> dict[str, Any]:
    """What a reader of the evidence can see, in comparable form."""
    rows = {
        (seen.record.kind, seen.record.text): (
            seen.count,
            tuple((p.line, p.writer, p.frame, p.jumps) for p in seen.places),
            round(seen.ms, 9),
            {
                key: (part.place.line, part.count, part.times and round(part.times.total, 9))
                for key, part in (seen.parts or {}).items()
            },
        )
        for seen in evidence.table(Text)
    }
    return {
        "rows": rows,
        "kinds": evidence.kinds,
        "known": evidence.known,
        "understood": evidence.understood_lines,
        "spans": evidence.spans,
    }


class Naive(BaseModel):
    """One line after the other, every pattern tried on every line."""

    open: dict[tuple[str, str], tuple[str, list[str]]] = {}
    blocks: dict[str, list[str]] = {}
    #: The kind of a record of which only the first line is prefixed, and the line it ends at.
    headed: dict[str, tuple[str, int]] = {}
    number: int = 0
    out: Counter[tuple[str, str]] = Counter()

    def restamped(self, key: tuple[str, str], prefix: str, rest: str) -> bool:
        """Whether a line goes on with the open record, be it under another clock."""
        held, body = self.open[key]
        if held == prefix:
            return True
        begun = ("GUARDS:", "TREE_GUARD_MANAGER:")
        same = (held[0], held[21:]) == (prefix[0], prefix[21:]) and prefix.endswith("[__guards]")
        led = not body[0] and len(body) > 1 and body[1].startswith(begun)
        if not same or rest.startswith(begun) or (led and not rest):
            return False
        return led or body[0].startswith(begun)

    def record(self, key: tuple[str, str]) -> None:
        prefix, body = self.open.pop(key)
        text = "\n".join(body)
        if prefix.endswith("[__recompiles]"):
            self.out["tagged", text] += 1
        elif prefix.endswith("[__guards]"):
            self.out["restamped", text] += 1
        elif "[__" not in prefix and text.startswith("torch._dynamo hit"):
            self.out["marked", text] += 1

    def block(self, rank: str) -> None:
        if rank in self.blocks:
            kind, _ = self.kind(rank)
            text = "\n".join(self.blocks.pop(rank))
            text = plain(text.encode()).decode() if self.headed.pop(rank, None) else text
            self.out[kind, text] += 1

    def kind(self, rank: str) -> tuple[str, str]:
        """The kind of the open block, and what goes on with it."""
        first = self.blocks[rank][0]
        if rank in self.headed:
            kind, last = self.headed[rank]
            near = rank or last == self.number - 1
            other = r"INFO:|AUTOTUNE |\S+:\d+: \w*Warning:"
            return kind, rf"(?!{other})" if near else r"(?!)"
        if first.startswith("{"):
            return "structured", "\t"
        return ("patterned", r"  \S|$") if "Warning:" in first else ("block", r"  \S|strides:")

    def over(self, rank: str, line: str) -> None:
        if self.kind(rank)[0] == "patterned" and re.match(r"  row|.*now$", line):
            self.block(rank)

    def line(self, raw: bytes) -> None:
        peeled, rank, _ = (raw, "", False) if raw[:1] == b"\t" else peel(raw)
        line = peeled.decode()
        match = TORCH.match(peeled)
        self.number += 1
        head = re.match(r"(?:DEBUG|WARNING):torch\._dynamo\.\w+\.?(\w*):", line)
        if line.startswith("onednn_verbose,"):
            self.out["counted", line.rpartition(",")[0]] += 1
        elif match is not None and line.startswith(JSON):
            self.block(rank)
            self.blocks[rank] = [line[len(JSON) + 1 :]]
        elif match is not None:
            prefix = match.group().decode()
            key = (rank, (match["writer"] or b"").decode())
            rest = line[len(prefix) :].removeprefix(" ")
            if key in self.open and not self.restamped(key, prefix, rest):
                self.record(key)
            elif key in self.open:
                prefix = self.open[key][0]
            self.open.setdefault(key, (prefix, []))[1].append(rest)
        elif head is not None:
            self.block(rank)
            self.blocks[rank] = [line[head.end() :]]
            self.headed[rank] = ("tagged" if head[1] else "marked", self.number)
        elif rank in self.blocks and re.match(self.kind(rank)[1], line):
            held = line if rank in self.headed else line.removeprefix("\t")
            self.blocks[rank].append(held)
            if rank in self.headed:
                self.headed[rank] = (self.headed[rank][0], self.number)
            self.over(rank, line)
        else:
            self.block(rank)
            if line.startswith("AUTOTUNE ") or re.match(r"\S+:\d+: \w*Warning:", line):
                self.blocks[rank] = [line]
                self.over(rank, line)

    def finish(self) -> Counter[tuple[str, str]]:
        for key in list(self.open):
            self.record(key)
        for rank in list(self.blocks):
            self.block(rank)
        return self.out


@given(logs)
@settings(max_examples=400, deadline=None)
def test_the_fast_segmenter_equals_the_naive_one(log: list[bytes]) -> None:
    naive = Naive(open={}, blocks={}, headed={}, out=Counter())
    for line in log:
        naive.line(line)
    fast = run([log]).evidence
    assert Counter({k: v[0] for k, v in facts(fast)["rows"].items()}) == naive.finish()


executions = st.builds(
    "{}onednn_verbose,v1,primitive,exec,{},{}".format,
    st.sampled_from(["", "", "", "[rank0]:"]),
    st.sampled_from("abc"),
    st.one_of(
        st.sampled_from(["0.5", "0.25", "0.125", "7", "1234.5", "6.10352e-05"]),
        st.integers(1, 10**6).map(lambda steps: f"{steps / 4096:.6g}"),
        st.integers(1, 10**9).map(lambda steps: f"{steps / 1e6:.9g}"),
    ),
).map(str.encode)
one_record = st.sampled_from(["", "  row", "more"]).map(lambda body: f"{PREFIXES[0]} {body}")
runs = st.lists(
    st.one_of(
        st.lists(executions, max_size=8),
        st.lists(one_record.map(str.encode), max_size=3),
        st.lists(lines, max_size=4),
    ),
    max_size=12,
).map(lambda parts: [line for part in parts for line in part])


#: Records of many lines, some without the blank behind the prefix, and what interrupts them.
stretches = st.lists(
    st.one_of(
        st.builds(
            lambda prefix, number, end: [f"{prefix} {at}" for at in range(number)] + [prefix + end],
            st.sampled_from([*PREFIXES[:2], PREFIXES[4], PREFIXES[9]]),
            st.sampled_from([0, 1, 6, 7, 8, 9, 39, 40, 41, 50]),
            st.sampled_from(["", " ", "\r", "x", " end", "  end"]),
        ),
        st.builds(
            lambda number, end: [JSON + ' {"str": 1}', *(f"\t{at}" for at in range(number)), end],
            st.sampled_from([0, 1, 8, 40, 50]),
            st.sampled_from(["\t", "\t\tdeep", "loss 1", "\t" + JSON]),
        ),
        st.lists(st.sampled_from([*ONEDNN, "loss 0.5"]), max_size=3),
    ),
    max_size=6,
).map(lambda parts: [line.encode() for part in parts for line in part])


#: Lines that are mostly of one record, each under a clock of its own, and what interrupts them.
_lines = st.lists(
    st.one_of(
        st.builds(
            "{}{} {}".format,
            st.sampled_from(["", "", "", "", "[rank0]:"]),
            st.sampled_from([*STAMPS, STAMPS[0], STAMPS[4], STAMPS[8]]),
            st.sampled_from(["GUARDS:", "TREE_GUARD_MANAGER:", "+- a", "+- b", "+- c", "", "x"]),
        ),
        st.sampled_from(
            [STAMPS[0], f"{PREFIXES[0]} Recompiling f", ONEDNN[0], "loss 0.5", "  row"]
        ),
    ),
    max_size=40,
)
#: ... as they are or as one launcher hands them on.
restamped = st.builds(
    lambda before, lines: [(before + line).encode() for line in lines],
    st.sampled_from(["", "[rank0]:", "[default0]:", "[rank1]: "]),
    _lines,
)


@given(restamped, st.lists(st.integers(0, 40), max_size=4))
@settings(max_examples=400, deadline=None)
def test_a_record_with_a_clock_per_line_is_one_record(log: list[bytes], cuts: list[int]) -> None:
    at = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    together = Segmenter(KINDS, "x")
    naive = Naive(open={}, blocks={}, headed={}, out=Counter())
    for a, b in pairwise(at):
        together.feed(ended(log[a:b]))
    for line in log:
        naive.line(line)
    evidence = together.finish()
    assert Counter({k: v[0] for k, v in facts(evidence)["rows"].items()}) == naive.finish()
    parts = [log[a:b] for a, b in pairwise(at)]
    assert facts(run(parts).evidence) == facts(evidence)
    right = Segmenter(KINDS, "x", from_start=False)
    for part in parts[1:]:
        segment = Segmenter(KINDS, "x", from_start=False)
        segment.feed(ended(part))
        right.extend(segment)
    left = Segmenter(KINDS, "x")
    left.feed(ended(parts[0]))
    left.extend(right)
    assert facts(left.finish()) == facts(evidence)


@given(stretches, st.lists(st.integers(0, 150), max_size=4))
@settings(max_examples=300, deadline=None)
def test_stretches_of_one_record_are_read_as_single_lines_are(
    log: list[bytes], cuts: list[int]
) -> None:
    at = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    together = Segmenter(KINDS, "x")
    for a, b in pairwise(at):
        together.feed(ended(log[a:b]))
    by_line = Segmenter(KINDS, "x")
    naive = Naive(open={}, blocks={}, headed={}, out=Counter())
    for line in log:
        by_line.feed(ended([line]))
        naive.line(line.removesuffix(b"\r"))
    evidence = together.finish()
    assert facts(evidence) == facts(by_line.finish())
    assert Counter({k: v[0] for k, v in facts(evidence)["rows"].items()}) == naive.finish()


def first_seen(log: list[bytes]) -> dict[str, tuple[int, int, float, float]]:
    """Descriptor -> first line, executions, first and total time; one line after the other."""
    out: dict[str, tuple[int, int, float, float]] = {}
    for number, raw in enumerate(log, start=1):
        line = peel(raw)[0].decode()
        if line.startswith("onednn_verbose,"):
            key, ms = Counted.measure(line)
            assert ms is not None
            at, count, first, total = out.get(key, (number, 0, ms, 0.0))
            out[key] = (at, count + 1, first, total + ms)
    return out


@given(
    runs, st.lists(st.integers(0, 25), max_size=8), st.sampled_from([1, 3, 20_000]), st.booleans()
)
@settings(max_examples=600, deadline=None)
def test_blocks_and_folds_change_nothing(
    log: list[bytes], cuts: list[int], fold: int, splits: bool
) -> None:
    """Counting whole blocks and telling them by their new lines equals reading line by line.

    So does splitting lines at their last comma.
    """
    at = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    in_blocks = Segmenter(KINDS, "x")
    in_blocks.tally.splits = splits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "FOLD", fold)
        for a, b in pairwise(at):
            in_blocks.feed(ended(log[a:b]))
        evidence = in_blocks.finish()
    by_line = Segmenter(KINDS, "x")
    for line in log:
        by_line.feed(ended([line]))
    assert facts(evidence) == facts(by_line.finish())
    counted = {
        seen.record.text: (seen.first.line, seen.count, seen.times.first, seen.ms)
        for seen in evidence.table(Text)
        if seen.record.kind == "counted" and seen.times is not None
    }
    expected = first_seen(log)
    assert {key: row[:3] for key, row in counted.items()} == {
        k: row[:3] for k, row in expected.items()
    }
    assert all(row[3] == pytest.approx(expected[key][3]) for key, row in counted.items())


@given(logs, st.lists(st.integers(0, 60), max_size=4))
@settings(max_examples=400, deadline=None)
def test_any_split_gives_what_one_pass_gives(log: list[bytes], cuts: list[int]) -> None:
    at = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    parts = [log[a:b] for a, b in pairwise(at)]
    assert facts(run(parts).evidence) == facts(run([log]).evidence)


@given(logs, st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_joining_is_associative(log: list[bytes], first: int, second: int) -> None:
    """(a + b) + c == a + (b + c): the right two may be joined before the left one comes."""
    a, b = sorted((min(first, len(log)), min(second, len(log))))
    left = Segmenter(KINDS, "x")
    left.feed(ended(log[:a]))
    middle = Segmenter(KINDS, "x", from_start=False)
    middle.feed(ended(log[a:b]))
    right = Segmenter(KINDS, "x", from_start=False)
    right.feed(ended(log[b:]))
    middle.extend(right)
    left.extend(middle)
    left.finish()
    assert facts(left.evidence) == facts(run([log]).evidence)


def test_a_record_interleaved_with_another_rank_knows_its_lines() -> None:
    prefix = b"V1120 10:45:41.000000 71 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
    log = [b"[rank0]:" + prefix + b"a", b"[rank1]:" + prefix + b"x", b"[rank0]:" + prefix + b"b"]
    evidence = run([log]).evidence
    row = next(row for row in evidence.table(Text) if row.record.text == "a\nb")
    assert row.quote(at=0).line == 1
    assert row.quote(at=1).line == 3
    assert row.quote(at=1).text == "b"


def test_counted_lines_at_the_end_of_a_block_interrupt_the_record() -> None:
    line = PREFIXES[0].encode()
    segmenter = Segmenter(KINDS, "x")
    segmenter.feed(ended([line + b" a", ONEDNN[0].encode()]))
    segmenter.feed(ended([line + b" b"]))
    (row,) = (row for row in segmenter.finish().table(Text) if row.record.text == "a\nb")
    assert row.first.jumps == ((1, 3),)


def test_varied_lines_with_a_time_stamp_are_split_as_others_are() -> None:
    of = Tally((b"onednn_verbose,v1,primitive,exec,", b"dnnl_verbose,exec,"))
    marks = (b"onednn_verbose,", b"dnnl_verbose,")
    heads = (
        b"onednn_verbose,v1,primitive,exec,cpu,a",
        b"onednn_verbose,v1,1795172338559.415039,primitive,exec,cpu,a",
        b"dnnl_verbose,17951.5,exec,cpu,a",
        b"onednn_verbose,v1,info,cpu",
    )
    lines = [b"%s,%d.5\n" % (heads[n % 4], n) for n in range(6_000)]
    of.count(lines, b"", marks, 0)
    assert of.splits
    assert not of.ends
    of.counts.clear()
    of.count(lines, b"", marks, 6_000)
    assert {head: len(ends) for head, ends in of.ends.items()} == dict.fromkeys(heads[:3], 1_500)
    assert len(of.counts) == 1_500


def test_lines_that_repeat_are_not_split() -> None:
    of = Tally((b"onednn_verbose,",))
    lines = [b"onednn_verbose,%d,%d.5\n" % (n % 3_500, n % 3_500) for n in range(22_500)]
    for at in range(0, len(lines), 500):
        of.count(lines[at : at + 500], b"", (b"onednn_verbose,",), at)
    assert not of.splits
    assert len(of.counts) == 3_500
