"""Logs in formats of the user's choice, where only a record's first line is prefixed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tracelens.engine import analyze
from tracelens.evidence import Evidence
from tracelens.logs import Log
from tracelens.plugins.registry import discover
from tracelens.source import read
from tracelens.source.kinds import Kinds

LOGS = Path(__file__).parents[2] / "fixtures" / "logs" / "formats"
FORMATS = ("short", "levels", "message", "dashes", "brackets", "files", "names")
#: What the program itself printed, in ``fixtures/programs/log_formats.py``.
PROGRAM = (
    b"starting",
    b"step 2: loss 0.5",
    b"    indented by four",
    b"in the middle (4,)",
    b"INFO:train:an epoch is over",
    b"done",
)
HEADS = Kinds(discover("logs", Log)).heads


def path_of(name: str) -> str:
    return str(LOGS / f"{name}.log.gz")


def claimed(path: str, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the numbers of the lines that some record holds."""
    lines: set[int] = set()
    add = Evidence.add

    def watched(self, log, text, place, *, lines: int, **more) -> None:  # type: ignore[no-untyped-def]
        numbers.update(place.line_of(offset) for offset in range(lines))
        add(self, log, text, place, lines=lines, **more)

    numbers = lines
    monkeypatch.setattr(Evidence, "add", watched)
    read([path])
    return lines


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_changes_no_record_and_no_finding(name: str) -> None:
    plain, shown = analyze(path_of("default")), analyze(path_of(name))
    assert shown.inputs[0].kinds["recompiles"] == 9
    assert shown.inputs[0].kinds == plain.inputs[0].kinds
    assert {finding.id for finding in shown.findings} == {finding.id for finding in plain.findings}
    assert not shown.coverage.unread
    assert not shown.coverage.known


@pytest.mark.parametrize("name", FORMATS)
def test_lines_of_the_program_stay_the_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = gzip.decompress(Path(path_of(name)).read_bytes()).split(b"\n")
    held = claimed(path_of(name), monkeypatch)
    mine = [number for number, line in enumerate(lines, 1) if line in PROGRAM]
    assert len(mine) == 7
    assert not held.intersection(mine)


GUARDS = "torch._dynamo.guards.__recompiles"
FUSION = "torch._inductor.scheduler.__fusion"
FRAMES = "torch._dynamo.convert_frame"
SHAPES = "torch.fx.experimental.symbolic_shapes"
AGAIN = "Recompiling function f in a.py:1"
LIMIT = "torch._dynamo hit config.recompile_limit (8)"
NODE = "  SchedulerNode(name='op0')"


@pytest.mark.parametrize(
    ("prefix", "logger", "text"),
    [
        (f"DEBUG:{GUARDS}:", GUARDS, AGAIN),
        (f"DEBUG:{GUARDS}:", GUARDS, ""),
        (f"WARNING:{FRAMES}:", FRAMES, LIMIT),
        (f"DEBUG:{FUSION}:", FUSION, NODE),
        (f"{FUSION} ", FUSION, NODE),
        (f"2026-11-20 16:10:49,098 {GUARDS} ", GUARDS, AGAIN),
        (f"2026-11-20 16:10:49,098 - {SHAPES} - INFO - ", SHAPES, "create_env"),
        (f"[77] [{GUARDS}] [DEBUG] ", GUARDS, AGAIN),
        (f"(MainProcess) {GUARDS} guards.py:5396 | ", GUARDS, AGAIN),
        (f"INFO 11-20 16:10:49 {GUARDS}] ", GUARDS, AGAIN),
        (f"\r 20%|xx  | 1/5 [00:01<00:05]DEBUG:{GUARDS}:", GUARDS, AGAIN),
        ("DEBUG: ", "", AGAIN),
        ("DEBUG: ", "", "TRACED GRAPH"),
        ("2026-11-20T16:10:49Z ", "", AGAIN),
        ("16:10:49 guards.py:5396 ", "", AGAIN),
        ("WARNING: ", "", LIMIT),
        ("2026-11-20 16:10:49,098 ", "", LIMIT),
        ("", "", AGAIN),
    ],
)
def test_prefixes(prefix: str, logger: str, text: str) -> None:
    head = HEADS.find((prefix + text).encode())
    assert head is not None
    assert (head.logger.decode(), head.text.decode()) == (logger, text)


@pytest.mark.parametrize(
    "line",
    [
        "from torch._inductor.hooks import run_intermediate_hooks",
        "aten = torch.ops.aten",
        "torch._dynamo.exc.Unsupported: builtin: print [...]",
        "torch._dynamo hit a wall",
        "    # torch._dynamo.config.verbose = True",
        "| +- LAMBDA_GUARD: torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids",
        "INFO: using torch.compile for the model",
        "INFO:root:torch.compile is on",
        "2026-11-20 11:07:14,274 INFO trainer: epoch 1",
        "INFO: we are Recompiling function f",
        "torch.__version__ 2.13.0",
        "",
    ],
)
def test_other_lines(line: str) -> None:
    assert HEADS.find(line.encode()) is None


def test_a_program_that_prints_such_words_is_believed_only_if_they_can_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.log"
    path.write_text("Output code: \n%% not Python\nRecompiling function soup\n", encoding="utf-8")
    evidence, (source,) = read([str(path)])
    assert not source.kinds
    assert not evidence.unread
