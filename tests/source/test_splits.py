"""A file read in parts says what one pass says, wherever it is cut."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from tests.source.splitting import KINDS, differences, mutant
from tracelens.evidence import Evidence
from tracelens.logs.recompiles import Recompile
from tracelens.source import files, ranges, read
from tracelens.source.opened import Inseparable
from tracelens.source.segment import Segmenter
from tracelens.source.watch import MAX_LINE, Watch

FIXTURES = Path(__file__).parents[2] / "fixtures"


def logs() -> list[Path]:
    """Return small logs of every family."""
    found = sorted(FIXTURES.glob("rules/*/*.log")) + sorted(FIXTURES.glob("logs/*/*.log"))
    return [path for path in found if 500 < path.stat().st_size < 9_000]


LOGS = logs()


@pytest.mark.parametrize("number", range(24))
def test_a_log_in_parts_is_a_log_in_one_pass(number: int, tmp_path: Path) -> None:
    drawn = random.Random(number)
    for path in drawn.sample(LOGS, 2):
        assert not differences(path, drawn.choice([64, 256, 512]), drawn.choice([2, 3, 9])), path
    one, other = (path.read_bytes().split(b"\n") for path in drawn.sample(LOGS, 2))
    text = tmp_path / "mutant.log"
    text.write_bytes(mutant(one[:80], other, drawn))
    assert not differences(text, drawn.choice([64, 512]), drawn.choice([2, 5]))


HOT = b"/tmp/x/main.c:1:10: fatal error: cuda.h: No such file or directory\n"
FILE = b'  File "/home/ana/venv/lib/site-packages/torch/_dynamo/utils.py", line 7, in f\n'
RAISED = b"torch._dynamo.exc.TorchRuntimeError: Dynamo failed to run FX node\n"
V = b"V1120 10:45:41.000000 7 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
PART = b"2026-11-20T10:00:00.123456789Z stdout P "
#: What an estimate of run times begins with.
TIMED = b'{"artifact": {"name": "inductor_runtime_and_tensor_meta", "encoding": "json"}}\r\n'
S = b"V1120 10:45:41.000000 7 torch/_logging/structured.py:28] "
#: A frame in which no line tells of a failure by itself: only of a short text is it looked at.
PASTED = rb"""{"log": "  File \"/v/torch/_inductor/graph.py\", line 7, in run\n"}
{"log": "    return super().run(*args)\n"}
"""
FULL = b"2026-11-20T10:00:00.123456789Z stdout F "
#: An event of a trace that is none, since something stands behind it.
RANKED = b'[rank%d]:{"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": %d},\n'


def json_of(text: bytes) -> bytes:
    """Return lines as a container runtime keeps them."""
    lines = text.decode().splitlines(keepends=True)
    return b"".join(json.dumps({"log": line}).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        (HOT + b"compilation terminated.\n") * 3 + FILE + RAISED,
        FILE * 40 + RAISED + b"step 1\n" * 3 + FILE + RAISED,
        b"step 1\n" * 30 + FILE * 3 + b"step 2\n" * 16 + FILE + RAISED + b"ok\n" * 40 + RAISED,
        (V + b"Recompiling function f in /p/m.py:3\n" + V + b"    - 0/0: n == 2\n") * 9 + V[:60],
        PART + V + b"Recompiling function f \n" + FULL + b"in /p/m.py:3\n" + PART + V + b"x\n",
        (V + b"Recompiling function f in /p/m.py:3\r\r\n" + V + b"    - 0/0: n == 2\r\r\n") * 9,
        (S + TIMED + b"\t{\r\n" + b'\t"a": 1,\r\n' * 9 + b"\t}\r\n") * 4,
        b"\xef\xbb\xbf" + (V + b"Recompiling function f in /p/m.py:3\n") * 20,
        PASTED * 6,
        json_of(PART + V + b"Recompiling function f \n" + FULL + b"in /p/m.py:3\n") * 6,
        b"".join(RANKED % (number % 2, number) for number in range(120)),
    ],
    ids=[
        "repeated",
        "long",
        "apart",
        "cut",
        "parts",
        "returns",
        "payloads",
        "mark",
        "pasted",
        "json",
        "refused",
    ],
)
@pytest.mark.parametrize("jobs", [2, 3, 7])
@pytest.mark.parametrize("chunk", [64, 128, 500])
def test_what_once_differed(text: bytes, jobs: int, chunk: int, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(text)
    assert not differences(path, chunk, jobs)


def test_what_a_text_begins_with_may_forbid_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MIN_RANGE", 64)
    path = tmp_path / "run.log"
    line = V + b"Recompiling function block in /home/ana/proj/model.py:18, which is here"
    wrapped = b"".join(line[at : at + 80] + b"\n" for at in range(0, len(line), 80))
    for text in (wrapped * 20_000, b"\xef\xbb\xbf" + line * 900, gzip.compress(line * 90_000)):
        path.write_bytes(text)
        assert ranges.plan(str(path), 2, KINDS) == []
    path.write_bytes((line + b"\n") * 20_000)
    assert len(ranges.plan(str(path), 2, KINDS)) == 2


def test_a_record_of_torch_2_0_that_goes_on_is_not_joined() -> None:
    head = b"[2023-03-04 10:00:00,123] torch._dynamo.convert_frame: [WARNING] "
    hit = head + b"torch._dynamo hit config.cache_size_limit (64)\n"
    first, after = Segmenter(KINDS, "a"), Segmenter(KINDS, "a", from_start=False)
    first.feed([hit, hit])
    after.feed([hit, b"   function: 'f' (/home/ana/proj/model.py:5)\n"])
    with pytest.raises(Inseparable):
        first.extend(after)


def test_a_file_that_cannot_be_joined_is_read_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise Inseparable

    monkeypatch.setattr(ranges, "MIN_RANGE", 1000)
    monkeypatch.setattr(Segmenter, "extend", refuse)
    path = tmp_path / "run.log"
    path.write_bytes((V + b"Recompiling function f in /p/m.py:3\n") * 2_600)
    assert read([str(path)], jobs=2)[1] == read([str(path)])[1]


GUARD = b"| +- GuardManager: source=G, accessed_by=GlobalsGuardAccessor, type=<class 'dict'>"


def test_the_second_half_of_a_line_is_no_line_of_the_program_elsewhere(tmp_path: Path) -> None:
    """What ends a line that a container runtime cut may begin a record where it stands alone."""
    text = PART + b"  # return torch.relu(x)\n" + FULL + GUARD + b"\n" + FULL + b"step 1\n"
    path = tmp_path / "run.log"
    path.write_bytes(text * 2 + FULL + GUARD + b"\n")
    evidence, _ = read([str(path)])
    assert evidence.kinds == {"fragments": 2}  # it, and the guards in it


@pytest.mark.parametrize("chunk", [64, 512, 1 << 18])
def test_a_long_line_before_a_failure_is_cut_alike_wherever_the_input_is(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"x" * 9_000 + b"\n" + FILE * 3 + RAISED)
    monkeypatch.setattr(files, "CHUNK", chunk)
    watch = Watch()
    stream = files.Stream(str(path))
    number = 1
    with stream.open() as reader:
        for lines in stream.blocks(reader):
            watch.look(lines, range(number, number + len(lines)))
            number += len(lines)
    first = watch.finish()[0].lines[0]
    assert first == (1, b"x" * MAX_LINE)


def test_the_first_process_of_a_rank_is_the_one_that_is_named() -> None:
    first, later = Evidence(), Evidence()
    first.numbers["run.log", "rank0"] = "7"
    later.numbers.update({("run.log", "rank0"): "8", ("run.log", "rank1"): "9"})
    first.merge(later)
    assert first.numbers == {("run.log", "rank0"): "7", ("run.log", "rank1"): "9"}


def test_lines_behind_one_that_was_cut_in_two_stand_where_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    lines = [V + b"Recompiling function f in /p/m.py:3", PART + b"step 1"]
    path.write_bytes(b"\n".join([*lines, *[V + b"    - 0/0: n == 2"] * 3, b""]))
    evidence, _ = read([str(path)])
    (row,) = evidence.table(Recompile)
    assert [row.first.line_of(offset) for offset in (0, 2, 3)] == [1, 4, 5]


def test_the_example_of_a_place_is_its_first_line_in_whatever_order_records_end() -> None:
    evidence = Evidence()
    evidence.add_known("torch/a.py", 2, 9, "later")
    evidence.add_known("torch/a.py", 1, 3, "first")
    evidence.add_known("torch/a.py", 1, 5, "between")
    assert evidence.known == {"torch/a.py": [4, 3]}
    assert evidence.examples == {"torch/a.py": "first"}
