"""Make large logs of recorded ones, in which what varies in real logs varies.

    python benchmarks/varied.py --logs FOLDER --out FOLDER onednn:300 mixed:100 structured:50

A recording repeated byte for byte flatters a reader that remembers what it has read. Here every
time, clock, process id, frame id, hash, address and object id is another one in each copy, and the
copies come in a random order. What torch writes at once keeps one clock: the lines of a record
begin alike in real logs, too. The number is the size in MB; ``FOLDER`` is searched for logs.

    onednn       real primitives, their times scattered in steps of 2^-12 ms
    descriptors  every line another primitive
    mixed        compile logs one after the other
    distinct     the same, and every guard another
    lines        the same, and every line has a clock of its own, which shatters the records
    structured   TORCH_TRACE
    payloads     the same, and hardly two payloads are alike; by turns as recorded, with many
                 graphs, with many records of symbolic shapes, and with little but events
    trace        a profiler trace whose events and correlations differ
    names        the same, and every event has a name of its own
    program      what training loops print: no line of torch's at all
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

EXEC = re.compile(
    rb"^onednn_verbose,(?:v1,)?(?:\d+\.\d+,)?primitive,exec,cpu,.*,[\d.]+$", re.MULTILINE
)
HEAD = (
    b"onednn_verbose,v1,info,oneDNN v3.12.0 (commit 4b1ac4b5ce7e1c5ae5e7fb1ae6b0bd5b4a5a86ee)\n"
    b"onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:2\n"
    b"onednn_verbose,v1,info,cpu,isa:Intel AVX-512\n"
    b"onednn_verbose,v1,primitive,info,template:operation,engine,primitive,implementation,"
    b"prop_kind,memory_descriptors,attributes,auxiliary,problem_desc,exec_time\n"
)
CLOCK = re.compile(
    rb"^(?P<rank>\[rank\d+\]:)?(?P<level>[VIWEC])\d{4} (?P<clock>[\d:.]+) \d+"
    rb"(?P<site> [^\s\]]+:\d+\])(?: \[(?P<frame>\d+)/)?",
    re.MULTILINE,
)
HASH = re.compile(rb"\bc[a-z2-7]{50}\b")
NUMBER = re.compile(rb"\b(?:0x7f[0-9a-f]{10}|1[34]\d{13})\b")
TIME = re.compile(rb"(?m)^(onednn_verbose,.*,)([\d.]+)$")
FRAME = re.compile(rb'("frame_id": )(\d+)')
STAMP = re.compile(rb'("ts": )(\d+)')
EVENT_ID = re.compile(rb'("(?:External id|correlation|Ev Idx|id)": )(\d+)')
GUARD = re.compile(rb"(?m)^[^\n]*(?:\[__guards\]|\[__recompiles)[^\n]*$")
LETTERS = b"abcdefghijklmnopqrstuvwxyz234567"
#: Logs below it are too small to be like those of a program.
SMALL = 20_000


def text_of(path: Path) -> bytes:
    """Return what is in a file, which may be packed."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def logs(folder: Path, *patterns: str) -> list[bytes]:
    """Return the logs below ``folder``."""
    found = {path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()}
    return [text_of(path) for path in sorted(found)]


def primitives(folder: Path) -> list[tuple[bytes, float]]:
    """Return the distinct primitives of the logs, each with one of its times."""
    held: dict[bytes, float] = {}
    for text in logs(folder, "log.txt*", "*.log"):
        for line in EXEC.findall(text):
            what, _, time = line.rpartition(b",")
            held.setdefault(what, float(time))
    return list(held.items())


def steps(time: float, of: random.Random) -> bytes:
    """Return a time near ``time``, as oneDNN prints it."""
    return b"%.6g" % (max(1, round(time * 4096 * of.lognormvariate(0, 0.15))) / 4096)


def onednn(folder: Path, of: random.Random) -> Iterator[bytes]:
    """Yield loops over a part of a real program."""
    items = primitives(folder)
    yield HEAD
    while True:
        start = of.randrange(max(1, len(items) - 40))
        loop = items[start : start + 40] * 8
        yield b"".join(b"%s,%s\n" % (what, steps(time, of)) for what, time in loop)


def descriptors(folder: Path, of: random.Random) -> Iterator[bytes]:
    """Yield primitives of which no two are alike."""
    items = primitives(folder)
    yield HEAD
    seen: set[bytes] = set()
    while True:
        what, time = of.choice(items)
        front, _, sizes = what.rpartition(b",")
        sizes = re.sub(rb"\d{1,7}", partial(grown, more=of.randint(1, 4096), of=of), sizes)
        if sizes not in seen:
            seen.add(sizes)
            yield b"%s,%s,%s\n" % (front, sizes, steps(time, of))


class Copier:
    """Makes copies of one log after the other, each as of another process and a later time."""

    def __init__(self, of: random.Random, *, shatter: bool) -> None:
        self._of = of
        self._shatter = shatter
        self._now = self._start = 36_000.0
        self._frames = self._most = 0
        self._pid = 0
        self._others: dict[bytes, bytes] = {}

    def copy(self, text: bytes) -> bytes:
        """Return ``text`` as another process would have written it."""
        self._pid, self._others = self._of.randrange(10_000, 99_999), {}
        self._start, self._most = self._now, 0
        copy = NUMBER.sub(self._other, HASH.sub(self._other, CLOCK.sub(self._prefix, text)))
        self._frames += self._most + 1
        self._now += self._of.random() * 2
        return TIME.sub(lambda m: m[1] + steps(float(m[2]), self._of), copy)

    def _prefix(self, found: re.Match[bytes]) -> bytes:
        hours, minutes, seconds = map(float, found["clock"].split(b":"))
        told = self._start + (hours * 3600 + minutes * 60 + seconds) % 600
        if self._shatter:
            told += self._of.random() * 0.004
        self._now = max(self._now, told)
        clock = b"%02d:%02d:%09.6f" % (told // 3600 % 24, told // 60 % 60, told % 60)
        frame = b""
        if found["frame"]:
            self._most = max(self._most, int(found["frame"]))
            frame = b" [%d/" % (int(found["frame"]) + self._frames)
        rank = found["rank"] or b""
        return b"%s%s1121 %s %d%s%s" % (
            rank,
            found["level"],
            clock,
            self._pid,
            found["site"],
            frame,
        )

    def _other(self, found: re.Match[bytes]) -> bytes:
        """Return another hash, address or id; the same one for the same."""
        what = found[0]
        if what not in self._others:
            number = self._of.randrange(139 * 10**12, 140 * 10**12)
            if what[:1] == b"c":
                self._others[what] = b"c" + bytes(self._of.choice(LETTERS) for _ in what[1:])
            else:
                self._others[what] = b"0x%x" % number if what[:2] == b"0x" else b"%d" % number
        return self._others[what]


def grown(found: re.Match[bytes], more: int, of: random.Random) -> bytes:
    """Return a number that is a little larger."""
    return b"%d" % (int(found[0]) + of.randint(0, more))


def later(found: re.Match[bytes], more: int) -> bytes:
    """Return a field and its number, so much more."""
    return found[1] + b"%d" % (int(found[2]) + more)


def mixed(
    folder: Path, of: random.Random, *, distinct: bool = False, shatter: bool = False
) -> Iterator[bytes]:
    """Yield compile logs."""
    pool = [text for text in logs(folder, "log.txt*", "*.log", "*.log.gz") if len(text) > SMALL]
    pool = [text for text in pool if CLOCK.search(text)]
    copier = Copier(of, shatter=shatter)
    while True:
        copy = copier.copy(of.choice(pool))
        if distinct:
            copy = GUARD.sub(partial(renamed, of=of), copy)
        yield copy if copy.endswith(b"\n") else copy + b"\n"


def renamed(found: re.Match[bytes], of: random.Random) -> bytes:
    """Return a guard of another variable and another size."""
    name = b"L['v%d_" % of.randrange(10**9)
    return found[0].replace(b"L['", name).replace(b"size=[", b"size=[%d, " % of.randrange(10**6))


def structured(folder: Path, of: random.Random) -> Iterator[bytes]:
    """Yield structured logs; their tables of strings stay as they are, so that a copy is valid."""
    pool = logs(folder, "dedicated_log_torch_trace*")
    frames = 0
    while True:
        text = of.choice(pool)
        most = max((int(m[2]) for m in FRAME.finditer(text)), default=0)
        yield FRAME.sub(partial(later, more=frames), text)
        frames += most + 1


#: What differs from payload to payload: inputs of graphs, kernels, keys, objects and clocks.
NAME = re.compile(
    rb"\b(?:primals_\d{1,4}|arg\d{1,4}_1|cpp_fused_\w+|f[a-z2-7]{51}|[0-9a-f]{32}|1[34]\d{13}(?:\.\d)?)\b"
)
RECORD = re.compile(rb"(?m)^[VIWEC]\d{4} [^\n]*\n(?:\t[^\n]*\n)*")
#: Records that large programs write much of.
GRAPHS = (b'"dynamo_output_graph"', b'_graph"', b'"inductor_output_code"', b"_cpp_guards_str")
SYMBOLS = (b'{"create_symbol"', b'{"guard_added', b'{"describe_', b'{"str"')


def payloads(folder: Path, of: random.Random) -> Iterator[bytes]:
    """Yield structured logs in which hardly a payload comes again, of programs of four kinds."""
    pool = [RECORD.findall(text) for text in logs(folder, "dedicated_log_torch_trace*")]
    frames = 0
    while True:
        records = of.choice(pool)
        kind = of.randrange(4)
        if kind == 1:  # large graphs
            records = [one for one in records for _ in range(5 if in_head(one, GRAPHS) else 1)]
        elif kind == 2:  # symbolic shapes
            records = [one for one in records for _ in range(20 if in_head(one, SYMBOLS) else 1)]
        elif kind == 3:  # events, and little else
            records = [one for one in records if len(one) < 3_000]
        most = max((int(m[2]) for one in records for m in FRAME.finditer(one[:4_000])), default=0)
        names: dict[bytes, bytes] = {}
        for one in records:
            head, newline, body = one.partition(b"\n")
            head = FRAME.sub(partial(later, more=frames), head)
            names.clear()
            yield head + newline + NAME.sub(partial(other_name, names=names, of=of), body)
        frames += most + 1


def in_head(record: bytes, words: tuple[bytes, ...]) -> bool:
    """Tell whether one of ``words`` is in a record's first line."""
    head = record.partition(b"\n")[0]
    return any(word in head for word in words)


def other_name(found: re.Match[bytes], names: dict[bytes, bytes], of: random.Random) -> bytes:
    """Return another name of the same form; the same one for the same."""
    name = found[0]
    if name not in names:
        digits = b"%d" % of.randrange(1000, 10_000)
        names[name] = name[: -len(digits)] + digits if len(name) > 14 else name + digits[1:]
        if name.startswith(b"arg"):
            names[name] = name[:-2] + digits + b"_1"
    return names[name]


def trace(folder: Path, of: random.Random, *, distinct: bool = False) -> Iterator[bytes]:
    """Yield a trace: its events again and again, later each time."""
    text = max(logs(folder, "*trace.json*", "*.json.gz", "*train.json*"), key=len)
    front, mark, rest = text.partition(b'"traceEvents": [')
    events = rest[: rest.rfind(b"]")].strip().rstrip(b",")
    times = [int(found[2]) for found in STAMP.finditer(events)]
    span = max(times) - min(time for time in times if time > max(times) // 2) + 1000
    yield front + mark
    for number in range(10**9):
        copy = STAMP.sub(partial(later, more=number * span), events)
        copy = EVENT_ID.sub(partial(later, more=number * 1_000_003), copy)
        if distinct:
            copy = re.sub(
                rb'("name": ")(?=aten::)', lambda m: m[1] + b"n%d_" % of.randrange(10**9), copy
            )
        yield (b",\n" if number else b"") + copy


def program(folder: Path, of: random.Random) -> Iterator[bytes]:
    """Yield what training loops print."""
    del folder
    words = ("loss", "lr", "grad_norm", "tokens/s", "mem", "acc", "wall", "data")
    step = 0
    while True:
        step += 1
        some = of.sample(words, of.randint(2, 6))
        told = " ".join(f"{word} {of.random() * 10 ** of.randint(-3, 4):.4g}" for word in some)
        yield f"epoch {step // 900:3d} | step {step}/900000 | {told}\n".encode()


MAKERS: dict[str, Callable[[Path, random.Random], Iterator[bytes]]] = {
    "onednn": onednn,
    "descriptors": descriptors,
    "mixed": mixed,
    "distinct": partial(mixed, distinct=True),
    "lines": partial(mixed, shatter=True),
    "structured": structured,
    "payloads": payloads,
    "trace": trace,
    "names": partial(trace, distinct=True),
    "program": program,
}


def make(kind: str, megabytes: float, folder: Path, target: Path, seed: int = 1) -> Path:
    """Write one input of some size, the same for the same seed."""
    size = 0
    with target.open("wb", 1 << 20) as file:
        for part in MAKERS[kind](folder, random.Random(seed)):
            size += file.write(part)
            if size >= megabytes * 1e6:
                break
        if kind in {"trace", "names"}:
            file.write(b"\n]}\n")
    return target


def main() -> None:
    """Write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=Path, required=True, help="a folder of recorded logs")
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("inputs", nargs="+", metavar="KIND:MB")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for wanted in options.inputs:
        kind, _, megabytes = wanted.partition(":")
        target = (
            options.out / f"{kind}-{megabytes}.{'json' if kind in {'trace', 'names'} else 'log'}"
        )
        print(make(kind, float(megabytes), options.logs, target, options.seed))


if __name__ == "__main__":
    main()
