# ruff: noqa: E501 -- lines that a server prints
"""What a server's log says of its start as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracelens import Finding, Severity, analyze

LOADED = """\
INFO 06-19 10:05:01 [loader.py:447] Loading weights took 0.70 seconds
INFO 06-19 10:05:09 [backends.py:426] Dynamo bytecode transform time: **7.00 s**
INFO 06-19 10:05:09 [backends.py:115] Directly load the compiled graph for shape None from the cache
INFO 06-19 10:05:18 [monitor.py:33] torch.compile takes **7.00 s** in total
INFO 06-19 10:05:35 [gpu_model_runner.py:1608] Graph capturing finished in **{} secs**, took 0.48 GiB
"""
WHOLE = "INFO 06-19 10:05:35 [core.py:162] init engine (profile, create kv cache, warmup model) took **{} seconds**\n"
COMPILED = """\
{}Actor(Stage(Batches)) pid=4385) (EngineCore_DP0 pid=6448) INFO 02-12 15:00:36 [backends.py:319] Compiling a graph for compile range (1, 8000) takes {} s
(Actor(Stage(Batches)) pid=4385) (EngineCore_DP0 pid=6448) INFO 02-12 15:00:36 [monitor.py:34] torch.compile takes {} s in total
"""


def started(text: str, folder: Path) -> Finding:
    path = folder / "server.log"
    path.write_text(text, encoding="utf-8")
    (found,) = [one for one in analyze(str(path)).findings if one.code == "CMP006"]
    return found


def test_the_whole_start_counts_and_its_largest_part_is_named(tmp_path: Path) -> None:
    found = started(LOADED.format(17) + WHOLE.format(34.0), tmp_path)
    assert found.severity is Severity.INFO
    assert "34 s to set up, 17 s of it capturing CUDA graphs" in found.title
    assert "Its cache of compiled graphs works" in found.message
    assert "the other 10 s" in found.message
    assert [one.id for one in found.advice] == ["fewer-captures"]


def test_a_short_start_is_a_note(tmp_path: Path) -> None:
    found = started(LOADED.format(5) + WHOLE.format(13.0), tmp_path)
    assert found.severity is Severity.NONE
    assert "No line names" not in found.message


@pytest.mark.parametrize("bracket", ["(", ""])
def test_a_long_compilation_is_most_of_it(bracket: str, tmp_path: Path) -> None:
    found = started(COMPILED.format(bracket, 2000.5, 2003.0), tmp_path)
    assert "Most of that is Inductor." in found.message
    assert [one.id for one in found.advice] == ["cache-volume", "own-core", "eager"]


def test_a_usual_compilation_needs_no_way_out(tmp_path: Path) -> None:
    found = started(COMPILED.format("(", 40.5, 48.0), tmp_path)
    assert [one.id for one in found.advice] == ["cache-volume"]
