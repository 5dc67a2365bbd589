"""No rule looks at every row for every row: four times the rows cost about four times the calls."""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tracelens.dynamo.beside import look_beside
from tracelens.dynamo.breaks import sites
from tracelens.engine import select_rules
from tracelens.evidence import Evidence, Place, Seen, Table, arguments
from tracelens.frames import Frame, break_cost, kernel_origins
from tracelens.logs import Record
from tracelens.logs.graph_breaks import GraphBreak
from tracelens.logs.guards import GuardTree
from tracelens.plugins.facts import RuleFacts
from tracelens.source import read

RULES = Path(__file__).parents[1] / "fixtures" / "rules"
EXEC = re.compile(r"^onednn_verbose,(?:v1,)?primitive,exec,cpu,.*,[\d.]+$", re.MULTILINE)
#: Fewer calls than this say nothing about growth.
MANY = 4_000
#: What four times the rows may cost; a rule that is quadratic costs sixteen times as much.
MOST = 7.0
#: The same for rules that are asked when all is imported, about texts that none has seen.
MOST_OF_A_RULE = 4.75


class Sourced(Record):
    """A record of one field."""

    source: str = ""


def texts(*families: str) -> Iterator[str]:
    """Yield the logs on which the rules of some families fire."""
    for path in sorted(RULES.glob("*/fires-*.log*")):
        if path.parent.name[:3] in families:
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            yield data.decode("utf-8", "replace")


def primitives(copies: Iterable[int]) -> str:
    """Return every primitive of the fixtures that often, of other sizes each time."""
    lines = dict.fromkeys(line for text in texts("ONE") for line in EXEC.findall(text))
    some = list(lines)[::8]

    def larger(line: str, by: int) -> str:
        front, sizes, time = line.rsplit(",", 2)
        sizes = re.sub(r"\d{2,6}", lambda found: str(int(found[0]) + 16 * by), sizes)
        return f"{front},{sizes},{time}"

    return "".join(f"{larger(line, copy)}\n" for copy in copies for line in some)


def compilations(copies: Iterable[int]) -> str:
    """Return compile logs, of other frames, variables and lines of code each time."""
    logs = [text for text in texts("RCP", "GBR", "GRD") if len(text) < 6_000][::4]

    def other(text: str, copy: int) -> str:
        text = re.sub(r" \[(\d+)/", lambda m: f" [{int(m[1]) + 100 * copy}/", text)
        text = re.sub(r"L\['(\w+)'\]", rf"L['\1_{copy}']", text)
        return re.sub(r"(\.py:)(\d+)", lambda m: f"{m[1]}{int(m[2]) + 10 * copy}", text)

    return "".join(f"{other(text, copy)}\n" for copy in copies for text in logs)


CODE = "V1120 12:00:00.000000 100 torch/_inductor/graph.py:1] [{frame}/0] [__output_code] "


def modules(frames: int, kernels: int) -> str:
    """Return generated code of some frames, all of which have kernels of the same names."""
    names = [f"triton_poi_fused_add_{number}" for number in range(kernels)]
    lines = ["Output code: ", "# AOT ID: ['0_inference']"]
    for name in names:
        lines += [f"{name} = async_compile.triton('{name}', '''", "''', device_str='cuda')"]
    lines.append("def call(args):")
    for name in names:
        lines.append("    # Topologically Sorted Source Nodes: [y], Original ATen: [aten.add]")
        lines.append(f"    {name}.run(arg0_1, buf0, 8, stream=stream0)")
    lines.append("    return (buf0, )")
    logs = ([CODE.format(frame=frame) + line for line in lines] for frame in range(frames))
    return "".join(f"{line}\n" for log in logs for line in log)


BREAK = """\
Graph break in user code at {file}:{line}
Graph Break Reason: Tensor.item
User code traceback:
  File "/home/ana/proj/train.py", line 3, in <module>
    model(x)
{wrappers}{way}  File "{file}", line {line}, in forward
    n = x.sum().item()"""
WAY = """\
  File "/home/ana/proj/net.py", line {line}, in forward
    x = self.part{frame}(x)
"""
WRAPPER = """\
  File "/home/ana/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1, in {name}
    return f()
"""
CHECK = (
    "| +- TYPE_MATCH: ___check_type_id(L['self']{path}, 94708105250656), type=<class 'net.{kind}'>"
    "  # x = self.f(x)  # ome/ana/proj/net.py:{line} in {function} (HINT: type {kind})"
)


def broken(frames: int, *, held: bool) -> str:
    """Return as many frames of one module that each break at a line of their own, with guards.

    The breaks are in its own ``forward``, or each in a part that it holds.
    """
    wrappers = "".join(
        WRAPPER.format(name=name) for name in ("_wrapped_call_impl", "_call_impl") * 2
    )
    found = []
    for frame in range(frames):
        line = 10 + 2 * frame
        file = f"/home/ana/proj/{f'part{frame}' if held else 'net'}.py"
        way = WAY.format(line=line, frame=frame) if held else ""
        text = BREAK.format(file=file, line=line, way=way, wrappers=wrappers)
        paths = ["", f"._modules['part{frame}']", f"._modules['other{frame}']"]
        guards = ["TREE_GUARD_MANAGER:", "+- RootGuardManager"]
        for at, path in enumerate(paths):
            function = f"torch_dynamo_resume_in_forward_at_{line - 2}" if frame else "forward"
            kind = f"Part{at}" if path else "Net"
            guards.append(CHECK.format(path=path, kind=kind, line=line + at % 2, function=function))
        for artifact, lines in (("graph_breaks", text.split("\n")), ("guards", guards)):
            head = f"V1120 12:00:00.000000 77 torch/_dynamo/a.py:1] [{frame}/0] [__{artifact}] "
            found += [f"{head}{one}\n" for one in lines]
    return "".join(found)


def calls(evidence: Evidence) -> dict[str, int]:
    """Return how many functions each rule calls; tables are made once before."""
    counts: dict[str, int] = {}
    for rule in select_rules():
        given = arguments(rule.check, evidence)
        tables = RuleFacts.read(rule).tables
        filled = {table.parameter for table in tables if len(given[table.parameter])}
        if not filled or any(one.required and one.parameter not in filled for one in tables):
            continue
        counts[rule.code] = called(partial(exhaust, rule.check, given))
    return counts


def exhaust(check: Callable[..., Iterator[object]], given: Mapping[str, Any]) -> None:
    """Take all findings of a rule."""
    list(check(**given))


def called(work: Callable[[], object]) -> int:
    """Return how many functions ``work`` calls."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        del frame, argument
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(("make", "once"), [(primitives, 6), (compilations, 3)])
def test_four_times_the_rows_cost_four_times_the_calls(
    make: Any, once: int, tmp_path: Path
) -> None:
    found = []
    # The first for what is imported, and no text twice: what is remembered of it costs nothing.
    for copies in (range(once), range(once, 2 * once), range(2 * once, 6 * once)):
        path = tmp_path / f"{copies.start}.log"
        path.write_text(make(copies), encoding="utf-8")
        found.append(calls(read([str(path)])[0]))
    _, few, many = found
    busy = {code: many[code] / few[code] for code in few if few[code] > MANY}
    assert len(busy) >= 5
    assert {code: ratio for code, ratio in busy.items() if ratio > MOST_OF_A_RULE} == {}


@pytest.mark.parametrize("held", [False, True])
def test_a_break_in_each_frame_is_judged_in_linear_time(tmp_path: Path, *, held: bool) -> None:
    found = []
    for frames in (80, 320):
        path = tmp_path / f"{frames}.log"
        path.write_text(broken(frames, held=held), encoding="utf-8")
        evidence, _ = read([str(path)])
        trees, breaks = evidence.table(GuardTree), evidence.table(GraphBreak)
        told = sites(breaks)
        assert [len(told), len(trees)] == [frames, frames]
        found.append(called(partial(look_beside, told, breaks, trees)))
        named = [site.beside if held else (site.parts or site.alone) for site in told]
        assert all(named)
    assert found[0] > MANY
    assert found[1] < MOST * found[0]


@pytest.mark.parametrize(("frames", "kernels"), [(60, 2), (1, 60)], ids=["frames", "kernels"])
def test_kernels_of_the_same_name_are_told_apart_in_linear_time(
    frames: int, kernels: int, tmp_path: Path
) -> None:
    counts = []
    for times in (1, 4):
        path = tmp_path / f"{times}.log"
        more = (frames * times, kernels) if frames > 1 else (frames, kernels * times)
        path.write_text(modules(*more), encoding="utf-8")
        evidence, _ = read([str(path)])
        assert len(kernel_origins.tables(evidence)["kernel_origins"]) == more[0] * more[1]
        counts.append(called(partial(kernel_origins.tables, evidence)))
    assert counts[0] > MANY / 4
    assert counts[1] < MOST * counts[0]


def test_a_table_is_indexed_once_for_all_who_look_something_up() -> None:
    asked: list[str] = []

    def kind_of(record: Sourced) -> str:
        asked.append(record.source)
        return record.source[:1]

    rows = [
        Seen(Sourced(source=text), 1, [Place("a.log", number)], "")
        for number, text in enumerate(("L", "G", "Lx"))
    ]
    table = Table(rows)
    for _ in range(3):
        assert [row.record.source for row in table.by(kind_of)["L"]] == ["L", "Lx"]
        assert table.by(kind_of).get("x", []) == []
    assert asked == ["L", "G", "Lx"]


def test_frames_are_found_by_name_as_a_look_at_each_finds_them() -> None:
    told = [("a.py", "f"), ("a.py", "g"), ("", ""), ("b.py", "f"), ("a.py", "f"), ("a.py", "g")]
    frames = Table(
        Seen(
            Frame(id=f"{at}/0", writer="7", file=file or None, function=name or None),
            1,
            [Place("a", at)],
            "",
        )
        for at, (file, name) in enumerate(told)
    )
    for wanted in [[], *([name] for name in told if name[0]), told[:2], told[3:], [("no", "f")]]:
        rows = [row.record for row in frames]
        naive = [frame for frame in rows if (frame.file, frame.function) in set(wanted)]
        assert break_cost._of(wanted, frames) == naive
    assert len(break_cost._of(told[:2], frames)) == 4
